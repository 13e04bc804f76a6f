// The kernel solver: rounds of select, solve, apply, certify.
#pragma once

#include <string>
#include <vector>

#include "base/budget.hpp"
#include "kernel/kernel_rows.hpp"
#include "kernel/row_cache.hpp"
#include "loss/loss.hpp"

namespace psvm {

// One binary problem over some segments of a kernel: its variables are the columns of those
// segments, in order.
struct BinaryProblem {
  std::vector<int> segments;
  const double* y;     // -1 or +1
  const double* cost;  // > 0; all infinite for a hard margin
  double p;
  bool fit_intercept;
};

struct WorkingSetResult {
  std::vector<double> alpha, decision;
  std::string status;  // name of a member of psvm.problem.Status, in lower case
  index_t iterations = 0;
  std::vector<RoundRecord> history;
};

struct WorkingSetStart {
  std::vector<double> alpha;  // feasible; all zero for a cold start
  // Decision values known for coefficients that are y alpha up to rounding, or both empty.
  std::vector<double> coef, decision;
};

template <class T>
WorkingSetResult solve_working_set(const KernelRows<T>& kernel, RowCache<T>* cache,
                                   const BinaryProblem& problem, WorkingSetStart start,
                                   const Budget& budget, const OnRound& on_round, RunControl& run);

}  // namespace psvm
