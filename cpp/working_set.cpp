// Rounds of the kernel solver. Each round
//   1. certifies: intercept, primal, dual and relative gap from the decision values, in O(n);
//   2. selects a working set: half of the last one, then the worst violators;
//   3. solves the small dual over it (block_smo);
//   4. applies the kernel rows of the variables that changed to the decision values.
// Rows far from where anything moves are left behind until the end (decision_values.hpp). Where
// variables turn out to change many times (p > 1, large C), rounds take place among a part of the
// rows, and the others hear of the outcome only. Where entries are dear, those of the part are stored
// (stored_part.hpp).
#include "working_set.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "block_members.hpp"
#include "block_sizes.hpp"
#include "block_smo.hpp"
#include "decision_values.hpp"
#include "stored_part.hpp"

namespace psvm {
namespace {

template <class T>
class WorkingSetSolver {
 public:
  WorkingSetSolver(const KernelRows<T>& kernel, RowCache<T>* cache, const BinaryProblem& problem,
                   WorkingSetStart start, const Budget& budget, RunControl& run)
      : kernel_(kernel),
        cache_(cache),
        problem_(problem),
        budget_(budget),
        run_(run),
        // With infinite cost every p is the hard margin: no conjugate, no upper bound.
        loss_(std::isinf(problem.cost[0]) ? 1.0 : problem.p),
        hard_margin_(std::isinf(problem.cost[0])),
        decision_(kernel, cache, problem.segments),
        n_(decision_.size()),
        block_size_(first_block(kernel.work_per_entry(), n_, problem.p)),
        alpha_(std::move(start.alpha)),
        members_(kernel) {
    slack_.resize(at(n_));
    coef_.resize(at(n_));
    for (std::size_t i = 0; i < at(n_); ++i) slack_[i] = loss_.slack_of(alpha_[i], cost(i));
    for (std::size_t i = 0; i < at(n_); ++i) coef_[i] = y(i) * alpha_[i];
    for (std::size_t i = 0; i < at(n_); ++i) total_cost_ += cost(i);
    in_block_.assign(at(n_), 0);
    if (start.decision.empty())
      decision_.change_all(coef_, run_);
    else
      decision_.start_at(std::move(start.coef), std::move(start.decision));
  }

  WorkingSetResult solve(const OnRound& on_round) {
    WorkingSetResult result;
    index_t changed = 0;
    double best_gap = infinity, best_dual = -infinity;
    bool best_is_complete = true;
    for (index_t iteration = 0;; ++iteration) {
      RoundRecord record = certify(iteration, changed);
      if (decision_.has_stale_rows() &&
          (record.gap <= budget_.tol || behind_ > 0.3 * difference_)) {
        decision_.complete(run_);
        record = certify(iteration, changed);
      }
      result.history.push_back(record);
      result.iterations = iteration;
      if (iteration == 0 || record.gap <= best_gap) {
        best_gap = record.gap;
        result.alpha = alpha_;
        result.decision = decision_.values();
        best_is_complete = !decision_.has_stale_rows();
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
      else if (hopeless(result.history, budget_) || out_of_digits(record, best_dual))
        result.status = "stalled";
      if (!result.status.empty()) break;
      best_dual = std::max(best_dual, record.dual);
      leave_far_rows();
      if (wants_part()) {
        changed = solve_part();
      } else {
        select(iteration);
        changed = solve_selected();
      }
      run_.check();
    }
    if (!best_is_complete) result.decision = complete_decision(result.alpha);
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

  std::vector<double> complete_decision(const std::vector<double>& alpha) {
    decision_.complete(run_);
    for (std::size_t i = 0; i < at(n_); ++i) coef_[i] = y(i) * alpha[i];
    decision_.change_all(coef_, run_);
    return decision_.values();
  }

  // --- 1. certify ------------------------------------------------------------------------------

  // Extreme scores; their middle is where violations are measured from.
  void find_extremes() {
    double max_up = -infinity, min_low = infinity;
    if (!problem_.fit_intercept) max_up = min_low = 0.0;
    decision_.for_current([&](index_t row) {
      const std::size_t i = at(row);
      const double s = score(i);
      if (can_go_up(i)) max_up = std::max(max_up, s);
      if (can_go_low(i)) min_low = std::min(min_low, s);
    });
    max_up_ = max_up;
    min_low_ = min_low;
    middle_ = problem_.fit_intercept ? 0.5 * (max_up + min_low) : 0.0;
  }

  // Slope over b of sum_i cost_i max(0, 1 - y_i (decision_i + b))^p, an increasing function.
  double intercept_slope(double b) const {
    double slope = 0.0;
    for (std::size_t i = 0; i < at(n_); ++i)
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
    const double squared_norm = decision_.squared_norm();
    double total = 0.0, conjugate = 0.0, lost = 0.0, difference = 0.0, worst = infinity;
    behind_ = 0.0;
    for (std::size_t i = 0; i < at(n_); ++i) {
      const double margin = y(i) * (decision_[i] + b);
      total += alpha_[i];
      worst = std::min(worst, margin);
      if (hard_margin_) continue;
      const double own = loss_.value(1.0 - margin, cost(i));
      lost += own;
      const double conjugate_i = loss_.conjugate(alpha_[i], slack_[i]);
      const double term = own + alpha_[i] * (margin - 1.0) + conjugate_i;
      conjugate += conjugate_i;
      difference += term;
      if (decision_.is_stale(i)) behind_ += term;
    }
    difference_ = difference;
    squared_norm_ = squared_norm;
    total_alpha_ = total;
    RoundRecord record{iteration, run_.seconds(), 0.0, 0.0, 0.0, changed, decision_.current_rows()};
    record.part = part_rows_;
    if (hard_margin_) {
      record.dual = total - 0.5 * squared_norm;
      record.primal = worst > 0.0 ? 0.5 * squared_norm / (worst * worst) : infinity;
      record.gap = worst > 0.0 ? std::max(1.0 - record.dual / record.primal, 0.0) : infinity;
    } else {
      // As in certificate.py: a sum of non-negative terms below zero is rounding.
      const double magnitude = magnitude_ = 0.5 * std::abs(squared_norm) + lost;
      record.dual = total - 0.5 * squared_norm - conjugate;
      record.primal = record.dual + difference;
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
    for (index_t i = 0; i < n_; ++i)
      radius = std::max(radius, kernel_.diagonal()[at(decision_.kernel_row(i))]);
    return squared_norm_ < 1e-12 * radius * total_alpha_ * total_alpha_;
  }

  // Exact pair steps never lower the dual: if it falls, alpha is too large for the entries' digits.
  bool out_of_digits(const RoundRecord& record, double best_dual) const {
    if (!hard_margin_ && record.dual > 1e6 * total_cost_) return true;
    return !std::isfinite(record.dual) || record.dual < best_dual - 1e-4 * std::abs(best_dual);
  }

  // Leaves behind rows at a bound whose scores lie beyond those that still move, by as much as these
  // are apart (half and twice as much measured slower), if that is a fifth of the current rows.
  void leave_far_rows() {
    if (hard_margin_ || !decision_.can_leave_rows() || decision_.current_rows() <= few_rows) return;
    const double reach = max_up_ - min_low_;
    std::vector<index_t> keep;
    decision_.for_current([&](index_t row) {
      const std::size_t i = at(row);
      const double s = score(i) - middle_;
      const bool far = can_go_up(i) ? !can_go_low(i) && s < -reach : s > reach;
      if (!far || (part_ && part_->has(row))) keep.push_back(row);
    });
    if (static_cast<double>(keep.size()) < 0.8 * static_cast<double>(decision_.current_rows()))
      decision_.leave_all_but(std::move(keep));
  }

  // --- 2. select -------------------------------------------------------------------------------

  // A block that cannot hold most of the free variables is too small (n = 1000, C = 100: 12 times
  // slower; half or all of them instead of three quarters made little difference).
  void grow_block() {
    index_t free = 0;
    decision_.for_current([&](index_t i) { free += is_free(at(i)); });
    if (4 * free > 3 * block_size_)
      block_size_ = std::min(2 * block_size_, largest_block(kernel_.work_per_entry(), n_));
  }

  void select(index_t iteration) {
    grow_block();
    const index_t capacity = block_size_;
    std::vector<index_t> chosen;
    if (capacity == n_) {
      if (members_.size() == n_) return;
      chosen.resize(at(n_));
      std::iota(chosen.begin(), chosen.end(), index_t(0));
      return members_.choose(chosen, in_block_);
    }
    const auto take = [&](index_t i) {
      if (in_block_[at(i)]) return;
      in_block_[at(i)] = 1;
      chosen.push_back(i);
    };
    // Half of the last block stays, free variables first; two thirds for p > 1, where nearly all are
    // free and take longer to settle (0.6 and 0.75: up to 1.3 times faster; 0.25: 1.6 times slower).
    const index_t stay = loss_.bounded() ? capacity / 2 : 2 * capacity / 3;
    std::vector<index_t> last = members_.rows();
    std::sort(last.begin(), last.end());
    for (const bool free : {true, false})
      for (const index_t i : last)
        if (static_cast<index_t>(chosen.size()) < stay && is_free(at(i)) == free &&
            !decision_.is_stale(at(i)))
          take(i);
    const index_t room = capacity - static_cast<index_t>(chosen.size());
    take_worst(true, room / 2, iteration, take);
    take_worst(false, capacity - static_cast<index_t>(chosen.size()), iteration, take);
    for (const index_t i : chosen) in_block_[at(i)] = 0;
    std::sort(chosen.begin(), chosen.end());
    members_.choose(chosen, in_block_);
  }

  // The worst violators of one side. In the first round of a cold start all rows tie, and a random
  // sample stands for the data.
  template <class Take>
  void take_worst(bool up, index_t count, index_t iteration, const Take& take) {
    std::vector<std::pair<double, index_t>> violators;
    decision_.for_current([&](index_t i) {
      if (in_block_[at(i)]) return;
      const double s = score(at(i)) - middle_;
      if (up ? (s > 0.0 && can_go_up(at(i))) : (s < 0.0 && can_go_low(at(i))))
        violators.emplace_back(std::abs(s), i);
    });
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
    const std::vector<index_t>& selected = members_.rows();
    const index_t q = members_.size();
    const auto kernel_row = [&](index_t i) { return decision_.kernel_row(i); };
    members_.update(block_, !problem_.fit_intercept, kernel_row, run_);
    for (index_t k = 0; k < q; ++k) {
      const std::size_t i = at(selected[at(k)]);
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
      const std::size_t i = at(selected[at(k)]);
      if (block_.alpha[at(k)] == alpha_[i]) continue;
      alpha_[i] = block_.alpha[at(k)];
      slack_[i] = block_.slack[at(k)];
      coef_[i] = y(i) * alpha_[i];
      changed.push_back(selected[at(k)]);
    }
    decision_.change(changed, coef_, run_);
    total_changed_ += static_cast<index_t>(changed.size());
    return static_cast<index_t>(changed.size());
  }

  // --- a part instead of a block -----------------------------------------------------------------

  // Whether changes have been applied again, and as much is likely to follow. The hinge with its
  // bounds seldom changes a variable often; where rows are computed each time, the part came too
  // early up to ten applications (where they are cached, two were better than five).
  bool wants_part() {
    if (part_rows_ > 0) return true;
    if (hard_margin_ || !kernel_.points() || no_memory_for_part_) return false;
    if (n_ <= block_size_) return false;
    double support = 0.0, members = 1024.0;
    for (std::size_t i = 0; i < at(n_); ++i) {
      support += alpha_[i] > 0.0;
      members += is_free(i);
    }
    const double applications = static_cast<double>(total_changed_) / std::max(support, 1.0);
    if (applications < (loss_.bounded() && decision_.can_leave_rows() ? 10.0 : 2.0)) return false;
    // Up to 64 features, computing entries again and again takes 0.6 (10 features) to 1.1 (a9a) times
    // as long as storing them, whose memory must be touched and the columns of each block gathered.
    if (decision_.can_leave_rows()) return true;
    // Else storing must cost less than what was spent. In ns per entry: reading a cached (0.5) and a
    // stored one (0.4), and storing one, with the first touch of its memory (2).
    const double rows_per_member = static_cast<double>(decision_.current_rows()) / members;
    if (applications * (0.5 * rows_per_member - 0.4) < 2.25 + 0.02 * kernel_.work_per_entry())
      return false;
    part_ = StoredPart<T>::within(*cache_, *kernel_.points(), n_, std::min(few_rows, n_));
    no_memory_for_part_ = !part_;
    return !no_memory_for_part_;
  }

  // Free variables and the worst violators, which join the part if it is stored.
  std::vector<index_t> select_part() {
    const index_t capacity = part_ ? part_->capacity() : n_;
    std::vector<index_t> wanted;
    const auto take = [&](index_t i) {
      if (in_block_[at(i)] || static_cast<index_t>(wanted.size()) >= capacity) return;
      in_block_[at(i)] = 1;
      wanted.push_back(i);
    };
    index_t free = 0;
    decision_.for_current([&](index_t i) { free += is_free(at(i)); });
    // Where not all free variables fit, those that are farthest from where they belong.
    const index_t violators = free > capacity ? capacity / 2 : std::max<index_t>(512, free / 10);
    for (const bool up : {true, false}) take_worst(up, violators, 1, take);
    decision_.for_current([&](index_t i) {
      if (is_free(at(i))) take(i);
    });
    for (const index_t i : wanted) in_block_[at(i)] = 0;
    if (!part_) return wanted;
    part_->include(wanted, [&](index_t i) { return decision_.kernel_row(i); }, run_);
    return part_->members();
  }

  std::unique_ptr<KernelRows<T>> matrix_among(const std::vector<index_t>& members) const {
    if (part_) return part_->matrix();
    std::vector<index_t> points;
    for (const index_t i : members) points.push_back(decision_.kernel_row(i));
    return kernel_.points()->pick(points);
  }

  // Rounds among the members of the part, until a share of the gap is left (0.1 of a stored one; of
  // others 0.3, which is 1.2 times as fast at p = 3), or half of what is asked for.
  index_t solve_part() {
    const std::vector<index_t> members = select_part();
    const std::size_t m = members.size();
    part_rows_ = static_cast<index_t>(m);
    std::vector<double> labels(m), costs(m), none(m);
    WorkingSetStart start{none, none, none};
    for (std::size_t k = 0; k < m; ++k) {
      const std::size_t i = at(members[k]);
      labels[k] = y(i);
      costs[k] = cost(i);
      start.alpha[k] = alpha_[i];
      start.coef[k] = decision_.coef()[i];
      start.decision[k] = decision_[i];
    }
    const auto matrix = matrix_among(members);
    const BinaryProblem part{{0}, labels.data(), costs.data(), problem_.p, problem_.fit_intercept};
    WorkingSetSolver inside(*matrix, nullptr, part, std::move(start), budget_, run_);
    inside.improve(part_ ? 0.1 : 0.3, 0.5 * budget_.tol * magnitude_);
    indefinite_ |= inside.indefinite_;
    index_t changed = 0;
    for (std::size_t k = 0; k < m; ++k) {
      const std::size_t i = at(members[k]);
      changed += alpha_[i] != inside.alpha_[k];
      alpha_[i] = inside.alpha_[k];
      slack_[i] = inside.slack_[k];
      coef_[i] = inside.coef_[k];
    }
    decision_.adopt(members, inside.decision_.coef(), inside.decision_.values(), run_);
    return changed;
  }

  // Some rounds, until the gap falls to `share` of its first value or to `enough`.
  void improve(double share, double enough) {
    certify(0, 0);
    const double target = std::max(share * difference_, enough);
    // Not too many, so that the outside is heard of now and then.
    for (index_t round = 1; round <= 50 && difference_ > target; ++round) {
      if (run_.seconds() >= budget_.max_time) break;
      select(round);
      solve_selected();
      run_.check();
      certify(round, 0);
    }
  }

  const KernelRows<T>& kernel_;
  RowCache<T>* cache_;
  const BinaryProblem& problem_;
  const Budget& budget_;
  RunControl& run_;
  const PNormHinge loss_;
  const bool hard_margin_;
  DecisionValues<T> decision_;
  const index_t n_;
  index_t block_size_;
  std::vector<double> alpha_, slack_, coef_;  // coef = y alpha
  double max_up_ = 0.0, min_low_ = 0.0, middle_ = 0.0;
  double difference_ = 0.0, behind_ = 0.0, magnitude_ = 0.0, squared_norm_ = 0.0,
         total_alpha_ = 0.0, total_cost_ = 0.0;
  bool indefinite_ = false, unbounded_ = false;
  index_t total_changed_ = 0;
  bool no_memory_for_part_ = false;
  std::unique_ptr<StoredPart<T>> part_;  // where entries are stored
  index_t part_rows_ = 0;                // rows that rounds take place among; 0: all
  BlockMembers<T> members_;
  std::vector<char> in_block_;
  Block<T> block_;
  std::mt19937 random_{0};
};

}  // namespace

template <class T>
WorkingSetResult solve_working_set(const KernelRows<T>& kernel, RowCache<T>* cache,
                                   const BinaryProblem& problem, WorkingSetStart start,
                                   const Budget& budget, const OnRound& on_round, RunControl& run) {
  return WorkingSetSolver<T>(kernel, cache, problem, std::move(start), budget, run).solve(on_round);
}

template WorkingSetResult solve_working_set<float>(const KernelRows<float>&, RowCache<float>*,
                                                   const BinaryProblem&, WorkingSetStart,
                                                   const Budget&, const OnRound&, RunControl&);
template WorkingSetResult solve_working_set<double>(const KernelRows<double>&, RowCache<double>*,
                                                    const BinaryProblem&, WorkingSetStart,
                                                    const Budget&, const OnRound&, RunControl&);

}  // namespace psvm
