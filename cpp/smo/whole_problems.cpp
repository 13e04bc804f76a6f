#include "smo/whole_problems.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>

#include "smo/face.hpp"
#include "smo/round.hpp"
#include "smo/slack_newton.hpp"
#include "smo/variables.hpp"
#include "smo/whole_matrix.hpp"

namespace psvm {
namespace {

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// A sum to about twice the last digit, whatever its order (Neumaier).
class ExactSum {
 public:
  void add(double term) {
    const double sum = sum_ + term;
    rest_ += std::abs(sum_) >= std::abs(term) ? (sum_ - sum) + term : (term - sum) + sum_;
    sum_ = sum;
  }
  double value() const { return sum_ + rest_; }

 private:
  double sum_ = 0.0, rest_ = 0.0;
};

// The entries among the rows of one segment: pairs of classes share them with others, and keep them.
class OwnEntries {
 public:
  OwnEntries(const KernelRows<double>& kernel, bool shared) : kernel_(kernel), shared_(shared) {}

  void copy(int segment, double* out, index_t stride, RunControl& run) {
    if (!shared_) return compute(segment, out, stride, run);
    const index_t length = kernel_.length(segment);
    std::vector<double>& kept = entries(segment, run);
    for (index_t i = 0; i < length; ++i)
      std::copy(kept.data() + i * length, kept.data() + (i + 1) * length, out + i * stride);
  }

 private:
  std::vector<double>& entries(int segment, RunControl& run) {
    std::unique_lock lock(mutex_);
    auto& kept = kept_[segment];
    if (!kept) kept = std::make_unique<Kept>();
    lock.unlock();
    std::call_once(kept->once, [&] {
      const index_t length = kernel_.length(segment);
      kept->entries.resize(at(length * length));
      compute(segment, kept->entries.data(), length, run);
    });
    return kept->entries;
  }

  // Each entry once where they are computed, in strips of rows from the diagonal on, then mirrored.
  void compute(int segment, double* out, index_t stride, RunControl& run) {
    const index_t length = kernel_.length(segment), strip = kernel_.points() ? 64 : length;
    std::vector<index_t> rows(at(length));
    std::iota(rows.begin(), rows.end(), kernel_.begin(segment));
    if (length <= 2 * strip) return kernel_.store_rows(rows, segment, out, stride, run);
    run.parallel_for((length + strip - 1) / strip, [&](index_t task) {
      RunControl alone = run.of_task();
      const index_t first = task * strip, last = std::min(first + strip, length);
      const Rows all(rows);
      kernel_.between(all.subspan(at(first), at(last - first)), all.subspan(at(first)),
                      out + first * stride + first, stride, alone);
      for (index_t i0 = last; i0 < length; i0 += lanes<double>)  // a line of entries on each side
        for (index_t j = first; j < last; ++j)
          for (index_t i = i0; i < std::min<index_t>(i0 + lanes<double>, length); ++i)
            out[i * stride + j] = out[j * stride + i];
    });
  }

  struct Kept {
    std::once_flag once;
    std::vector<double> entries;
  };
  const KernelRows<double>& kernel_;
  const bool shared_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Kept>> kept_;
};

// Whether a matrix is positive semidefinite, but for rounding.
bool is_definite(const double* matrix, index_t n, index_t stride) {
  double largest = 0.0;
  for (index_t i = 0; i < n; ++i) largest = std::max(largest, matrix[i * stride + i]);
  const double rounding =
      10.0 * static_cast<double>(n) * std::numeric_limits<double>::epsilon() * largest;
  Cholesky system;
  system.resize(n);
  for (index_t i = 0; i < n; ++i) {
    std::copy(matrix + i * stride, matrix + i * stride + i + 1, system.row(i));
    system.row(i)[i] += rounding;
  }
  return system.factor(0.0);
}

// Solves one problem after the other, on one thread.
class WholeSolver {
 public:
  WholeSolver(const KernelRows<double>& kernel, OwnEntries* own, const WholeGoal& goal,
              RunControl& run)
      : kernel_(kernel), own_(own), goal_(goal), loss_(goal.p), run_(run) {}

  // on_round(last_digits, record)
  using Heard = std::function<bool(bool, const RoundRecord&)>;

  WholeOutcome solve(const WholeProblem& problem, const Heard& on_round, double* alpha,
                     double* decision) {
    alpha_.assign(problem.start, problem.start + problem.size);
    // Where digits count, intercepts do.
    Round<double> round(goal_.fit_intercept, 0.0, goal_.tol * (goal_.polish ? 1e-6 : 1.0), run_);
    round.start(loss_, problem.rows, alpha_);
    index_t columns = 0;
    for (const int s : problem.segments) columns += kernel_.length(s);
    variables_.emplace(problem.rows, problem.kernel_row, columns);
    fill(problem, columns, round.block());
    matrix_.emplace(round.block(), variables_->rows());
    const index_t n = variables_->size();
    WholeOutcome outcome;
    double aim = 0.99 * goal_.tol;
    const index_t most = goal_.max_steps * n;
    const bool early = loss_.p >= newton_from && !goal_.doubtful;
    round.limit_steps(early ? least_of(first_steps() * n, most) : most);
    bool there = pair_steps(round, aim, on_round, outcome);
    if (goal_.polish && goal_.doubtful && !outcome.indefinite)
      outcome.indefinite = !is_definite(round.block().gram.data(), n, round.block().stride);
    const bool may_go_on =
        !outcome.indefinite && outcome.rounds != goal_.max_iter && !outcome.history.empty();
    const bool wanted = goal_.polish && may_go_on;
    if (may_go_on && early && !there && !outcome.stopped) {
      outcome.polished = newton(problem, round, outcome);
      round.limit_steps(most);
      if (!outcome.polished) there = pair_steps(round, aim, on_round, outcome);
    }
    outcome.solved = there;
    while (wanted && there && !outcome.polished && !outcome.stopped) {
      outcome.polished = polish(problem, round, outcome);
      // A better start, or maybe the end of it.
      if (!outcome.polished) there = pair_steps(round, aim *= 1e-3, on_round, outcome);
    }
    outcome.solved = outcome.solved || outcome.polished;
    if (outcome.polished) {
      tell(on_round, ++outcome.rounds, outcome);
    } else {
      if (!outcome.history.empty()) alpha_ = round.rows().alphas();
      certify(problem, outcome);
      outcome.solved = outcome.solved && !(wanted && !outcome.stopped);
    }
    outcome.solved = outcome.solved && outcome.gap <= goal_.tol;
    outcome.true_gap = bounded_gap(problem, outcome);
    std::copy(alpha_.begin(), alpha_.end(), alpha);
    std::copy(decision_.begin(), decision_.end(), decision);
    return outcome;
  }

 private:
  void tell(const Heard& on_round, index_t round, WholeOutcome& outcome) {
    outcome.history.push_back(
        {round, run_.seconds(), outcome.gap, outcome.primal, outcome.dual, 0});
    if (on_round) on_round(true, outcome.history.back());
  }

  // The kernel matrix of the variables, from each entry computed once.
  void fill(const WholeProblem& problem, index_t columns, Block<double>& block) {
    const index_t n = variables_->size();
    block.resize(n, !goal_.fit_intercept);
    double* gram = block.gram.data();
    if (variables_->are_kernel_rows(columns)) {
      fill_columns(problem, gram, block.stride);
    } else {
      std::vector<double> entries(at(columns * columns));
      fill_columns(problem, entries.data(), columns);
      for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < n; ++j)
          gram[i * block.stride + j] =
              entries[at(variables_->kernel_row(i) * columns + variables_->kernel_row(j))];
    }
    for (index_t i = 0; i < n; ++i) block.diagonal[at(i)] = gram[i * block.stride + i];
  }

  void fill_columns(const WholeProblem& problem, double* out, index_t stride) {
    const int a = problem.segments.front(), b = problem.segments.back();
    own_->copy(a, out, stride, run_);
    if (problem.segments.size() == 1) return;
    const index_t first = kernel_.length(a), n = first + kernel_.length(b);
    own_->copy(b, out + first * stride + first, stride, run_);
    std::vector<index_t> rows(at(first));
    std::iota(rows.begin(), rows.end(), kernel_.begin(a));
    kernel_.store_rows(rows, b, out + first, stride, run_);
    for (index_t i = 0; i < first; ++i)
      for (index_t j = first; j < n; ++j) out[j * stride + i] = out[i * stride + j];
  }

  // Rounds of them until the gap is `aim`, or no more are worth it. False if they do not get there; if
  // they led nowhere, there is no history of them either.
  bool pair_steps(Round<double>& round, double aim, const Heard& on_round, WholeOutcome& outcome) {
    asking_.resize(at(variables_->size()));
    Outlook outlook(aim, 10, 100);
    double best = infinity;
    index_t changed = 0;
    const auto nowhere = [&] {
      outcome.history.clear();
      return false;
    };
    for (int idle = 0;; ++outcome.rounds) {
      matrix_->decide(round.rows().coef(), decision_, run_);
      const Proof proof = round.certify(decision_);
      outcome.intercept = round.intercept();
      if (!std::isfinite(proof.dual) || proof.dual > 1.01 * round.primal_at_zero())
        return nowhere();
      // Where the last ones ended is on record already.
      if (outcome.history.empty() || outcome.history.back().iteration < outcome.rounds) {
        outcome.history.push_back(
            {outcome.rounds, run_.seconds(), proof.gap, proof.primal, proof.dual, changed});
        outcome.stopped = on_round && on_round(false, outcome.history.back());
      }
      outcome.stopped = outcome.stopped || outcome.rounds == goal_.max_iter;
      if (proof.gap <= aim || outcome.stopped) return proof.gap <= aim;
      idle = proof.gap < 0.999 * best ? 0 : idle + 1;
      best = std::min(best, proof.gap);
      if (idle >= 10 || outlook.hopeless(proof) || round.steps_left() == 0) return false;
      for (index_t v = 0; v < variables_->size(); ++v)
        asking_[at(v)] = variables_->asking(v, round.rows(), round.intercept());
      const BlockChanges changes = round.solve(asking_);
      outcome.indefinite = outcome.indefinite || changes.indefinite;
      changed = static_cast<index_t>(changes.places.size());
      if (changes.unbounded) return nowhere();
      if (changed == 0) return false;
      run_.check();
    }
  }

  // Moves to the optimum, and certifies it; false where that is not possible.
  bool polish(const WholeProblem& problem, Round<double>& round, WholeOutcome& outcome) {
    alpha_ = round.rows().alphas();
    certify(problem, outcome);
    if (outcome.gap <= 0.01 * optimal(problem, outcome)) return true;
    const bool moved = loss_.p > 2.0 ? slack_newton(problem) : face(problem);
    return moved && is_optimal(problem, outcome);
  }
  bool face(const WholeProblem& problem) {
    return Face(loss_, problem.rows, *matrix_, goal_.fit_intercept, run_).solve(alpha_);
  }
  bool slack_newton(const WholeProblem& problem, const SlackNewton::Enough& enough = {0.0, {}}) {
    return SlackNewton(loss_, problem.rows, *matrix_, goal_.fit_intercept, run_)
        .solve(alpha_, enough);
  }
  bool is_optimal(const WholeProblem& problem, WholeOutcome& outcome) {
    balance(problem, alpha_);
    certify(problem, outcome);
    return outcome.gap <= optimal(problem, outcome);
  }

  // The same from any alpha, where p allows it, and without a wish for the last digits only to the gap
  // asked for.
  bool newton(const WholeProblem& problem, Round<double>& round, WholeOutcome& outcome) {
    alpha_ = round.rows().alphas();
    if (goal_.polish) return slack_newton(problem) && is_optimal(problem, outcome);
    const double aim = 0.99 * goal_.tol;
    const auto close = [&] {
      balance(problem, alpha_);
      certify(problem, outcome);
      return outcome.gap <= aim;
    };
    return slack_newton(problem, {aim, close}) && (outcome.gap <= aim || close());
  }

  // The relative gap of an optimum, but for rounding. Small slacks of p > 2 cost next to nothing (p = 3:
  // a gap of 1e-11 is 1e-5 of them). Rows on the margin have slacks of some last digits, which at p = 1
  // cost as much as any: at a large C that is all there is of the gap.
  double optimal(const WholeProblem& problem, const WholeOutcome& outcome) const {
    double price = outcome.alpha_sum, largest = 1.0;
    for (std::size_t i = 0; i < alpha_.size(); ++i) {
      largest = std::max(largest, std::abs(decision_[i] + outcome.intercept));
      if (loss_.bounded() && alpha_[i] > 0.0) price += problem.rows.cost[i];
    }
    const double rounded = 4.0 * std::numeric_limits<double>::epsilon() * largest * price;
    const double least = loss_.p > 2.0 ? 1e-12 : 1e-11;
    return std::max(least, std::min(rounded / outcome.magnitude, 1e-3 * goal_.tol));
  }

  // Scales the heavier sign down, where it is more than rounding.
  void balance(const WholeProblem& problem, std::vector<double>& alpha) const {
    if (!goal_.fit_intercept) return;
    ExactSum sums[2];
    for (std::size_t i = 0; i < alpha.size(); ++i) sums[problem.rows.y[i] > 0.0].add(alpha[i]);
    const double minus = sums[0].value(), plus = sums[1].value();
    if (std::abs(plus - minus) <= 1e-15 * (plus + minus)) return;
    const double factors[2] = {std::min(plus, minus) / minus, std::min(plus, minus) / plus};
    for (std::size_t i = 0; i < alpha.size(); ++i) alpha[i] *= factors[problem.rows.y[i] > 0.0];
  }

  // From the kernel matrix and alpha alone; sums to the last digits.
  void certify(const WholeProblem& problem, WholeOutcome& outcome) {
    const std::size_t n = alpha_.size();
    const DualRows& rows = problem.rows;
    coef_.resize(n);
    ExactSum total, excess;
    for (std::size_t i = 0; i < n; ++i) {
      coef_[i] = rows.y[i] * alpha_[i];
      total.add(alpha_[i]);
      excess.add(coef_[i]);
    }
    matrix_->decide(coef_, decision_, run_);
    double b = 0.0, largest = 0.0;
    for (const double value : decision_) largest = std::max(largest, std::abs(value));
    if (goal_.fit_intercept)
      b = intercepts_.best(loss_, n,
                           [&](std::size_t i) {
                             return ThresholdRow{rows.target[i] - decision_[i], rows.cost[i],
                                                 rows.y[i]};
                           },
                           outcome.intercept, {.b = 2e-16 * (1.0 + largest)});
    ExactSum norm, lost, difference;
    for (std::size_t i = 0; i < n; ++i) {
      const double xi = rows.y[i] * (rows.target[i] - (decision_[i] + b));
      const double own = loss_.value(xi, rows.cost[i]);
      const double slack = loss_.slack_of(alpha_[i], rows.cost[i]);
      norm.add(coef_[i] * decision_[i]);
      lost.add(own);
      difference.add(own - alpha_[i] * xi + loss_.conjugate(alpha_[i], slack));
    }
    outcome.intercept = b;
    outcome.squared_norm = norm.value();
    outcome.primal = 0.5 * outcome.squared_norm + lost.value();
    outcome.magnitude = 0.5 * std::abs(outcome.squared_norm) + lost.value();
    outcome.alpha_sum = total.value();
    outcome.excess = excess.value();
    const double off = difference.value();
    const bool proves = std::isfinite(off) && off >= -1e-6 * outcome.magnitude;
    outcome.dual = proves ? outcome.primal - off : -infinity;
    outcome.gap = proves ? std::max(off, 0.0) / std::max(outcome.magnitude, 1e-300) : infinity;
  }

  // With bounds for rounding, from sums alone.
  double bounded_gap(const WholeProblem& problem, const WholeOutcome& outcome) const {
    const auto n = static_cast<double>(problem.size);
    double cost = 0.0, target = 0.0;
    for (std::size_t i = 0; i < alpha_.size(); ++i) {
      cost += problem.rows.cost[i];
      target = std::max(target, std::abs(problem.rows.target[i]));
    }
    const CertifiedSums sums{n,
                             cost,
                             outcome.alpha_sum,
                             outcome.excess,
                             target,
                             outcome.primal,
                             outcome.dual,
                             outcome.gap,
                             outcome.magnitude,
                             outcome.squared_norm,
                             outcome.intercept};
    // Rows that share a kernel row make sums longer than the matrix is wide.
    const double longer = std::max(1.0, n / static_cast<double>(kernel_.size()));
    return true_gap(
        sums,
        rounding_of_sums(sums, goal_.p, goal_.fit_intercept, 0.0, goal_.power_error,
                         outcome.alpha_sum * goal_.error_of_unit * longer, goal_.largest_entry));
  }

  // From this p on Newton's steps lead to the optimum from everywhere; pair steps per row before they
  // are tried (where the last digits are wanted, a linear kernel at C = 1: three times as fast; else
  // pair steps have ended by then).
  static constexpr double newton_from = 2.0;
  index_t first_steps() const { return goal_.polish ? 8 : 40; }
  // Negative: no limit.
  static index_t least_of(index_t some, index_t most) {
    return most < 0 ? some : std::min(some, most);
  }

  const KernelRows<double>& kernel_;
  OwnEntries* own_;
  const WholeGoal goal_;
  const PNormHinge loss_;
  RunControl& run_;
  InterceptSearch intercepts_;
  std::optional<Variables> variables_;
  std::vector<index_t> asking_;  // of each variable, the row that takes steps
  std::optional<WholeMatrix> matrix_;
  std::vector<double> alpha_, coef_, decision_;
};

}  // namespace

std::vector<WholeOutcome> solve_whole_problems(const KernelRows<double>& kernel,
                                               const std::vector<WholeProblem>& problems,
                                               const WholeGoal& asked, const OnWholeRound& on_round,
                                               double* alpha, double* decision, RunControl& run) {
  std::vector<WholeOutcome> outcomes(problems.size());
  std::vector<index_t> begin{0};
  for (const WholeProblem& problem : problems) begin.push_back(begin.back() + problem.size);
  OwnEntries own(kernel, problems.size() > 1);
  std::atomic<bool> late{false};
  WholeGoal goal = asked;
  // One look at all of a given matrix takes less than one at each of its parts (eight classes: half).
  if (goal.polish && goal.doubtful && problems.size() > 1 && !kernel.points()) {
    std::vector<index_t> every(at(kernel.size()));
    std::iota(every.begin(), every.end(), index_t(0));
    AlignedMemory<double> matrix;
    matrix.make_room_for(every.size() * every.size());
    for (int s = 0; s < kernel.segments(); ++s)
      kernel.store_rows(every, s, matrix.data() + kernel.begin(s), kernel.size(), run);
    goal.doubtful = !is_definite(matrix.data(), kernel.size(), kernel.size());
  }
  const auto solve = [&](index_t t, RunControl& control) {
    const WholeProblem& problem = problems[at(t)];
    double* const own_alpha = alpha + begin[at(t)];
    std::copy(problem.start, problem.start + problem.size, own_alpha);
    if (late) return;
    control.stop_after(goal.max_time - run.seconds() + control.seconds(),
                       goal.max_effort - run.effort() + control.effort());
    WholeSolver::Heard heard;
    if (on_round)
      heard = [&](bool last_digits, const RoundRecord& record) {
        return on_round(t, last_digits, record);
      };
    try {
      outcomes[at(t)] = WholeSolver(kernel, &own, goal, control)
                            .solve(problem, heard, own_alpha, decision + begin[at(t)]);
    } catch (const Late&) {
      late = true;
    }
  };
  const auto count = static_cast<index_t>(problems.size());
  if (count == 1 || on_round) {
    for (index_t t = 0; t < count; ++t) solve(t, run);
    return outcomes;
  }
  // The longest first, so that no thread is left with one when the others have ended.
  std::vector<index_t> order(problems.size());
  std::iota(order.begin(), order.end(), index_t(0));
  std::stable_sort(order.begin(), order.end(), [&](index_t a, index_t b) {
    return problems[at(a)].size > problems[at(b)].size;
  });
  run.parallel_for(count, [&](index_t k) {
    RunControl alone = run.of_task();
    solve(order[at(k)], alone);
  });
  return outcomes;
}

}  // namespace psvm
