// The kernel solver: rounds of select, solve, apply, certify.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernel_rows.hpp"
#include "loss.hpp"
#include "row_cache.hpp"

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

struct Budget {
  double tol;
  index_t max_iter;  // rounds; negative for no limit
  double max_time;   // seconds; infinite for no limit
  bool impatient;    // give up when the gap would take hundreds of rounds more
};

struct RoundRecord {
  index_t iteration;
  double seconds, gap, primal, dual;
  index_t changed;  // variables moved by the round before
};

struct WorkingSetResult {
  std::vector<double> alpha, decision;
  std::string status;  // name of a member of psvm.problem.Status, in lower case
  index_t iterations = 0;
  std::vector<RoundRecord> history;
};

// `alpha` is a feasible start (all zero for a cold one). `on_round` sees every record and stops
// the solve by returning true.
template <class T>
WorkingSetResult solve_working_set(const KernelRows<T>& kernel, RowCache<T>* cache,
                                   const BinaryProblem& problem, std::vector<double> alpha,
                                   const Budget& budget,
                                   const std::function<bool(const RoundRecord&)>& on_round,
                                   RunControl& run);

}  // namespace psvm
