// The p-norm hinge in scalars: slack_of, its slope, the conjugate, and the exact pair step.
// Formulas and names as in src/psvm/loss.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace psvm {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double unit_roundoff = 0x1p-53;

// x^e for x >= 0, with the exponents of p = 1.25, 1.5, 2 and 3 spelled out: std::pow costs ten
// times a square root.
class Power {
 public:
  explicit Power(double exponent) : exponent_(exponent), kind_(classify(exponent)) {}
  double operator()(double x) const {
    switch (kind_) {
      case 0: return 1.0;
      case 1: return std::sqrt(std::sqrt(x));
      case 2: return std::sqrt(x);
      case 3: return x;
      case 4: return x * std::sqrt(std::sqrt(x));
      case 5: return x * std::sqrt(x);
      case 6: return x * x;
      case 7: return x * x * x;
      case 8: return (x * x) * (x * x);
      default: return std::pow(x, exponent_);
    }
  }

 private:
  static int classify(double e) {
    constexpr double known[] = {0, 0.25, 0.5, 1, 1.25, 1.5, 2, 3, 4};
    for (int k = 0; k < 9; ++k)
      if (e == known[k]) return k;
    return -1;
  }
  double exponent_;
  int kind_;
};

// The loss cost * max(0, 1 - margin)^p. An infinite cost is the hard margin for every p.
class PNormHinge {
 public:
  explicit PNormHinge(double p)
      : p(p),
        to_p_(p),
        to_p_minus_1_(p - 1.0),
        to_slack_(p > 1.0 ? 1.0 / (p - 1.0) : 0.0),
        slope_factor_(p > 1.0 ? 1.0 / (p - 1.0) : 0.0) {}

  const double p;

  bool bounded() const { return p == 1.0; }
  // 1/q = (p - 1)/p
  double inverse_q() const { return (p - 1.0) / p; }

  double value(double xi, double cost) const { return xi > 0.0 ? cost * to_p_(xi) : 0.0; }

  // p cost xi^(p-1)
  double alpha_of(double xi, double cost) const {
    if (xi <= 0.0) return 0.0;
    return bounded() ? cost : p * cost * to_p_minus_1_(xi);
  }

  // (alpha / (p cost))^(1/(p-1)); 0 at p = 1
  double slack_of(double alpha, double cost) const {
    return bounded() || alpha <= 0.0 ? 0.0 : to_slack_(alpha / (p * cost));
  }

  // d slack_of / d alpha, given slack = slack_of(alpha), for alpha > 0
  double slack_slope(double alpha, double slack) const {
    return bounded() ? 0.0 : slope_factor_ * slack / alpha;
  }

  double conjugate(double alpha, double slack) const { return alpha * slack * inverse_q(); }

 private:
  Power to_p_, to_p_minus_1_, to_slack_;
  double slope_factor_;
};

// One side of a pair step: alpha moves to alpha + direction * t, direction = +1 or -1.
struct PairSide {
  double alpha, cost, slack;
  double direction;
};

// The step t in [0, limit] that maximises the dual along alpha_i += y_i t, alpha_j -= y_j t:
// the root of the increasing function
//   phi'(t) = -violation + eta t + [slack_i(t) - slack_i(0)] dir_i + [slack_j(t) - slack_j(0)] dir_j
// (dir_i = y_i, dir_j = -y_j). `eta` is K_ii + K_jj - 2 K_ij, clipped at 0: for an indefinite
// kernel the true gain is then underestimated, never the opposite.
inline double pair_step(const PNormHinge& loss, const PairSide& i, const PairSide& j,
                        double violation, double eta) {
  eta = std::max(eta, 0.0);
  double limit = infinity;
  for (const PairSide* side : {&i, &j}) {
    if (side->direction < 0.0)
      limit = std::min(limit, side->alpha);
    else if (loss.bounded())
      limit = std::min(limit, side->cost - side->alpha);
  }
  if (limit <= 0.0) return 0.0;
  const double newton = eta > 0.0 ? violation / eta : infinity;
  if (loss.bounded()) return std::min(newton, limit);
  if (loss.p == 2.0) {
    const double curvature = eta + 0.5 / i.cost + 0.5 / j.cost;
    return curvature > 0.0 ? std::min(violation / curvature, limit) : limit;
  }
  // Each growing side alone may not gain more slack than the violation: this bounds the root even
  // where eta = 0 (duplicated rows).
  double high = std::min(limit, newton);
  for (const PairSide* side : {&i, &j})
    if (side->direction > 0.0 && std::isfinite(side->cost))
      high = std::min(high, loss.alpha_of(side->slack + violation, side->cost) - side->alpha);
  if (!(high > 0.0)) return 0.0;
  if (std::isinf(high)) return high;

  double slope = 0.0;
  const auto evaluate = [&](double t) {
    double value = -violation + eta * t;
    slope = eta;
    for (const PairSide* side : {&i, &j}) {
      const double alpha = std::max(side->alpha + side->direction * t, 0.0);
      const double slack = loss.slack_of(alpha, side->cost);
      value += side->direction * (slack - side->slack);
      if (alpha > 0.0) slope += loss.slack_slope(alpha, slack);
    }
    return value;
  };
  if (evaluate(high) <= 0.0) return high;  // also the way to a bound
  double low = 0.0, t = high, value = -violation;
  // Newton inside a bracket that at least halves every second step.
  double last_width = 2.0 * high;
  for (int step = 0; step < 100; ++step) {
    double next = t - value / slope;
    if (step == 0 || !(next > low && next < high) || 2.0 * (high - low) > last_width)
      next = step == 0 ? 0.5 * high : 0.5 * (low + high);
    last_width = high - low;
    t = next;
    value = evaluate(t);
    if (value > 0.0)
      high = t;
    else
      low = t;
    if (std::abs(value) <= 1e-9 * violation || high - low <= 1e-14 * high) break;
  }
  return std::abs(value) <= 1e-9 * violation ? t : low;
}

}  // namespace psvm
