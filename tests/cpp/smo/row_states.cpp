#include "smo/row_states.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
const double exponents[] = {1.0, 1.3, 1.5, 2.0, 3.0, 3.5};
const std::size_t sizes[] = {1, 2, 7, 8, 9, 16, 41, 203};
}  // namespace

TEST_PER_CPU(row_states, scores_and_their_extremes) {
  TestRun test(1);
  for (const double p : exponents)
    for (const std::size_t n : sizes) {
      const SmallProblem problem(p, n, 1);
      const PNormHinge loss(p);
      RowStates rows(loss, problem.rows(), problem.alpha, test.run);
      const auto f = numbers(n, -1.0, 1.0, 2);
      const ExtremeScores found = rows.extremes(f.data());
      double most = -infinity, least = infinity;
      for (std::size_t i = 0; i < n; ++i) {
        const double a = problem.alpha[i], y = problem.y[i];
        const double score = problem.target[i] - f[i] - y * problem.slack_of(i, a);
        CHECK_NEAR(rows.score(i), score, 1e-13);
        if (y > 0.0 ? problem.can_grow(i, a) : a > 0.0) most = std::max(most, score);
        if (y < 0.0 ? problem.can_grow(i, a) : a > 0.0) least = std::min(least, score);
      }
      CHECK_NEAR(found.max_up, most, 1e-13);
      CHECK_NEAR(found.min_low, least, 1e-13);
    }
}

TEST_PER_CPU(row_states, sums_are_those_of_the_certificate) {
  TestRun test(1);
  for (const double p : exponents)
    for (const std::size_t n : sizes) {
      const SmallProblem problem(p, n, 3);
      const PNormHinge loss(p);
      RowStates rows(loss, problem.rows(), problem.alpha, test.run);
      const auto f = numbers(n, -1.0, 1.0, 4);
      const double b = 0.3, norm = problem.squared_norm(f, problem.alpha);
      const RowSums sums = rows.sums(f.data(), b);
      const double lost = problem.lost(f, b), dual = problem.dual(f, problem.alpha);
      CHECK_NEAR(sums.lost, lost, 1e-12 * (1.0 + lost));
      CHECK_NEAR(sums.squared_norm, norm, 1e-12 * (1.0 + std::abs(norm)));
      CHECK_NEAR(sums.linear - 0.5 * norm - sums.conjugate, dual, 1e-12 * (1.0 + std::abs(dual)));
      // Primal minus dual, where sum alpha y = 0 makes b drop out.
      const double unbalanced = b * balance_of(problem.y, problem.alpha);
      CHECK_NEAR(sums.difference, 0.5 * norm + lost - dual + unbalanced, 1e-12 * (1.0 + lost));
      double by_row = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(rows.difference(i, f[i], b) >= -1e-14);
        by_row += rows.difference(i, f[i], b);
      }
      CHECK_NEAR(sums.difference, by_row, 1e-12 * (1.0 + by_row));
    }
}

TEST_PER_CPU(row_states, slope_of_the_hinge_over_b) {
  TestRun test(1);
  const SmallProblem problem(1.0, 61, 5);
  const PNormHinge loss(1.0);
  RowStates rows(loss, problem.rows(), problem.alpha, test.run);
  const auto f = numbers(61, -1.0, 1.0, 6);
  for (const double b : numbers(50, -4.0, 4.0, 7)) {
    double slope = 0.0;
    for (std::size_t i = 0; i < 61; ++i)
      if (problem.y[i] * (problem.target[i] - f[i] - b) > 0.0)
        slope -= problem.y[i] * problem.cost[i];
    CHECK_NEAR(rows.hinge_slope(f.data(), b), slope, 1e-12);
  }
}

TEST_PER_CPU(row_states, slopes_of_powers_over_b) {
  TestRun test(1);
  for (const double p : exponents) {
    if (p == 1.0) continue;
    const SmallProblem problem(p, 61, 5);
    const PNormHinge loss(p);
    RowStates rows(loss, problem.rows(), problem.alpha, test.run);
    const auto f = numbers(61, -1.0, 1.0, 6);
    for (const double b : numbers(50, -4.0, 4.0, 7)) {
      double first = 0.0, second = 0.0;
      for (std::size_t i = 0; i < 61; ++i) {
        const double xi = std::max(problem.y[i] * (problem.target[i] - f[i] - b), 0.0);
        if (xi == 0.0) continue;
        first -= problem.y[i] * problem.cost[i] * p * std::pow(xi, p - 1.0);
        second += problem.cost[i] * p * (p - 1.0) * std::pow(xi, p - 2.0);
      }
      const Slope slope = rows.slope(f.data(), b);
      CHECK_NEAR(slope.first, first, 1e-11 * (1.0 + std::abs(first)));
      CHECK_NEAR(slope.second, second, 1e-11 * second);
    }
  }
}

TEST(row_states, passes_on_several_threads_give_the_same_bits) {
  const std::size_t n = 30011;
  const auto f = numbers(n, -1.0, 1.0, 9);
  for (const double p : {1.0, 1.5}) {
    const SmallProblem problem(p, n, 8);
    const PNormHinge loss(p);
    TestRun one(1), three(3);
    RowStates a(loss, problem.rows(), problem.alpha, one.run);
    RowStates b(loss, problem.rows(), problem.alpha, three.run);
    const ExtremeScores of_a = a.extremes(f.data()), of_b = b.extremes(f.data());
    CHECK_EQUAL(of_a.max_up, of_b.max_up);
    CHECK_EQUAL(of_a.min_low, of_b.min_low);
    const RowSums sums_a = a.sums(f.data(), 0.2), sums_b = b.sums(f.data(), 0.2);
    CHECK_EQUAL(sums_a.lost, sums_b.lost);
    CHECK_EQUAL(sums_a.difference, sums_b.difference);
    CHECK_NEAR(sums_a.lost, problem.lost(f, 0.2), 1e-11 * sums_a.lost);
    if (p == 1.0) {
      CHECK_EQUAL(a.hinge_slope(f.data(), 0.2), b.hinge_slope(f.data(), 0.2));
    } else {
      CHECK_EQUAL(a.slope(f.data(), 0.2).first, b.slope(f.data(), 0.2).first);
      CHECK_EQUAL(a.slope(f.data(), 0.2).second, b.slope(f.data(), 0.2).second);
    }
    for (const std::size_t i : {0ul, 8191ul, 8192ul, 16389ul, n - 1})
      CHECK_EQUAL(a.score(i), b.score(i));
  }
}

TEST_PER_CPU(row_states, violators_of_either_side) {
  TestRun test(1);
  for (const double p : {1.0, 1.5}) {
    const std::size_t n = 203;
    const SmallProblem problem(p, n, 8);
    const PNormHinge loss(p);
    RowStates rows(loss, problem.rows(), problem.alpha, test.run);
    const auto f = numbers(n, -1.0, 1.0, 9);
    rows.extremes(f.data());
    rows.hide(3);
    for (const bool up : {true, false}) {
      std::vector<index_t> found, expected, beyond;
      rows.for_violators(up, 0.1, 0.5, beyond, [&](index_t row, double by) {
        found.push_back(row);
        CHECK_NEAR(by, (up ? 1.0 : -1.0) * (rows.score(at(row)) - 0.1), 1e-14);
      });
      for (std::size_t i = 0; i < n; ++i)
        if (i != 3 && (up ? rows.can_go_up(i) : rows.can_go_low(i)) &&
            (up ? rows.score(i) > 0.6 : rows.score(i) < -0.4))
          expected.push_back(static_cast<index_t>(i));
      CHECK(found == expected);
      CHECK(found.size() > 20);
    }
  }
}

TEST(row_states, counts_follow_the_variables) {
  TestRun test(1);
  const PNormHinge loss(1.0);
  SmallProblem problem(1.0, 30, 10);
  RowStates rows(loss, problem.rows(), problem.alpha, test.run);
  for (std::size_t i = 0; i < 30; i += 4) rows.set(i, 0.0, 0.0);
  for (std::size_t i = 1; i < 30; i += 4) rows.set(i, problem.cost[i], 0.0);
  for (std::size_t i = 2; i < 30; i += 4) rows.set(i, 0.5 * problem.cost[i], 0.0);
  index_t support = 0, free = 0;
  for (std::size_t i = 0; i < 30; ++i) {
    CHECK_EQUAL(rows.coef()[i], problem.y[i] * rows.alpha(i));
    support += rows.alpha(i) > 0.0;
    free += rows.alpha(i) > 0.0 && rows.alpha(i) < problem.cost[i];
  }
  CHECK_EQUAL(rows.support(), support);
  CHECK_EQUAL(rows.free(), free);
  CHECK_EQUAL(rows.alphas().size(), std::size_t(30));
}

TEST(row_states, hidden_rows_are_not_among_the_extremes) {
  TestRun test(1);
  const PNormHinge loss(2.0);
  const std::vector<double> y = {1.0, 1.0, -1.0}, t = {5.0, 1.0, 0.5}, cost(3, 1.0), f(3, 0.0);
  RowStates rows(loss, {y.data(), t.data(), cost.data()}, {0.0, 0.0, 0.0}, test.run);
  CHECK_EQUAL(rows.extremes(f.data()).max_up, 5.0);
  CHECK_EQUAL(rows.extremes(f.data()).min_low, 0.5);
  rows.hide(0);
  CHECK_EQUAL(rows.extremes(f.data()).max_up, 1.0);
  rows.show(0);
  CHECK_EQUAL(rows.extremes(f.data()).max_up, 5.0);
}

TEST(row_states, a_hard_margin_loses_nothing) {
  TestRun test(1);
  const PNormHinge loss(1.0);
  const std::vector<double> y = {1.0, -1.0}, cost(2, infinity), f = {0.25, -0.5};
  RowStates rows(loss, {y.data(), y.data(), cost.data()}, {3.0, 3.0}, test.run);
  CHECK(rows.hard_margin());
  CHECK_EQUAL(rows.free(), 2);
  const RowSums sums = rows.sums(f.data(), 0.0);
  CHECK_EQUAL(sums.linear, 6.0);
  CHECK_EQUAL(sums.squared_norm, 2.25);
  CHECK_EQUAL(sums.lost, 0.0);
}
