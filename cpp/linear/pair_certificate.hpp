// Certificates of coefficients (w, b) and an alpha of their own, from sums over the rows, and what
// rounding may have done to them. With image = sum_i alpha_i y_i x_i and a balanced alpha,
//
//   P(w, b) - D(alpha) = 1/2 |w - image|^2 + terms
//   terms = sum_i alpha_i y_i (<w, x_i> + b - t_i) + cost_i xi_i^p + conjugate_i(alpha_i)
//
// where no term is negative. See mathematics/rounding.py for the bounds.
#pragma once

#include <algorithm>
#include <cmath>

#include "linear/linear_pass.hpp"
#include "loss/rounding.hpp"

namespace psvm {

struct PairCertificate {
  double primal, dual;
  double measured, gap;  // as computed, and true whatever was rounded
  double stretch;        // what w and b of a hard margin are multiplied by, lest a row has slack
};

inline Rounding rounding_of_pair(const PassSums& sums, double squared_norm, double squared_off,
                                 double features, double count, bool balanced,
                                 const PowerError& power) {
  constexpr double unit = unit_roundoff;
  // Rows are added up one after the other in chunks of at most 1024 and at least 32.
  const double depth = std::min(count, 1024.0 + count / 32.0) + 16.0;
  const double alpha = sums.dual.alpha[0] + sums.dual.alpha[1];
  const double excess = sums.dual.alpha[1] - sums.dual.alpha[0];
  const double conjugate = sums.dual.conjugate[0] + sums.dual.conjugate[1];
  const double off = std::sqrt(squared_off);
  const double image_error = (count + 4.0) * unit * sums.reach + unit * std::sqrt(squared_norm);
  double repair = 0.0;
  if (balanced && alpha > 0.0) {
    const double missed = std::abs(excess) + (count + 4.0) * unit * alpha;
    if (missed > 0.25 * alpha) return {infinity, infinity};
    const double share = 4.0 * missed / alpha;
    repair = share * sums.pull + share * sums.reach * (share * sums.reach);
  }
  const double added = sums.rounding * (1.0 + 1e-3) + 2.0 * (power.loss + depth * unit) * sums.loss;
  const double difference = added + off * image_error + image_error * image_error +
                            (features + 8.0) * unit * squared_off + power.conjugate * conjugate +
                            depth * unit * (sums.loss + sums.pull + conjugate) + repair;
  return {difference, added + (features + 8.0) * unit * squared_norm};
}

inline PairCertificate certify_pair(const PassSums& sums, const double* w, index_t features,
                                    index_t count, bool balanced, bool hard,
                                    const PowerError& power) {
  constexpr double unit = unit_roundoff, tiny = 2.2250738585072014e-308;
  double squared_norm = 0.0, squared_off = 0.0;
  for (index_t j = 0; j < features; ++j) {
    const auto k = static_cast<std::size_t>(j);
    const double off = w[j] - (sums.dual.image[1][k] - sums.dual.image[0][k]);
    squared_norm += w[j] * w[j];
    squared_off += off * off;
  }
  const bool violated = hard && !(sums.smallest_margin >= 1.0 - 1e-9);
  const double primal = 0.5 * squared_norm + (violated ? infinity : sums.loss);
  const double difference = 0.5 * squared_off + sums.terms;
  if (!(std::isfinite(difference) && std::isfinite(primal)) || difference < -1e-6 * primal)
    return {primal, -infinity, infinity, infinity, 1.0};
  const double measured = std::max(difference, 0.0) / std::max(primal, tiny);
  Rounding rounding =
      rounding_of_pair(sums, squared_norm, squared_off, static_cast<double>(features),
                       static_cast<double>(count), balanced, power);
  double stretch = 1.0;
  if (hard) {  // P is that of w divided by its smallest margin
    const double smallest = sums.smallest_margin - sums.margin_error;
    if (smallest <= 0.5) {
      rounding = {infinity, infinity};
    } else {
      stretch = std::max(1.0 / smallest, 1.0) * (1.0 + 8.0 * unit);
      rounding.difference += 0.5 * squared_norm * (stretch * stretch - 1.0);
    }
  }
  // It says nothing where rounding may be all there is of P; the optimum is not negative.
  const double least = primal - rounding.primal;
  double gap = 1.0;
  if (least > 0.0 && std::isfinite(rounding.difference))
    gap = (measured * primal + rounding.difference) / least * (1.0 + 8.0 * unit);
  return {primal * stretch * stretch, primal - difference, measured, std::min(gap, 1.0), stretch};
}

}  // namespace psvm
