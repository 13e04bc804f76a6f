// The kernel solver: rounds of select, solve, apply, certify.
#pragma once

#include <string>
#include <vector>

#include "base/budget.hpp"
#include "kernel/kernel_rows.hpp"
#include "kernel/row_cache.hpp"
#include "smo/row_states.hpp"

namespace psvm {

// One problem in the span of some kernel rows, the columns of some segments of a kernel, in order:
//
//   min over w, b of  1/2 |w|^2 + sum_i cost_i max(0, y_i (t_i - f_i - b))^p + balance b
//
// where f_i is the decision value of the kernel row of row i. In the dual
//
//   max over alpha of  sum_i alpha_i y_i t_i - 1/2 |w(alpha)|^2 - sum_i conjugate_i(alpha_i)
//
// with sum_i alpha_i y_i = balance. Classification has t_i = y_i and a balance of 0.
struct KernelProblem {
  std::vector<int> segments;
  DualRows rows;
  double p;
  bool fit_intercept;
  Rows kernel_row = {};  // of each row, its place among the columns; empty: each its own, in order
  double balance = 0.0;

  bool hard_margin() const { return std::isinf(rows.cost[0]); }
};

struct WorkingSetResult {
  std::vector<double> alpha;
  std::vector<double> decision;  // by kernel row
  std::string status;            // name of a member of psvm.problem.Status, in lower case
  index_t iterations = 0;
  std::vector<RoundRecord> history;
  PhaseSeconds phases{};
};

struct WorkingSetStart {
  std::vector<double> alpha;     // feasible, balanced; pair steps keep it so
  std::vector<double> decision;  // by kernel row, or empty: not known
  std::vector<double> coef;      // that they belong to; empty: y alpha, added up by kernel row
};

template <class T>
WorkingSetResult solve_working_set(const KernelRows<T>& kernel, RowCache<T>* cache,
                                   const KernelProblem& problem, WorkingSetStart start,
                                   const Budget& budget, const OnRound& on_round, RunControl& run);

}  // namespace psvm
