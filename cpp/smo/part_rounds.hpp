// Rounds among a part of the rows. Where variables turn out to change many times (p > 1, large C), most
// of them are few, and the others need to hear of the outcome only. Where entries are dear, those of
// the part are stored (stored_part.hpp).
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "smo/stored_part.hpp"
#include "smo/working_set_rounds.hpp"

namespace psvm {

template <class T>
class PartRounds {
 public:
  // Improves `whole`, the rounds over all rows; `cache` lends the memory.
  PartRounds(WorkingSetRounds<T>& whole, const KernelProblem& problem, RowCache<T>* cache,
             const Budget& budget, RunControl& run)
      : whole_(whole),
        problem_(problem),
        cache_(cache),
        budget_(budget),
        run_(run),
        taken_(at(whole.decision().size()), 0) {}

  // Kernel rows among which the last rounds took place; 0: none did.
  index_t size() const { return size_; }
  bool stores(index_t place) const { return stored_ && stored_->has(place); }
  bool indefinite() const { return indefinite_; }

  // Whether changes have been applied again, and as much is likely to follow. The hinge with its
  // bounds seldom changes a variable often; where rows are computed each time, the part came too
  // early up to ten applications (where they are cached, two were better than five).
  bool pays() {
    if (size_ > 0) return true;
    const RowStates& rows = whole_.rows();
    const DecisionValues<T>& decision = whole_.decision();
    const KernelRows<T>& kernel = whole_.kernel();
    if (rows.hard_margin() || !kernel.points() || no_memory_) return false;
    if (whole_.variables() <= whole_.block_size()) return false;
    // Kernel rows with many targets each hear of every change for little (28,155 targets on 894: three
    // times as fast without a part).
    if (4 * decision.size() <= whole_.variables()) return false;
    const double members = static_cast<double>(2 * least_violators + rows.free());
    const double applications = static_cast<double>(whole_.total_changed()) /
                                static_cast<double>(std::max<index_t>(rows.support(), 1));
    if (applications < (whole_.loss().bounded() && decision.can_leave_rows() ? 10.0 : 2.0))
      return false;
    // Up to 64 features, computing entries again and again takes 0.6 (10 features) to 1.1 (a9a) times
    // as long as storing them, whose memory must be touched and the columns of each block gathered.
    if (decision.can_leave_rows()) return true;
    // Else storing must cost less than what was spent. In ns per entry: reading a cached (0.5) and a
    // stored one (0.4), and storing one, with the first touch of its memory (2), and computing it.
    const double rows_per_member = static_cast<double>(decision.current_rows()) / members;
    if (applications * (0.5 * rows_per_member - 0.4) < 2.0 + 0.02 * kernel.work_per_entry())
      return false;
    stored_ = StoredPart<T>::within(*cache_, *kernel.points(), decision.size(),
                                    std::min(few_rows, decision.size()));
    no_memory_ = !stored_;
    return !no_memory_;
  }

  // Rounds among the free variables and the worst violators, until a share of the gap is left (0.1 of
  // a stored part; of others 0.3, which is 1.2 times as fast at p = 3), or half of what is asked for.
  // Returns how many variables changed.
  index_t improve() {
    run_.phases().enter(Phase::select);
    const std::vector<index_t> members = select();
    run_.phases().enter(Phase::outside);
    const auto m = static_cast<index_t>(members.size());
    size_ = m;
    RowStates& rows = whole_.rows();
    DecisionValues<T>& decision = whole_.decision();
    const bool shared = whole_.places().shared();
    std::vector<index_t> inner, kernel_row;  // rows of the part, and their places in it
    std::vector<double> y, target, cost;
    WorkingSetStart start;
    for (index_t k = 0; k < m; ++k) {
      const index_t place = members[at(k)];
      start.coef.push_back(decision.coef()[at(place)]);
      start.decision.push_back(decision[at(place)]);
      whole_.places().for_rows_at(place, [&](index_t i) {
        inner.push_back(i);
        y.push_back(rows.y(at(i)));
        target.push_back(rows.target(at(i)));
        cost.push_back(rows.cost(at(i)));
        start.alpha.push_back(rows.alpha(at(i)));
        if (shared) kernel_row.push_back(k);
      });
    }
    const auto matrix = matrix_among(members);
    // (Its own balance differs by rows at a bound outside: any intercept will do to measure progress,
    // and the rounds are the same with that balance.)
    const KernelProblem part{{0},        {y.data(), target.data(), cost.data()},
                             problem_.p, problem_.fit_intercept,
                             kernel_row, problem_.balance};
    WorkingSetRounds<T> inside(*matrix, nullptr, part, whole_.loss(), std::move(start), budget_.tol,
                               run_);
    std::swap(block_, inside.round().block());
    run_inside(inside);
    std::swap(block_, inside.round().block());
    indefinite_ |= inside.indefinite();
    index_t changed = 0;
    for (std::size_t k = 0; k < inner.size(); ++k) {
      const std::size_t i = at(inner[k]);
      changed += rows.alpha(i) != inside.rows().alpha(k);
      rows.set(i, inside.rows().alpha(k), inside.rows().slack(k));
    }
    run_.phases().enter(Phase::apply);
    decision.adopt(members, inside.decision().coef(), inside.decision().values(), run_);
    run_.phases().enter(Phase::outside);
    return changed;
  }

 private:
  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  // Of each side, that join a part at least.
  static constexpr index_t least_violators = 512;

  // The places of free variables and of the worst violators, which join the part if it is stored.
  std::vector<index_t> select() {
    const Places& places = whole_.places();
    const index_t capacity = stored_ ? stored_->capacity() : whole_.decision().size();
    std::vector<index_t> wanted;
    const auto taken = [&](index_t i) { return taken_[at(places.of(i))] != 0; };
    const auto take = [&](index_t i) {
      if (taken(i) || static_cast<index_t>(wanted.size()) >= capacity) return;
      taken_[at(places.of(i))] = 1;
      wanted.push_back(places.of(i));
    };
    const index_t free = whole_.rows().free();
    // Where not all free variables fit, those that are farthest from where they belong.
    const index_t violators = free > capacity ? capacity / 2 : std::max(least_violators, free / 10);
    for (const bool up : {true, false}) whole_.take_worst(up, violators, false, taken, take);
    whole_.decision().for_current([&](index_t place) {
      places.for_rows_at(place, [&](index_t i) {
        if (whole_.rows().is_free(at(i))) take(i);
      });
    });
    for (const index_t place : wanted) taken_[at(place)] = 0;
    if (!stored_) return wanted;
    run_.phases().enter(Phase::gram);
    stored_->include(wanted, [&](index_t p) { return whole_.decision().kernel_row(p); }, run_);
    return stored_->members();
  }

  std::unique_ptr<KernelRows<T>> matrix_among(const std::vector<index_t>& members) const {
    if (stored_) return stored_->matrix();
    std::vector<index_t> points;
    for (const index_t place : members) points.push_back(whole_.decision().kernel_row(place));
    return whole_.kernel().points()->pick(points, run_);
  }

  void run_inside(WorkingSetRounds<T>& inside) {
    inside.round().limit_steps(whole_.round().steps_left());
    inside.certify();
    const double target = std::max((stored_ ? 0.1 : 0.3) * inside.round().difference(),
                                   0.5 * budget_.tol * whole_.round().magnitude());
    // Not too many, so that the outside is heard of now and then (20 and 200 measured equal).
    for (index_t round = 1; round <= 50 && inside.round().difference() > target; ++round) {
      inside.improve(false);
      run_.check();
      inside.certify();
    }
    whole_.round().limit_steps(inside.round().steps_left());
  }

  WorkingSetRounds<T>& whole_;
  const KernelProblem& problem_;
  RowCache<T>* cache_;
  const Budget& budget_;
  RunControl& run_;
  bool no_memory_ = false, indefinite_ = false;
  std::unique_ptr<StoredPart<T>> stored_;  // where entries are stored
  index_t size_ = 0;
  std::vector<char> taken_;
  // Lent to the rounds of each part: new memory for 2048 variables would be cleared by the system, 16 MB
  // every time (an eighth of fits at p = 1.5, on one thread only).
  Block<T> block_;
};

}  // namespace psvm
