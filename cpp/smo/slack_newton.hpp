// p >= 2 from any start: Newton's method on slacks, for as many rows as a matrix of float64 has room for.
//
// The alpha of a row is the slope p cost xi^(p-1) of its loss at its slack xi. A step takes the losses
// for parabolas of curvature W_i, and is a least-squares machine
//
//   (K + 1/W) beta + b = f + b_before + y alpha_of(xi) / W   for rows with W > 0,   sum_i beta_i = 0
//
// scaled by sqrt(W), so that its eigenvalues are at least 1 however small a slack is. W is the mean
// slope of alpha_of between the slack that the decision values leave and the one that alpha belongs to:
// where these agree, Newton's curvature p (p - 1) cost xi^(p-2), and far from there, where that one
// would shrink a slack only by a share of 1 / (p - 1), up to p - 1 times less (outliers of 30 times the
// noise, 1000 rows: 8 steps instead of 16 at p = 6, 8 instead of 40 at p = 10).
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "base/cholesky.hpp"
#include "loss/intercept.hpp"
#include "smo/row_states.hpp"
#include "smo/whole_matrix.hpp"

namespace psvm {

class SlackNewton {
 public:
  SlackNewton(const PNormHinge& loss, const DualRows& rows, WholeMatrix& matrix, bool fit_intercept,
              RunControl& run)
      : loss_(loss),
        rows_(rows),
        matrix_(matrix),
        n_(matrix.rows()),
        fit_intercept_(fit_intercept),
        run_(run) {}

  // Asked of an alpha whose relative gap seems to be that small: whether it is the end. Empty: nothing is
  // but the last digits.
  struct Enough {
    double gap;
    std::function<bool()> asked;
  };

  // Moves alpha to where it is enough, or else to the last digits. False, and of no use, where numbers
  // leave their range or there is no end to it.
  bool solve(std::vector<double>& alpha, const Enough& enough = {0.0, {}}) {
    start_at(alpha);
    near_ = false;
    double primal = primal_of(here_), change = infinity;
    for (int step = 0; step < most_steps; ++step) {
      if (!find_direction()) return false;
      // Near the optimum slopes are rounding.
      Point there = towards(near_ ? 1.0 : good_share());
      if (near_ && primal_of(there) > primal * (1.0 + 1e-14)) there = towards(good_share());
      double now = 0.0, largest = 0.0;
      for (index_t i = 0; i < n_; ++i) {
        now = std::max(now, std::abs(to_.decision[at(i)] + to_.b));
        largest = std::max(largest, std::abs(there.decision[at(i)]));
      }
      const double last = std::exchange(change, now), value = primal_of(there);
      const bool gained = value < primal * (1.0 - 1e-15);
      const bool moved = gained || value <= primal * (1.0 + 1e-14);
      if (moved) {
        near_ = primal - value <= 1e-6 * primal;
        here_ = std::move(there);
        primal = value;
      }
      run_.check();
      if (enough.asked && moved && std::abs(gap_of_beta()) <= enough.gap) {
        take_beta(alpha);
        if (enough.asked()) return true;
      }
      if (!moved && change > 1e-6 * (1.0 + largest)) return false;
      // P stands still a step or two before the slacks do.
      if (!moved || change <= 1e-11 * (1.0 + largest) || (!gained && change > 0.5 * last)) {
        for (index_t i = 0; i < n_; ++i)
          alpha[at(i)] = loss_.alpha_of(slack(here_, i), rows_.cost[i]);
        return true;
      }
    }
    return false;
  }

 private:
  // Signed dual variables, their decision values, and an intercept; or changes of them.
  struct Point {
    std::vector<double> beta, decision;
    double b = 0.0;
  };

  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  // Negative beyond the margin.
  double slack(const Point& point, index_t i) const {
    return rows_.y[i] * (rows_.target[i] - (point.decision[at(i)] + point.b));
  }
  // The alpha of a row, 0 where its beta has the wrong sign.
  double own_alpha(index_t i) const { return std::max(rows_.y[i] * here_.beta[at(i)], 0.0); }

  void start_at(const std::vector<double>& alpha) {
    here_.beta.resize(at(n_));
    for (index_t i = 0; i < n_; ++i) here_.beta[at(i)] = rows_.y[i] * alpha[at(i)];
    matrix_.decide(here_.beta, here_.decision, run_);
    here_.b = 0.0;
    if (!fit_intercept_) return;
    InterceptSearch intercepts;
    here_.b = intercepts.best(loss_, at(n_),
                              [&](std::size_t i) {
                                return ThresholdRow{rows_.target[i] - here_.decision[i],
                                                    rows_.cost[i], rows_.y[i]};
                              },
                              0.0, {.b = 1e-12});
  }

  double primal_of(const Point& point) const {
    double norm = 0.0, lost = 0.0;
    for (index_t i = 0; i < n_; ++i) {
      norm += point.beta[at(i)] * point.decision[at(i)];
      lost += loss_.value(slack(point, i), rows_.cost[i]);
    }
    return 0.5 * norm + lost;
  }

  // Of beta as dual variables, were it for their signs: what is of the wrong one is taken for that of a
  // row on the other side, which only targets have.
  double gap_of_beta() const {
    double norm = 0.0, lost = 0.0, difference = 0.0;
    for (index_t i = 0; i < n_; ++i) {
      const double xi = slack(here_, i), own = loss_.value(xi, rows_.cost[i]);
      const double beta = rows_.y[i] * here_.beta[at(i)], alpha = std::abs(beta);
      norm += here_.beta[at(i)] * here_.decision[at(i)];
      lost += own;
      difference += own - beta * xi + loss_.conjugate(alpha, loss_.slack_of(alpha, rows_.cost[i]));
    }
    return difference / std::max(0.5 * norm + lost, 1e-300);
  }

  // Alpha, which are not negative, with the decision values of beta where rows have one of the other
  // sign beside them, and else nearly so.
  void take_beta(std::vector<double>& alpha) const {
    for (index_t i = 0; i < n_; ++i) alpha[at(i)] = own_alpha(i);
    const Places& places = matrix_.places();
    if (!places.shared()) return;
    for (index_t i = 0; i < n_; ++i) {
      const double wrong = -rows_.y[i] * here_.beta[at(i)];
      if (!(wrong > 0.0)) continue;
      index_t beside = -1;
      places.for_rows_at(places.of(i), [&](index_t j) {
        if (rows_.y[j] != rows_.y[i]) beside = j;
      });
      if (beside >= 0) alpha[at(beside)] += wrong;
    }
  }

  // The curvature of the parabola of a row with that slack, 0 where it costs nothing here or there.
  double curvature(index_t i, double xi, double slope) const {
    const double cost = rows_.cost[i], own = own_alpha(i), meant = loss_.slack_of(own, cost);
    if (!near_ && std::abs(xi - meant) > 1e-3 * std::max(xi, meant) && std::max(xi, meant) > 0.0)
      return (slope - own) / (std::max(xi, 0.0) - meant);
    return xi > 0.0 ? (loss_.p - 1.0) * slope / xi : 0.0;
  }

  // A step of the machine; false where numbers leave their range.
  bool find_direction() {
    free_.clear();
    scale_.clear();
    solution_.clear();
    for (index_t i = 0; i < n_; ++i) {
      const double xi = slack(here_, i), slope = loss_.alpha_of(xi, rows_.cost[i]);
      const double root = std::sqrt(curvature(i, xi, slope));
      if (!std::isfinite(root)) return false;
      if (root == 0.0) continue;
      free_.push_back(i);
      scale_.push_back(root);
      solution_.push_back(root * (here_.decision[at(i)] + here_.b) + rows_.y[i] * slope / root);
    }
    if (free_.empty() || !factor()) return false;
    system_.solve(solution_.data());
    double b = 0.0;
    if (fit_intercept_) {
      along_ = scale_;
      system_.solve(along_.data());
      double missed = 0.0, weight = 0.0;
      for (std::size_t k = 0; k < free_.size(); ++k) {
        missed += scale_[k] * solution_[k];
        weight += scale_[k] * along_[k];
      }
      if (!(weight > 0.0)) return false;
      b = missed / weight;
      for (std::size_t k = 0; k < free_.size(); ++k) solution_[k] -= b * along_[k];
    }
    to_.beta.assign(at(n_), 0.0);
    for (std::size_t k = 0; k < free_.size(); ++k)
      to_.beta[at(free_[k])] = scale_[k] * solution_[k];
    matrix_.decide(to_.beta, to_.decision, run_);
    for (index_t i = 0; i < n_; ++i) {
      to_.beta[at(i)] -= here_.beta[at(i)];
      to_.decision[at(i)] -= here_.decision[at(i)];
    }
    to_.b = b - here_.b;
    return true;
  }

  Point towards(double share) const {
    Point there = here_;
    for (std::size_t i = 0; i < there.beta.size(); ++i) {
      there.beta[i] += share * to_.beta[i];
      there.decision[i] += share * to_.decision[i];
    }
    there.b += share * to_.b;
    return there;
  }

  bool factor() {
    const auto size = static_cast<index_t>(free_.size());
    system_.resize(size);
    std::vector<index_t> places;
    for (const index_t i : free_) places.push_back(matrix_.place(i));
    bool finite = true;
    for (index_t k = 0; k < size; ++k) {
      double* out = system_.row(k);
      const double *entries = matrix_.entries(free_[at(k)]), scale = scale_[at(k)];
      for (index_t l = 0; l <= k; ++l) out[l] = scale * scale_[at(l)] * entries[places[at(l)]];
      out[k] += 1.0;
      finite = finite && std::isfinite(out[k]);
    }
    return finite && system_.factor(0.0, nullptr, &run_);
  }

  // The share of the step at which P has hardly any slope left; 1 where it has none from the start, but
  // for rounding. (A third of the first slope, not a tenth: as many steps of fewer passes.)
  double good_share() const {
    double linear = 0.0, square = 0.0;
    for (index_t i = 0; i < n_; ++i) {
      linear += to_.beta[at(i)] * here_.decision[at(i)];
      square += to_.beta[at(i)] * to_.decision[at(i)];
    }
    const auto slope = [&](double share) {
      double sum = linear + share * square;
      for (index_t i = 0; i < n_; ++i) {
        const double by = to_.decision[at(i)] + to_.b;
        const double xi = slack(here_, i) - share * rows_.y[i] * by;
        if (xi > 0.0) sum -= rows_.y[i] * by * loss_.alpha_of(xi, rows_.cost[i]);
      }
      return sum;
    };
    const double first = slope(0.0);
    if (!(first < 0.0)) return 1.0;
    double low = 0.0, high = infinity, share = 1.0;
    for (int halving = 0; halving < most_halvings; ++halving) {
      const double there = slope(share);
      if (std::abs(there) <= -0.3 * first) break;
      (there < 0.0 ? low : high) = share;
      share = std::isinf(high) ? 2.0 * share : 0.5 * (low + high);
    }
    return share;
  }

  // From a gap of 1 ten steps are usual at p = 6.
  static constexpr int most_steps = 200, most_halvings = 20;

  const PNormHinge& loss_;
  const DualRows& rows_;
  WholeMatrix& matrix_;
  const index_t n_;
  const bool fit_intercept_;
  RunControl& run_;
  Point here_, to_;
  bool near_ = false;  // the optimum, where Newton's own curvature doubles the correct digits
  Cholesky system_;
  std::vector<index_t> free_;  // rows of the system
  std::vector<double> scale_, solution_, along_;
};

}  // namespace psvm
