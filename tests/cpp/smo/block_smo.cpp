#include "smo/block_smo.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
// A block of a whole problem, filled as a round does.
template <class T>
Block<T> block_of(const SmallProblem& problem, const std::vector<double>& K, bool fit_intercept) {
  const std::size_t n = problem.size();
  Block<T> block;
  block.resize(static_cast<index_t>(n), !fit_intercept);
  const auto f = problem.decision(K, problem.alpha);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j)
      block.gram[i * at(block.stride) + j] = static_cast<T>(K[i * n + j]);
    block.diagonal[i] = static_cast<T>(K[i * n + i]);
    block.y[i] = problem.y[i];
    block.cost[i] = problem.cost[i];
    block.alpha[i] = problem.alpha[i];
    block.slack[i] = problem.slack_of(i, problem.alpha[i]);
    block.score[i] = static_cast<T>(problem.target[i] - f[i] - problem.y[i] * block.slack[i]);
  }
  return block;
}

template <class T>
void check_optimal(double p, std::size_t n, bool fit_intercept, double tolerance) {
  const SmallProblem problem(p, n, 11);
  const SmallKernel<T> kernel(static_cast<index_t>(n), 3, 12);
  TestRun test(1);
  Block<T> block = block_of<T>(problem, kernel.K, fit_intercept);
  const BlockResult result =
      solve_block<T>(block, PNormHinge(p), {0.0, 0.1 * tolerance, 100000, infinity}, test.run);
  const std::vector<double> alpha(block.alpha.begin(),
                                  block.alpha.begin() + static_cast<index_t>(n));
  const auto f = problem.decision(kernel.K, alpha);
  CHECK(result.steps > static_cast<index_t>(n) / 4);
  CHECK(!result.indefinite && !result.unbounded);
  const double before =
      problem.violation(problem.decision(kernel.K, problem.alpha), problem.alpha, fit_intercept);
  CHECK(before > 0.1);
  CHECK(problem.violation(f, alpha, fit_intercept) <= tolerance);
  if (fit_intercept)
    CHECK_NEAR(balance_of(problem.y, alpha), balance_of(problem.y, problem.alpha), 1e-12);
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(alpha[i] >= 0.0 && (p > 1.0 || alpha[i] <= problem.cost[i]));
    CHECK_NEAR(block.slack[i], problem.slack_of(i, alpha[i]), 1e-12);
    const double score = problem.target[i] - f[i] - problem.y[i] * block.slack[i];
    CHECK_NEAR(static_cast<double>(block.score[i]), score, tolerance);
  }
}
}  // namespace

TEST_PER_CPU(block_smo, ends_where_no_pair_violates) {
  for (const double p : {1.0, 1.25, 1.5, 2.0, 3.0})
    for (const std::size_t n : {5u, 33u, 90u})
      for (const bool fit_intercept : {true, false}) {
        check_optimal<double>(p, n, fit_intercept, 1e-6);
        check_optimal<float>(p, n, fit_intercept, 1e-3);
      }
}

TEST(block_smo, a_share_of_the_violation_is_enough) {
  const SmallProblem problem(1.5, 60, 13);
  const SmallKernel<double> kernel(60, 3, 14);
  TestRun test(1);
  const double before =
      problem.violation(problem.decision(kernel.K, problem.alpha), problem.alpha, true);
  index_t last_steps = 0;
  for (const double share : {0.5, 0.1, 0.01}) {
    Block<double> block = block_of<double>(problem, kernel.K, true);
    const auto result =
        solve_block<double>(block, PNormHinge(1.5), {share, 0.0, 100000, infinity}, test.run);
    const std::vector<double> alpha(block.alpha.begin(), block.alpha.begin() + 60);
    CHECK(problem.violation(problem.decision(kernel.K, alpha), alpha, true) <=
          1.001 * share * before);
    CHECK(result.steps > last_steps);
    last_steps = result.steps;
  }
}

TEST(block_smo, steps_are_limited) {
  const SmallProblem problem(2.0, 60, 15);
  const SmallKernel<double> kernel(60, 3, 16);
  TestRun test(1);
  Block<double> block = block_of<double>(problem, kernel.K, true);
  CHECK_EQUAL(solve_block<double>(block, PNormHinge(2.0), {0.0, 0.0, 3, infinity}, test.run).steps,
              3);
  int changed = 0;
  for (std::size_t i = 0; i < 60; ++i) changed += block.alpha[i] != problem.alpha[i];
  CHECK(changed >= 2 && changed <= 6);
  Block<double> still = block_of<double>(problem, kernel.K, true);
  CHECK_EQUAL(
      solve_block<double>(still, PNormHinge(2.0), {0.0, 1e9, 100, infinity}, test.run).steps, 0);
}

TEST(block_smo, a_kernel_that_is_not_positive_is_told) {
  SmallProblem problem(2.0, 20, 17);
  std::vector<double> K(400, 0.0);
  for (std::size_t i = 0; i < 20; ++i) K[i * 21] = -0.3;
  TestRun test(1);
  Block<double> block = block_of<double>(problem, K, true);
  CHECK(solve_block<double>(block, PNormHinge(2.0), {1e-3, 0.0, 1000, infinity}, test.run)
            .indefinite);
}

TEST(block_smo, a_dual_without_a_bound_is_told) {
  // Equal points of either sign and no slack: both variables grow for ever.
  SmallProblem problem(1.0, 2, 18, true);
  problem.cost.assign(2, infinity);
  problem.alpha.assign(2, 0.0);
  TestRun test(1);
  Block<double> block = block_of<double>(problem, {1.0, 1.0, 1.0, 1.0}, true);
  CHECK(
      solve_block<double>(block, PNormHinge(1.0), {1e-3, 0.0, 1000, infinity}, test.run).unbounded);
}

TEST(block_smo, a_dual_that_grows_beyond_all_bounds_is_left_before_it_overflows) {
  SmallProblem problem(3.0, 20, 17);
  std::vector<double> K(400, 0.0);
  for (std::size_t i = 0; i < 20; ++i) K[i * 21] = -10.0;
  TestRun test(1);
  Block<double> block = block_of<double>(problem, K, true);
  const BlockGoal goal{1e-3, 0.0, 1000000, 1e6};
  const BlockResult result = solve_block<double>(block, PNormHinge(3.0), goal, test.run);
  CHECK(result.indefinite && result.unbounded && result.gain >= 1e6);
  for (std::size_t i = 0; i < 20; ++i) CHECK(std::isfinite(block.alpha[i]));
}

TEST(block_smo, steps_below_the_last_digit_are_not_repeated) {
  // Scores that differ by less than a step of 1e-16 alpha can mend.
  SmallProblem problem(1.0, 2, 18, true);
  problem.cost.assign(2, infinity);
  problem.alpha.assign(2, 1e17);
  TestRun test(1);
  Block<double> block = block_of<double>(problem, {1.0, 0.0, 0.0, 1.0}, true);
  block.score[0] = block.y[0];
  block.score[1] = block.y[1];
  const BlockGoal goal{0.0, -1.0, 1000000, infinity};
  CHECK(solve_block<double>(block, PNormHinge(1.0), goal, test.run).steps <= 200);
}
