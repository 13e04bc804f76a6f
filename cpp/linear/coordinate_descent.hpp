// Dual coordinate descent for the linear problem
//
//   min_{w,b}  1/2 |w|^2 + sum_i cost_i max(0, y_i (t_i - <w, x_i> - b))^p,
//
// one dual variable at a time, w = sum_i alpha_i y_i x_i kept up to date.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/budget.hpp"
#include "base/run_control.hpp"
#include "linear/linear_rows.hpp"

namespace psvm {

struct CoordinateProblem {
  index_t size;
  const double* y;            // -1 or +1
  const double* target;       // null: y, as in classification
  const double* cost;         // > 0; all infinite for a hard margin
  const std::int64_t* place;  // the row of features of each row; null: each has its own
  double p;
  bool fit_intercept;
};

struct CoordinateResult {
  // The point of the best primal value and, beside it, the feasible alpha of the best dual value.
  std::vector<double> w, alpha;
  double intercept = 0.0;
  std::string status;  // name of a member of psvm.problem.Status, in lower case
  index_t iterations = 0;
  std::vector<RoundRecord> history;  // one per gap check
};

// `alpha` is any start within the bounds (all zero for a cold one). An iteration is a pass over the
// active rows.
CoordinateResult solve_coordinate_descent(const FeatureRows& features,
                                          const CoordinateProblem& problem,
                                          const std::vector<double>& alpha, const Budget& budget,
                                          const OnRound& on_round, RunControl& run);

}  // namespace psvm
