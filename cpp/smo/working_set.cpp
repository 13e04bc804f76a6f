// Rounds of the kernel solver. Each round
//   1. certifies: intercept, primal, dual and relative gap from the decision values, in O(n);
//   2. selects a working set: half of the last one, then the worst violators;
//   3. solves the small dual over it (block_smo);
//   4. applies the kernel rows of the variables that changed to the decision values.
// Rows far from where anything moves are left behind until the end (decision_values.hpp). Where
// variables turn out to change many times (p > 1, large C), rounds take place among a part of the
// rows, and the others hear of the outcome only. Where entries are dear, those of the part are stored
// (stored_part.hpp).
#include "smo/working_set.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "loss/intercept_search.hpp"
#include "smo/block_members.hpp"
#include "smo/block_sizes.hpp"
#include "smo/block_smo.hpp"
#include "smo/decision_values.hpp"
#include "smo/row_states.hpp"
#include "smo/stored_part.hpp"
#include "smo/violators.hpp"

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
        usual_block_(usual_block(kernel.work_per_entry(), n_, problem.p)),
        block_size_(std::min(usual_block_, first_block)),
        rows_(loss_, problem.y, problem.cost, start.alpha),
        members_(kernel) {
    for (std::size_t i = 0; i < at(n_); ++i) total_cost_ += rows_.cost(i);
    in_block_.assign(at(n_), 0);
    if (start.decision.empty())
      decision_.change_all(rows_.coef(), run_);
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
        complete();
        record = certify(iteration, changed);
      }
      result.history.push_back(record);
      result.iterations = iteration;
      if (iteration == 0 || record.gap <= best_gap) {
        best_gap = record.gap;
        result.alpha = rows_.alphas();
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
      else if (hopeless(result.history, budget_) || out_of_digits(record, best_dual) ||
               steps_left() == 0)
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

  index_t steps_left() const {
    if (budget_.max_steps < 0) return std::numeric_limits<index_t>::max();
    return std::max<index_t>(budget_.max_steps - total_steps_, 0);
  }

  // Brings the decision values of rows left behind up to date.
  void complete() {
    decision_.complete(run_);
    for (std::size_t i = 0; i < at(n_); ++i) rows_.show(i);
    last_reach_ = infinity;
  }

  std::vector<double> complete_decision(const std::vector<double>& alpha) {
    complete();
    std::vector<double> coef(at(n_));
    for (std::size_t i = 0; i < at(n_); ++i) coef[i] = rows_.y(i) * alpha[i];
    decision_.change_all(coef, run_);
    return decision_.values();
  }

  // --- 1. certify ------------------------------------------------------------------------------

  // A good intercept, not an exact one: any b gives a valid primal value, and the minimiser lies
  // between the extreme scores.
  double intercept() {
    if (!problem_.fit_intercept) return 0.0;
    if (hard_margin_ || !(min_low_ < max_up_)) return middle_;
    const double* decision = decision_.values().data();
    // To a hundredth of the gap at p = 1, where the sum of losses has corners.
    const double enough = 0.01 * std::max(difference_, budget_.tol * magnitude_);
    if (loss_.bounded()) return rows_.hinge_intercept(decision, min_low_, max_up_, b_, enough);
    return intercepts_.between(loss_, problem_.y, problem_.cost, decision, at(n_), min_low_,
                               max_up_, b_, 0.01);
  }

  RoundRecord certify(index_t iteration, index_t changed) {
    const ExtremeScores extremes = rows_.extremes(decision_.values().data());
    max_up_ = problem_.fit_intercept ? extremes.max_up : std::max(extremes.max_up, 0.0);
    min_low_ = problem_.fit_intercept ? extremes.min_low : std::min(extremes.min_low, 0.0);
    middle_ = problem_.fit_intercept ? 0.5 * (max_up_ + min_low_) : 0.0;
    b_ = intercept();
    const RowSums sums = rows_.sums(decision_.values().data(), b_);
    const double squared_norm = decision_.squared_norm(), difference = sums.difference;
    behind_ = 0.0;
    if (decision_.has_stale_rows())
      for (std::size_t i = 0; i < at(n_); ++i)
        if (decision_.is_stale(i)) behind_ += rows_.difference(i, decision_[i], b_);
    difference_ = difference;
    squared_norm_ = squared_norm;
    total_alpha_ = sums.alpha;
    RoundRecord record{iteration, run_.seconds(), 0.0, 0.0, 0.0, changed, decision_.current_rows()};
    record.part = part_rows_;
    if (hard_margin_) {
      double worst = infinity;
      for (std::size_t i = 0; i < at(n_); ++i)
        worst = std::min(worst, rows_.y(i) * (decision_[i] + b_));
      record.dual = sums.alpha - 0.5 * squared_norm;
      record.primal = worst > 0.0 ? 0.5 * squared_norm / (worst * worst) : infinity;
      record.gap = worst > 0.0 ? std::max(1.0 - record.dual / record.primal, 0.0) : infinity;
    } else {
      // As in certificate.py: a sum of non-negative terms below zero is rounding.
      const double magnitude = magnitude_ = 0.5 * std::abs(squared_norm) + sums.lost;
      record.dual = sums.alpha - 0.5 * squared_norm - sums.conjugate;
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
    if (reach > 0.8 * last_reach_) return;  // not worth another look
    last_reach_ = reach;
    std::vector<index_t> keep;
    decision_.for_current([&](index_t row) {
      const std::size_t i = at(row);
      const double s = rows_.score(i) - middle_;
      const bool far = rows_.can_go_up(i) ? !rows_.can_go_low(i) && s < -reach : s > reach;
      if (!far || (part_ && part_->has(row))) keep.push_back(row);
    });
    if (static_cast<double>(keep.size()) >= 0.8 * static_cast<double>(decision_.current_rows()))
      return;
    decision_.leave_all_but(std::move(keep));
    for (std::size_t i = 0; i < at(n_); ++i)
      if (decision_.is_stale(i)) rows_.hide(i);
  }

  // --- 2. select -------------------------------------------------------------------------------

  // A block that cannot hold most of the free variables is too small (n = 1000, C = 100: 12 times
  // slower; half or all of them instead of three quarters made little difference). So is one that
  // takes more steps than it changes variables, up to the usual size.
  void grow_block() {
    const bool crowded = 4 * rows_.free() > 3 * block_size_;
    const index_t limit = crowded ? largest_block(kernel_.work_per_entry(), n_) : usual_block_;
    if (crowded || last_steps_ > last_changed_)
      block_size_ = std::max(block_size_, std::min(2 * block_size_, limit));
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
        if (static_cast<index_t>(chosen.size()) < stay && rows_.is_free(at(i)) == free &&
            !decision_.is_stale(at(i)))
          take(i);
    const index_t room = capacity - static_cast<index_t>(chosen.size());
    take_worst(true, room / 2, iteration, take);
    take_worst(false, capacity - static_cast<index_t>(chosen.size()), iteration, take);
    for (const index_t i : chosen) in_block_[at(i)] = 0;
    std::sort(chosen.begin(), chosen.end());
    members_.choose(chosen, in_block_);
  }

  // The worst violators of one side. In the first round of a cold start all rows tie.
  template <class Take>
  void take_worst(bool up, index_t count, index_t iteration, const Take& take) {
    const auto taken = [&](index_t i) { return in_block_[at(i)] != 0; };
    for (const auto& violator : iteration == 0
                                    ? violators_.some(rows_, middle_, up, at(count), taken)
                                    : violators_.worst(rows_, middle_, up, at(count), taken))
      take(violator.row);
  }

  // --- 3. solve --------------------------------------------------------------------------------

  index_t solve_selected() {
    const std::vector<index_t>& selected = members_.rows();
    const index_t q = members_.size();
    const auto kernel_row = [&](index_t i) { return decision_.kernel_row(i); };
    const bool whole_rows = wants_whole_rows();
    const auto between = [&](Rows rows, Rows columns, T* out, index_t stride) {
      if (whole_rows)
        decision_.between(rows, columns, out, stride, run_);
      else
        kernel_.between(rows, columns, out, stride, run_);
    };
    members_.update(block_, !problem_.fit_intercept, kernel_row, between, run_);
    for (index_t k = 0; k < q; ++k) {
      const std::size_t i = at(selected[at(k)]);
      block_.y[at(k)] = rows_.y(i);
      block_.cost[at(k)] = rows_.cost(i);
      block_.alpha[at(k)] = rows_.alpha(i);
      block_.slack[at(k)] = rows_.slack(i);
      block_.score[at(k)] = static_cast<T>(rows_.score(i) - middle_);
    }
    if (!problem_.fit_intercept) block_.score[at(q)] = T(0);
    // A tenth of the violation, at most 40 steps per variable: more precision inside a block is
    // wasted on a block that will change (0.3 and 0.01 measured slower at C = 100 and C = 1).
    const double floor = 4.0 * std::numeric_limits<T>::epsilon();
    const index_t most = std::min(40 * q, steps_left());
    const BlockResult solved = solve_block(block_, loss_, 0.1, floor, most, run_);
    last_steps_ = solved.steps;
    total_steps_ += solved.steps;
    indefinite_ |= solved.indefinite;
    unbounded_ |= solved.unbounded && hard_margin_;
    std::vector<index_t> changed;
    count_joined_changes();
    for (index_t k = 0; k < q; ++k) {
      const std::size_t i = at(selected[at(k)]);
      if (block_.alpha[at(k)] == rows_.alpha(i)) continue;
      rows_.set(i, block_.alpha[at(k)], block_.slack[at(k)]);
      changed.push_back(selected[at(k)]);
    }
    decision_.change(changed, rows_.coef(), run_);
    last_changed_ = static_cast<index_t>(changed.size());
    total_changed_ += last_changed_;
    return last_changed_;
  }

  // Whether the rows of the members that join are computed as a whole, before the block is solved: they
  // will be needed if the variables change. Where nearly all do (narrow kernels, several classes), the
  // entries of the block are then picked, not computed (gamma x 10: usps 1.3, mnist 1.5 times faster).
  bool wants_whole_rows() const {
    const auto joined = static_cast<index_t>(members_.joined().size());
    const double wasted = (1.0 - joined_changes_) * static_cast<double>(n_);
    return wasted < static_cast<double>(members_.size()) && decision_.can_keep(joined);
  }
  void count_joined_changes() {
    if (members_.joined().empty()) return;
    index_t changes = 0;
    for (const index_t k : members_.joined())
      changes += block_.alpha[at(k)] != rows_.alpha(at(members_.rows()[at(k)]));
    joined_changes_ = static_cast<double>(changes) / static_cast<double>(members_.joined().size());
  }

  // --- a part instead of a block -----------------------------------------------------------------

  // Whether changes have been applied again, and as much is likely to follow. The hinge with its
  // bounds seldom changes a variable often; where rows are computed each time, the part came too
  // early up to ten applications (where they are cached, two were better than five).
  bool wants_part() {
    if (part_rows_ > 0) return true;
    if (hard_margin_ || !kernel_.points() || no_memory_for_part_) return false;
    if (n_ <= block_size_) return false;
    const double members = static_cast<double>(1024 + rows_.free());
    const double applications = static_cast<double>(total_changed_) /
                                static_cast<double>(std::max<index_t>(rows_.support(), 1));
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
    const index_t free = rows_.free();
    // Where not all free variables fit, those that are farthest from where they belong.
    const index_t violators = free > capacity ? capacity / 2 : std::max<index_t>(512, free / 10);
    for (const bool up : {true, false}) take_worst(up, violators, 1, take);
    decision_.for_current([&](index_t i) {
      if (rows_.is_free(at(i))) take(i);
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
      labels[k] = rows_.y(i);
      costs[k] = rows_.cost(i);
      start.alpha[k] = rows_.alpha(i);
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
      changed += rows_.alpha(i) != inside.rows_.alpha(k);
      rows_.set(i, inside.rows_.alpha(k), inside.rows_.slack(k));
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
  const index_t usual_block_;
  index_t block_size_;
  RowStates rows_;
  InterceptSearch intercepts_;
  double b_ = 0.0;  // the last intercept
  Violators violators_;
  double last_reach_ = infinity;  // of the extreme scores when rows were last left behind
  double max_up_ = 0.0, min_low_ = 0.0, middle_ = 0.0;
  double difference_ = 0.0, behind_ = 0.0, magnitude_ = 0.0, squared_norm_ = 0.0,
         total_alpha_ = 0.0, total_cost_ = 0.0;
  bool indefinite_ = false, unbounded_ = false;
  index_t total_changed_ = 0, last_changed_ = 0, last_steps_ = 0, total_steps_ = 0;
  double joined_changes_ = 0.0;  // share of the members that joined last whose variables changed
  bool no_memory_for_part_ = false;
  std::unique_ptr<StoredPart<T>> part_;  // where entries are stored
  index_t part_rows_ = 0;                // rows that rounds take place among; 0: all
  BlockMembers<T> members_;
  std::vector<char> in_block_;
  Block<T> block_;
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
