// One round of the kernel solvers, whatever way they choose their working sets and keep their decision
// values: what a point proves, and the small dual over some of its variables.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "loss/intercept.hpp"
#include "smo/block_smo.hpp"
#include "smo/row_states.hpp"

namespace psvm {

// What a point proves.
struct Proof {
  double gap, primal, dual;
};

// The outcome of a block.
struct BlockChanges {
  std::vector<index_t> places;  // in the block, of the variables that changed, rising
  index_t steps;
  bool indefinite, unbounded;
};

template <class T>
class Round {
 public:
  // `tol` is the relative gap asked for: intercepts need not be much better. The variables have
  // sum_i alpha_i y_i = balance.
  Round(bool fit_intercept, double balance, double tol, RunControl& run)
      : fit_intercept_(fit_intercept),
        balance_(balance),
        tol_(tol),
        run_(run),
        intercepts_(balance) {}

  // Moves to a point, perhaps of another loss or other costs. The block and the intercept stay.
  void start(const PNormHinge& loss, const DualRows& rows, const std::vector<double>& alpha) {
    loss_ = &loss;
    rows_.emplace(loss, rows, alpha, run_);
    lost_at_zero_ = 0.0;
    for (std::size_t i = 0; i < alpha.size(); ++i)
      lost_at_zero_ += loss.value(rows_->y(i) * rows_->target(i), rows_->cost(i));
  }

  bool fit_intercept() const { return fit_intercept_; }
  RowStates& rows() { return *rows_; }
  const RowStates& rows() const { return *rows_; }
  Block<T>& block() { return block_; }

  // --- as of the last `certify` ------------------------------------------------------------------

  double intercept() const { return b_; }
  // How far the extreme scores are apart, and the point between them.
  double reach() const { return max_up_ - min_low_; }
  double middle() const { return middle_; }
  // Primal minus dual, and what it is compared with.
  double difference() const { return sums_.difference; }
  double magnitude() const { return magnitude_; }
  // P(0, 0), which no D of a positive semidefinite kernel exceeds.
  double primal_at_zero() const { return lost_at_zero_; }
  // sum_i alpha_i y_i t_i
  double linear_term() const { return sums_.linear; }

  // Intercept, primal, dual and relative gap from the decision values of all rows, in O(rows);
  // `squared_norm` is coef' K coef where the decision values are not up to date.
  Proof certify(const std::vector<double>& decision, std::optional<double> squared_norm = {}) {
    const ExtremeScores extremes = rows_->extremes(decision.data());
    max_up_ = fit_intercept_ ? extremes.max_up : std::max(extremes.max_up, 0.0);
    min_low_ = fit_intercept_ ? extremes.min_low : std::min(extremes.min_low, 0.0);
    middle_ = fit_intercept_ ? 0.5 * (max_up_ + min_low_) : 0.0;
    b_ = good_intercept(decision);
    sums_ = rows_->sums(decision.data(), b_);
    const double norm_term = 0.5 * squared_norm.value_or(sums_.squared_norm);
    if (rows_->hard_margin()) return proven(certify_hard(decision, norm_term));
    magnitude_ = std::abs(norm_term) + sums_.lost + std::abs(balance_ * b_);
    const double dual = sums_.linear - norm_term - sums_.conjugate;
    // As in certificate.py: a sum of non-negative terms below zero is rounding.
    const bool rounded_off =
        !std::isfinite(sums_.difference) || sums_.difference < -1e-6 * magnitude_;
    return proven(
        {rounded_off ? infinity : std::max(sums_.difference, 0.0) / std::max(magnitude_, 1e-300),
         dual + sums_.difference, dual});
  }

  // The exact minimiser of the primal over b, for the same decision values.
  double best_intercept(const std::vector<double>& decision) {
    if (fit_intercept_)
      b_ = intercepts_.best(*loss_, decision.size(), thresholds(decision), b_,
                            {.b = 1e-12 * (1.0 + std::abs(b_))});
    return b_;
  }

  // --- the small dual over the members of the block ----------------------------------------------

  void limit_steps(index_t most) { steps_left_ = most < 0 ? no_limit : most; }
  index_t steps_left() const { return steps_left_; }

  // Solves it; the Gram matrix of the members, rows of the problem, is in the block.
  BlockChanges solve(const std::vector<index_t>& members) {
    const std::size_t size = members.size();
    for (std::size_t k = 0; k < size; ++k) {
      const auto i = static_cast<std::size_t>(members[k]);
      block_.y[k] = rows_->y(i);
      block_.cost[k] = rows_->cost(i);
      block_.alpha[k] = rows_->alpha(i);
      block_.slack[k] = rows_->slack(i);
      block_.score[k] = static_cast<T>(rows_->score(i) - middle_);
    }
    if (!fit_intercept_) block_.score[size] = T(0);
    // A tenth of the violation, at most 40 steps per variable: more precision inside a block is
    // wasted on a block that will change (0.3 and 0.01 measured slower at C = 100 and C = 1). Beyond
    // p = 3, where steps gain less and less, a third and 10 steps (p = 5: up to 1.5 times faster; p = 3,
    // C = 1: 1.4 times slower).
    const double floor = 4.0 * std::numeric_limits<T>::epsilon();
    const bool slow = loss_->p > 3.0;
    const index_t most = std::min((slow ? 10 : 40) * static_cast<index_t>(size), steps_left_);
    // The dual cannot gain more than the difference, were it not for indefinite kernels: theirs may
    // grow for ever, within one block beyond the range of numbers.
    const double most_gain =
        most_growth() * std::max(lost_at_zero_, std::max(magnitude_, sums_.difference));
    const BlockResult solved =
        solve_block(block_, *loss_, {slow ? 0.3 : 0.1, floor, most, most_gain}, run_);
    if (steps_left_ != no_limit) steps_left_ -= solved.steps;
    BlockChanges changes{{}, solved.steps, solved.indefinite, solved.unbounded};
    for (std::size_t k = 0; k < size; ++k) {
      const auto i = static_cast<std::size_t>(members[k]);
      if (block_.alpha[k] == rows_->alpha(i)) continue;
      rows_->set(i, block_.alpha[k], block_.slack[k]);
      changes.places.push_back(static_cast<index_t>(k));
    }
    return changes;
  }

  // Times P(0, 0) that the dual must grow for it to be without bound, and not just rounded. (Below
  // p = 2 the conjugate wins in the end, if numbers reach so far.)
  double most_growth() const { return loss_->p < 2.0 ? 1e100 : 1e6; }

 private:
  static constexpr index_t no_limit = std::numeric_limits<index_t>::max();

  // Numbers that have left their range prove nothing.
  static Proof proven(const Proof& proof) {
    if (std::isnan(proof.gap) || std::isnan(proof.primal) || std::isnan(proof.dual))
      return {infinity, infinity, -infinity};
    return proof;
  }

  // A good intercept, not an exact one: any b gives a valid primal value, and the minimiser lies
  // between the extreme scores.
  double good_intercept(const std::vector<double>& decision) {
    if (!fit_intercept_) return 0.0;
    if (rows_->hard_margin() || !(min_low_ < max_up_)) return middle_;
    // To a hundredth of the gap at p = 1, where the sum of losses has corners.
    const double enough = 0.01 * std::max(sums_.difference, tol_ * magnitude_);
    const auto hinge_slope = [&](double b) {
      return rows_->hinge_slope(decision.data(), b) + balance_;
    };
    if (loss_->bounded()) return hinge_intercept(hinge_slope, {min_low_, max_up_}, b_, enough);
    const auto slope = [&](double b) {
      const Slope there = rows_->slope(decision.data(), b);
      return Slope{there.first + balance_, there.second};
    };
    // Else to a hundredth of the bracket, about which it is flat to the second order.
    return newton_intercept(slope, {min_low_, max_up_}, b_, {.b = 0.01 * reach()}, 5);
  }
  auto thresholds(const std::vector<double>& decision) const {
    return [this, &decision](std::size_t i) {
      return ThresholdRow{rows_->target(i) - decision[i], rows_->cost(i), rows_->y(i)};
    };
  }

  // The primal of the hard margin is that of w, scaled so that the worst margin is 1. (That needs
  // classification, where the targets are the signs.)
  Proof certify_hard(const std::vector<double>& decision, double norm_term) const {
    double worst = infinity;
    for (std::size_t i = 0; i < decision.size(); ++i)
      worst = std::min(worst, rows_->y(i) * (decision[i] + b_));
    const double dual = sums_.linear - norm_term;
    if (!(worst > 0.0)) return {infinity, infinity, dual};
    const double primal = norm_term / (worst * worst);
    return {std::max(1.0 - dual / primal, 0.0), primal, dual};
  }

  const bool fit_intercept_;
  const double balance_, tol_;
  RunControl& run_;
  const PNormHinge* loss_ = nullptr;
  std::optional<RowStates> rows_;
  InterceptSearch intercepts_;
  Block<T> block_;
  index_t steps_left_ = no_limit;
  double lost_at_zero_ = 0.0;
  double max_up_ = 0.0, min_low_ = 0.0, middle_ = 0.0, b_ = 0.0, magnitude_ = 0.0;
  RowSums sums_{};
};

// Tells when a goal is too many rounds away, if the smallest gap and the dual go on as over the last
// window. They must agree: the gap falls in steps, and the dual may grow slowly just before the end.
class Outlook {
 public:
  Outlook(double tol, index_t window, double patience)
      : tol_(tol), window_(window), patience_(patience) {}

  // To be asked once in every round.
  bool hopeless(Proof now) {
    now.gap = smallest_gap_ = std::min(smallest_gap_, now.gap);
    if (++rounds_ % window_) return false;
    const Proof then = std::exchange(last_, now);
    if (rounds_ == window_) return false;
    const auto rounds = static_cast<double>(window_);
    const double by_gap = std::log(now.gap / tol_) * rounds / std::log(then.gap / now.gap);
    const double by_dual =
        now.gap * std::abs(now.primal) * rounds / std::max(now.dual - then.dual, 0.0);
    return (!(now.gap < then.gap) || by_gap > patience_) && !(by_dual < patience_);
  }

 private:
  const double tol_;
  const index_t window_;
  const double patience_;
  index_t rounds_ = 0;
  double smallest_gap_ = infinity;
  Proof last_{};
};

}  // namespace psvm
