#include "smo/fold_path.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
constexpr index_t n = 150;

// Every third row is held out; the others are a problem of classification, or of regression with two
// dual rows each.
struct Fixture {
  SmallKernel<double> kernel{n, 3, 1};
  std::vector<index_t> train, held_out, place;
  std::vector<double> y, target, cost, K;  // of the dual rows

  explicit Fixture(bool regression = false) {
    for (index_t i = 0; i < n; ++i) (i % 3 ? train : held_out).push_back(i);
    const auto price = numbers(train.size(), 0.5, 1.5, 2);
    const auto noise = numbers(train.size(), -0.7, 0.7, 3);
    for (std::size_t k = 0; k < train.size(); ++k) {
      const double value = kernel.plain.row(train[k])[0] + noise[k];
      if (!regression) {
        add(value > 0.0 ? 1.0 : -1.0, value > 0.0 ? 1.0 : -1.0, price[k]);
        continue;
      }
      for (const double sign : {1.0, -1.0}) {
        add(sign, value, sign > 0.0 ? price[k] : 0.4 * price[k]);
        place.push_back(static_cast<index_t>(k));
      }
    }
    for (std::size_t i = 0; i < y.size(); ++i)
      for (std::size_t j = 0; j < y.size(); ++j) K.push_back(kernel.entry(row(i), row(j)));
  }
  void add(double sign, double t, double price) {
    y.push_back(sign);
    target.push_back(t);
    cost.push_back(price);
  }
  std::size_t place_of(std::size_t i) const { return place.empty() ? i : at(place[i]); }
  index_t row(std::size_t i) const { return train[place_of(i)]; }
  FoldProblem<double> problem(bool stored, bool fit_intercept) const {
    const FoldKernel<double> matrix = stored ? FoldKernel<double>{kernel.K.data(), n, nullptr}
                                             : FoldKernel<double>{nullptr, 0, kernel.points.get()};
    return {matrix, {train, {{0, n}}},    {y.data(), target.data(), cost.data()},
            place,  {held_out, {{0, n}}}, fit_intercept};
  }
  // The problem of one cell, to be judged by its plain formulas.
  SmallProblem problem_of(const PathCell& cell) const {
    SmallProblem one(cell.p, y.size(), 1, true);
    one.y = y;
    for (std::size_t k = 0; k < cost.size(); ++k) {
      one.target[k] = target[k] - y[k] * cell.epsilon;
      one.cost[k] = cell.C * cost[k];
    }
    return one;
  }
};

void check_path(const Fixture& fixture, bool stored, bool fit_intercept,
                const std::vector<double>& epsilons = {0.0}) {
  TestRun test(1);
  const auto problem = fixture.problem(stored, fit_intercept);
  std::vector<PathCell> cells;
  for (const double p : {1.0, 1.5, 2.0})
    for (const double C : {0.1, 1.0, 10.0, 100.0})
      for (const double epsilon : epsilons) cells.push_back({p, C, epsilon});
  index_t told = 0;
  const auto result = solve_fold_path<double>(
      problem, cells, {1e-7, 0, -1, true}, [&](index_t count) { told += count; }, test.run);
  CHECK_EQUAL(told, static_cast<index_t>(cells.size()));
  CHECK_EQUAL(result.cells.size(), cells.size());
  const std::size_t m = fixture.y.size(), rows = fixture.held_out.size();
  const std::size_t train = fixture.train.size();
  CHECK_EQUAL(result.decision.size(), cells.size() * rows);
  CHECK_EQUAL(result.supports.size(), cells.size() * train);
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const SmallProblem one = fixture.problem_of(cells[c]);
    const auto first = result.alpha.begin() + static_cast<index_t>(c * m);
    const std::vector<double> alpha(first, first + static_cast<index_t>(m));
    const auto f = one.decision(fixture.K, alpha);
    // The intercept is what the held-out values have in common beside their sums.
    std::vector<double> sums(rows, 0.0);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t k = 0; k < m; ++k)
        sums[i] += one.y[k] * alpha[k] * fixture.kernel.entry(fixture.held_out[i], fixture.row(k));
    const double b = result.decision[c * rows] - sums[0];
    for (std::size_t i = 0; i < rows; ++i)
      CHECK_NEAR(result.decision[c * rows + i], sums[i] + b, 1e-8 * (1.0 + std::abs(sums[i])));
    if (!fit_intercept) CHECK_NEAR(b, 0.0, 1e-9);
    const double primal = 0.5 * one.squared_norm(f, alpha) + one.lost(f, b);
    const double gap = (primal - one.dual(f, alpha)) / primal;
    CHECK(gap >= -1e-10 && gap <= 1.1e-7);
    CHECK(result.cells[c].gap <= 1e-7);
    if (fit_intercept) CHECK_NEAR(balance_of(one.y, alpha), 0.0, 1e-8 * cells[c].C);
    std::vector<int> supports(train, 0);
    bool clear = true;
    for (std::size_t k = 0; k < m; ++k) {
      const double beyond = one.y[k] * (one.target[k] - f[k] - b) + outside_margin;
      if (beyond > 0.0) supports[fixture.place_of(k)] = 1;
      clear = clear && std::abs(beyond) > 1e-6;
    }
    for (std::size_t k = 0; clear && k < train; ++k)
      CHECK_EQUAL(int(result.supports[c * train + k]), supports[k]);
  }
}
}  // namespace

TEST(fold_path, every_cell_is_solved_on_a_stored_matrix) {
  check_path(Fixture(), true, true);
  check_path(Fixture(), true, false);
}

TEST(fold_path, every_cell_is_solved_on_points) { check_path(Fixture(), false, true); }

TEST(fold_path, two_dual_rows_may_share_a_training_row) {
  for (const bool stored : {true, false})
    for (const bool fit_intercept : {true, false})
      check_path(Fixture(true), stored, fit_intercept, {0.5, 0.1, 0.0});
}

TEST(fold_path, a_tube_that_holds_all_rows_needs_no_variable) {
  const Fixture fixture(true);
  TestRun test(1);
  const auto problem = fixture.problem(true, true);
  // From variables that a narrow tube needs, too.
  const auto result = solve_fold_path<double>(problem, {{1.0, 1.0, 0.1}, {1.0, 1.0, 1e3}},
                                              {1e-6, 0, -1, true}, {}, test.run);
  CHECK_EQUAL(result.cells[1].gap, 0.0);
  for (std::size_t k = fixture.y.size(); k < result.alpha.size(); ++k)
    CHECK_EQUAL(result.alpha[k], 0.0);
}

TEST(fold_path, a_cell_may_start_anywhere) {
  const Fixture fixture;
  TestRun test(1);
  const auto problem = fixture.problem(true, true);
  const Precision precision{1e-8, 0, -1, true};
  const auto cold = solve_fold_path<double>(problem, {{1.5, 1.0}}, precision, {}, test.run);
  // From its own solution: nothing is left to do.
  const auto warm =
      solve_fold_path<double>(problem, {{2.0, 30.0}, {1.5, 1.0, 0.0, cold.alpha.data()}},
                              {1e-8, 0, -1, true}, {}, test.run);
  for (std::size_t k = 0; k < fixture.train.size(); ++k)
    CHECK_EQUAL(warm.alpha[fixture.train.size() + k], cold.alpha[k]);
}

TEST(fold_path, limits_of_a_cell) {
  const Fixture fixture;
  TestRun test(1);
  const auto problem = fixture.problem(true, true);
  const auto few =
      solve_fold_path<double>(problem, {{1.5, 1e4}}, {1e-9, 0, 20, false}, {}, test.run);
  CHECK_EQUAL(few.cells.size(), std::size_t(1));
  CHECK(few.cells[0].gap > 1e-9);
  CHECK(few.alpha.empty());
  const auto loose =
      solve_fold_path<double>(problem, {{1.5, 1.0}}, {1e-2, 0, -1, false}, {}, test.run);
  const auto more =
      solve_fold_path<double>(problem, {{1.5, 1.0}}, {1e-2, 3, -1, false}, {}, test.run);
  CHECK(more.cells[0].gap < loose.cells[0].gap);
}

TEST(fold_path, what_is_solved_before_a_cancellation_is_kept) {
  const Fixture fixture;
  TestRun test(1);
  const auto problem = fixture.problem(true, true);
  test.cancel = true;
  const auto result =
      solve_fold_path<double>(problem, {{1.5, 1.0}, {1.5, 2.0}}, {1e-6, 0, -1, true}, {}, test.run);
  CHECK(result.cells.empty() && result.decision.empty() && result.alpha.empty());
}
