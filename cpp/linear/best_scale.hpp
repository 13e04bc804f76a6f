// The factor s that minimises P(s w, s b) = s^2 |w|^2 / 2 + sum_i cost_i max(0, g_i - s m_i)^p
// over the multiples of a point with margins m_i, g_i the goals of the rows. Where the classes can be separated and the cost is
// large, w is too short until the very end, which s makes good: a certificate hundreds of times
// tighter after as many passes (news20, C = 100).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "linear/coordinate_step.hpp"

namespace psvm {

class BestScale {
 public:
  // The margins are v.margin of the variables, |w|^2 is `squared_norm`.
  BestScale(const PNormHinge& loss, const std::vector<Variable>& variables, double squared_norm)
      : loss_(loss), variables_(variables), squared_norm_(squared_norm) {}

  // P at the factor s.
  double value(double s) const {
    double lost = 0.0;
    for (const Variable& v : variables_) {
      const double xi = v.goal - s * v.margin;
      if (xi > 0.0) lost += loss_.value(xi, v.cost);
    }
    return 0.5 * s * s * squared_norm_ + lost;
  }

  // The smallest factor s >= 0 at which no row has slack; infinite if there is none. (In
  // classification 1 / the smallest margin.)
  double smallest_without_slack() const {
    double low = 0.0, high = infinity;
    for (const Variable& v : variables_) {
      const double bound = v.goal / v.margin;
      if (v.margin > 0.0)
        low = std::max(low, bound);
      else if (v.goal > 0.0)
        return infinity;
      else if (v.margin < 0.0)
        high = std::min(high, bound);
    }
    return low <= high ? low : infinity;
  }

  // A factor at which P is within `precision` of its minimum over about [1/2, 2].
  double find(double precision) const {
    double low = 1.0, low_slope = slope(low);
    if (low_slope == 0.0) return 1.0;
    double high = low, high_slope = low_slope;
    const double direction = low_slope < 0.0 ? 1.0 : -1.0;
    for (double step = 1e-3; step < 4.0; step *= 4.0) {  // until the slope changes its sign
      const double next = std::exp2(direction * step), there = slope(next);
      if (direction > 0.0) {
        low = high, low_slope = high_slope;
        high = next, high_slope = there;
      } else {
        high = low, high_slope = low_slope;
        low = next, low_slope = there;
      }
      if (low_slope <= 0.0 && high_slope >= 0.0) break;
    }
    return between(low, low_slope, high, high_slope, precision);
  }

 private:
  // dP/ds, an increasing function.
  double slope(double s) const {
    double sum = s * squared_norm_;
    for (const Variable& v : variables_) {
      const double xi = v.goal - s * v.margin;
      if (xi > 0.0) sum -= v.margin * loss_.alpha_of(xi, v.cost);
    }
    return sum;
  }

  // Regula falsi with halved ends (Illinois), until no point of the bracket can be much better.
  double between(double low, double low_slope, double high, double high_slope,
                 double precision) const {
    double low_end = low_slope, high_end = high_slope;
    double s = low_slope < -high_slope ? high : low;
    for (int step = 0; step < 30 && low_slope < 0.0 && high_slope > 0.0; ++step) {
      s = (low * high_end - high * low_end) / (high_end - low_end);
      if ((high - low) * std::max(-low_slope, high_slope) <= precision) break;
      const double there = slope(s);
      if (there < 0.0) {
        low = s, low_slope = low_end = there;
        high_end *= 0.5;
      } else {
        high = s, high_slope = high_end = there;
        low_end *= 0.5;
      }
    }
    return s;
  }

  const PNormHinge& loss_;
  const std::vector<Variable>& variables_;
  const double squared_norm_;
};

}  // namespace psvm
