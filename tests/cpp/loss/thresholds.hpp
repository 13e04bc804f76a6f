// Rows with thresholds, and what they lose, one by one.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "loss/intercept.hpp"

namespace psvm::check {

inline std::vector<ThresholdRow> rows_of(std::size_t n, unsigned seed, bool equal_costs = false) {
  const auto u = numbers(3 * n, 0.0, 1.0, seed);
  std::vector<ThresholdRow> rows;
  for (std::size_t i = 0; i < n; ++i)
    rows.push_back({6.0 * u[3 * i] - 3.0, equal_costs ? 1.0 : 0.2 + u[3 * i + 1],
                    i < 2                ? (i ? 1.0 : -1.0)
                    : u[3 * i + 2] < 0.5 ? 1.0
                                         : -1.0});
  // So that rows overlap: positive ones have the larger thresholds at times, at times not.
  rows[0].threshold = -2.0;
  rows[1].threshold = 2.0;
  return rows;
}
inline double lost(const std::vector<ThresholdRow>& rows, double p, double b) {
  double sum = 0.0;
  for (const auto& row : rows)
    sum += row.cost * std::pow(std::max(0.0, row.y * (row.threshold - b)), p);
  return sum;
}
inline double slope(const std::vector<ThresholdRow>& rows, double p, double b) {
  double sum = 0.0;
  for (const auto& row : rows) {
    const double xi = row.y * (row.threshold - b);
    if (xi > 0.0) sum -= row.y * row.cost * p * std::pow(xi, p - 1.0);
  }
  return sum;
}
// p = 1: the middle of the thresholds that cost least.
inline double by_trial(const std::vector<ThresholdRow>& rows) {
  double least = infinity, first = 0.0, last = 0.0;
  for (const auto& row : rows) least = std::min(least, lost(rows, 1.0, row.threshold));
  first = infinity, last = -infinity;
  for (const auto& row : rows)
    if (lost(rows, 1.0, row.threshold) <= least + 1e-9) {
      first = std::min(first, row.threshold);
      last = std::max(last, row.threshold);
    }
  return 0.5 * (first + last);
}

}  // namespace psvm::check
