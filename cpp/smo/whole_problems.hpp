// Many problems of few rows each, whole: all binary problems of a small fit in one call.
//
// Each has its kernel matrix in memory, which is its only working set: pair steps until the gap is
// within tol, then, where asked for, the last digits (face.hpp), then the certificate. What does not
// come to such an end is left to the solvers for any problem.
#pragma once

#include <functional>
#include <vector>

#include "base/budget.hpp"
#include "kernel/kernel_rows.hpp"
#include "loss/rounding.hpp"
#include "smo/row_states.hpp"

namespace psvm {

struct WholeProblem {
  std::vector<int> segments;  // one, or two different ones
  index_t size;               // rows
  DualRows rows;              // of finite cost
  Rows kernel_row;      // of each row, its place among the columns; empty: each its own, in order
  const double* start;  // feasible, balanced alpha
};

struct WholeGoal {
  double p;
  bool fit_intercept;
  double tol;     // relative gap asked for
  bool polish;    // to the last digits
  bool doubtful;  // whether kernel matrices may be indefinite; to be polished they are looked at
  index_t max_steps;  // of pairs and per row, then give up; negative for no limit
  index_t max_iter;   // rounds, then stop; negative for no limit
  double max_effort;  // seconds of the call, less those of waiting, then give up
  double max_time;
  PowerError power_error{};
  // How far decision values of dual variables that sum up to 1 may be off, and the largest |K(x, z)|.
  double error_of_unit = 0.0, largest_entry = 0.0;
};

// Sees every round of the problem of a number, and whether it was of the last digits; stops the problem
// by returning true. May be empty: only then problems are solved on several threads.
using OnWholeRound = std::function<bool(index_t, bool, const RoundRecord&)>;

// As certificate.py's, of the alpha and the decision values written beside.
struct WholeOutcome {
  bool solved = false;      // to the goal
  bool stopped = false;     // on request, or after the last round
  bool polished = false;    // to the last digits
  bool indefinite = false;  // the kernel matrix, as far as it was looked at
  double primal = 0.0, dual = 0.0, gap = infinity, magnitude = 0.0, squared_norm = 0.0;
  double intercept = 0.0;
  double alpha_sum = 0.0, excess = 0.0;  // of alpha, and of alpha y
  double true_gap = infinity;            // whatever was rounded
  index_t rounds = 0;
  std::vector<RoundRecord> history;  // of the pair steps
};

// Solves every problem on its own, on as many threads as `run` has; `alpha` and `decision` take the
// values of all rows of all problems, one problem after the other. Alpha is the start where the steps
// from there led nowhere.
std::vector<WholeOutcome> solve_whole_problems(const KernelRows<double>& kernel,
                                               const std::vector<WholeProblem>& problems,
                                               const WholeGoal& goal, const OnWholeRound& on_round,
                                               double* alpha, double* decision, RunControl& run);

}  // namespace psvm
