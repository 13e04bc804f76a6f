// The proximal envelope of the p-norm hinge, for vectors of rows.
//
// A row falls short of its goal by s = y (t - <w, x> - b), in classification 1 - margin; its slack is
// xi = max(0, s). Around a centre a with weight sigma, its dual variable is
//   alpha = argmax over alpha >= 0 of  alpha s - conjugate(alpha) - (alpha - a)^2 / (2 sigma)
// and W = d alpha / d s. With t = a / sigma + s, t <= 0 gives alpha = W = 0; else
//   p = 1        alpha = clip(sigma t, 0, cost)
//   sigma = inf  alpha = p cost t^(p-1)
//   1 < p < 2    alpha = sigma t (1 - rho),  rho + kappa rho^(p-1) = 1,  kappa = p cost t^(p-2) / sigma
// The equation for rho is solved by Newton's method for log S = 0, S = rho + kappa rho^(p-1), in
// log rho: S is convex and increasing there, so from the right the iterates fall to the root.
#pragma once

#include <cmath>

#include "base/powers.hpp"
#include "base/simd.hpp"
#include "loss/loss.hpp"

namespace psvm {

enum class Exponent { one, one_and_a_half, below_two, two, three, above_two };

inline Exponent exponent_of(double p) {
  if (p == 1.0) return Exponent::one;
  if (p == 1.5) return Exponent::one_and_a_half;
  if (p < 2.0) return Exponent::below_two;
  if (p == 2.0) return Exponent::two;
  return p == 3.0 ? Exponent::three : Exponent::above_two;
}

// sigma is infinite for p >= 2. `hard` is the hard margin: p = 1 without an upper bound or a loss.
struct Envelope {
  double p, sigma;
  bool hard;
};

// Of one row or a vector of rows.
template <class V>
struct ProxValue {
  V alpha, weight, loss, conjugate;
};

template <Exponent kind, class V>
PSVM_INLINE V slope_power(V xi, double p) {  // xi^(p-1)
  if constexpr (kind == Exponent::one_and_a_half) return vsqrt<V>(xi);
  if constexpr (kind == Exponent::two) return xi;
  if constexpr (kind == Exponent::three) return xi * xi;
  return power_of<V>(xi, p - 1.0);
}

template <Exponent kind, class V>
PSVM_INLINE V proximal_share(V t, V cost, const Envelope& e) {  // rho
  if constexpr (kind == Exponent::one_and_a_half) {
    const V kappa = 1.5 * cost / (e.sigma * vsqrt<V>(t));
    const V r = 2.0 / (kappa + vsqrt<V>(kappa * kappa + 4.0));
    return r * r;
  } else {
    const double power = e.p - 1.0;
    const V log_kappa = log2_of<V>(cost * (e.p / e.sigma)) + (e.p - 2.0) * log2_of<V>(t);
    V v = -log_kappa / power;
    v = v < 0.0 ? v : V{};
    // Quadratic from the start; near p = 1 the two terms change over within a kink.
    for (int step = 0; step < 40; ++step) {
      const V a = exp2_of<V>(v), b = exp2_of<V>(log_kappa + power * v);
      const V s = a + b, log_s = log2_of<V>(s);
      v -= s * log_s / (a + power * b);
      bool done = true;
      for (int k = 0; k < width<V>; ++k) done = done && !(log_s[k] > 1e-8);
      if (done) break;
    }
    return exp2_of<V>(v);
  }
}

template <Exponent kind, class V>
PSVM_INLINE ProxValue<V> prox_of(V shortfall, V centre, V cost, const Envelope& e) {
  const V zero{};
  const V xi = vmax<V>(shortfall, zero);
  ProxValue<V> value;
  if constexpr (kind == Exponent::one) {
    const V raw = centre + e.sigma * shortfall;
    value.alpha = vmax<V>(vmin<V>(raw, cost), zero);
    // 0 < raw < cost, in two choices: three conditions at once are taken apart by GCC.
    const V below = choose<V>(greater<V>(cost, raw), broadcast<V>(e.sigma), zero);
    value.weight = choose<V>(greater<V>(raw, zero), below, zero);
    value.loss = e.hard ? zero : cost * xi;
    value.conjugate = zero;
  } else if constexpr (kind == Exponent::one_and_a_half || kind == Exponent::below_two) {
    const V raw = centre / e.sigma + shortfall;
    const V t = raw > 1e-300 ? raw : broadcast<V>(1.0);
    const V rho = proximal_share<kind, V>(t, cost, e);
    const V slack = t * rho;
    const V by_slack = e.p * cost * slope_power<kind, V>(slack, e.p);
    // Near rho = 1 the difference would cancel.
    const V alpha = rho > 0.9 ? by_slack : e.sigma * t * (1.0 - rho);
    const V share = (e.p - 1.0) * alpha / (e.sigma * t);
    const V weight = e.sigma * share / (share + rho);
    value.alpha = raw > 1e-300 ? alpha : zero;
    value.weight = raw > 1e-300 ? weight : zero;
    value.loss = cost * xi * slope_power<kind, V>(xi, e.p);
    value.conjugate = value.alpha * slack * ((e.p - 1.0) / e.p);
  } else {
    const V alpha = e.p * cost * slope_power<kind, V>(xi, e.p);
    value.alpha = xi > 0.0 ? alpha : zero;
    value.weight = xi > 0.0 ? (e.p - 1.0) * alpha / xi : zero;
    value.loss = value.alpha * xi * (1.0 / e.p);
    value.conjugate = value.alpha * xi * ((e.p - 1.0) / e.p);
  }
  return value;
}

}  // namespace psvm
