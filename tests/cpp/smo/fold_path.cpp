#include "smo/fold_path.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
constexpr index_t n = 150;

// Every third row is held out; the others are a classification problem.
struct Fixture {
  SmallKernel<double> kernel{n, 3, 1};
  std::vector<index_t> train, held_out;
  std::vector<double> y, cost, K;  // of the training rows

  Fixture() {
    for (index_t i = 0; i < n; ++i) (i % 3 ? train : held_out).push_back(i);
    cost = numbers(train.size(), 0.5, 1.5, 2);
    const auto noise = numbers(train.size(), -0.7, 0.7, 3);
    for (std::size_t k = 0; k < train.size(); ++k)
      y.push_back(kernel.plain.row(train[k])[0] + noise[k] > 0.0 ? 1.0 : -1.0);
    for (const index_t i : train)
      for (const index_t j : train) K.push_back(kernel.entry(i, j));
  }
  FoldProblem<double> problem(bool stored, bool fit_intercept) const {
    const FoldKernel<double> matrix = stored ? FoldKernel<double>{kernel.K.data(), n, nullptr}
                                             : FoldKernel<double>{nullptr, 0, kernel.points.get()};
    return {matrix, {train, {{0, n}}}, y.data(), cost.data(), {held_out, {{0, n}}}, fit_intercept};
  }
  // The problem of one cell, to be judged by its plain formulas.
  SmallProblem cell(double p, double C) const {
    SmallProblem one(p, train.size(), 1, true);
    one.y = one.target = y;
    for (std::size_t k = 0; k < cost.size(); ++k) one.cost[k] = C * cost[k];
    return one;
  }
};

void check_path(bool stored, bool fit_intercept) {
  const Fixture fixture;
  TestRun test(1);
  const auto problem = fixture.problem(stored, fit_intercept);
  std::vector<PathCell> cells;
  for (const double p : {1.0, 1.5, 2.0})
    for (const double C : {0.1, 1.0, 10.0, 100.0}) cells.push_back({p, C});
  index_t told = 0;
  const auto result = solve_fold_path<double>(
      problem, cells, {1e-7, 0, -1, true}, [&](index_t count) { told += count; }, test.run);
  CHECK_EQUAL(told, static_cast<index_t>(cells.size()));
  CHECK_EQUAL(result.cells.size(), cells.size());
  const std::size_t m = fixture.train.size(), rows = fixture.held_out.size();
  CHECK_EQUAL(result.decision.size(), cells.size() * rows);
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const SmallProblem one = fixture.cell(cells[c].p, cells[c].C);
    const auto first = result.alpha.begin() + static_cast<index_t>(c * m);
    const std::vector<double> alpha(first, first + static_cast<index_t>(m));
    const auto f = one.decision(fixture.K, alpha);
    // The intercept is what the held-out values have in common beside their sums.
    std::vector<double> sums(rows, 0.0);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t k = 0; k < m; ++k)
        sums[i] +=
            one.y[k] * alpha[k] * fixture.kernel.entry(fixture.held_out[i], fixture.train[k]);
    const double b = result.decision[c * rows] - sums[0];
    for (std::size_t i = 0; i < rows; ++i)
      CHECK_NEAR(result.decision[c * rows + i], sums[i] + b, 1e-8 * (1.0 + std::abs(sums[i])));
    if (!fit_intercept) CHECK_NEAR(b, 0.0, 1e-9);
    const double primal = 0.5 * one.squared_norm(f, alpha) + one.lost(f, b);
    const double gap = (primal - one.dual(f, alpha)) / primal;
    CHECK(gap >= -1e-10 && gap <= 1.1e-7);
    CHECK(result.cells[c].gap <= 1e-7);
    if (fit_intercept) CHECK_NEAR(balance_of(one.y, alpha), 0.0, 1e-8 * cells[c].C);
    for (std::size_t k = 0; k < m; ++k) {
      const double beyond = one.y[k] * (f[k] + b) - 1.0 - outside_margin;
      if (std::abs(beyond) > 1e-6) CHECK_EQUAL(int(result.supports[c * m + k]), int(beyond < 0.0));
    }
  }
}
}  // namespace

TEST(fold_path, every_cell_is_solved_on_a_stored_matrix) {
  check_path(true, true);
  check_path(true, false);
}

TEST(fold_path, every_cell_is_solved_on_points) { check_path(false, true); }

TEST(fold_path, a_cell_may_start_anywhere) {
  const Fixture fixture;
  TestRun test(1);
  const auto problem = fixture.problem(true, true);
  const Precision precision{1e-8, 0, -1, true};
  const auto cold = solve_fold_path<double>(problem, {{1.5, 1.0}}, precision, {}, test.run);
  // From its own solution: nothing is left to do.
  const auto warm = solve_fold_path<double>(problem, {{2.0, 30.0}, {1.5, 1.0, cold.alpha.data()}},
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
