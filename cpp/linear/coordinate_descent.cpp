// Passes of dual coordinate descent. For a given intercept b the dual is
//
//   max_alpha  sum_i alpha_i y_i (t_i - b) - 1/2 |sum_i alpha_i y_i x_i|^2 - sum_i conjugate_i(alpha_i)
//
// over alpha >= 0 (and alpha <= cost at p = 1). The free intercept is a proximal point: with centre
// b_k there is one more term, -tau/2 (sum_i alpha_i y_i)^2, b = b_k + tau sum_i alpha_i y_i follows
// every step, and each pass ends by b_k <- b.
//   1. A pass gives each active row, in random order, its exact one-dimensional maximiser, and drops
//      rows that sit at a bound and want to stay there (as LIBLINEAR does). Rows on the same features
//      are visited together: what a step of one does to the margin of the next is known.
//   2. A check recomputes primal, dual and gap from alpha, and takes back rows dropped too early.
//   3. Where many passes were not enough, a check is followed by a Newton step among the variables
//      between their bounds.
#include "linear/coordinate_descent.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linear/balance.hpp"
#include "linear/best_scale.hpp"
#include "linear/descent_history.hpp"
#include "linear/face_newton.hpp"
#include "linear/random_order.hpp"
#include "linear/row_groups.hpp"
#include "loss/intercept.hpp"
#include "loss/separable.hpp"

namespace psvm {
namespace {

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

double squared(const std::vector<double>& w) {
  return std::inner_product(w.begin(), w.end(), w.begin(), 0.0);
}

// Passes to come for which a Newton step is worth its price. On five sets of news, p = 1 to 3 and
// C = 0.01 to 100: 8 % less time than Newton from pass 80 on, 5 % less than with 40 or 80 here.
constexpr double worth_newton = 20.0;
// Passes between two looks at what scaling w would bring: a look costs a tenth of a pass.
constexpr index_t rescale_every = 4;
// Products of a Newton step: at first, doubled whenever it paid, and at most.
constexpr index_t first_newton_limit = 20, last_newton_limit = 1000;

template <class Rows>
class CoordinateSolver {
 public:
  CoordinateSolver(const Rows& rows, const CoordinateProblem& problem,
                   const std::vector<double>& alpha, const Budget& budget, RunControl& run)
      : rows_(rows),
        fit_intercept_(problem.fit_intercept),
        budget_(budget),
        run_(run),
        hard_margin_(std::isinf(problem.cost[0])),
        // With infinite cost every p is the hard margin: no conjugate, no upper bound.
        loss_(hard_margin_ ? 1.0 : problem.p),
        step_(loss_),
        n_(rows.size),
        groups_(problem.place, n_),
        w_(at(rows.features()), 0.0),
        decision_(at(n_), 0.0),
        balanced_(at(n_), 0.0),
        dropped_(at(groups_.count()), 0) {
    double total_norm = 0.0, total_cost = 0.0, total_goal = 0.0;
    variables_.reserve(at(n_));
    active_.reserve(at(groups_.count()));
    for (index_t group = 0; group < groups_.count(); ++group) {
      const double norm = rows.squared_norm(groups_.first(group));
      for (index_t i = groups_.first(group); i < groups_.first(group + 1); ++i) {
        const double cost = problem.cost[i], y = problem.y[i];
        const double goal = problem.target ? y * problem.target[i] : 1.0;
        const double slack = loss_.slack_of(alpha[at(i)], cost);
        variables_.push_back({alpha[at(i)], slack, cost, norm, y, goal, 0.0, 0.0});
        total_norm += norm;
        total_cost += cost;
        total_goal += std::abs(goal);
        lost_at_zero_ += loss_.value(goal, cost);
      }
      active_.push_back(group);
      radius_ = std::max(radius_, norm);
    }
    const double n = static_cast<double>(n_);
    if (total_goal > 0.0) unit_ = total_goal / n;
    if (fit_intercept_) {
      // Other values measured 1.5 to 20 times slower. (b goes with the goals, and alpha with
      // cost * goal^(p-1).)
      tau_ = std::max(0.01 * total_norm / n, 10.0 * std::pow(unit_, 2.0 - loss_.p) / total_cost);
      if (!(tau_ > 0.0)) tau_ = 1.0;
    }
  }

  CoordinateResult solve(const OnRound& on_round) {
    for (index_t pass = 0;; ++pass) {
      const bool promising = pass > 0 && estimate_ <= target_;
      if (pass >= next_check_ || promising || pass == budget_.max_iter || out_of_time()) {
        const double before = run_.seconds();
        const RoundRecord record = check(pass);
        // A check at the end, and a pass of those who certify it.
        last_second_ = budget_.max_time - 2.0 * (run_.seconds() - before);
        result_.history.push_back(record);
        result_.iterations = pass;
        const bool stop = on_round && on_round(record);
        result_.status = status_of(record, stop);
        if (!result_.status.empty()) return std::move(result_);
        plan(record, promising);
      }
      sweep(pass);
    }
  }

 private:
  bool out_of_time() const { return run_.seconds() >= last_second_ || tired(); }
  bool tired() const {
    return run_.seconds() >= budget_.max_effort && run_.effort() >= budget_.max_effort;
  }
  bool at_upper_bound(const Variable& v) const { return loss_.bounded() && v.at_upper_bound(); }

  // --- 1. a pass ---------------------------------------------------------------------------------

  // What a pass has seen: the largest and the smallest gradient of rows that may move, the smallest
  // error, and the sum of the Fenchel-Young terms.
  struct Seen {
    double highest = 0.0, lowest = 0.0, worst = 0.0, gap = 0.0;
  };

  void sweep(index_t pass) {
    Seen seen;
    index_t size = static_cast<index_t>(active_.size());
    visits_ += size;
    for (index_t k = 0; k < size; ++k)
      std::swap(active_[at(k)], active_[at(k + random_.below(size - k))]);
    for (index_t k = 0; k < size; ++k) {
      if (k % 256 == 0) {
        run_.check();
        if (out_of_time()) break;
      }
      if (k + 8 < size) {
        const index_t soon = groups_.first(active_[at(k + 8)]);
        __builtin_prefetch(&variables_[at(soon)]);
        if (n_ > groups_.count()) __builtin_prefetch(&variables_[at(soon)] + 1);
        rows_.prefetch_start(soon);
      }
      if (k + 2 < size) rows_.prefetch(groups_.first(active_[at(k + 2)]));
      if (visit(active_[at(k)], seen)) continue;
      dropped_[at(active_[at(k)])] = 1;
      std::swap(active_[at(k--)], active_[at(--size)]);
    }
    active_.resize(at(size));
    // Next time a row at a bound is dropped if it is further from moving than the worst violator
    // of this pass was.
    drop_above_ = seen.highest > 0.0 ? seen.highest : infinity;
    drop_below_ = seen.lowest < 0.0 ? seen.lowest : -infinity;
    finish_sweep(seen.gap, 1.0 + seen.worst / unit_);
    if (pass % rescale_every == 0 && estimate_ > target_) estimate_ -= gain_of_scaling();
  }

  // Steps of the rows of a group; false if all of them want to stay at their bounds.
  bool visit(index_t group, Seen& seen) {
    const index_t first = groups_.first(group), count = groups_.first(group + 1) - first;
    const double Q = variables_[at(first)].norm + tau_;
    const double decision = rows_.dot(first, w_.data()) + b_;
    // A row that is not at 0 has the first step: of the two sides of a regression the steps are then
    // those of their difference, and one side stays at 0.
    const bool from_last = count > 1 && variables_[at(first)].at_lower_bound();
    double change = 0.0;  // of sum_i alpha_i y_i
    bool stays = false;
    const Variable* moved = nullptr;
    for (index_t k = 0; k < count; ++k) {
      Variable& v = variables_[at(from_last ? first + count - 1 - k : first + k)];
      v.margin = v.y * (decision + Q * change);
      const double error = v.margin - v.goal;
      v.gradient = error + v.slack;
      const bool lower = v.at_lower_bound(), upper = at_upper_bound(v);
      if ((lower && v.gradient > drop_above_) || (upper && v.gradient < drop_below_)) continue;
      stays = true;
      if ((lower && error >= 0.0) || (upper && error <= 0.0)) continue;
      if (moved && moved->alpha > 0.0 && v.is_other_side_of(*moved)) continue;  // it is rounding
      moved = &v;
      if (!hard_margin_)
        seen.gap +=
            loss_.value(-error, v.cost) + v.alpha * error + loss_.conjugate(v.alpha, v.slack);
      seen.highest = std::max(seen.highest, v.gradient);
      seen.lowest = std::min(seen.lowest, v.gradient);
      seen.worst = std::min(seen.worst, error);
      change += step(v, Q, error);
    }
    if (change != 0.0) {
      rows_.add(first, change, w_.data());
      b_ += tau_ * change;
      ++changed_;
    }
    return stays;
  }

  // Moves a variable to its maximiser; returns the change of alpha y.
  double step(Variable& v, double Q, double error) {
    const double old = v.alpha;
    step_.solve(v, Q, Q * old - error);
    if (std::isinf(v.alpha)) {
      unbounded_ = true;
      v.alpha = old;
    }
    return v.y * (v.alpha - old);
  }

  // Moves the centre of the intercept, and estimates the gap: `gap` sums the Fenchel-Young terms of
  // the rows as they were met (dropped rows have none), mostly within a factor of two of the
  // true gap (measured), without the price of a check.
  void finish_sweep(double gap, double smallest_margin) {
    double unbalanced = 0.0, dual = -0.5 * squared(w_);
    const double norm_term = -dual;
    for (const Variable& v : variables_) {
      unbalanced += v.y * v.alpha;
      dual += v.alpha * v.goal - loss_.conjugate(v.alpha, v.slack);
    }
    b_ += tau_ * unbalanced;
    if (hard_margin_)
      gap =
          smallest_margin > 0.0 ? norm_term / (smallest_margin * smallest_margin) - dual : infinity;
    // The rows were met half a pass ago, on average: less the progress of that half.
    const double seen = std::isfinite(gap) ? gap / std::max(gap + dual, 1e-300) : 1.0;
    estimate_ = seen < last_seen_ ? seen * std::sqrt(seen / last_seen_) : seen;
    last_seen_ = seen;
  }

  // What the best factor of (w, b) takes off the estimate, judged by the margins as they were met.
  double gain_of_scaling() const {
    if (hard_margin_) return 0.0;
    const BestScale scale(loss_, variables_, squared(w_));
    const double now = scale.value(1.0), best = scale.value(scale.find(0.1 * budget_.tol * now));
    return std::min((now - best) / best, 0.99 * estimate_);
  }

  // --- 2. a check --------------------------------------------------------------------------------

  RoundRecord check(index_t pass) {
    const double price = balance(loss_, fit_intercept_, hard_margin_, variables_, balanced_);
    compute_decisions();
    const double norm_term = 0.5 * squared(balanced_w_);
    double total = 0.0, conjugate = 0.0;
    for (index_t i = 0; i < n_; ++i) {
      const double alpha = balanced_[at(i)];
      total += alpha * variables_[at(i)].goal;
      conjugate += loss_.conjugate(alpha, loss_.slack_of(alpha, variables_[at(i)].cost));
    }
    dual_ = total - norm_term - conjugate;
    const double b = fit_intercept_ ? best_intercept() : 0.0;
    for (index_t i = 0; i < n_; ++i) {
      Variable& v = variables_[at(i)];
      v.margin = v.y * (decision_[at(i)] + b);
    }
    const BestScale best(loss_, variables_, 2.0 * norm_term);
    double primal = infinity, scale = 1.0;
    if (!hard_margin_) {
      scale = best.find(0.01 * budget_.tol * std::max(dual_, 0.0));
      primal = best.value(scale);
    } else {
      const double feasible = best.smallest_without_slack();
      if (std::isfinite(feasible)) {
        scale = feasible;
        primal = norm_term * scale * scale;
      }
      unbounded_ |= proves_inseparable(total, 2.0 * norm_term, radius_);
    }
    keep_best(pass, primal, b, scale);
    wake(b);
    const double gap = relative_gap();
    // At first, and where the intercept of the passes lags so much that balancing is what costs.
    balanced_b_ = b;
    if (pass == 0 || price > 0.5 * gap * best_primal_) b_ = b;
    return {.iteration = pass,
            .seconds = run_.seconds(),
            .gap = gap,
            .primal = best_primal_,
            .dual = best_dual_,
            .changed = changed_,
            .visits = visits_};
  }

  // Any b proves a gap: a thousandth of the gap asked for is near enough, and at a cold start a
  // thousandth of P(0, 0).
  double best_intercept() const {
    const double precision = 1e-3 * (dual_ > 0.0 ? budget_.tol * dual_ : lost_at_zero_);
    const auto row = [&](std::size_t i) {
      const Variable& v = variables_[i];
      return ThresholdRow{v.y * v.goal - decision_[i], v.cost, v.y};
    };
    return InterceptSearch().best(loss_, variables_.size(), row, b_, {.loss = precision});
  }

  void keep_best(index_t pass, double primal, double b, double scale) {
    if (pass == 0 || dual_ > best_dual_) {
      best_dual_ = dual_;
      result_.alpha = balanced_;
    }
    if (pass == 0 || primal < best_primal_) {
      best_primal_ = primal;
      result_.intercept = b * scale;
      result_.w = balanced_w_;
      for (double& value : result_.w) value *= scale;
    }
  }

  double relative_gap() const {
    if (!std::isfinite(best_primal_)) return infinity;
    return std::max(best_primal_ - best_dual_, 0.0) / std::max(best_primal_, 1e-300);
  }

  // w_ and balanced_w_ from alpha, without the rounding errors of the passes, and decision_ for the
  // latter.
  void compute_decisions() {
    std::fill(w_.begin(), w_.end(), 0.0);
    add_rows([](const Variable& v, double) { return v.alpha; }, w_);
    balanced_w_ = w_;
    add_rows([](const Variable& v, double balanced) { return balanced - v.alpha; }, balanced_w_);
    if (squared(balanced_w_) == 0.0) {  // a cold start
      std::fill(decision_.begin(), decision_.end(), 0.0);
      return;
    }
    for (index_t group = 0; group < groups_.count(); ++group) {
      if (group % 256 == 0) run_.check();
      const index_t first = groups_.first(group), last = groups_.first(group + 1);
      std::fill(decision_.begin() + first, decision_.begin() + last,
                rows_.dot(first, balanced_w_.data()));
    }
  }

  // w += sum_i y_i x_i times a value of the row, of its variable and its balanced alpha.
  template <class Value>
  void add_rows(const Value& value, std::vector<double>& w) {
    for (index_t group = 0; group < groups_.count(); ++group) {
      if (group % 256 == 0) run_.check();
      const index_t first = groups_.first(group), last = groups_.first(group + 1);
      double sum = 0.0;
      for (index_t i = first; i < last; ++i)
        sum += variables_[at(i)].y * value(variables_[at(i)], balanced_[at(i)]);
      if (sum != 0.0) rows_.add(first, sum, w.data());
    }
  }

  // Rows that were dropped but violate the optimality conditions, for the intercept of the passes
  // or for the best one, are active again.
  void wake(double b) {
    for (index_t group = 0; group < groups_.count(); ++group) {
      if (!dropped_[at(group)]) continue;
      bool wanted = false;
      for (index_t i = groups_.first(group); i < groups_.first(group + 1); ++i) {
        Variable& v = variables_[at(i)];
        const double error = v.y * decision_[at(i)] - v.goal;
        v.gradient = error + v.y * b;
        const double other = error + v.y * b_;
        if (v.at_lower_bound() && std::min(v.gradient, other) >= 0.0) continue;
        if (at_upper_bound(v) && std::max(v.gradient, other) <= 0.0) continue;
        wanted = true;
      }
      if (!wanted) continue;
      dropped_[at(group)] = 0;
      active_.push_back(group);
    }
  }

  // --- 3. where passes are slow ------------------------------------------------------------------

  // When to look next, and a Newton step where passes alone were not enough. If the step raised
  // the dual more, per product with the rows, than the passes since the last check did, another
  // one, of higher precision, follows soon.
  void plan(const RoundRecord& record, bool promising) {
    const index_t pass = record.iteration, passes = pass - last_check_;
    // The estimate was too good: next time ask for more.
    target_ = budget_.tol;
    if (promising) target_ *= std::clamp(estimate_ / record.gap, 0.01, 0.9);
    next_check_ = std::max<index_t>(pass + 10, 2 * pass);
    if (passes_to_come(result_.history, budget_.tol) > worth_newton) {
      const double by_passes = (dual_ - last_dual_) / static_cast<double>(passes);
      const double before = dual_;
      const index_t iterations = newton();
      const double by_newton = (dual_ - before) / static_cast<double>(iterations + 2);
      if (by_newton > by_passes) {
        next_check_ = pass + std::max<index_t>(10, iterations);
        newton_limit_ = std::min(2 * newton_limit_, last_newton_limit);
      }
    }
    last_dual_ = dual_;
    last_check_ = pass;
    changed_ = 0;
  }

  // A Newton step from balanced_ in the face, cut at the bounds, if it raises the dual: then dual_
  // follows. Returns the number of products with the rows that it took.
  index_t newton() {
    std::vector<Variable> start = variables_;
    std::vector<double> gradient(at(n_));
    for (index_t i = 0; i < n_; ++i) {
      Variable& v = start[at(i)];
      v.alpha = balanced_[at(i)];
      v.slack = loss_.slack_of(v.alpha, v.cost);
      gradient[at(i)] = v.goal - v.slack - v.y * (decision_[at(i)] + balanced_b_);
    }
    FaceNewton<Rows> direction(rows_, start, loss_, fit_intercept_, run_);
    const FaceStep step = direction.solve(gradient, 0.01, newton_limit_, last_second_);
    visits_ += step.iterations * static_cast<index_t>(step.face.size());
    for (double length = 1.0; length > 1e-3; length /= 4.0)
      if (try_step(start, step, length)) break;
    return step.iterations;
  }

  // Accepts alpha + length beta, cut at the bounds, if the Lagrangian at balanced_b_ rises.
  bool try_step(const std::vector<Variable>& start, const FaceStep& step, double length) {
    std::vector<Variable> moved = start;
    std::vector<double> w = balanced_w_;
    for (std::size_t j = 0; j < w.size(); ++j) w[j] += length * step.dw[j];
    for (std::size_t k = 0; k < step.face.size(); ++k) {
      Variable& v = moved[at(step.face[k])];
      const double wanted = v.alpha + length * step.beta[k];
      v.alpha = std::clamp(wanted, 0.0, loss_.bounded() ? v.cost : infinity);
      v.slack = loss_.slack_of(v.alpha, v.cost);
      if (v.alpha != wanted) rows_.add(step.face[k], v.y * (v.alpha - wanted), w.data());
    }
    double dual = -0.5 * squared(w);
    for (const Variable& v : moved)
      dual += v.alpha * (v.goal - v.y * balanced_b_) - loss_.conjugate(v.alpha, v.slack);
    if (!(dual > dual_)) return false;
    dual_ = dual;
    variables_ = std::move(moved);
    w_ = std::move(w);
    b_ = balanced_b_ + length * step.db;
    return true;
  }

  // --- the end -----------------------------------------------------------------------------------

  std::string status_of(const RoundRecord& record, bool stop) const {
    if (record.gap <= budget_.tol) return "converged";
    if (unbounded_) return "unbounded";
    if (stop) return "stopped";
    if (budget_.max_iter >= 0 && record.iteration >= budget_.max_iter) return "max_iter";
    const bool idle = record.iteration > 0 && record.changed == 0;  // nothing moves any more
    if (tired() || (idle && active_.size() == dropped_.size())) return "stalled";
    if (has_stalled(result_.history)) return "stalled";
    if (out_of_time()) return "max_time";
    return "";
  }

  const Rows rows_;
  const bool fit_intercept_;
  const Budget& budget_;
  RunControl& run_;
  const bool hard_margin_;
  const PNormHinge loss_;
  const CoordinateStep step_;
  const index_t n_;
  const RowGroups groups_;
  // The iterate of the passes.
  std::vector<Variable> variables_;
  std::vector<double> w_;
  double b_ = 0.0, tau_ = 0.0, radius_ = 0.0, lost_at_zero_ = 0.0;
  double unit_ = 1.0;  // of goals and margins
  // The point of the last check: feasible, with its w, <w, x_i>, b and dual.
  std::vector<double> balanced_w_, decision_, balanced_;
  double balanced_b_ = 0.0, dual_ = -infinity;
  double best_primal_ = infinity, best_dual_ = -infinity;
  double last_second_ = infinity;  // of the passes
  // Shrinking, by groups.
  std::vector<index_t> active_;
  std::vector<char> dropped_;
  double drop_above_ = infinity, drop_below_ = -infinity;
  // When to check, and whether Newton pays.
  double estimate_ = infinity, last_seen_ = 0.0, target_ = 0.0, last_dual_ = -infinity;
  index_t next_check_ = 0, last_check_ = 0, changed_ = 0, visits_ = 0;
  index_t newton_limit_ = first_newton_limit;
  bool unbounded_ = false;
  CoordinateResult result_;
  Random random_;
};

}  // namespace

CoordinateResult solve_coordinate_descent(const FeatureRows& features,
                                          const CoordinateProblem& problem,
                                          const std::vector<double>& alpha, const Budget& budget,
                                          const OnRound& on_round, RunControl& run) {
  const auto solve = [&]<class Array>(const Array& array) {
    const CoordinateRows<Array> rows{array, problem.size, problem.place};
    return CoordinateSolver(rows, problem, alpha, budget, run).solve(on_round);
  };
  return std::visit(solve, features);
}

}  // namespace psvm
