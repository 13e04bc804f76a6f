// Dual variables moved to sum_i alpha_i y_i = 0, where the dual of a free intercept is finite.
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

// p = 1: free variables, along which the dual is flat near the optimum, share the imbalance by
// their room; if that is too small, rows at a bound follow, those nearest to moving first. Returns
// what that costs, to first order.
inline double balance_bounded(const std::vector<Variable>& variables, double excess, double heavier,
                              std::vector<double>& balanced) {
  const auto is_free = [](const Variable& v) { return !v.at_lower_bound() && !v.at_upper_bound(); };
  const auto room = [&](const Variable& v) { return v.y == heavier ? v.alpha : v.cost - v.alpha; };
  double free_room = 0.0;
  std::vector<Weighted> items;
  for (const Variable& v : variables) {
    if (is_free(v))
      free_room += room(v);
    else if (room(v) > 0.0)
      items.emplace_back(std::abs(v.gradient), room(v));
  }
  const double part = std::min(excess / free_room, 1.0);
  double rest = free_room < excess ? excess - free_room : 0.0, price = 0.0;
  const double last = rest > 0.0 ? weighted_quantile(items, rest) : -1.0;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Variable& v = variables[i];
    double change = room(v);
    if (is_free(v)) {
      change *= part;
    } else {
      if (std::abs(v.gradient) > last) continue;
      change = std::min(change, rest);
      rest -= change;
      price += change * std::abs(v.gradient);
    }
    balanced[i] = std::clamp(v.alpha - v.y * heavier * change, 0.0, v.cost);
  }
  return price;
}

// `balanced` becomes alpha, moved if there is an intercept; returns what that costs. For p > 1 both
// classes are scaled: near the optimum the dual is flat along all alpha > 0.
inline double balance(const PNormHinge& loss, bool fit_intercept, bool hard_margin,
                      const std::vector<Variable>& variables, std::vector<double>& balanced) {
  double plus = 0.0, minus = 0.0;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    (variables[i].y > 0.0 ? plus : minus) += variables[i].alpha;
    balanced[i] = variables[i].alpha;
  }
  const double excess = std::abs(plus - minus), heavier = plus > minus ? 1.0 : -1.0;
  if (!fit_intercept || excess <= 1e-15 * (plus + minus)) return 0.0;
  if (loss.bounded() && !hard_margin) return balance_bounded(variables, excess, heavier, balanced);
  for (std::size_t i = 0; i < variables.size(); ++i)
    balanced[i] *= 1.0 - variables[i].y * heavier * excess / (plus + minus);
  return 0.0;
}

}  // namespace psvm
