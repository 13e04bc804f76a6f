#include "smo/working_set.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
const Budget exactly{1e-7, 10000, infinity, false};

template <class T>
WorkingSetResult solve(const SmallKernel<T>& kernel, const KernelProblem& problem,
                       std::vector<double> alpha, const Budget& budget = exactly,
                       const OnRound& on_round = {}) {
  TestRun test(1);
  return solve_working_set<T>(*kernel.points, nullptr, problem, {std::move(alpha), {}, {}}, budget,
                              on_round, test.run);
}
}  // namespace

TEST(working_set, ends_at_a_gap_that_is_true) {
  for (const double p : {1.0, 1.5, 2.0, 3.0})
    for (const bool fit_intercept : {true, false}) {
      const SmallProblem problem(p, 600, 1);
      const SmallKernel<double> kernel(600, 3, 2);
      const auto result = solve(kernel, {{0}, problem.rows(), p, fit_intercept}, problem.alpha);
      CHECK_EQUAL(result.status, std::string("converged"));
      CHECK_EQUAL(result.history.size(), static_cast<std::size_t>(result.iterations) + 1);
      const auto f = problem.decision(kernel.K, result.alpha);
      for (std::size_t i = 0; i < f.size(); ++i) CHECK_NEAR(result.decision[i], f[i], 1e-9);
      // The dual is as said, and no b makes the primal smaller than it.
      const double dual = problem.dual(f, result.alpha),
                   norm = problem.squared_norm(f, result.alpha);
      const RoundRecord& last = result.history.back();
      CHECK_NEAR(last.dual, dual, 1e-9 * dual);
      const double lost = fit_intercept ? best_lost(problem, f) : problem.lost(f, 0.0);
      const double primal = 0.5 * norm + lost;
      CHECK(primal >= dual * (1.0 - 1e-12));
      CHECK_NEAR(last.primal, primal, 1e-6 * primal);
      CHECK(last.gap <= 1e-7);
      if (fit_intercept) CHECK_NEAR(balance_of(problem.y, result.alpha), 0.0, 1e-9);
    }
}

TEST(working_set, segments_are_a_part_of_the_kernel) {
  const SmallProblem problem(1.5, 90, 3, true);
  const SmallKernel<double> kernel(140, 3, 4, {0, 40, 90, 140});
  const auto result = solve(kernel, {{0, 2}, problem.rows(), 1.5, true}, problem.alpha);
  CHECK_EQUAL(result.status, std::string("converged"));
  const auto row = [](index_t i) { return i < 40 ? i : i + 50; };
  for (index_t i = 0; i < 90; ++i) {
    double f = 0.0;
    for (index_t j = 0; j < 90; ++j)
      f += problem.y[at(j)] * result.alpha[at(j)] * kernel.entry(row(i), row(j));
    CHECK_NEAR(result.decision[at(i)], f, 1e-9);
  }
}

TEST(working_set, stops_when_told) {
  const SmallProblem problem(1.5, 600, 5);
  const SmallKernel<double> kernel(600, 3, 6);
  const KernelProblem given{{0}, problem.rows(), 1.5, true};
  const auto status = [&](const Budget& budget, const OnRound& on_round = {}) {
    return solve(kernel, given, problem.alpha, budget, on_round).status;
  };
  CHECK_EQUAL(status({1e-9, 2, infinity, false}), std::string("max_iter"));
  CHECK_EQUAL(status({1e-9, -1, 0.0, false}), std::string("max_time"));
  CHECK_EQUAL(status({1e-9, -1, infinity, false, 10}), std::string("stalled"));
  index_t seen = 0;
  const auto result = solve(kernel, given, problem.alpha, {1e-9, -1, infinity, false},
                            [&](const RoundRecord& record) {
                              CHECK_EQUAL(record.iteration, seen++);
                              return record.iteration == 3;
                            });
  CHECK_EQUAL(seen, 4);
  CHECK(result.status != "converged");
}
