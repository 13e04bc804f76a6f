// All problems of a fit over rows in memory, from the first pass to the sums of the certificates, in
// one call: on small problems anything in between would cost more than the solve.
#pragma once

#include <string>
#include <vector>

#include "base/budget.hpp"
#include "linear/linear_pass.hpp"

namespace psvm {

struct ProblemsAtOnce {
  BlockProblem block;
  const std::int8_t* signs;  // of every class in every problem, problem by problem
  index_t problems, classes;
  double p;  // finite costs only
  bool fit_intercept;
  const double* shift;  // about the mean of the features, or null
  double largest;       // about the largest |x - shift|^2
  // Solve as exactly as rounding allows, and take the middle of the best intercepts.
  bool exact;
};

struct SolvedProblem {
  std::vector<row_t> rows;  // that take part, ascending
  std::vector<double> alpha, w;
  double b = 0.0;
  PassSums sums;  // of kind certify
  std::string status;
  double began = 0.0;  // second of the call
  // Coordinate descent is first, if it is thought to be worth its passes; then Newton, unless the
  // first has solved it.
  index_t descent_passes = 0, newton_steps = 0;
  std::vector<RoundRecord> descent, newton;
};

// Threads solve one problem each, if there are several.
std::vector<SolvedProblem> solve_at_once(const FeatureRows& features, const LinearRows& rows,
                                         const ProblemsAtOnce& problems, const Budget& budget,
                                         RunControl& run);

}  // namespace psvm
