// The intercept of a certificate: the minimiser over b of sum_i cost_i max(0, y_i (threshold_i - b))^p
// + balance b to the last digits, of rows as large or small as they may be.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "loss/intercept.hpp"
#include "loss/loss.hpp"

namespace psvm {

// Where the minimisers form an interval (p = 1, or separable rows) its middle, so that the answer does
// not depend on the order of rows. Rows whose thresholds are no numbers lose the same whatever b is.
// With a guess `near` it takes fewer steps.
inline double exact_intercept(const PNormHinge& loss, std::vector<ThresholdRow> rows,
                              double balance, std::optional<double> near = {}) {
  std::erase_if(rows, [](const ThresholdRow& row) { return !std::isfinite(row.threshold); });
  // A row of the sign +1 costs for b below its threshold, one of the sign -1 for b above.
  Bracket costly{infinity, -infinity}, every{infinity, -infinity};
  double largest = 0.0;
  for (const ThresholdRow& row : rows) {
    (row.y > 0.0 ? costly.high : costly.low) =
        row.y > 0.0 ? std::max(costly.high, row.threshold) : std::min(costly.low, row.threshold);
    every = {std::min(every.low, row.threshold), std::max(every.high, row.threshold)};
    largest = std::max(largest, row.cost);
  }
  // Where no row costs anything the balance pulls b to the edge, and perhaps beyond.
  const double edge = balance > 0.0 ? costly.high : costly.low;
  const auto middle = [&] { return 0.5 * costly.low + 0.5 * costly.high; };
  if (std::isinf(every.low) || (balance != 0.0 && std::isinf(edge))) return 0.0;
  if (std::isinf(largest)) return balance != 0.0 ? edge : middle();
  Bracket bracket = costly;
  if (balance != 0.0)
    bracket =
        loss.bounded() ? every : Bracket{std::min(costly.low, edge), std::max(costly.high, edge)};
  else if (std::isinf(costly.low) || std::isinf(costly.high))
    return std::isinf(costly.low) ? costly.high : costly.low;
  else if (costly.low >= costly.high)
    return middle();

  // In units of the bracket and of the largest cost no power and no sum leaves the range of numbers. (At
  // p = 1, without powers, the minimiser is a threshold as it stands.)
  double origin = 0.0, unit = 1.0;
  if (!loss.bounded()) {
    origin = bracket.low;
    unit = std::min(bracket.high - bracket.low, std::numeric_limits<double>::max());
    if (!(unit > 0.0)) unit = std::max(std::abs(origin), 1.0);
  }
  for (ThresholdRow& row : rows) {
    row.threshold = row.threshold / unit - origin / unit;
    row.cost /= largest;
  }
  constexpr double most = std::numeric_limits<double>::max();
  const double pull = balance == 0.0 ? 0.0 : balance / largest / std::pow(unit, loss.p - 1.0);
  InterceptSearch search(std::clamp(pull, -most, most));
  const double start = near ? *near / unit - origin / unit : 0.5;
  const double size = std::max(std::abs(bracket.low), std::abs(bracket.high)) / unit;
  const double digits = std::numeric_limits<double>::epsilon() * std::max(size, 1.0);
  const Bracket scaled{bracket.low / unit - origin / unit, bracket.high / unit - origin / unit};
  return origin + unit * search.inside(loss, std::move(rows), scaled, start, digits);
}

}  // namespace psvm
