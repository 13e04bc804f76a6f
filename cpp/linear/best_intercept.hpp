// The minimiser over b of sum_i cost_i max(0, goal_i - y_i (decision_i + b))^p.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "linear/coordinate_step.hpp"

namespace psvm {

using Weighted = std::pair<double, double>;  // a key and its weight

// The key at which the weights, added up by rising key, first reach the target. Quickselect; the
// items are reordered.
inline double weighted_quantile(std::vector<Weighted>& items, double target) {
  auto begin = items.begin(), end = items.end();
  while (end - begin > 1) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end);
    double below = 0.0;
    for (auto item = begin; item != middle; ++item) below += item->second;
    if (below >= target) {
      end = middle;
    } else {
      target -= below;
      begin = middle;
    }
  }
  return begin->first;
}

class BestIntercept {
 public:
  BestIntercept(const PNormHinge& loss, const std::vector<Variable>& variables,
                const std::vector<double>& decision)
      : loss_(loss), variables_(variables), decision_(decision) {}

  // Found from `start` on, to within `precision` of the minimum.
  double find(double start, double precision) const {
    double low = infinity, high = -infinity, positive_cost = 0.0;
    std::vector<Weighted> thresholds;  // the b at which a row ceases to cost
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      const Variable& v = variables_[i];
      const double threshold = v.y * v.goal - decision_[i];
      thresholds.emplace_back(threshold, v.cost);
      if (v.y > 0.0) {
        high = std::max(high, threshold);
        positive_cost += v.cost;
      } else {
        low = std::min(low, threshold);
      }
    }
    if (std::isinf(low) || std::isinf(high)) return start;  // one class only
    if (std::isinf(positive_cost) || low >= high) return 0.5 * (low + high);
    // p = 1: the slope starts at -positive_cost and rises by the cost of every row passed.
    if (loss_.bounded()) return weighted_quantile(thresholds, positive_cost);
    return root_of_slope(low, high, start, precision);
  }

 private:
  // The slope of the sum, an increasing function of b, and its own slope.
  std::pair<double, double> slope(double b) const {
    double first = 0.0, second = 0.0;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      const Variable& v = variables_[i];
      const double xi = v.goal - v.y * (decision_[i] + b);
      if (xi <= 0.0) continue;
      const double alpha = loss_.alpha_of(xi, v.cost);
      first -= v.y * alpha;
      second += (loss_.p - 1.0) * alpha / xi;
    }
    return {first, second};
  }

  // Newton's method inside a bracket that at least halves every second step.
  double root_of_slope(double low, double high, double b, double precision) const {
    double width = infinity;
    for (int step = 0; step < 100; ++step) {
      if (!(b > low && b < high) || high - low > 0.5 * width) b = 0.5 * (low + high);
      width = high - low;
      const auto [first, second] = slope(b);
      (first < 0.0 ? low : high) = b;
      const double move = -first / second;
      if (std::abs(first * move) <= precision || !(low < high)) break;
      b += move;
    }
    return b;
  }

  const PNormHinge& loss_;
  const std::vector<Variable>& variables_;
  const std::vector<double>& decision_;
};

}  // namespace psvm
