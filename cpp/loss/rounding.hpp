// What rounding may have done to the certificate of an alpha, from sums alone. See
// mathematics/rounding.py, whose bounds row by row are tighter and take longer.
#pragma once

#include <algorithm>
#include <cmath>

#include "loss/loss.hpp"

namespace psvm {

// Relative errors of cost xi^p and of conjugate(alpha), given xi and alpha: power_error in rounding.py.
struct PowerError {
  double loss, conjugate;
};

// What rounding may add to P - D at most, and take off P.
struct Rounding {
  double difference, primal;
};

// What the rows of a problem sum up to at an alpha; the last line as in the certificate.
struct CertifiedSums {
  double count, cost;     // rows, and the sum of their costs
  double alpha, excess;   // sums of alpha, and of alpha y
  double largest_target;  // no target is larger in size
  double primal, dual, gap, magnitude, squared_norm, intercept;
};

// Slacks that are all off by e have at most (L^(1/p) + e (sum_i cost_i)^(1/p))^p lost where L was lost
// (Minkowski). Sums are taken in pairs, or better. `error` is that of all decision values, `largest`
// the largest |K(x, z)|. Never for a hard margin.
inline Rounding rounding_of_sums(const CertifiedSums& sums, double p, bool fit_intercept,
                                 double balance, const PowerError& power, double error,
                                 double largest) {
  constexpr Rounding nothing{infinity, infinity};
  const double share = (24.0 + std::log2(sums.count + 1.0)) * unit_roundoff;
  const double half = 0.5 * sums.squared_norm, goals = sums.largest_target * sums.alpha;
  error += 4.0 * unit_roundoff * (std::abs(sums.intercept) + sums.largest_target);
  const double lost =
      std::max(sums.primal - half - balance * sums.intercept, 0.0) + 2.0 * share * sums.magnitude;
  const double conjugate =
      std::max(goals - half - sums.dual, 0.0) + 2.0 * share * (goals + sums.magnitude);
  const double pull = lost + conjugate + sums.gap * sums.magnitude;
  const double more = std::pow(std::pow(lost, 1.0 / p) + error * std::pow(sums.cost, 1.0 / p), p);
  const double added = more * (1.0 + 4.0 * p * share) - lost + 2.0 * (power.loss + share) * more;
  const double pulled = sums.alpha * error;
  double difference =
      added + pulled + power.conjugate * conjugate + 2.0 * share * (pull + conjugate);
  if (fit_intercept && sums.alpha > 0.0) {
    const double excess = std::abs(sums.excess - balance) + sums.count * unit_roundoff * sums.alpha;
    const double lighter = 0.5 * (sums.alpha - std::abs(balance) - excess);
    if (!(lighter > excess)) return nothing;
    difference += 2.0 * (excess * pull / lighter + excess * excess * largest);
  }
  const double primal = added + pulled + share * sums.magnitude;
  if (!std::isfinite(difference) || !std::isfinite(primal)) return nothing;
  return {difference, primal};
}

// The relative gap with what rounding may add to P - D and take off P.
inline double true_gap(const CertifiedSums& sums, const Rounding& rounding) {
  const double least = sums.magnitude - rounding.primal;
  double gap = infinity;
  if (least > 0.0 && std::isfinite(rounding.difference))
    gap = (sums.gap * sums.magnitude + rounding.difference) / least * (1.0 + 8.0 * unit_roundoff);
  // The optimum is not negative.
  return sums.primal >= sums.magnitude ? std::min(gap, 1.0) : gap;
}

}  // namespace psvm
