// The dual over one variable, solved exactly.
#pragma once

#include <cmath>

#include "loss/loss.hpp"

namespace psvm {

// One line of the cache, for rows are met in random order.
struct alignas(64) Variable {
  double alpha, slack;  // slack = slack_of(alpha)
  double cost, norm;    // norm = |x|^2
  double y, goal;   // goal = y t, 1 in classification: a row has slack where its margin is below
  double gradient;  // of the negative dual, when last visited
  double margin;    // y (<w, x> + b), when last visited

  bool at_lower_bound() const { return alpha == 0.0; }
  bool at_upper_bound() const { return alpha == cost; }  // set exactly by CoordinateStep
  // Whether this is a row at 0 that has no slack where the other one, on the same features, has: the
  // two sides of a tube.
  bool is_other_side_of(const Variable& other) const {
    return alpha == 0.0 && y != other.y && goal + other.goal <= 0.0;
  }
};

// The maximiser of the dual over one variable: the root alpha >= 0 of Q alpha + slack_of(alpha) = c,
// at p = 1 cut off at the cost.
class CoordinateStep {
 public:
  explicit CoordinateStep(const PNormHinge& loss) : loss_(loss) {}

  // Moves v.alpha and v.slack to the root.
  void solve(Variable& v, double Q, double c) const {
    if (c <= 0.0) {
      v.alpha = v.slack = 0.0;
    } else if (loss_.bounded()) {
      v.alpha = c < Q * v.cost ? c / Q : v.cost;
    } else if (loss_.p == 2.0) {
      v.alpha = c / (Q + 0.5 / v.cost);
      v.slack = 0.5 * v.alpha / v.cost;
    } else if (loss_.p == 1.5) {
      // xi + Q p cost sqrt(xi) = c, a quadratic in sqrt(xi)
      const double half = 0.75 * Q * v.cost, root = c / (half + std::sqrt(half * half + c));
      v.slack = root * root;
      v.alpha = 1.5 * v.cost * root;
    } else if (loss_.p == 3.0) {
      // xi + 3 Q cost xi^2 = c
      v.slack = 2.0 * c / (1.0 + std::sqrt(1.0 + 12.0 * Q * v.cost * c));
      v.alpha = 3.0 * v.cost * v.slack * v.slack;
    } else {
      const auto slack_of = [&](double alpha) { return loss_.slack_of(alpha, v.cost); };
      const auto alpha_of = [&](double xi) { return loss_.alpha_of(xi, v.cost); };
      // The unknown is the one of which the other is a convex power.
      if (loss_.p < 2.0)
        newton(v.alpha, v.slack, Q, 1.0, c, 1.0 / (loss_.p - 1.0), slack_of, alpha_of);
      else
        newton(v.slack, v.alpha, 1.0, Q, c, loss_.p - 1.0, alpha_of, slack_of);
    }
  }

 private:
  // The root z of A z + B power(z) = c, where power(z) is a multiple of z^e with e > 1, and
  // inverse(power(z)) = z: convex in z, so that Newton's method falls monotonically to the root
  // from any point above it. `z` and `term` = power(z) start at the old values: one step from there
  // ends above the root and costs no power.
  template <class PowerOf, class Inverse>
  static void newton(double& z, double& term, double A, double B, double c, double e,
                     const PowerOf& power, const Inverse& inverse) {
    const double old = z;
    if (old > 0.0) z -= (A * z + B * term - c) / (A + e * B * term / z);
    if (old > 0.0 && z > 0.5 * old && z < 1.5 * old) {
      term = power(z);
    } else {  // the lower one of two bounds of the root
      z = A > 0.0 ? c / A : infinity;
      term = power(z);
      if (!(B * term <= c)) {
        term = c / B;
        z = inverse(term);
      }
    }
    for (int step = 0; step < 100; ++step) {
      const double before = z, move = (A * z + B * term - c) / (A + e * B * term / z);
      z -= move;
      // Convergence is quadratic: the rest is below rounding, and the term follows linearly.
      if (std::abs(move) <= 1e-9 * before) {
        term -= e * term * move / before;
        return;
      }
      term = power(z);
    }
  }

  const PNormHinge& loss_;
};

}  // namespace psvm
