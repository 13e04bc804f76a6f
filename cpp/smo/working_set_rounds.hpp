// Rounds over the rows of a kernel. Each
//   1. certifies: intercept, primal, dual and relative gap from the decision values, in O(n);
//   2. selects a working set: half of the last one, then the worst violators;
//   3. solves the small dual over it (block_smo);
//   4. applies the kernel rows of the variables that changed to the decision values.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "smo/block_members.hpp"
#include "smo/decision_values.hpp"
#include "smo/places.hpp"
#include "smo/round.hpp"
#include "smo/sizes.hpp"
#include "smo/variables.hpp"
#include "smo/violators.hpp"
#include "smo/working_set.hpp"

namespace psvm {

template <class T>
class WorkingSetRounds {
 public:
  WorkingSetRounds(const KernelRows<T>& kernel, RowCache<T>* cache, const KernelProblem& problem,
                   const PNormHinge& loss, WorkingSetStart start, double tol, RunControl& run)
      : kernel_(kernel),
        loss_(loss),
        run_(run),
        decision_(kernel, cache, problem.segments),
        places_(problem.kernel_row, decision_.size()),
        variables_(problem.rows, problem.kernel_row, decision_.size()),
        n_(variables_.size()),
        usual_block_(usual_block(kernel.work_per_entry(), n_, problem.p)),
        block_size_(std::min(usual_block_, first_block)),
        round_(problem.fit_intercept, problem.balance, tol, run),
        members_(kernel),
        in_block_(at(n_), 0) {
    run_.phases().enter(Phase::apply);
    round_.start(loss, problem.rows, start.alpha);
    const std::vector<double>& coef = places_.sum(rows().coef());
    if (start.decision.empty()) {
      decision_.change_all(coef, run_);
    } else {
      if (start.coef.empty()) start.coef.assign(coef.begin(), coef.begin() + decision_.size());
      decision_.start_at(std::move(start.coef), std::move(start.decision));
    }
    run_.phases().enter(Phase::outside);
  }

  index_t size() const { return places_.rows(); }
  index_t variables() const { return n_; }
  const KernelRows<T>& kernel() const { return kernel_; }
  const PNormHinge& loss() const { return loss_; }
  DecisionValues<T>& decision() { return decision_; }
  const DecisionValues<T>& decision() const { return decision_; }
  // Decision values and so on belong to kernel rows: to the places of rows.
  Places& places() { return places_; }
  const Places& places() const { return places_; }
  bool is_stale(index_t row) const { return decision_.is_stale(at(places_.of(row))); }
  Round<T>& round() { return round_; }
  const Round<T>& round() const { return round_; }
  RowStates& rows() { return round_.rows(); }
  const RowStates& rows() const { return round_.rows(); }
  index_t block_size() const { return block_size_; }
  // Changes of variables so far.
  index_t total_changed() const { return total_changed_; }
  // Whether a step showed that the kernel is indefinite, or the dual without bound.
  bool indefinite() const { return indefinite_; }
  bool unbounded() const { return unbounded_; }

  Proof certify() {
    run_.phases().enter(Phase::certify);
    const Proof proof =
        round_.certify(places_.spread(decision_.values()), decision_.squared_norm());
    run_.phases().enter(Phase::outside);
    return proof;
  }

  // Selects, solves and applies; returns how many variables changed. In the first round of a cold
  // start all rows tie.
  index_t improve(bool first) {
    run_.phases().enter(Phase::select);
    select(first);
    const index_t changed = solve();
    run_.phases().enter(Phase::outside);
    return changed;
  }

  // Calls take(row) for the worst violators of one side but those taken(row), for some if all tie.
  template <class Taken, class Take>
  void take_worst(bool up, index_t count, bool all_tie, const Taken& taken, const Take& take) {
    for (const auto& violator :
         all_tie ? violators_.some(rows(), round_.middle(), up, at(count), taken)
                 : violators_.worst(rows(), round_.middle(), up, at(count), taken))
      take(violator.row);
  }

 private:
  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  // --- 2. select -------------------------------------------------------------------------------

  // A block that cannot hold most of the free variables is too small (n = 1000, C = 100: 12 times
  // slower; half or all of them instead of three quarters made little difference). So is one that
  // takes more steps than it changes variables, up to the usual size.
  void grow_block() {
    const bool crowded = 4 * rows().free() > 3 * block_size_;
    const index_t limit =
        crowded ? crowded_block(kernel_.work_per_entry(), n_, rows().free()) : usual_block_;
    if (crowded || last_steps_ > last_changed_)
      block_size_ = std::max(block_size_, std::min(2 * block_size_, limit));
  }

  void select(bool first) {
    grow_block();
    const index_t capacity = block_size_;
    const std::vector<index_t> last = std::exchange(chosen_, {});
    std::vector<index_t>& chosen = chosen_;
    if (capacity == n_) {
      chosen.resize(at(n_));
      std::iota(chosen.begin(), chosen.end(), index_t(0));
      if (members_.size() < n_) members_.choose(chosen, in_block_);
      return;
    }
    const auto taken = [&](index_t i) { return in_block_[at(variables_.rows().of(i))] != 0; };
    const auto take_variable = [&](index_t v) {
      if (in_block_[at(v)]) return;
      in_block_[at(v)] = 1;
      chosen.push_back(v);
    };
    const auto take = [&](index_t i) { take_variable(variables_.rows().of(i)); };
    // Half of the last block stays, free variables first; two thirds for p > 1, where nearly all are
    // free and take longer to settle (0.6 and 0.75: up to 1.3 times faster; 0.25: 1.6 times slower).
    const index_t stay = loss_.bounded() ? capacity / 2 : 2 * capacity / 3;
    index_t free_ones = 0;
    for (const bool free : {true, false}) {
      for (const index_t v : last)
        if (static_cast<index_t>(chosen.size()) < stay && has_free(v) == free &&
            !decision_.is_stale(at(variables_.kernel_row(v))))
          take_variable(v);
      if (free) free_ones = static_cast<index_t>(chosen.size());
    }
    const auto middle = static_cast<index_t>(chosen.size());
    const index_t room = capacity - static_cast<index_t>(chosen.size());
    if (first || places_.shared()) {  // a variable that may go either way joins once
      take_worst(true, room / 2, first, taken, take);
      take_worst(false, capacity - static_cast<index_t>(chosen.size()), first, taken, take);
    } else {
      const auto [up, low] =
          violators_.worst_of_both(rows(), round_.middle(), at(room), taken, run_);
      for (const auto& side : {up, low})
        for (const auto& violator : side) take(violator.row);
    }
    for (const index_t v : chosen) in_block_[at(v)] = 0;
    // Rising: those that stay already are, twice.
    const auto begin = chosen.begin();
    std::inplace_merge(begin, begin + free_ones, begin + middle);
    std::sort(begin + middle, chosen.end());
    std::inplace_merge(begin, begin + middle, chosen.end());
    members_.choose(chosen, in_block_);
  }

  bool has_free(index_t v) const {
    bool found = false;
    variables_.rows().for_rows_at(v, [&](index_t i) { found = found || rows().is_free(at(i)); });
    return found;
  }

  // --- 3. solve and 4. apply -------------------------------------------------------------------

  index_t solve() {
    const auto kernel_row = [&](index_t v) {
      return decision_.kernel_row(variables_.kernel_row(v));
    };
    const bool whole_rows = wants_whole_rows();
    const auto between = [&](Rows rows, Rows columns, T* out, index_t stride) {
      if (whole_rows)
        decision_.between(rows, columns, out, stride, run_);
      else
        kernel_.between(rows, columns, out, stride, run_);
    };
    run_.phases().enter(Phase::gram);
    members_.update(round_.block(), !round_.fit_intercept(), kernel_row, between, run_);
    run_.phases().enter(Phase::steps);
    const BlockChanges changes = round_.solve(asking_rows());
    run_.phases().enter(Phase::apply);
    indefinite_ |= changes.indefinite;
    unbounded_ |= changes.unbounded;
    count_joined(changes);
    std::vector<index_t> changed;
    for (const index_t place : changes.places) changed.push_back(asking_[at(place)]);
    last_steps_ = changes.steps;
    last_changed_ = static_cast<index_t>(changed.size());
    decision_.change(places_.of(std::move(changed)), places_.sum(rows().coef()), run_);
    total_changed_ += last_changed_;
    return last_changed_;
  }

  // The rows of the members that take steps.
  const std::vector<index_t>& asking_rows() {
    asking_.clear();
    for (const index_t v : members_.rows())
      asking_.push_back(variables_.asking(v, rows(), round_.intercept()));
    return asking_;
  }

  // Whether the rows of the members that join are computed as a whole, before the block is solved: they
  // will be needed if the variables change. Where nearly all do (narrow kernels, several classes), the
  // entries of the block are then picked, not computed (gamma x 10: usps 1.3, mnist 1.5 times faster).
  bool wants_whole_rows() const {
    const auto joined = static_cast<index_t>(members_.joined().size());
    const double wasted = (1.0 - joined_changes_) * static_cast<double>(decision_.size());
    return wasted < static_cast<double>(members_.size()) && decision_.can_keep(joined);
  }
  void count_joined(const BlockChanges& changes) {
    const std::vector<index_t>& joined = members_.joined();
    if (joined.empty()) return;
    const auto changed = std::count_if(joined.begin(), joined.end(), [&](index_t place) {
      return std::binary_search(changes.places.begin(), changes.places.end(), place);
    });
    joined_changes_ = static_cast<double>(changed) / static_cast<double>(joined.size());
  }

  const KernelRows<T>& kernel_;
  const PNormHinge& loss_;
  RunControl& run_;
  DecisionValues<T> decision_;
  Places places_;
  Variables variables_;
  const index_t n_;  // variables
  const index_t usual_block_;
  index_t block_size_;
  Round<T> round_;
  Violators violators_;
  BlockMembers<T> members_;
  std::vector<char> in_block_;   // by variable
  std::vector<index_t> chosen_;  // the members, rising
  std::vector<index_t> asking_;  // rows of the members
  bool indefinite_ = false, unbounded_ = false;
  index_t total_changed_ = 0, last_changed_ = 0, last_steps_ = 0;
  double joined_changes_ = 0.0;  // share of the members that joined last whose variables changed
};

}  // namespace psvm
