// Rounds of the kernel solver. Each round
//   1. certifies: intercept, primal, dual and relative gap from the decision values, in O(n);
//   2. selects a working set: half of the last one, then the worst violators;
//   3. solves the small dual over it (block_smo);
//   4. applies the kernel rows of the variables that changed to the decision values.
#include "working_set.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "block_smo.hpp"

namespace psvm {
namespace {

// Variables per block: large blocks where kernel rows are cheap, since then re-applying rows is
// what costs (2048 measured best for d <= 64, up to 2.6 times faster than 512).
index_t block_size(double work_per_entry, index_t n) {
  const index_t q = work_per_entry <= 64 ? 2048 : work_per_entry <= 200 ? 1024 : 512;
  return std::min(q, n);
}

// Rows with at most this many features are recomputed rather than cached: cheaper than memory.
constexpr double recompute_below = 64;

template <class T>
class WorkingSetSolver {
 public:
  WorkingSetSolver(const KernelRows<T>& kernel, RowCache<T>* cache, const BinaryProblem& problem,
                   std::vector<double> alpha, const Budget& budget, RunControl& run)
      : kernel_(kernel),
        cache_(cache),
        problem_(problem),
        budget_(budget),
        run_(run),
        // With infinite cost every p is the hard margin: no conjugate, no upper bound.
        loss_(std::isinf(problem.cost[0]) ? 1.0 : problem.p),
        hard_margin_(std::isinf(problem.cost[0])),
        alpha_(std::move(alpha)) {
    for (const int s : problem.segments) {
      offsets_.push_back(static_cast<index_t>(rows_.size()));
      for (index_t i = kernel.begin(s); i < kernel.begin(s + 1); ++i) rows_.push_back(i);
    }
    n_ = static_cast<index_t>(rows_.size());
    decision_.assign(rows_.size(), 0.0);
    applied_.assign(rows_.size(), 0.0);
    slack_.resize(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) slack_[i] = loss_.slack_of(alpha_[i], cost(i));
    in_block_.assign(rows_.size(), 0);
    for (std::size_t i = 0; i < rows_.size(); ++i) total_cost_ += cost(i);
  }

  WorkingSetResult solve(const OnRound& on_round) {
    std::vector<index_t> started;
    for (index_t i = 0; i < n_; ++i)
      if (alpha_[at(i)] != 0.0) started.push_back(i);
    apply(started);

    WorkingSetResult result;
    index_t changed = 0;
    double best_gap = infinity, best_dual = -infinity;
    for (index_t iteration = 0;; ++iteration) {
      const RoundRecord record = certify(iteration, changed);
      result.history.push_back(record);
      result.iterations = iteration;
      if (iteration == 0 || record.gap <= best_gap) {
        best_gap = record.gap;
        result.alpha = alpha_;
        result.decision = decision_;
      }
      const bool stop = on_round && on_round(record);
      if (record.gap <= budget_.tol) {
        result.status = indefinite_ ? "stationary" : "converged";
        break;
      }
      if (unbounded_ || out_of_bounds(record) || not_separable()) {
        result.status = "unbounded";
        break;
      }
      if (stop)
        result.status = "stopped";
      else if (budget_.max_iter >= 0 && iteration >= budget_.max_iter)
        result.status = "max_iter";
      else if (run_.seconds() >= budget_.max_time)
        result.status = "max_time";
      else if (hopeless(result.history) || out_of_digits(record, best_dual))
        result.status = "stalled";
      if (!result.status.empty()) break;
      best_dual = std::max(best_dual, record.dual);
      select(iteration);
      changed = solve_selected();
      run_.check();
    }
    return result;
  }

 private:
  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  double y(std::size_t i) const { return problem_.y[i]; }
  double cost(std::size_t i) const { return problem_.cost[i]; }
  bool can_go_up(std::size_t i) const {
    return y(i) > 0 ? (!loss_.bounded() || alpha_[i] < cost(i)) : alpha_[i] > 0.0;
  }
  bool can_go_low(std::size_t i) const {
    return y(i) < 0 ? (!loss_.bounded() || alpha_[i] < cost(i)) : alpha_[i] > 0.0;
  }
  bool is_free(std::size_t i) const {
    return alpha_[i] > 0.0 && (!loss_.bounded() || alpha_[i] < cost(i));
  }
  double score(std::size_t i) const { return y(i) - decision_[i] - y(i) * slack_[i]; }

  // --- 1. certify ------------------------------------------------------------------------------

  // Extreme scores; their middle is where violations are measured from.
  void find_extremes() {
    double max_up = -infinity, min_low = infinity;
    if (!problem_.fit_intercept) max_up = min_low = 0.0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const double s = score(i);
      if (can_go_up(i)) max_up = std::max(max_up, s);
      if (can_go_low(i)) min_low = std::min(min_low, s);
    }
    max_up_ = max_up;
    min_low_ = min_low;
    middle_ = problem_.fit_intercept ? 0.5 * (max_up + min_low) : 0.0;
  }

  // Slope over b of sum_i cost_i max(0, 1 - y_i (decision_i + b))^p, an increasing function.
  double intercept_slope(double b) const {
    double slope = 0.0;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      slope -= y(i) * loss_.alpha_of(1.0 - y(i) * (decision_[i] + b), cost(i));
    return slope;
  }

  // A good intercept, not an exact one: any b gives a valid primal value, and the minimiser lies
  // between the extreme scores. A dozen halvings cost less than one block.
  double intercept() const {
    if (!problem_.fit_intercept) return 0.0;
    if (hard_margin_ || !(min_low_ < max_up_)) return middle_;
    double low = min_low_, high = max_up_;
    for (int step = 0; step < 12; ++step) {
      const double b = 0.5 * (low + high);
      (intercept_slope(b) < 0.0 ? low : high) = b;
    }
    return 0.5 * (low + high);
  }

  RoundRecord certify(index_t iteration, index_t changed) {
    find_extremes();
    const double b = intercept();
    double squared_norm = 0.0, total = 0.0, lost = 0.0, difference = 0.0, worst = infinity;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const double margin = y(i) * (decision_[i] + b);
      squared_norm += alpha_[i] * y(i) * decision_[i];
      total += alpha_[i];
      worst = std::min(worst, margin);
      if (hard_margin_) continue;
      const double own = loss_.value(1.0 - margin, cost(i));
      lost += own;
      difference += own + alpha_[i] * (margin - 1.0) + loss_.conjugate(alpha_[i], slack_[i]);
    }
    squared_norm_ = squared_norm;
    total_alpha_ = total;
    RoundRecord record{iteration, run_.seconds(), 0.0, 0.0, 0.0, changed};
    if (hard_margin_) {
      record.dual = total - 0.5 * squared_norm;
      record.primal = worst > 0.0 ? 0.5 * squared_norm / (worst * worst) : infinity;
      record.gap = worst > 0.0 ? std::max(1.0 - record.dual / record.primal, 0.0) : infinity;
    } else {
      // As in certificate.py: a sum of non-negative terms below zero is rounding.
      const double magnitude = 0.5 * std::abs(squared_norm) + lost;
      record.primal = 0.5 * squared_norm + lost;
      record.dual = record.primal - difference;
      record.gap = !std::isfinite(difference) || difference < -1e-6 * magnitude
                       ? infinity
                       : std::max(difference, 0.0) / std::max(magnitude, 1e-300);
    }
    return record;
  }

  // D <= P(0, 0) = sum cost for every positive semidefinite kernel. Far beyond, an indefinite one
  // lets the dual grow for ever (in float, rounding may only look like it: see out_of_digits).
  bool out_of_bounds(const RoundRecord& record) {
    if (hard_margin_) return false;
    indefinite_ |= std::isfinite(record.dual) && record.dual > 1.01 * total_cost_;
    return sizeof(T) > 4 && std::isfinite(record.dual) && record.dual > 1e6 * total_cost_;
  }

  // Hard margin: any separating w has |w| >= sum alpha / |w(alpha)|, that is a margin of at most
  // |w(alpha)| / sum alpha. Below a millionth of the data's radius there is nothing to separate.
  bool not_separable() const {
    if (!hard_margin_ || total_alpha_ <= 0.0) return false;
    double radius = 0.0;
    for (const index_t i : rows_) radius = std::max(radius, kernel_.diagonal()[at(i)]);
    return squared_norm_ < 1e-12 * radius * total_alpha_ * total_alpha_;
  }

  // Exact pair steps never lower the dual: if it falls, alpha is too large for the entries' digits.
  bool out_of_digits(const RoundRecord& record, double best_dual) const {
    if (!hard_margin_ && record.dual > 1e6 * total_cost_) return true;
    return !std::isfinite(record.dual) || record.dual < best_dual - 1e-4 * std::abs(best_dual);
  }

  // Whether the gap would take very many rounds more, if it goes on as over the last window: tens
  // of thousands, or hundreds for the impatient. Gap and dual must agree that there is no hope: the
  // gap falls in steps, and the dual may grow slowly just before the end.
  bool hopeless(const std::vector<RoundRecord>& history) const {
    const std::size_t window = budget_.impatient ? 10 : 50;
    const double patience = budget_.impatient ? 100 : 2e4;
    if (history.size() <= window || history.size() % window) return false;
    const RoundRecord &now = history.back(), &then = history[history.size() - 1 - window];
    const double rounds = static_cast<double>(window);
    const double by_gap = std::log(now.gap / budget_.tol) * rounds / std::log(then.gap / now.gap);
    const double by_dual =
        now.gap * std::abs(now.primal) * rounds / std::max(now.dual - then.dual, 0.0);
    const bool gap_hopeless = !(now.gap < then.gap) || by_gap > patience;
    return gap_hopeless && !(by_dual < patience);
  }

  // --- 2. select -------------------------------------------------------------------------------

  void select(index_t iteration) {
    const index_t capacity = block_size(kernel_.work_per_entry(), n_);
    if (capacity == n_) {
      if (selected_.empty()) {
        selected_.resize(rows_.size());
        std::iota(selected_.begin(), selected_.end(), index_t(0));
      }
      return;
    }
    std::vector<index_t> chosen;
    const auto take = [&](index_t i) {
      if (in_block_[at(i)]) return;
      in_block_[at(i)] = 1;
      chosen.push_back(i);
    };
    // Half of the last block stays, free variables first.
    for (const bool free : {true, false})
      for (const index_t i : selected_)
        if (static_cast<index_t>(chosen.size()) < capacity / 2 && is_free(at(i)) == free) take(i);
    const index_t room = capacity - static_cast<index_t>(chosen.size());
    take_worst(true, room / 2, iteration, take);
    take_worst(false, capacity - static_cast<index_t>(chosen.size()), iteration, take);
    for (const index_t i : chosen) in_block_[at(i)] = 0;
    std::sort(chosen.begin(), chosen.end());
    selected_ = std::move(chosen);
  }

  // The worst violators of one side. In the first round of a cold start all rows tie, and a random
  // sample stands for the data.
  template <class Take>
  void take_worst(bool up, index_t count, index_t iteration, const Take& take) {
    std::vector<std::pair<double, index_t>> violators;
    for (index_t i = 0; i < n_; ++i) {
      if (in_block_[at(i)]) continue;
      const double s = score(at(i)) - middle_;
      if (up ? (s > 0.0 && can_go_up(at(i))) : (s < 0.0 && can_go_low(at(i))))
        violators.emplace_back(std::abs(s), i);
    }
    const auto keep = std::min<std::size_t>(violators.size(), at(count));
    if (iteration == 0) std::shuffle(violators.begin(), violators.end(), random_);
    if (keep < violators.size())
      std::nth_element(violators.begin(), violators.begin() + static_cast<index_t>(keep),
                       violators.end(),
                       [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t k = 0; k < keep; ++k) take(violators[k].second);
  }

  // --- 3. solve --------------------------------------------------------------------------------

  index_t solve_selected() {
    const auto q = static_cast<index_t>(selected_.size());
    if (selected_ != gram_of_ || block_.size == 0) {
      block_.resize(q, !problem_.fit_intercept);
      std::vector<index_t> global;
      for (const index_t i : selected_) global.push_back(rows_[at(i)]);
      kernel_.gram(global, block_.gram.data(), block_.stride, run_);
      for (index_t k = 0; k < q; ++k) {
        const T own = static_cast<T>(kernel_.diagonal()[at(global[at(k)])]);
        block_.gram[at(k * block_.stride + k)] = own;
        block_.diagonal[at(k)] = own;
      }
      gram_of_ = selected_;
    }
    for (index_t k = 0; k < q; ++k) {
      const std::size_t i = at(selected_[at(k)]);
      block_.y[at(k)] = y(i);
      block_.cost[at(k)] = cost(i);
      block_.alpha[at(k)] = alpha_[i];
      block_.slack[at(k)] = slack_[i];
      block_.score[at(k)] = static_cast<T>(score(i) - middle_);
    }
    if (!problem_.fit_intercept) block_.score[at(q)] = T(0);
    // A tenth of the violation, at most 40 steps per variable: more precision inside a block is
    // wasted on a block that will change (0.3 and 0.01 measured slower at C = 100 and C = 1).
    const double floor = 4.0 * std::numeric_limits<T>::epsilon();
    const BlockResult solved = solve_block(block_, loss_, 0.1, floor, 40 * q, run_);
    indefinite_ |= solved.indefinite;
    unbounded_ |= solved.unbounded && hard_margin_;
    std::vector<index_t> changed;
    for (index_t k = 0; k < q; ++k) {
      const std::size_t i = at(selected_[at(k)]);
      if (block_.alpha[at(k)] == alpha_[i]) continue;
      alpha_[i] = block_.alpha[at(k)];
      slack_[i] = block_.slack[at(k)];
      changed.push_back(selected_[at(k)]);
    }
    apply(changed);
    return static_cast<index_t>(changed.size());
  }

  // --- 4. apply --------------------------------------------------------------------------------

  // decision += rows of the changed variables times what they changed by since last applied.
  void apply(const std::vector<index_t>& changed) {
    std::vector<index_t> global;
    std::vector<T> coef;
    for (const index_t i : changed) {
      const T change = static_cast<T>(y(at(i)) * alpha_[at(i)] - applied_[at(i)]);
      if (change == T(0)) continue;
      applied_[at(i)] += static_cast<double>(change);
      global.push_back(rows_[at(i)]);
      coef.push_back(change);
    }
    for (std::size_t s = 0; s < problem_.segments.size(); ++s) {
      const int segment = problem_.segments[s];
      double* out = decision_.data() + offsets_[s];
      if (kernel_.stored() || !cache_ || kernel_.work_per_entry() <= recompute_below)
        kernel_.apply_rows(global, coef.data(), segment, out, run_);
      else
        apply_cached(global, coef, segment, out);
    }
  }

  void apply_cached(const std::vector<index_t>& global, const std::vector<T>& coef, int segment,
                    double* out) {
    const auto batch =
        static_cast<std::size_t>(std::min<index_t>(256, cache_->rows_that_fit(segment)));
    for (std::size_t first = 0; first < global.size(); first += batch) {
      const std::size_t count = std::min(batch, global.size() - first);
      const auto rows = cache_->fetch(Rows(global).subspan(first, count), segment, run_);
      std::vector<const T*> pointers;
      for (const auto& row : rows) pointers.push_back(row.get());
      apply_stored<T>(pointers, coef.data() + first, kernel_.length(segment), out, run_);
    }
  }

  const KernelRows<T>& kernel_;
  RowCache<T>* cache_;
  const BinaryProblem& problem_;
  const Budget& budget_;
  RunControl& run_;
  const PNormHinge loss_;
  const bool hard_margin_;
  index_t n_ = 0;
  std::vector<index_t> rows_, offsets_;
  std::vector<double> alpha_, decision_, applied_, slack_;
  double max_up_ = 0.0, min_low_ = 0.0, middle_ = 0.0;
  double squared_norm_ = 0.0, total_alpha_ = 0.0, total_cost_ = 0.0;
  bool indefinite_ = false, unbounded_ = false;
  std::vector<index_t> selected_, gram_of_;
  std::vector<char> in_block_;
  Block<T> block_;
  std::mt19937 random_{0};
};

}  // namespace

template <class T>
WorkingSetResult solve_working_set(const KernelRows<T>& kernel, RowCache<T>* cache,
                                   const BinaryProblem& problem, std::vector<double> alpha,
                                   const Budget& budget, const OnRound& on_round, RunControl& run) {
  return WorkingSetSolver<T>(kernel, cache, problem, std::move(alpha), budget, run).solve(on_round);
}

template WorkingSetResult solve_working_set<float>(const KernelRows<float>&, RowCache<float>*,
                                                   const BinaryProblem&, std::vector<double>,
                                                   const Budget&, const OnRound&, RunControl&);
template WorkingSetResult solve_working_set<double>(const KernelRows<double>&, RowCache<double>*,
                                                    const BinaryProblem&, std::vector<double>,
                                                    const Budget&, const OnRound&, RunControl&);

}  // namespace psvm
