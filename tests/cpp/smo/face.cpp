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
  for (const double p : {1.0, 1.2, 1.5, 2.0, 2.5, 3.0})
    for (const bool fit_intercept : {true, false}) {
      const SmallProblem problem(p, static_cast<std::size_t>(n), 1, true);
      const PNormHinge loss(p);
      const DualRows rows = problem.rows();
      Block<double> block;
      fill(block, kernel, !fit_intercept);
      Places places({}, n);
      Face face(loss, rows, places, block, fit_intercept, test.run);
      std::vector<double> alpha =
          p < 2.0 ? near_optimum(kernel, problem, fit_intercept) : problem.alpha;
      const bool ended = p < 2.0 ? face.solve(alpha) : face.solve_from_afar(alpha);
      CHECK(ended);
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
  Face face(loss, rows, places, block, false, test.run);
  CHECK(face.solve(alpha));
  CHECK(problem.violation(problem.decision(kernel.K, alpha), alpha, false) < 1e-9);
}
