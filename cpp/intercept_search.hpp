// The minimiser over b of sum_i cost_i max(0, 1 - y_i (decision_i + b))^p, to any precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "loss.hpp"

namespace psvm {

struct InterceptSearch {
  const PNormHinge& loss;
  const double *y, *cost, *decision;
  std::size_t n;

  // The slope of the sum, an increasing function of b, and its own slope.
  std::pair<double, double> slope(double b) const {
    double first = 0.0, second = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      const double xi = 1.0 - y[k] * (decision[k] + b);
      if (xi <= 0.0) continue;
      const double alpha = loss.alpha_of(xi, cost[k]);
      first -= y[k] * alpha;
      if (!loss.bounded()) second += (loss.p - 1.0) * alpha / xi;
    }
    return {first, second};
  }

  // Newton's method inside a bracket (halving at p = 1, where the slope is a step function).
  double root_of_slope(double low, double high, double b, int steps) const {
    for (int step = 0; step < steps; ++step) {
      if (!(b > low && b < high)) b = 0.5 * (low + high);
      const auto [first, second] = slope(b);
      (first < 0.0 ? low : high) = b;
      const double move = second > 0.0 ? -first / second : infinity;
      if (first == 0.0 || std::abs(move) <= 1e-12 * (1.0 + std::abs(b))) return b;
      b += move;
    }
    return b > low && b < high ? b : 0.5 * (low + high);
  }

  // As certificate.py's: the exact minimiser, the middle where there are several.
  double best(double start) const {
    double low = infinity, high = -infinity;
    for (std::size_t k = 0; k < n; ++k) {
      const double threshold = y[k] - decision[k];  // where the row ceases to cost
      if (y[k] > 0.0)
        high = std::max(high, threshold);
      else
        low = std::min(low, threshold);
    }
    if (low >= high) return 0.5 * (low + high);
    return loss.bounded() ? weighted_median() : root_of_slope(low, high, start, 60);
  }

 private:
  // p = 1: the slope starts at minus the cost of the positive rows, and rises by the cost of every
  // row passed.
  double weighted_median() const {
    std::vector<std::pair<double, double>> thresholds(n);
    double there = 0.0, flat = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      thresholds[k] = {y[k] - decision[k], cost[k]};
      flat += 1e-12 * cost[k];
      if (y[k] > 0.0) there -= cost[k];
    }
    std::sort(thresholds.begin(), thresholds.end());
    double first = infinity, last = thresholds.back().first;
    for (const auto& [threshold, own] : thresholds) {
      there += own;
      if (there >= -flat && std::isinf(first)) first = threshold;
      if (there > flat) {
        last = threshold;
        break;
      }
    }
    return 0.5 * (std::min(first, last) + last);
  }
};

}  // namespace psvm
