#include "smo/face.hpp"

#include "smo/small_problems.hpp"
#include "smo/whole_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
constexpr index_t n = 60;

// The block that holds the whole matrix of a kernel.
void fill(Block<double>& block, const SmallKernel<double>& kernel, bool phantom) {
  block.resize(n, phantom);
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) block.gram[at(i * block.stride + j)] = kernel.entry(i, j);
    block.diagonal[at(i)] = kernel.entry(i, i);
  }
}
// By pair steps.
std::vector<double> near_optimum(const SmallKernel<double>& kernel, const SmallProblem& problem,
                                 bool fit_intercept) {
  const std::vector<double> zeros(at(n), 0.0);
  std::vector<double> alpha(at(n)), decision(at(n));
  TestRun test(1);
  solve_whole_problems(*kernel.points, {{{0}, n, problem.rows(), {}, zeros.data()}},
                       {problem.p, fit_intercept, 1e-7, false, false, -1, -1, infinity, infinity},
                       {}, alpha.data(), decision.data(), test.run);
  return alpha;
}
}  // namespace

TEST(face, ends_where_no_row_wants_to_move) {
  const SmallKernel<double> kernel(n, 8, 2);
  TestRun test(1);
  for (const double p : {1.0, 1.2, 1.5, 2.0})
    for (const bool fit_intercept : {true, false}) {
      const SmallProblem problem(p, static_cast<std::size_t>(n), 1, true);
      const PNormHinge loss(p);
      const DualRows rows = problem.rows();
      Block<double> block;
      fill(block, kernel, !fit_intercept);
      Places places({}, n);
      WholeMatrix matrix(block, places);
      Face face(loss, rows, matrix, fit_intercept, test.run);
      std::vector<double> alpha = near_optimum(kernel, problem, fit_intercept);
      CHECK(face.solve(alpha));
      const auto f = problem.decision(kernel.K, alpha);
      CHECK(problem.violation(f, alpha, fit_intercept) < 1e-7);
      if (fit_intercept) CHECK_NEAR(balance_of(problem.y, alpha), 0.0, 1e-9);
    }
}

TEST(face, of_equal_rows_is_any_of_many) {
  // Two rows of one kernel row and one cost, both free: any split of their sum is as good.
  SmallKernel<double> kernel(n, 8, 2);
  for (index_t j = 0; j < n; ++j) kernel.K[at(n + j)] = kernel.K[at(j)];
  for (index_t i = 0; i < n; ++i) kernel.K[at(i * n + 1)] = kernel.K[at(i * n)];
  TestRun test(1);
  SmallProblem problem(1.0, static_cast<std::size_t>(n), 1, true);
  problem.y[1] = problem.target[1] = problem.y[0];
  problem.cost[0] = problem.cost[1] = 100.0;
  const PNormHinge loss(1.0);
  const DualRows rows = problem.rows();
  Block<double> block;
  fill(block, kernel, true);
  std::vector<double> alpha(at(n), 0.0);
  alpha[0] = alpha[1] = 0.1;
  Places places({}, n);
  WholeMatrix matrix(block, places);
  Face face(loss, rows, matrix, false, test.run);
  CHECK(face.solve(alpha));
  CHECK(problem.violation(problem.decision(kernel.K, alpha), alpha, false) < 1e-9);
}

TEST(face, what_would_fall_below_zero_goes_to_the_other_side) {
  // Regression without epsilon, from a point whose alpha are all on the wrong side.
  const SmallKernel<double> kernel(n, 8, 2);
  const auto values = numbers(at(n), -1.0, 1.0, 5);
  std::vector<double> y, target, cost, alpha;
  std::vector<index_t> place;
  for (index_t i = 0; i < 2 * n; ++i) {
    y.push_back(i % 2 ? -1.0 : 1.0);
    target.push_back(values[at(i / 2)]);
    cost.push_back(3.0);
    place.push_back(i / 2);
    alpha.push_back(y.back() * target.back() < 0.0 ? 1e-3 : 0.0);
  }
  const DualRows rows{y.data(), target.data(), cost.data()};
  TestRun test(1);
  for (const double p : {1.0, 1.5, 2.0}) {
    const PNormHinge loss(p);
    Block<double> block;
    fill(block, kernel, true);
    Places places(place, n);
    WholeMatrix matrix(block, places);
    Face face(loss, rows, matrix, false, test.run);
    std::vector<double> found = alpha;
    CHECK(face.solve(found));
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (i % 2) CHECK(found[i] == 0.0 || found[i - 1] == 0.0);
      double f = 0.0;
      for (std::size_t j = 0; j < found.size(); ++j)
        f += found[j] * y[j] * kernel.entry(place[i], place[j]);
      // Its slack is that of its alpha, or there is none of either.
      const double xi = y[i] * (target[i] - f);
      if (p > 1.0) CHECK_NEAR(std::max(xi, 0.0), loss.slack_of(found[i], cost[i]), 1e-9);
    }
  }
}
