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
// With p > 2 there are no bounds to be at: at slacks xi > 0 of curvature W_i = p (p - 1) cost_i
// xi_i^(p-2) a step is a least-squares machine
//
//   (K + 1/W) beta + b = t - y xi (p - 2) / (p - 1)   for rows with xi > 0,   sum_i beta_i = 0
//
// scaled by sqrt(W), so that its eigenvalues are at least 1 however small a slack is.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/cholesky.hpp"
#include "loss/intercept.hpp"
#include "smo/block_smo.hpp"
#include "smo/places.hpp"
#include "smo/row_states.hpp"

namespace psvm {

class Face {
 public:
  // The block's Gram matrix is the positive semidefinite one of all places of rows.
  Face(const PNormHinge& loss, const DualRows& rows, Places& places, const Block<double>& block,
       bool fit_intercept, RunControl& run)
      : loss_(loss),
        rows_(rows),
        places_(places),
        block_(block),
        n_(places.rows()),
        fit_intercept_(fit_intercept),
        run_(run),
        decision_(at(n_)),
        short_(at(n_)),
        coef_(at(n_)) {}

  // Moves an alpha near the optimum there; false, and of no use, where that is not possible: the face
  // of a degenerate optimum (equal rows, kernels of low rank) is not unique.
  bool solve(std::vector<double>& alpha) {
    return loss_.p > 2.0 ? on_slacks(alpha) : on_alpha(alpha);
  }

  // The same of any alpha, where the loss has slopes enough (p >= 2).
  bool solve_from_afar(std::vector<double>& alpha) { return on_slacks(alpha); }

 private:
  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  const double* gram_row(index_t i) const {
    return block_.gram.data() + places_.of(i) * block_.stride;
  }
  double highest(index_t i) const { return loss_.bounded() ? rows_.cost[i] : infinity; }

  // decision = K coef
  void decide() {
    const std::vector<double>& coef = places_.sum(coef_);
    const index_t n = places_.size();
    std::vector<const double*> vectors;
    std::vector<double> factors;
    for (index_t i = 0; i < n; ++i)
      if (coef[at(i)] != 0.0) {
        vectors.push_back(block_.gram.data() + i * block_.stride);
        factors.push_back(coef[at(i)]);
      }
    decision_.assign(at(n), 0.0);
    apply_stored<double>(vectors, factors.data(), n, decision_.data(), run_);
    if (places_.shared()) decision_ = places_.spread(decision_);
  }

  // --- p <= 2 ------------------------------------------------------------------------------------

  bool on_alpha(std::vector<double>& alpha) {
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
      largest = std::max(largest, std::abs(block_.diagonal[at(places_.of(i))]));
    }
    return rounding * size + 4.0 * std::numeric_limits<double>::epsilon() * largest * total;
  }

  // What each row misses without an intercept: y (t - f) - slack_of(alpha).
  void miss(const std::vector<double>& alpha) {
    for (index_t i = 0; i < n_; ++i) coef_[at(i)] = rows_.y[i] * alpha[at(i)];
    decide();
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
      const double *entries = gram_row(i), y = rows_.y[i];
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
    const double *entries = gram_row(j), y = rows_.y[j];
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

  // --- p > 2 -------------------------------------------------------------------------------------

  bool on_slacks(std::vector<double>& alpha) {
    std::vector<double> beta(at(n_)), to(at(n_)), there(at(n_));
    for (index_t i = 0; i < n_; ++i) beta[at(i)] = rows_.y[i] * alpha[at(i)];
    coef_ = beta;
    decide();
    std::vector<double> decision = decision_;
    InterceptSearch intercepts;
    double b = 0.0;
    if (fit_intercept_)
      b = intercepts.best(loss_, at(n_),
                          [&](std::size_t i) {
                            return ThresholdRow{rows_.target[i] - decision[i], rows_.cost[i],
                                                rows_.y[i]};
                          },
                          0.0, {.b = 1e-12});
    double primal = primal_of(beta, decision, b), change = infinity;
    for (int step = 0; step < most_steps; ++step) {
      double new_b = 0.0;
      if (!slack_step(decision, b, new_b)) return false;
      const std::vector<double> new_beta = coef_;
      decide();
      double largest = 0.0, now = 0.0;
      for (index_t i = 0; i < n_; ++i) {
        to[at(i)] = decision_[at(i)] - decision[at(i)];
        now = std::max(now, std::abs(to[at(i)] + new_b - b));
      }
      const double last = std::exchange(change, now);
      bool gained = false, found = false;
      double share = 1.0;
      for (int halving = 0; halving < most_halvings && !found; ++halving, share *= 0.5) {
        std::vector<double> beta_there(at(n_));
        for (index_t i = 0; i < n_; ++i) {
          beta_there[at(i)] = beta[at(i)] + share * (new_beta[at(i)] - beta[at(i)]);
          there[at(i)] = decision[at(i)] + share * to[at(i)];
        }
        const double b_there = b + share * (new_b - b);
        const double value = primal_of(beta_there, there, b_there);
        gained = value < primal * (1.0 - 1e-15);
        found = gained || value <= primal * (1.0 + 1e-14);
        if (!found) continue;
        beta = std::move(beta_there);
        decision = there;
        b = b_there;
        primal = value;
      }
      run_.check();
      for (const double value : decision) largest = std::max(largest, std::abs(value));
      if (!found && change > 1e-6 * (1.0 + largest)) return false;
      // P stands still a step or two before the slacks do.
      if (!found || change <= 1e-11 * (1.0 + largest) || (!gained && change > 0.5 * last)) {
        for (index_t i = 0; i < n_; ++i)
          alpha[at(i)] =
              loss_.alpha_of(rows_.y[i] * (rows_.target[i] - (decision[at(i)] + b)), rows_.cost[i]);
        return true;
      }
    }
    return false;
  }

  double primal_of(const std::vector<double>& beta, const std::vector<double>& decision,
                   double b) const {
    double norm = 0.0, lost = 0.0;
    for (index_t i = 0; i < n_; ++i) {
      norm += beta[at(i)] * decision[at(i)];
      lost += loss_.value(rows_.y[i] * (rows_.target[i] - (decision[at(i)] + b)), rows_.cost[i]);
    }
    return 0.5 * norm + lost;
  }

  // Beta (in coef_) and b of the machine above; false where numbers leave their range.
  bool slack_step(const std::vector<double>& decision, double b, double& new_b) {
    const double p = loss_.p;
    free_.clear();
    free_places_.clear();
    scale_.clear();
    direction_.clear();
    for (index_t i = 0; i < n_; ++i) {
      const double xi = rows_.y[i] * (rows_.target[i] - (decision[at(i)] + b));
      if (!(xi > 0.0)) continue;
      const double root = std::sqrt((p - 1.0) * loss_.alpha_of(xi, rows_.cost[i]) / xi);
      if (!std::isfinite(root)) return false;
      add_free(i);
      scale_.push_back(root);
      direction_.push_back(root * (rows_.target[i] - rows_.y[i] * xi * ((p - 2.0) / (p - 1.0))));
    }
    if (free_.empty()) return false;
    const auto size = static_cast<index_t>(free_.size());
    system_.resize(size);
    for (index_t k = 0; k < size; ++k) {
      double* out = system_.row(k);
      const double* entries = gram_row(free_[at(k)]);
      for (index_t l = 0; l <= k; ++l)
        out[l] = scale_[at(k)] * scale_[at(l)] * entries[free_places_[at(l)]];
      out[k] += 1.0;
      if (!std::isfinite(out[k])) return false;
    }
    if (!system_.factor(0.0)) return false;
    system_.solve(direction_.data());
    new_b = 0.0;
    if (fit_intercept_) {
      along_ = scale_;
      system_.solve(along_.data());
      double missed = 0.0, weight = 0.0;
      for (std::size_t k = 0; k < free_.size(); ++k) {
        missed += scale_[k] * direction_[k];
        weight += scale_[k] * along_[k];
      }
      if (!(weight > 0.0)) return false;
      new_b = missed / weight;
      for (std::size_t k = 0; k < free_.size(); ++k) direction_[k] -= new_b * along_[k];
    }
    std::fill(coef_.begin(), coef_.end(), 0.0);
    for (std::size_t k = 0; k < free_.size(); ++k) coef_[at(free_[k])] = scale_[k] * direction_[k];
    return true;
  }

  // Steps, and systems among them, at most: from a gap of 1e-4 two to ten are usual. So many systems
  // long any number of rows leaves at once.
  static constexpr int most_steps = 200, most_factors = 60, boldness = 10, most_halvings = 10;
  // Share of the largest diagonal entry below which a pivot makes a face degenerate.
  static constexpr double degenerate = 1e-13;
  static constexpr double rounding = 1e-13;

  const PNormHinge& loss_;
  const DualRows& rows_;
  Places& places_;
  const Block<double>& block_;
  const index_t n_;
  const bool fit_intercept_;
  RunControl& run_;
  Cholesky system_;
  std::vector<index_t> free_, free_places_;  // and their places in the matrix
  std::vector<index_t> held_;                // numbers among the free
  std::vector<double> decision_, short_, coef_, direction_, along_, room_, scale_;
};

}  // namespace psvm
