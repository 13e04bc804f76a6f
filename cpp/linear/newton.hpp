// Newton's method of solvers/linear/newton.py on rows in memory and few features, without Python: the
// same steps and rules, for soft margins and all rows. There the text; here only what differs.
#pragma once

#include <string>
#include <vector>

#include "base/budget.hpp"
#include "linear/linear_pass.hpp"

namespace psvm {

struct NewtonProblem {
  double p;
  bool fit_intercept;
  const double* shift;  // null: none
  double largest;       // largest |x - shift|^2
  double typical_cost, total_cost;
};

// `sigma` 0 is a cold start. `primal` and `dual` are P at `best_scale` times (w, b) and D at the best
// alpha of the share, where that is known.
struct NewtonStart {
  std::vector<double> w;
  double b = 0.0;
  Centre centre = Centre::zero;
  double sigma = 0.0;
  bool has_best = false;
  double best_scale = 1.0;
  double primal = infinity, dual = 0.0;
};

// The best alpha stays with the share.
struct NewtonResult {
  std::vector<double> w;
  double b = 0.0;
  std::string status;
  index_t iterations = 0;
};

// Relative gap that is as good as rounding.
inline constexpr double as_good_as_rounding = 1e-13;

// Sigma of a cold start.
double first_sigma(const NewtonProblem& problem);

NewtonResult solve_newton(const LinearRows& rows, Share& share, const NewtonProblem& problem,
                          const NewtonStart& start, const Budget& budget, const OnRound& on_round,
                          RunControl& run);

}  // namespace psvm
