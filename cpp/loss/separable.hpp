// The proof that no w has a hard margin.
#pragma once

#include <algorithm>
#include <cmath>

namespace psvm {

// Margins below this share of the data's radius count as none.
inline constexpr double least_margin = 1e-6;

// Any w without slack has |w| >= total / |w(alpha)|, total = sum_i alpha_i y_i t_i, for every feasible
// alpha. In classification, where total = sum_i alpha_i, its margin is 1 / |w|.
inline bool proves_inseparable(double total, double squared_norm, double squared_radius) {
  // Of roots: the square of a total may leave the range of doubles.
  const double norm = std::sqrt(std::max(squared_norm, 0.0));
  return total > 0.0 && norm < least_margin * std::sqrt(squared_radius) * total;
}

}  // namespace psvm
