// The last digits at once, for few rows: Newton steps on the face of the optimum.
//
// Where it is known which alpha are 0 and, at p = 1, which are at their bound, the others (F) and the
// intercept b solve
//
//   y_i (t_i - f_i - b) = slack_of(alpha_i)   for i in F,    sum_i y_i alpha_i = 0
//
// which is a linear system at p = 1 and p = 2, and a smooth one in between. Rows that meet a bound in a
// step leave F, all of them at first, later only the first of them, at which the step then ends; after
// a whole step, rows whose margin disagrees with their bound join F. One factor serves as long as steps
// with it still shrink the residual.
//
// With p > 2 there are no bounds to be at: slack_newton.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/cholesky.hpp"
#include "smo/row_states.hpp"
#include "smo/whole_matrix.hpp"

namespace psvm {

class Face {
 public:
  // The matrix is positive semidefinite, and p <= 2.
  Face(const PNormHinge& loss, const DualRows& rows, WholeMatrix& matrix, bool fit_intercept,
       RunControl& run)
      : loss_(loss),
        rows_(rows),
        matrix_(matrix),
        places_(matrix.places()),
        n_(matrix.rows()),
        fit_intercept_(fit_intercept),
        run_(run),
        short_(at(n_)),
        coef_(at(n_)) {}

  // Moves an alpha near the optimum there; false, and of no use, where that is not possible: the face
  // of a degenerate optimum (equal rows, kernels of low rank) is not unique.
  bool solve(std::vector<double>& alpha) {
    std::vector<char> is_free(at(n_));
    for (index_t i = 0; i < n_; ++i)
      is_free[at(i)] = alpha[at(i)] > 0.0 && alpha[at(i)] < highest(i);
    bool factored = false;
    double last = infinity;
    miss(alpha);
    for (int step = 0, factors = 0; step < most_steps; ++step) {
      if (!factored) {
        gather(is_free);
        if (free_.empty()) return true;  // at a corner, if it is the optimum
        if (++factors > most_factors || !factor_face(alpha)) return false;
        factored = true;
        last = infinity;
      }
      const double b = newton_direction(alpha);
      const double first = room(alpha), share = factors <= boldness ? 1.0 : std::min(first, 1.0);
      const bool stopped = first < 1.0;
      for (std::size_t k = 0; k < free_.size(); ++k) {
        const index_t i = free_[k];
        const double top = highest(i), before = alpha[at(i)];
        alpha[at(i)] = std::clamp(before + share * direction_[k], 0.0, top);
        if (stopped && room_[k] <= share) {
          alpha[at(i)] = direction_[k] > 0.0 ? top : 0.0;
          is_free[at(i)] = 0;
          const index_t other = direction_[k] < 0.0 ? counterpart(i) : -1;
          if (other < 0) continue;
          alpha[at(other)] = std::clamp(-before - share * direction_[k], 0.0, highest(other));
          is_free[at(other)] = alpha[at(other)] < highest(other);
        }
      }
      miss(alpha);
      run_.check();
      if (stopped) {
        factored = false;
        continue;
      }
      // short_ is without the intercept.
      double most = 0.0;
      bool wrong = false;
      const double least = rounded(alpha, b);
      for (index_t i = 0; i < n_; ++i) {
        const double off = short_[at(i)] - rows_.y[i] * b;
        if (is_free[at(i)]) {
          most = std::max(most, std::abs(off));
        } else if (alpha[at(i)] > 0.0 ? off < -least : off > least) {
          const index_t other = counterpart(i);
          if (other >= 0 && (is_free[at(other)] || alpha[at(other)] > 0.0)) continue;  // 0 first
          is_free[at(i)] = 1;
          wrong = true;
        }
      }
      if (!std::isfinite(most)) return false;
      if (!wrong && most <= least) return true;
      if (!held_.empty() && escape(alpha, is_free, b, least)) {
        miss(alpha);
        factored = false;
        continue;
      }
      factored = !wrong && most <= 0.2 * last;
      last = most;
    }
    return false;
  }

 private:
  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  double highest(index_t i) const { return loss_.bounded() ? rows_.cost[i] : infinity; }

  // The row of the same kernel row, of the other sign and the same target, that takes on what would
  // fall below 0 (regression without epsilon: most rows would leave and join again in turns); or -1.
  index_t counterpart(index_t i) const {
    index_t found = -1;
    if (!places_.shared()) return found;
    places_.for_rows_at(places_.of(i), [&](index_t j) {
      if (rows_.y[j] != rows_.y[i] && rows_.target[j] == rows_.target[i]) found = j;
    });
    return found;
  }

  // What is rounding of a margin: some last digits of it, and of the sum that it is.
  double rounded(const std::vector<double>& alpha, double b) const {
    double size = 1.0, total = 0.0, largest = 0.0;
    for (index_t i = 0; i < n_; ++i) {
      size = std::max(size, 1.0 + std::abs(decision_[at(i)] + b));
      total += alpha[at(i)];
      largest = std::max(largest, std::abs(matrix_.diagonal(i)));
    }
    return rounding * size + 4.0 * std::numeric_limits<double>::epsilon() * largest * total;
  }

  // What each row misses without an intercept: y (t - f) - slack_of(alpha).
  void miss(const std::vector<double>& alpha) {
    for (index_t i = 0; i < n_; ++i) coef_[at(i)] = rows_.y[i] * alpha[at(i)];
    matrix_.decide(coef_, decision_, run_);
    for (index_t i = 0; i < n_; ++i)
      short_[at(i)] = rows_.y[i] * (rows_.target[i] - decision_[at(i)]) -
                      loss_.slack_of(alpha[at(i)], rows_.cost[i]);
  }

  void gather(const std::vector<char>& chosen) {
    free_.clear();
    free_places_.clear();
    for (index_t i = 0; i < n_; ++i)
      if (chosen[at(i)]) add_free(i);
  }
  void add_free(index_t i) {
    free_.push_back(i);
    free_places_.push_back(places_.of(i));
  }

  bool factor_face(const std::vector<double>& alpha) {
    const auto size = static_cast<index_t>(free_.size());
    system_.resize(size);
    for (index_t k = 0; k < size; ++k) {
      const index_t i = free_[at(k)];
      double* out = system_.row(k);
      const double *entries = matrix_.entries(i), y = rows_.y[i];
      for (index_t l = 0; l <= k; ++l)
        out[l] = y * rows_.y[free_[at(l)]] * entries[free_places_[at(l)]];
      out[k] += slack_slope(alpha[at(i)], rows_.cost[i]);
    }
    if (!system_.factor(degenerate, &held_)) return false;
    along_.resize(free_.size());
    for (std::size_t k = 0; k < free_.size(); ++k) along_[k] = rows_.y[free_[k]];
    if (fit_intercept_) system_.solve(along_.data());
    return true;
  }

  // Rows that depend on others are held by the system. Where the others are at rest and one of the held
  // is not, the face has too many rows: it moves together with the others, which hardly changes any
  // margin, until one of them meets a bound and leaves. False if all held rows are at rest.
  bool escape(std::vector<double>& alpha, std::vector<char>& is_free, double b, double least) {
    std::size_t worst = free_.size();
    double off = least;
    for (const index_t k : held_) {
      const index_t i = free_[at(k)];
      const double own = std::abs(short_[at(i)] - rows_.y[i] * b);
      if (own > off) {
        off = own;
        worst = at(k);
      }
    }
    if (worst == free_.size()) return false;
    const index_t j = free_[worst];
    const double *entries = matrix_.entries(j), y = rows_.y[j];
    std::vector<double> column(free_.size());
    for (std::size_t k = 0; k < free_.size(); ++k)
      column[k] = y * rows_.y[free_[k]] * entries[free_places_[k]];
    for (std::size_t k = 0; k < free_.size(); ++k) direction_[k] = -column[k];
    system_.solve(direction_.data());
    double weight = 0.0, missed = y, shift = 0.0;
    for (std::size_t k = 0; k < free_.size(); ++k) {
      missed += rows_.y[free_[k]] * direction_[k];
      weight += rows_.y[free_[k]] * along_[k];
    }
    if (fit_intercept_) {
      shift = missed / weight;
      for (std::size_t k = 0; k < free_.size(); ++k) direction_[k] -= shift * along_[k];
    }
    for (const index_t k : held_) direction_[at(k)] = 0.0;
    direction_[worst] = 1.0;
    double curvature = slack_slope(alpha[at(j)], rows_.cost[j]) + y * shift;
    for (std::size_t k = 0; k < free_.size(); ++k) curvature += column[k] * direction_[k];
    if (short_[at(j)] - y * b < 0.0)
      for (double& by : direction_) by = -by;
    const double share = std::min(room(alpha), curvature > 0.0 ? off / curvature : infinity);
    if (!std::isfinite(share)) return false;
    for (std::size_t k = 0; k < free_.size(); ++k) {
      const index_t i = free_[k];
      const double top = highest(i);
      alpha[at(i)] = std::clamp(alpha[at(i)] + share * direction_[k], 0.0, top);
      if (direction_[k] != 0.0 && room_[k] <= share) {
        alpha[at(i)] = direction_[k] > 0.0 ? top : 0.0;
        is_free[at(i)] = 0;
      }
    }
    return true;
  }

  double slack_slope(double alpha, double cost) const {
    if (alpha > 0.0) return loss_.slack_slope(alpha, loss_.slack_of(alpha, cost));
    return loss_.p == 2.0 ? 0.5 / cost : 0.0;
  }

  // Change of the free variables; returns the intercept after it.
  double newton_direction(const std::vector<double>& alpha) {
    direction_.resize(free_.size());
    for (std::size_t k = 0; k < free_.size(); ++k) direction_[k] = short_[at(free_[k])];
    system_.solve(direction_.data());
    if (!fit_intercept_) return 0.0;
    double missed = 0.0, weight = 0.0;
    for (index_t i = 0; i < n_; ++i) missed += rows_.y[i] * alpha[at(i)];
    for (std::size_t k = 0; k < free_.size(); ++k) {
      missed += rows_.y[free_[k]] * direction_[k];
      weight += rows_.y[free_[k]] * along_[k];
    }
    const double b = missed / weight;
    for (std::size_t k = 0; k < free_.size(); ++k) direction_[k] -= b * along_[k];
    return b;
  }

  // The share of a step until the first bound, and until that of each free variable.
  double room(const std::vector<double>& alpha) {
    double share = infinity;
    room_.resize(free_.size());
    for (std::size_t k = 0; k < free_.size(); ++k) {
      const double by = direction_[k], own = alpha[at(free_[k])];
      room_[k] = infinity;
      if (by != 0.0) room_[k] = (by > 0.0 ? highest(free_[k]) - own : -own) / by;
      share = std::min(share, room_[k]);
    }
    return share;
  }

  // Steps, and systems among them, at most: from a gap of 1e-4 two to ten are usual. So many systems
  // long any number of rows leaves at once.
  static constexpr int most_steps = 200, most_factors = 60, boldness = 10;
  // Share of the largest diagonal entry below which a pivot makes a face degenerate.
  static constexpr double degenerate = 1e-13;
  static constexpr double rounding = 1e-13;

  const PNormHinge& loss_;
  const DualRows& rows_;
  WholeMatrix& matrix_;
  const Places& places_;
  const index_t n_;
  const bool fit_intercept_;
  RunControl& run_;
  Cholesky system_;
  std::vector<index_t> free_, free_places_;  // and their places in the matrix
  std::vector<index_t> held_;                // numbers among the free
  std::vector<double> decision_, short_, coef_, direction_, along_, room_;
};

}  // namespace psvm
