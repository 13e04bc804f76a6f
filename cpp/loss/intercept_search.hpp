// The minimiser over b of sum_i cost_i max(0, 1 - y_i (decision_i + b))^p, to any precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "loss/loss.hpp"

namespace psvm {

// With the threshold t_i = y_i - decision_i a row's slack is max(0, y_i (t_i - b)). A search keeps
// only the rows whose slack or slope still depends on where in the bracket b lies.
class InterceptSearch {
 public:
  // p > 1: minimises between `low` and `high`, from `start` by Newton's method, to `share` of the
  // bracket, about which the sum is flat to the second order.
  double between(const PNormHinge& loss, const double* y, const double* cost,
                 const double* decision, std::size_t n, double low, double high, double start,
                 double share) {
    collect(loss, y, cost, decision, n, low, high);
    return root_of_slope(loss, low, high, start, share * (high - low), 5);
  }

  // As certificate.py's: the exact minimiser, the middle where there are several.
  double best(const PNormHinge& loss, const double* y, const double* cost, const double* decision,
              std::size_t n, double start) {
    double low = infinity, high = -infinity;
    for (std::size_t k = 0; k < n; ++k) {
      const double threshold = y[k] - decision[k];  // where the row ceases to cost
      if (y[k] > 0.0)
        high = std::max(high, threshold);
      else
        low = std::min(low, threshold);
    }
    if (low >= high) return 0.5 * (low + high);
    collect(loss, y, cost, decision, n, low, high);
    return loss.bounded()
               ? weighted_median(low, high)
               : root_of_slope(loss, low, high, start, 1e-12 * (1.0 + std::abs(start)), 60);
  }

 private:
  struct Row {
    double threshold, cost, y;
  };

  // The rows whose part of the slope differs within the bracket; at p = 1 that of the others, which
  // is constant, goes into `constant_`.
  void collect(const PNormHinge& loss, const double* y, const double* cost, const double* decision,
               std::size_t n, double low, double high) {
    rows_.clear();
    constant_ = flat_ = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      const double threshold = y[k] - decision[k];
      flat_ += 1e-12 * cost[k];
      if (y[k] > 0.0 ? threshold < low : threshold > high) continue;  // costs nothing
      if (loss.bounded() && (y[k] > 0.0 ? threshold > high : threshold < low)) {
        constant_ -= y[k] * cost[k];
        continue;
      }
      rows_.push_back({threshold, cost[k], y[k]});
      // The slope of a step function starts below all thresholds and rises by the cost of each.
      if (y[k] > 0.0) constant_ -= cost[k];
    }
  }

  // p = 1: halves the bracket while the slope has a sign, then passes the thresholds left in order.
  double weighted_median(double low, double high) {
    constexpr std::size_t few = 32;
    for (int step = 0; step < 60 && rows_.size() > few; ++step) {
      const double b = 0.5 * (low + high);
      const auto middle = std::partition(rows_.begin(), rows_.end(),
                                         [&](const Row& row) { return row.threshold <= b; });
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
    std::sort(rows_.begin(), rows_.end(),
              [](const Row& a, const Row& b) { return a.threshold < b.threshold; });
    double first = constant_ >= -flat_ ? low : infinity, last = high, there = constant_;
    for (const Row& row : rows_) {
      there += row.cost;
      if (there >= -flat_ && std::isinf(first)) first = row.threshold;
      if (there > flat_) {
        last = row.threshold;
        break;
      }
    }
    return 0.5 * (std::min(first, last) + last);
  }

  // The slope of the sum, an increasing function of b, and its own slope.
  std::pair<double, double> slope(const PNormHinge& loss, double b) const {
    double first = 0.0, second = 0.0;
    for (const Row& row : rows_) {
      const double xi = row.y * (row.threshold - b);
      if (xi <= 0.0) continue;
      const double alpha = loss.alpha_of(xi, row.cost);
      first -= row.y * alpha;
      second += alpha / xi;
    }
    return {first, (loss.p - 1.0) * second};
  }

  // p > 1: Newton's method inside a bracket, until it would move by no more than `enough`.
  double root_of_slope(const PNormHinge& loss, double low, double high, double b, double enough,
                       int steps) const {
    for (int step = 0; step < steps; ++step) {
      if (!(b > low && b < high)) b = 0.5 * (low + high);
      const auto [first, second] = slope(loss, b);
      (first < 0.0 ? low : high) = b;
      const double move = second > 0.0 ? -first / second : infinity;
      if (first == 0.0 || std::abs(move) <= enough) return b;
      b += move;
    }
    return b > low && b < high ? b : 0.5 * (low + high);
  }

  std::vector<Row> rows_;
  double constant_ = 0.0, flat_ = 0.0;
};

}  // namespace psvm
