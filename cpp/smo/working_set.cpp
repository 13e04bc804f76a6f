// The kernel solver: rounds over all rows (working_set_rounds.hpp), or among a part of them where that
// pays (part_rounds.hpp). Rows far from where anything moves are left behind until the end
// (decision_values.hpp).
#include "smo/working_set.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "loss/separable.hpp"
#include "smo/part_rounds.hpp"
#include "smo/sizes.hpp"
#include "smo/working_set_rounds.hpp"

namespace psvm {
namespace {

template <class T>
class WorkingSetSolver {
 public:
  WorkingSetSolver(const KernelRows<T>& kernel, RowCache<T>* cache, const KernelProblem& problem,
                   WorkingSetStart start, const Budget& budget, RunControl& run)
      : kernel_(kernel),
        budget_(budget),
        run_(run),
        // With infinite cost every p is the hard margin: no conjugate, no upper bound.
        loss_(problem.hard_margin() ? 1.0 : problem.p),
        hard_margin_(problem.hard_margin()),
        rounds_(kernel, cache, problem, loss_, std::move(start), budget.tol, run),
        part_(rounds_, problem, cache, budget, run),
        // Tens of thousands of rounds are too many, or hundreds where another solver can take over.
        outlook_(budget.tol, budget.impatient ? 10 : 50, budget.impatient ? 100 : 2e4) {
    rounds_.round().limit_steps(budget.max_steps);
  }

  WorkingSetResult solve(const OnRound& on_round) {
    WorkingSetResult result;
    index_t changed = 0;
    double best_gap = infinity;
    bool best_is_complete = true, late = false;
    for (index_t iteration = 0;; ++iteration) {
      std::optional<Proof> done = improved(iteration, &changed);
      late = !done;
      if (late) {
        result.status = late_status();
        break;
      }
      const Proof proof = *done;
      const RoundRecord record{iteration,
                               run_.seconds(),
                               proof.gap,
                               proof.primal,
                               proof.dual,
                               changed,
                               decision().current_rows(),
                               part_.size()};
      result.history.push_back(record);
      result.iterations = iteration;
      const bool gained = record.gap < 0.999 * best_gap || dual_rose(record);
      idle_rounds_ = gained ? 0 : idle_rounds_ + 1;
      if (iteration == 0 || record.gap <= best_gap) {
        best_gap = record.gap;
        result.alpha = rows().alphas();
        result.decision = decision().values();
        best_is_complete = !decision().has_stale_rows();
      }
      result.status = status_of(record, proof, on_round && on_round(record));
      if (!result.status.empty()) break;
      best_dual_ = std::max(best_dual_, record.dual);
    }
    run_.stop_after(infinity, infinity);
    if (late) decision().start_over();
    if (!best_is_complete) result.decision = complete_decision(result.alpha);
    result.phases = run_.phases().seconds();
    return result;
  }

 private:
  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  RowStates& rows() { return rounds_.rows(); }
  DecisionValues<T>& decision() { return rounds_.decision(); }

  // One round, but for the first, and what its outcome proves; nothing if time was up before.
  std::optional<Proof> improved(index_t iteration, index_t* changed) {
    try {
      if (iteration > 0) {
        run_.stop_after(budget_.max_time - reserve(), budget_.max_effort);
        run_.check();
        leave_far_rows();
        *changed = part_.pays() ? part_.improve() : rounds_.improve(iteration == 1);
        run_.check();
      }
      return certify();
    } catch (const Late&) {
      return {};
    }
  }

  // Seconds it will take to prove the gap of the present point with exact decision values, and before
  // that, where rows were left behind, to have all values in T.
  double reserve() {
    if (budget_.certificate == 0.0) return 0.0;
    const std::vector<double>& values = rounds_.places().spread(decision().values());
    index_t inside = 0;
    for (std::size_t i = 0; i < at(rounds_.size()); ++i) {
      const double decided = values[i] + rounds_.round().intercept();
      inside += !(rows().y(i) * (rows().target(i) - decided) < -0.01);
    }
    const index_t asked = inside + (decision().has_stale_rows() ? decision().size() / 2 : 0);
    return budget_.certificate * static_cast<double>(asked) * static_cast<double>(rows().support());
  }

  std::string late_status() const {
    return run_.effort() >= budget_.max_effort ? "stalled" : "max_time";
  }

  Proof certify() {
    const Proof proof = rounds_.certify();
    if (!decision().has_stale_rows()) return proof;
    double behind = 0.0;
    for (index_t i = 0; i < rounds_.size(); ++i)
      if (rounds_.is_stale(i))
        behind += rows().difference(at(i), decision()[at(rounds_.places().of(i))],
                                    rounds_.round().intercept());
    // A third of the gap, roughly: shares from a tenth to all measured equal, since what is left behind
    // rarely begins to matter before the end.
    if (proof.gap > budget_.tol && behind <= 0.3 * rounds_.round().difference()) return proof;
    complete();
    return rounds_.certify();
  }

  std::string status_of(const RoundRecord& record, const Proof& proof, bool stop) {
    const bool hopeless = outlook_.hopeless(proof);
    if (record.gap <= budget_.tol) return indefinite() ? "stationary" : "converged";
    if ((rounds_.unbounded() && (hard_margin_ || indefinite())) || out_of_bounds(record) ||
        not_separable())
      return "unbounded";
    if (stop) return "stopped";
    if (budget_.max_iter >= 0 && record.iteration >= budget_.max_iter) return "max_iter";
    if (hopeless || idle_rounds_ >= most_idle_rounds || out_of_digits(record) ||
        rounds_.round().steps_left() == 0)
      return "stalled";
    return "";
  }

  bool indefinite() const { return indefinite_ || rounds_.indefinite() || part_.indefinite(); }

  // Brings the decision values of rows left behind up to date.
  void complete() {
    run_.phases().enter(Phase::apply);
    decision().complete(run_);
    for (std::size_t i = 0; i < at(rounds_.size()); ++i) rows().show(i);
    last_reach_ = infinity;
    run_.phases().enter(Phase::outside);
  }

  std::vector<double> complete_decision(const std::vector<double>& alpha) {
    complete();
    std::vector<double> coef(alpha.size());
    for (std::size_t i = 0; i < coef.size(); ++i) coef[i] = rows().y(i) * alpha[i];
    run_.phases().enter(Phase::apply);
    decision().change_all(rounds_.places().sum(coef), run_);
    run_.phases().enter(Phase::outside);
    return decision().values();
  }

  // D <= P(0, 0) for every positive semidefinite kernel. Far beyond, an indefinite one
  // lets the dual grow for ever (in float, rounding may only look like it: see out_of_digits).
  bool out_of_bounds(const RoundRecord& record) {
    if (hard_margin_) return false;
    indefinite_ |= std::isfinite(record.dual) && record.dual > 1.01 * primal_at_zero();
    return sizeof(T) > 4 && std::isfinite(record.dual) &&
           record.dual > rounds_.round().most_growth() * primal_at_zero();
  }

  bool not_separable() {
    if (!hard_margin_) return false;
    double radius = 0.0;
    for (index_t i = 0; i < decision().size(); ++i)
      radius = std::max(radius, kernel_.diagonal()[at(decision().kernel_row(i))]);
    return proves_inseparable(rounds_.round().linear_term(), decision().squared_norm(), radius);
  }

  // Exact pair steps never lower the dual: if it falls, alpha is too large for the entries' digits.
  bool out_of_digits(const RoundRecord& record) const {
    if (sizeof(T) == 4 && !hard_margin_ && record.dual > 1e6 * primal_at_zero()) return true;
    return !std::isfinite(record.dual) || record.dual < best_dual_ - 1e-4 * std::abs(best_dual_);
  }

  // By more than rounding.
  bool dual_rose(const RoundRecord& record) const {
    return record.dual > best_dual_ + 1e-13 * std::abs(best_dual_);
  }

  double primal_at_zero() const { return rounds_.round().primal_at_zero(); }

  // Leaves behind rows at a bound whose scores lie beyond those that still move, by as much as these
  // are apart (half and twice as much measured slower), if that is a fifth of the current rows.
  void leave_far_rows() {
    if (hard_margin_ || !decision().can_leave_rows() || decision().current_rows() <= few_rows)
      return;
    const double reach = rounds_.round().reach(), middle = rounds_.round().middle();
    if (reach > 0.8 * last_reach_) return;  // not worth another look
    last_reach_ = reach;
    std::vector<index_t> keep;
    const auto is_far = [&](std::size_t i) {
      const double s = rows().score(i) - middle;
      return rows().can_go_up(i) ? !rows().can_go_low(i) && s < -reach : s > reach;
    };
    decision().for_current([&](index_t place) {
      bool all_far = true;
      rounds_.places().for_rows_at(place, [&](index_t i) { all_far = all_far && is_far(at(i)); });
      if (!all_far || part_.stores(place)) keep.push_back(place);
    });
    if (static_cast<double>(keep.size()) >= 0.8 * static_cast<double>(decision().current_rows()))
      return;
    decision().leave_all_but(std::move(keep), run_);
    for (index_t i = 0; i < rounds_.size(); ++i)
      if (rounds_.is_stale(i)) rows().hide(at(i));
  }

  const KernelRows<T>& kernel_;
  const Budget& budget_;
  RunControl& run_;
  const PNormHinge loss_;
  const bool hard_margin_;
  WorkingSetRounds<T> rounds_;
  PartRounds<T> part_;
  Outlook outlook_;
  double last_reach_ = infinity;  // of the extreme scores when rows were last left behind
  double best_dual_ = -infinity;
  // Rounds in a row without a gain, of which there may be some before other rows join: ten are the
  // end of it. (At p = 1.01, C = 2e9 the gap went up and down for 900 rounds, the dual stood still.)
  static constexpr index_t most_idle_rounds = 10;
  index_t idle_rounds_ = 0;
  bool indefinite_ = false;
};

}  // namespace

template <class T>
WorkingSetResult solve_working_set(const KernelRows<T>& kernel, RowCache<T>* cache,
                                   const KernelProblem& problem, WorkingSetStart start,
                                   const Budget& budget, const OnRound& on_round, RunControl& run) {
  return WorkingSetSolver<T>(kernel, cache, problem, std::move(start), budget, run).solve(on_round);
}

template WorkingSetResult solve_working_set<float>(const KernelRows<float>&, RowCache<float>*,
                                                   const KernelProblem&, WorkingSetStart,
                                                   const Budget&, const OnRound&, RunControl&);
template WorkingSetResult solve_working_set<double>(const KernelRows<double>&, RowCache<double>*,
                                                    const KernelProblem&, WorkingSetStart,
                                                    const Budget&, const OnRound&, RunControl&);

}  // namespace psvm
