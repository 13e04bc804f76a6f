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

// p > 1. In units of the largest cost, and slopes in those of the largest slack there, no power leaves
// the range of numbers.
class PowerIntercept {
 public:
  // `unit` is what thresholds were divided by; costs are at most 1, the balance in their unit.
  PowerIntercept(double p, const std::vector<ThresholdRow>& rows, double balance, double unit)
      : p_(p), rows_(rows), balance_(balance / p), log_unit_(std::log(unit)) {}

  // The root of the slope to so many digits, from `start` on; it lies in the bracket, but for a balance,
  // which may pull it out. Newton's method, halving the bracket where it is slow.
  double root(Bracket bracket, double start, double digits) const {
    End low{bracket.low}, high{bracket.high};
    if (balance_ != 0.0) widen(low, high);
    double b = start, width = infinity;
    for (int step = 0; step < most_steps && high.b - low.b > digits; ++step) {
      const bool slow = step >= 8 && high.b - low.b > 0.5 * width;
      width = high.b - low.b;
      if (slow || !(b > low.b && b < high.b)) b = low.b + 0.5 * width;
      if (!(b > low.b && b < high.b)) break;  // there is no number between
      const ScaledSlope here = at(b);
      if (here.first == 0.0) return b;
      (here.first < 0.0 ? low : high) = {b, here.log_size()};
      const double move = here.second > 0.0 ? -here.first / here.second : infinity;
      // A step below the last digit is no proof (near p = 1 a slope may rise at once): it has to pass.
      b += std::abs(move) < digits ? std::copysign(0.9 * digits, move) : move;
    }
    // The end from which there is less to gain: next to rows of a huge cost the other one is far above.
    for (End* end : {&low, &high})
      if (std::isnan(end->log_size)) end->log_size = at(end->b).log_size();
    return low.log_size < high.log_size ? low.b : high.b;
  }

 private:
  static constexpr int most_steps = 300;

  struct ScaledSlope {
    double first, second;  // over p largest^(p - 1)
    double log_scale;
    double log_size() const {
      return first == 0.0 ? -infinity : std::log(std::abs(first)) + log_scale;
    }
  };
  struct End {
    double b, log_size = std::numeric_limits<double>::quiet_NaN();  // of the slope there
  };

  ScaledSlope at(double b) const {
    double largest = 0.0;
    for (const ThresholdRow& row : rows_) largest = std::max(largest, row.y * (row.threshold - b));
    if (!(largest > 0.0)) return {balance_, 0.0, -(p_ - 1.0) * log_unit_};
    double first = 0.0, second = 0.0;
    for (const ThresholdRow& row : rows_) {
      const double share = row.y * (row.threshold - b) / largest;
      if (!(share > 0.0)) continue;
      const double power = row.cost * slope_power(share);
      first -= row.y * power;
      second += power / share;
    }
    const double log_scale = (p_ - 1.0) * std::log(largest);
    if (balance_ != 0.0) {
      const double pull = balance_ * std::exp(-log_scale - (p_ - 1.0) * log_unit_);
      constexpr double most = std::numeric_limits<double>::max();
      first = std::clamp(first + pull, -most, most);
    }
    return {first, (p_ - 1.0) * second / largest, log_scale};
  }

  // share^(p - 1)
  double slope_power(double share) const {
    if (p_ == 1.5) return std::sqrt(share);
    if (p_ == 2.0) return share;
    return std::pow(share, p_ - 1.0);
  }

  // Moves the end that the balance pulls at until the slope has its sign there.
  void widen(End& low, End& high) const {
    double step = 1.0 + high.b - low.b;
    for (; balance_ > 0.0 && at(low.b).first > 0.0 && std::isfinite(low.b); step *= 2.0)
      low.b -= step;
    for (; balance_ < 0.0 && at(high.b).first < 0.0 && std::isfinite(high.b); step *= 2.0)
      high.b += step;
  }

  const double p_;
  const std::vector<ThresholdRow>& rows_;
  const double balance_, log_unit_;
};

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
  for (ThresholdRow& row : rows) row.cost /= largest;
  constexpr double most = std::numeric_limits<double>::max();
  balance = std::clamp(balance / largest, -most, most);
  // Without powers the minimiser is a threshold as it stands.
  if (loss.bounded()) return InterceptSearch(balance).median(loss, rows, bracket);

  const double origin = bracket.low;
  double unit = std::min(bracket.high - bracket.low, most);
  if (!(unit > 0.0)) unit = std::max(std::abs(origin), 1.0);
  const auto scaled = [&](double b) { return b / unit - origin / unit; };
  for (ThresholdRow& row : rows) row.threshold = scaled(row.threshold);
  const double size = std::max(std::abs(bracket.low), std::abs(bracket.high)) / unit;
  const double digits = std::numeric_limits<double>::epsilon() * std::max(size, 1.0);
  const PowerIntercept search(loss.p, rows, balance, unit);
  return origin +
         unit * search.root({0.0, scaled(bracket.high)}, near ? scaled(*near) : 0.5, digits);
}

}  // namespace psvm
