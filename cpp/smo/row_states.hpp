// The variables of a kernel problem: where each stands, where it may move, and what a round of the
// solver asks of all of them at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/simd.hpp"
#include "base/stretches.hpp"
#include "kernel/kernel_rows.hpp"
#include "loss/intercept.hpp"
#include "loss/loss.hpp"
#include "loss/prox.hpp"

namespace psvm {

// The largest score that may go up and the smallest that may go low.
struct ExtremeScores {
  double max_up, min_low;
};

// The rows of a dual problem. Row i has a slack of max(0, y_i (t_i - f_i - b)), where f_i is its
// decision value: sign, target and cost. In classification the target is the sign.
struct DualRows {
  const double* y;       // -1 or +1
  const double* target;  // t
  const double* cost;    // > 0; all infinite for a hard margin
};

// Sums over all rows.
struct RowSums {
  double linear;  // sum_i alpha_i y_i t_i
  double lost, conjugate;
  double difference;    // primal minus dual, as a sum of non-negative terms
  double squared_norm;  // coef' K coef, if the decision values are up to date

  void add(const RowSums& more) {
    linear += more.linear;
    lost += more.lost;
    conjugate += more.conjugate;
    difference += more.difference;
    squared_norm += more.squared_norm;
  }
};

// One pass over a stretch of the rows. Arrays are padded by rows that may not move and cost nothing;
// `decision` is not, and ends with a padded copy of its last values.
struct RowPass {
  index_t n;
  const double* decision;
  const double *aim, *cost, *coef, *signed_cost, *up, *low;
  const double *y, *target, *alpha, *slack;
  double* score;
  double p, b;
  ExtremeScores extremes{};
  RowSums sums{};
  double passed_cost = 0.0;
  Slope slope{};

  static constexpr index_t lanes = psvm::lanes<double>;
  double tail[lanes] = {};

  void copy_tail() { std::copy(decision + n / lanes * lanes, decision + n, tail); }
  const double* decision_at(index_t k) const { return k + lanes <= n ? decision + k : tail; }
};

// score = aim - decision, and its extremes.
struct ScorePass {
  template <class Arch>
  static PSVM_INLINE void run(RowPass* pass) {
    using V = Vec<double, Arch>;
    V max_up = broadcast<V>(-infinity), min_low = broadcast<V>(infinity);
    for (index_t k0 = 0; k0 < pass->n; k0 += RowPass::lanes) {
      const double* decision = pass->decision_at(k0);
      for (index_t k = 0; k < RowPass::lanes; k += width<V>) {
        const V score = load<V>(pass->aim + k0 + k) - load<V>(decision + k);
        store<V>(pass->score + k0 + k, score);
        max_up = vmax<V>(score + load<V>(pass->up + k0 + k), max_up);
        min_low = vmin<V>(score + load<V>(pass->low + k0 + k), min_low);
      }
    }
    pass->extremes = {max_up[0], min_low[0]};
    for (int k = 1; k < width<V>; ++k) {
      pass->extremes.max_up = std::max(pass->extremes.max_up, max_up[k]);
      pass->extremes.min_low = std::min(pass->extremes.min_low, min_low[k]);
    }
  }
};

// The sums of a certificate at p = 1, where the conjugate is 0 and a row aims at its target.
struct HingeSumsPass {
  template <class Arch>
  static PSVM_INLINE void run(RowPass* pass) {
    using V = Vec<double, Arch>;
    const V b = broadcast<V>(pass->b);
    V linear{}, lost{}, difference{}, norm{};
    for (index_t k0 = 0; k0 < pass->n; k0 += RowPass::lanes) {
      const double* decision = pass->decision_at(k0);
      for (index_t k = 0; k < RowPass::lanes; k += width<V>) {
        const V target = load<V>(pass->aim + k0 + k), f = load<V>(decision + k);
        const V coef = load<V>(pass->coef + k0 + k), beside = target - (f + b);
        const V own = vmax<V>(load<V>(pass->signed_cost + k0 + k) * beside, V{});
        linear += coef * target;
        lost += own;
        difference += own - coef * beside;
        norm += coef * f;
      }
    }
    pass->sums = {sum_of<V>(linear), sum_of<V>(lost), 0.0, sum_of<V>(difference), sum_of<V>(norm)};
  }
};

// p = 1: the cost of all rows that b has passed, whose threshold target - decision is smaller.
struct PassedCostPass {
  template <class Arch>
  static PSVM_INLINE void run(RowPass* pass) {
    using V = Vec<double, Arch>;
    const V b = broadcast<V>(pass->b);
    V passed{};
    for (index_t k0 = 0; k0 < pass->n; k0 += RowPass::lanes) {
      const double* decision = pass->decision_at(k0);
      for (index_t k = 0; k < RowPass::lanes; k += width<V>) {
        const V threshold = load<V>(pass->aim + k0 + k) - load<V>(decision + k);
        passed += threshold < b ? load<V>(pass->cost + k0 + k) : V{};
      }
    }
    pass->passed_cost = sum_of<V>(passed);
  }
};

// xi^(p-1), 0 for a xi of 0 or below.
template <Exponent kind, class V>
PSVM_INLINE V power_of_slack(V xi, double p) {
  return slope_power<kind, V>(vmax<V>(xi, V{}), p);
}

// Calls Loop::template run<Arch, kind>(pass) for the exponent p of the pass, p > 1.
template <class Loop>
struct PowerPass {
  template <class Arch>
  static PSVM_INLINE void run(RowPass* pass) {
    switch (exponent_of(pass->p)) {
      case Exponent::one_and_a_half:
        return Loop::template run<Arch, Exponent::one_and_a_half>(pass);
      case Exponent::two: return Loop::template run<Arch, Exponent::two>(pass);
      case Exponent::three: return Loop::template run<Arch, Exponent::three>(pass);
      default: return Loop::template run<Arch, Exponent::above_two>(pass);
    }
  }
};

// The sums of a certificate for p > 1.
struct PowerSumsLoop {
  template <class Arch, Exponent kind>
  static PSVM_INLINE void run(RowPass* pass) {
    using V = Vec<double, Arch>;
    const V b = broadcast<V>(pass->b);
    const double inverse_q = (pass->p - 1.0) / pass->p;
    V linear{}, lost{}, conjugates{}, difference{}, norm{};
    for (index_t k0 = 0; k0 < pass->n; k0 += RowPass::lanes) {
      const double* decision = pass->decision_at(k0);
      for (index_t k = 0; k < RowPass::lanes; k += width<V>) {
        const V target = load<V>(pass->target + k0 + k), f = load<V>(decision + k);
        const V coef = load<V>(pass->coef + k0 + k), beside = target - (f + b);
        const V xi = vmax<V>(load<V>(pass->y + k0 + k) * beside, V{});
        const V own = load<V>(pass->cost + k0 + k) * xi * power_of_slack<kind, V>(xi, pass->p);
        const V conjugate =
            load<V>(pass->alpha + k0 + k) * load<V>(pass->slack + k0 + k) * inverse_q;
        linear += coef * target;
        lost += own;
        conjugates += conjugate;
        difference += own - coef * beside + conjugate;
        norm += coef * f;
      }
    }
    pass->sums = {sum_of<V>(linear), sum_of<V>(lost), sum_of<V>(conjugates), sum_of<V>(difference),
                  sum_of<V>(norm)};
  }
};

// p > 1: the slope over b of the sum of losses, and its own slope.
struct PowerSlopeLoop {
  template <class Arch, Exponent kind>
  static PSVM_INLINE void run(RowPass* pass) {
    using V = Vec<double, Arch>;
    const V b = broadcast<V>(pass->b);
    const V tiny = broadcast<V>(std::numeric_limits<double>::min());
    V first{}, second{};
    for (index_t k0 = 0; k0 < pass->n; k0 += RowPass::lanes) {
      const double* decision = pass->decision_at(k0);
      for (index_t k = 0; k < RowPass::lanes; k += width<V>) {
        const V beside = load<V>(pass->target + k0 + k) - load<V>(decision + k) - b;
        const V xi = load<V>(pass->y + k0 + k) * beside;
        const V power = power_of_slack<kind, V>(xi, pass->p);
        first += load<V>(pass->signed_cost + k0 + k) * power;
        second += choose<V>(greater<V>(xi, tiny),
                            load<V>(pass->cost + k0 + k) * power / vmax<V>(xi, tiny), V{});
      }
    }
    pass->slope = {-pass->p * sum_of<V>(first), pass->p * (pass->p - 1.0) * sum_of<V>(second)};
  }
};

// The rows that may move to a side and whose sign * score is above a limit.
struct BeyondPass {
  // `allowed` is 0 where a row may move, and of the sign against it and infinite elsewhere. Arrays are
  // padded to whole panels; `found` has room for all rows.
  template <class Arch>
  static PSVM_INLINE void run(const double* score, const double* allowed, double sign, double limit,
                              index_t padded, index_t* found, index_t* count) {
    using V = Vec<double, Arch>;
    const V least = broadcast<V>(limit);
    index_t so_far = 0;
    for (index_t k0 = 0; k0 < padded; k0 += width<V>) {
      const V value = sign * (load<V>(score + k0) + load<V>(allowed + k0));
      const Mask<V> beyond = greater<V>(value, least);
      if (!any_holds<V>(beyond)) continue;  // nearly all: five times as fast
      for (int k = 0; k < width<V>; ++k) {
        found[so_far] = k0 + k;
        so_far += holds<V>(beyond, k);
      }
    }
    *count = so_far;
  }
};

class RowStates {
 public:
  // Passes over all rows are made on the threads of `run`.
  RowStates(const PNormHinge& loss, const DualRows& rows, const std::vector<double>& alpha,
            RunControl& run)
      : loss_(loss), run_(run), n_(alpha.size()), hard_margin_(n_ > 0 && std::isinf(rows.cost[0])) {
    const auto lanes = static_cast<std::size_t>(RowPass::lanes);
    const std::size_t padded = (n_ + lanes - 1) / lanes * lanes;
    for (auto* zeros :
         {&y_, &cost_, &target_, &signed_cost_, &alpha_, &slack_, &coef_, &aim_, &score_})
      zeros->assign(padded, 0.0);
    up_.assign(padded, -infinity);
    low_.assign(padded, infinity);
    std::copy(rows.y, rows.y + n_, y_.begin());
    std::copy(rows.target, rows.target + n_, target_.begin());
    std::copy(rows.cost, rows.cost + n_, cost_.begin());
    for (std::size_t i = 0; i < n_; ++i) {
      signed_cost_[i] = y_[i] * cost_[i];
      if (y_[i] > 0) positive_cost_ += cost_[i];
      set(i, alpha[i], loss.slack_of(alpha[i], cost_[i]));
    }
  }

  index_t size() const { return static_cast<index_t>(n_); }
  bool hard_margin() const { return hard_margin_; }
  double y(std::size_t i) const { return y_[i]; }
  double target(std::size_t i) const { return target_[i]; }
  double cost(std::size_t i) const { return cost_[i]; }
  double alpha(std::size_t i) const { return alpha_[i]; }
  double slack(std::size_t i) const { return slack_[i]; }
  std::vector<double> alphas() const {
    return {alpha_.begin(), alpha_.begin() + static_cast<index_t>(n_)};
  }
  // y alpha
  const std::vector<double>& coef() const { return coef_; }
  // target - decision - y slack, as of the last `extremes`.
  double score(std::size_t i) const { return score_[i]; }

  bool below_bound(std::size_t i) const { return !loss_.bounded() || alpha_[i] < cost_[i]; }
  bool can_go_up(std::size_t i) const { return y_[i] > 0 ? below_bound(i) : alpha_[i] > 0.0; }
  bool can_go_low(std::size_t i) const { return y_[i] < 0 ? below_bound(i) : alpha_[i] > 0.0; }
  // Calls visit(row, by) for the rows that may go up (or low), are not hidden, and whose scores were
  // beyond the middle by more than `least` at the last `extremes`. `beyond` is working memory.
  template <class Visit>
  void for_violators(bool up, double middle, double least, std::vector<index_t>& beyond,
                     const Visit& visit) const {
    const double sign = up ? 1.0 : -1.0;
    index_t count = 0;
    beyond.resize(score_.size() + 1);
    on_this_cpu<BeyondPass, const double*, const double*, double, double, index_t, index_t*,
                index_t*>(score_.data(), (up ? up_ : low_).data(), sign, sign * middle + least,
                          static_cast<index_t>(score_.size()), beyond.data(), &count);
    for (index_t k = 0; k < count; ++k) {
      const index_t row = beyond[static_cast<std::size_t>(k)];
      visit(row, sign * (score_[static_cast<std::size_t>(row)] - middle));
    }
  }
  bool is_free(std::size_t i) const { return alpha_[i] > 0.0 && below_bound(i); }
  index_t support() const { return support_; }
  index_t free() const { return free_; }

  void set(std::size_t i, double alpha, double slack) {
    support_ -= alpha_[i] > 0.0;
    free_ -= is_free(i);
    alpha_[i] = alpha;
    slack_[i] = slack;
    coef_[i] = y_[i] * alpha;
    aim_[i] = target_[i] - y_[i] * slack;
    support_ += alpha > 0.0;
    free_ += is_free(i);
    show(i);
  }

  // A hidden row is not among the extremes.
  void hide(std::size_t i) {
    up_[i] = -infinity;
    low_[i] = infinity;
  }
  void show(std::size_t i) {
    up_[i] = can_go_up(i) ? 0.0 : -infinity;
    low_[i] = can_go_low(i) ? 0.0 : infinity;
  }

  ExtremeScores extremes(const double* decision) {
    ExtremeScores all{-infinity, infinity};
    for (const RowPass& pass : passes<ScorePass>(decision)) {
      all.max_up = std::max(all.max_up, pass.extremes.max_up);
      all.min_low = std::min(all.min_low, pass.extremes.min_low);
    }
    return all;
  }

  RowSums sums(const double* decision, double b) {
    RowSums all{};
    if (hard_margin_) {  // loses nothing
      for (std::size_t i = 0; i < n_; ++i) {
        all.linear += coef_[i] * target_[i];
        all.squared_norm += coef_[i] * decision[i];
      }
      return all;
    }
    for (const RowPass& pass : loss_.bounded() ? passes<HingeSumsPass>(decision, b)
                                               : passes<PowerPass<PowerSumsLoop>>(decision, b))
      all.add(pass.sums);
    return all;
  }

  // p = 1: the slope over b of the sum of losses. Below all thresholds it is minus the cost of the
  // positive rows, and it rises by the cost of every row passed.
  double hinge_slope(const double* decision, double b) {
    double slope = -positive_cost_;
    for (const RowPass& pass : passes<PassedCostPass>(decision, b)) slope += pass.passed_cost;
    return slope;
  }

  // p > 1: the slope over b of the sum of losses, and its own slope.
  Slope slope(const double* decision, double b) {
    Slope all{};
    for (const RowPass& pass : passes<PowerPass<PowerSlopeLoop>>(decision, b)) {
      all.first += pass.slope.first;
      all.second += pass.slope.second;
    }
    return all;
  }

  // The part of the difference that a row makes.
  double difference(std::size_t i, double decision, double b) const {
    const double xi = y_[i] * (target_[i] - (decision + b));
    return loss_.value(xi, cost_[i]) - alpha_[i] * xi + loss_.conjugate(alpha_[i], slack_[i]);
  }

 private:
  // Runs Loop over all rows, a stretch at a time, which takes several us, more than to hand it out; what
  // was found in each, in order.
  template <class Loop>
  std::vector<RowPass> passes(const double* decision, double b = 0.0) {
    constexpr index_t length = 8192;
    return of_stretches(static_cast<index_t>(n_), length, run_, [&](index_t begin, index_t end) {
      const auto from = [&](auto& values) { return values.data() + begin; };
      RowPass pass{.n = end - begin,
                   .decision = decision + begin,
                   .aim = from(aim_),
                   .cost = from(cost_),
                   .coef = from(coef_),
                   .signed_cost = from(signed_cost_),
                   .up = from(up_),
                   .low = from(low_),
                   .y = from(y_),
                   .target = from(target_),
                   .alpha = from(alpha_),
                   .slack = from(slack_),
                   .score = from(score_),
                   .p = loss_.p,
                   .b = b};
      pass.copy_tail();
      on_this_cpu<Loop, RowPass*>(&pass);
      return pass;
    });
  }

  const PNormHinge& loss_;
  RunControl& run_;
  const std::size_t n_;
  const bool hard_margin_;
  std::vector<double> y_, target_, cost_, signed_cost_, alpha_, slack_, coef_, score_;
  std::vector<double> aim_;       // target - y slack; at p = 1 the target
  std::vector<double> up_, low_;  // 0 where a step is allowed, -inf / +inf where not
  double positive_cost_ = 0.0;
  index_t support_ = 0, free_ = 0;
};

}  // namespace psvm
