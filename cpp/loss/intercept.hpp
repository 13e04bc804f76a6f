// The minimiser over b of sum_i cost_i max(0, y_i (threshold_i - b))^p + balance b, to any precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "loss/loss.hpp"

namespace psvm {

// A row as b sees it: its threshold is its target less its decision value.
struct ThresholdRow {
  double threshold, cost, y;
};

struct Bracket {
  double low, high;
};

// When a b is near enough: if a Newton step would move it by no more than `b`, or save no more than
// `loss`.
struct Near {
  double b = 0.0, loss = 0.0;
};

// p = 1: an intercept in the bracket from which no other saves more than `enough`. `slope(b)` is that
// of the sum. From `start` on its root is bracketed, then narrowed (regula falsi).
template <class Slope>
double hinge_intercept(const Slope& slope, Bracket bracket, double start, double enough) {
  auto& [low, high] = bracket;
  double at_low = 0.0, at_high = 0.0, reach = 0.05 * (high - low), b = start;
  for (int step = 0;; ++step) {
    if (!(b > low && b < high)) b = 0.5 * (low + high);
    const double there = slope(b);
    const double saves = std::abs(there) * (there < 0.0 ? high - b : b - low);
    if (saves <= enough || step == 20) return b;
    (there < 0.0 ? low : high) = b;
    (there < 0.0 ? at_low : at_high) = there;
    (there < 0.0 ? at_high : at_low) *= 0.5;  // lest one end stays for ever
    if (at_low < 0.0 && at_high > 0.0) {
      b = low + (high - low) * at_low / (at_low - at_high);
    } else {
      b += there < 0.0 ? reach : -reach;
      reach *= 4.0;
    }
  }
}

// The slope of a sum of losses, an increasing function of b, and its own slope.
struct Slope {
  double first, second;
};

// p > 1: the root of slope(b), from `start` on, by Newton's method inside a bracket. It converges from
// one side, mostly: only where it did not in a few steps (p < 2, with its kinks) the bracket is halved,
// every second step.
template <class SlopeOf>
double newton_intercept(const SlopeOf& slope, Bracket bracket, double start, Near near, int steps) {
  auto& [low, high] = bracket;
  double width = infinity, b = start;
  for (int step = 0; step < steps; ++step) {
    const bool slow = step >= 8 && high - low > 0.5 * width;
    if (slow || !(b > low && b < high)) b = 0.5 * (low + high);
    width = high - low;
    const auto [first, second] = slope(b);
    (first < 0.0 ? low : high) = b;
    const double move = second > 0.0 ? -first / second : infinity;
    if (first == 0.0 || std::abs(move) <= near.b || std::abs(first * move) <= near.loss) return b;
    b += move;
  }
  return b > low && b < high ? b : 0.5 * (low + high);
}

// Keeps only the rows whose slack or slope still depends on where in the bracket b lies. `row(k)` is
// the k-th of n rows, as a ThresholdRow.
class InterceptSearch {
 public:
  explicit InterceptSearch(double balance = 0.0) : balance_(balance) {}

  // The minimiser for a balance of 0, from `start` on, and at p = 1 as certificate.py's: exact, the
  // middle where there are several. With one sign only, where there is none, `start`.
  template <class RowOf>
  double best(const PNormHinge& loss, std::size_t n, const RowOf& row, double start, Near near) {
    Bracket bracket{infinity, -infinity};
    double total_cost = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      const ThresholdRow one = row(k);
      total_cost += one.cost;
      if (one.y > 0.0)
        bracket.high = std::max(bracket.high, one.threshold);
      else
        bracket.low = std::min(bracket.low, one.threshold);
    }
    if (std::isinf(bracket.low) || std::isinf(bracket.high)) return start;
    if (std::isinf(total_cost) || bracket.low >= bracket.high)
      return 0.5 * (bracket.low + bracket.high);
    collect(loss, n, row, bracket);
    if (loss.bounded()) return weighted_median(bracket);
    return newton_intercept([&](double b) { return slope(loss, b); }, bracket, start, near, 100);
  }

  // p = 1: the minimiser with the balance, in the bracket; the middle where there are several.
  double median(const PNormHinge& hinge, const std::vector<ThresholdRow>& rows, Bracket bracket) {
    collect(hinge, rows.size(), [&](std::size_t k) { return rows[k]; }, bracket);
    return weighted_median(bracket);
  }

 private:
  // The rows whose part of the slope differs within the bracket; at p = 1 that of the others, which
  // is constant, goes into `constant_`.
  template <class RowOf>
  void collect(const PNormHinge& loss, std::size_t n, const RowOf& row, Bracket bracket) {
    rows_.clear();
    constant_ = balance_;
    flat_ = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      const ThresholdRow one = row(k);
      const auto [threshold, cost, y] = one;
      flat_ += 1e-12 * cost;
      if (y > 0.0 ? threshold < bracket.low : threshold > bracket.high) continue;  // costs nothing
      if (loss.bounded() && (y > 0.0 ? threshold > bracket.high : threshold < bracket.low)) {
        constant_ -= y * cost;
        continue;
      }
      rows_.push_back(one);
      // The slope of a step function starts below all thresholds and rises by the cost of each.
      if (y > 0.0) constant_ -= cost;
    }
  }

  // p = 1: halves the bracket while the slope has a sign, then passes the thresholds left in order.
  double weighted_median(Bracket bracket) {
    auto& [low, high] = bracket;
    constexpr std::size_t few = 32;
    for (int step = 0; step < 60 && rows_.size() > few; ++step) {
      const double b = 0.5 * (low + high);
      const auto middle = std::partition(
          rows_.begin(), rows_.end(), [&](const ThresholdRow& row) { return row.threshold <= b; });
      double there = constant_;
      for (auto row = rows_.begin(); row != middle; ++row) there += row->cost;
      if (there < -flat_) {
        low = b;
        constant_ = there;
        rows_.erase(rows_.begin(), middle);
      } else if (there > flat_) {
        high = b;
        rows_.erase(middle, rows_.end());
      } else {
        break;
      }
    }
    std::sort(rows_.begin(), rows_.end(), [](const ThresholdRow& a, const ThresholdRow& b) {
      return a.threshold < b.threshold;
    });
    double first = constant_ >= -flat_ ? low : infinity, last = high, there = constant_;
    for (const ThresholdRow& row : rows_) {
      there += row.cost;
      if (there >= -flat_ && std::isinf(first)) first = row.threshold;
      if (there > flat_) {
        last = row.threshold;
        break;
      }
    }
    return 0.5 * (std::min(first, last) + last);
  }

  Slope slope(const PNormHinge& loss, double b) const {
    double first = balance_, second = 0.0;
    for (const ThresholdRow& row : rows_) {
      const double xi = row.y * (row.threshold - b);
      if (xi <= 0.0) continue;
      const double alpha = loss.alpha_of(xi, row.cost);
      first -= row.y * alpha;
      second += alpha / xi;
    }
    return {first, (loss.p - 1.0) * second};
  }

  const double balance_;
  std::vector<ThresholdRow> rows_;
  double constant_ = 0.0, flat_ = 0.0;
};

}  // namespace psvm
