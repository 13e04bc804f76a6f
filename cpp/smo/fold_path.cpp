// A path of cells (p, C, epsilon) of one problem. In every cell, rounds
//   1. certify: intercept and relative gap from the decision values, in O(rows);
//   2. exchange: the worst violators take the slots of the oldest idle members of the block;
//   3. solve the small dual over the block (block_smo);
//   4. apply the rows of the Gram matrix whose variables changed to the decision values.
// The block and its Gram matrix outlive the cells: neighbours on the path share most of it.
#include "smo/fold_path.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>

#include "smo/held_out_values.hpp"
#include "smo/round.hpp"
#include "smo/sizes.hpp"
#include "smo/violators.hpp"

namespace psvm {
namespace {

// Share of the block that one round exchanges at most: where entries are gathered from memory (1/2 and
// 1/8 measured 29 and 15 % slower), and where all of them are computed anew (1/4 and 2/3: 19 and 5 %).
constexpr double exchanged_of_stored = 0.25, exchanged_of_computed = 0.45;
// Variables of a block at most (512 measured equal, 1024 a fifth slower on magic04).
constexpr index_t most_variables = 768;
// Rounds after which a cell is left as it is, and how often its progress is looked at. (Of 24 cells
// up to C = 1e5 all are solved; 3 are not with patience of 300, 5 with a window of 10, and patience
// of 30000 or a window of 100 take as long.)
constexpr index_t most_rounds = 3000, window = 40;
// The gap beyond which further rounds only move the last digits.
constexpr double best_gap = 1e-12;

template <class T>
class FoldPath {
 public:
  FoldPath(const FoldProblem<T>& problem, const Precision& precision, RunControl& run)
      : problem_(problem),
        precision_(precision),
        run_(run),
        places_(problem.place, static_cast<index_t>(problem.train.rows.size())),
        n_(at(places_.rows())),
        points_(pick(problem.train)),
        held_out_points_(pick(problem.held_out)),
        train_(problem.kernel, problem.train, points_.get()),
        held_out_(problem.kernel, problem.train.rows, problem.held_out, points_.get(),
                  held_out_points_.get()),
        target_(n_, 0.0),
        cost_(n_, 0.0),
        decision_(n_, 0.0),
        every_(n_),
        round_(problem.fit_intercept, 0.0, precision.tol, run),
        slot_of_(n_, -1) {
    std::iota(every_.begin(), every_.end(), index_t(0));
    for (const ColumnRange& range : problem.train.columns)
      for (index_t column = range.begin; column < range.end; column += lanes<T>)
        lines_.push_back(column);
  }

  // Solves one cell from wherever the last one ended.
  CellOutcome solve(const PathCell& cell) {
    const double start = run_.seconds();
    begin(cell);
    Outlook outlook(precision_.tol, window, static_cast<double>(most_rounds));
    CellOutcome outcome{};
    index_t more = precision_.more_rounds;
    round_.limit_steps(precision_.max_steps);
    for (index_t round = 0;; ++round) {
      train_.copy(places_, decision_);
      const Proof proof = round_.certify(decision_);
      outcome = {proof.gap, run_.seconds() - start};
      if (proof.gap <= precision_.tol && (more-- <= 0 || proof.gap <= best_gap)) break;
      if (round >= most_rounds || round_.steps_left() == 0 || outlook.hopeless(proof)) break;
      exchange();
      if (solve_block_of() == 0) break;
      run_.check();
    }
    intercept_ = round_.best_intercept(decision_);
    if (slack_of_first_.empty()) keep_slacks();
    return outcome;
  }

  // Has the decision values of the held-out rows in this cell written to `out`: by `finish_held_out`
  // at the latest.
  void hold_out(double* out) {
    held_out_.add(train_.coef(), intercept_, out);
    if (held_out_.full()) held_out_.finish(run_);
  }
  void finish_held_out(RunControl& run) { held_out_.finish(run); }
  std::size_t held_out_finished() const { return held_out_.finished(); }

  std::vector<double> alpha() const { return rows().alphas(); }

  // By the margin, not by alpha: of copies of a row on the margin the solver may have taken any. `out`,
  // of the training rows, is 0 before.
  void supports(std::uint8_t* out) const {
    for (std::size_t k = 0; k < n_; ++k)
      if (shortfall(k) >= -outside_margin) out[place(k)] = 1;
  }

 private:
  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  // The training row of a dual row.
  std::size_t place(std::size_t k) const { return at(places_.of(static_cast<index_t>(k))); }
  // How far a dual row is short of its target; its slack where that is positive.
  double shortfall(std::size_t k) const {
    return problem_.dual.y[k] * (target_[k] - (decision_[k] + intercept_));
  }
  RowStates& rows() { return round_.rows(); }
  const RowStates& rows() const { return round_.rows(); }
  // Some rows as points, where the matrix is not stored.
  std::unique_ptr<Points<T>> pick(const FoldRows& some) const {
    return problem_.kernel.gram ? nullptr : problem_.kernel.points->pick(some.rows, run_);
  }
  const T* row(std::size_t k) const {
    return problem_.kernel.gram + problem_.train.rows[place(k)] * problem_.kernel.stride;
  }

  // --- a new cell ------------------------------------------------------------------------------

  // The start of a cell, unless it is given. For the same p: the last alpha, or its multiple with the
  // largest dual, for which no kernel row is needed. For another p: the alpha that the slacks of the
  // first cell of the last p have under the new loss.
  void begin(const PathCell& cell) {
    const bool cold = !loss_, same_p = !cold && loss_->p == cell.p;
    std::vector<double> alpha = cold ? std::vector<double>(n_, 0.0) : rows().alphas();
    if (!same_p) loss_ = std::make_unique<PNormHinge>(cell.p);
    // Dual rows that share a training row are not both free: blocks of twice the share (searches of
    // concrete and communities a seventh and a fifth faster, of airfoil and abalone alike).
    const auto n = static_cast<index_t>(n_);
    const index_t usual = usual_block(0.0, places_.shared() ? 2 * n : n, cell.p);
    capacity_ = std::max(members_.size(), at(std::min({usual, most_variables, n})));
    for (std::size_t k = 0; k < n_; ++k) {
      cost_[k] = cell.C * problem_.dual.cost[k];
      target_[k] = problem_.dual.target[k] - problem_.dual.y[k] * cell.epsilon;
    }
    if (cell.start) {
      alpha.assign(cell.start, cell.start + n_);
      slack_of_first_.clear();
      compute_decision(alpha);
    } else if (!cold) {
      if (!same_p) start_from_slacks(alpha);
      // Free variables of the hinge hardly depend on C: where they are most of the support vectors, the
      // last alpha is the better start (satimage, spambase: the search a seventh faster).
      const bool mostly_free = loss_->bounded() && same_p && 2 * rows().free() > rows().support();
      const double t = best_multiple(alpha);
      if (!mostly_free || t < 1.0) multiply(alpha, t);
    }
    round_.start(*loss_, {problem_.dual.y, target_.data(), cost_.data()}, alpha);
  }

  void multiply(std::vector<double>& alpha, double t) {
    for (std::size_t k = 0; k < n_; ++k) {
      alpha[k] *= t;
      if (loss_->bounded()) alpha[k] = std::min(alpha[k], cost_[k]);
    }
    train_.multiply(t);
  }

  void keep_slacks() {
    slack_of_first_.resize(n_);
    for (std::size_t k = 0; k < n_; ++k) slack_of_first_[k] = std::max(shortfall(k), 0.0);
  }

  void start_from_slacks(std::vector<double>& alpha) {
    double total[2] = {0.0, 0.0};
    for (std::size_t k = 0; k < n_; ++k) {
      alpha[k] = loss_->alpha_of(slack_of_first_[k], cost_[k]);
      total[problem_.dual.y[k] > 0.0] += alpha[k];
    }
    slack_of_first_.clear();
    // The heavier sign is scaled down to sum alpha_i y_i = 0.
    const double lighter = std::min(total[0], total[1]);
    const bool usable = std::isfinite(total[0] + total[1]) && lighter > 0.0;
    for (std::size_t k = 0; k < n_; ++k) {
      if (!usable)
        alpha[k] = 0.0;
      else if (problem_.fit_intercept)
        alpha[k] *= lighter / total[problem_.dual.y[k] > 0.0];
    }
    compute_decision(alpha);
  }

  void compute_decision(const std::vector<double>& alpha) {
    std::vector<double> coef(n_);
    for (std::size_t k = 0; k < n_; ++k) coef[k] = problem_.dual.y[k] * alpha[k];
    train_.clear();
    train_.follow(places_.of(every_), places_.sum(coef), run_);
  }

  // The t > 0 that maximises D(t alpha), the root of the decreasing function
  //   sum alpha y target - t alpha'K alpha - t^(q-1) sum alpha slack_of(alpha),
  // or at p = 1 the bound if that is nearer.
  double best_multiple(const std::vector<double>& alpha) const {
    double total = 0.0, squared_norm = 0.0, slack_sum = 0.0, bound = infinity;
    for (std::size_t k = 0; k < n_; ++k) {
      if (alpha[k] <= 0.0) continue;
      const double coef = problem_.dual.y[k] * alpha[k];
      total += coef * target_[k];
      squared_norm += coef * train_[place(k)];
      if (loss_->bounded())
        bound = std::min(bound, cost_[k] / alpha[k]);
      else
        slack_sum += alpha[k] * loss_->slack_of(alpha[k], cost_[k]);
    }
    if (total < 0.0) return 0.0;  // a wider tube may leave nothing of it
    if (!(total > 0.0) || !(squared_norm > 0.0)) return 1.0;
    double low = 0.0, high = total / squared_norm;
    if (loss_->bounded()) return std::min(high, bound);
    const double exponent = 1.0 / (loss_->p - 1.0);
    for (int step = 0; step < 60 && high - low > 1e-6 * high; ++step) {
      const double t = 0.5 * (low + high);
      const double slope = total - t * squared_norm - std::pow(t, exponent) * slack_sum;
      (slope > 0.0 ? low : high) = t;
    }
    return low > 0.0 ? low : high;
  }

  // --- 2. exchange -----------------------------------------------------------------------------

  void exchange() {
    all_tie_ = rows().support() == 0;
    if (members_.size() < capacity_)
      enlarge();
    else if (capacity_ < n_)
      replace(
          worst(static_cast<std::size_t>((points_ ? exchanged_of_computed : exchanged_of_stored) *
                                         static_cast<double>(capacity_))));
  }

  // The worst violators outside the block, of either side.
  std::vector<index_t> worst(std::size_t count) {
    std::vector<index_t> incoming;
    take_worst(true, count / 2, incoming);
    take_worst(false, count - incoming.size(), incoming);
    return incoming;
  }

  // Fills the block to its capacity: with violators, then with any rows.
  void enlarge() {
    const bool whole = capacity_ == n_;
    for (const index_t k : whole ? std::vector<index_t>{} : worst(capacity_ - members_.size()))
      add_member(k);
    for (const index_t k : every_)
      if (members_.size() < capacity_ && slot_of_[at(k)] < 0) add_member(k);
    born_.resize(capacity_, exchanges_);
    round_.block().resize(static_cast<index_t>(capacity_), !problem_.fit_intercept);
    std::vector<index_t> slots(capacity_);
    std::iota(slots.begin(), slots.end(), index_t(0));
    gather(slots);
  }

  void add_member(index_t k) {
    slot_of_[at(k)] = static_cast<index_t>(members_.size());
    members_.push_back(k);
  }

  // The worst violators outside the block of one side; at a cold start, where rows tie, at random.
  void take_worst(bool up, std::size_t count, std::vector<index_t>& incoming) {
    const auto taken = [&](index_t k) { return slot_of_[at(k)] >= 0; };
    for (const auto& violator : all_tie_
                                    ? violators_.some(rows(), round_.middle(), up, count, taken)
                                    : violators_.worst(rows(), round_.middle(), up, count, taken))
      incoming.push_back(violator.row);
  }

  // Incoming variables take the slots of the oldest members, those that are not free first.
  void replace(const std::vector<index_t>& incoming) {
    ++exchanges_;
    // One number per slot that sorts by: is it free, since when, which.
    const auto capacity = static_cast<index_t>(capacity_),
               count = static_cast<index_t>(incoming.size());
    std::vector<index_t> keys(capacity_);
    for (std::size_t s = 0; s < capacity_; ++s) {
      const index_t age = born_[s] + (rows().is_free(at(members_[s])) ? exchanges_ + 1 : 0);
      keys[s] = age * capacity + static_cast<index_t>(s);
    }
    std::nth_element(keys.begin(), keys.begin() + count, keys.end());
    std::vector<index_t> slots;
    for (index_t v = 0; v < count; ++v) slots.push_back(keys[at(v)] % capacity);
    std::sort(slots.begin(), slots.end());
    for (std::size_t v = 0; v < incoming.size(); ++v) {
      slot_of_[at(members_[at(slots[v])])] = -1;
      members_[at(slots[v])] = incoming[v];
      born_[at(slots[v])] = exchanges_;
    }
    for (std::size_t v = 0; v < incoming.size(); ++v) slot_of_[at(incoming[v])] = slots[v];
    gather(slots);
  }

  // Rows and columns of the block's Gram matrix at these slots.
  void gather(const std::vector<index_t>& slots) {
    if (!points_) return gather_stored(slots);
    // Of few features all entries are computed sooner than those of the joined are mirrored.
    Block<T>& block = round_.block();
    std::vector<index_t> rows;
    for (const index_t k : members_) rows.push_back(places_.of(k));
    points_->between(rows, rows, block.gram.data(), block.stride, run_);
    for (std::size_t s = 0; s < rows.size(); ++s)
      block.gram[s * at(block.stride) + s] = block.diagonal[s] =
          static_cast<T>(points_->diagonal()[at(rows[s])]);
  }

  // The same from the stored matrix. While one row is picked from, the next one is fetched from memory.
  // (Picking a row only when a step needs it measured a quarter slower: that waits for memory.)
  void gather_stored(const std::vector<index_t>& slots) {
    Block<T>& block = round_.block();
    const index_t stride = block.stride;
    const std::size_t size = members_.size();
    columns_.resize(size);
    for (std::size_t t = 0; t < size; ++t)
      columns_[t] = at(problem_.train.rows[place(at(members_[t]))]);
    constexpr std::size_t picks = 16;
    const std::size_t lines_per_picks = lines_.size() * picks / std::max(size, picks) + 1;
    for (std::size_t v = 0; v < slots.size(); ++v) {
      const index_t s = slots[v];
      const T* from = row(at(members_[at(s)]));
      const T* next = row(at(members_[at(slots[std::min(v + 1, slots.size() - 1)])]));
      T* to = block.gram.data() + s * stride;
      std::size_t line = 0;
      for (std::size_t first = 0; first < size; first += picks) {
        const std::size_t last_line = std::min(line + lines_per_picks, lines_.size());
        for (; line < last_line; ++line) __builtin_prefetch(next + lines_[line]);
        const std::size_t end = std::min(first + picks, size);
        for (std::size_t t = first; t < end; ++t) to[t] = from[columns_[t]];
      }
      block.diagonal[at(s)] = to[s];
    }
    if (slots.size() == size) return;
    // The mirrored columns, some rows of the block at a time: what is read and written is in cache.
    constexpr std::size_t rows_at_once = 16;
    T* gram = block.gram.data();
    for (std::size_t first = 0; first < size; first += rows_at_once) {
      const auto begin = static_cast<index_t>(first);
      const auto end = static_cast<index_t>(std::min(size, first + rows_at_once));
      for (const index_t s : slots)
        for (index_t t = begin; t < end; ++t) gram[t * stride + s] = gram[s * stride + t];
    }
  }

  // --- 3. solve and 4. apply -------------------------------------------------------------------

  // Returns how many variables changed.
  std::size_t solve_block_of() {
    const BlockChanges changes = round_.solve(members_);
    std::vector<index_t> changed;
    for (const index_t slot : changes.places) changed.push_back(members_[at(slot)]);
    const std::size_t count = changed.size();
    train_.follow(places_.of(std::move(changed)), places_.sum(rows().coef()), run_);
    return count;
  }

  const FoldProblem<T>& problem_;
  const Precision& precision_;
  RunControl& run_;
  Places places_;             // of the dual rows among the training rows
  const std::size_t n_;       // dual rows
  std::size_t capacity_ = 0;  // variables that the block may hold; it never shrinks
  std::unique_ptr<PNormHinge> loss_;
  const std::unique_ptr<Points<T>> points_, held_out_points_;  // of the training rows, of others
  FoldValues<T> train_;
  HeldOutValues<T> held_out_;
  std::vector<double> target_, cost_, decision_;  // one value per dual row
  std::vector<index_t> every_;                    // dual row
  std::vector<double> slack_of_first_;
  double intercept_ = 0.0;
  Round<T> round_;
  // The block: its variables by slot, the exchange each came in, and the slot of every variable.
  std::vector<index_t> members_;
  std::vector<std::size_t> columns_;  // of the Gram matrix, of the members
  std::vector<index_t> born_, slot_of_;
  bool all_tie_ =
      true;  // the scores of a class, at alpha = 0; elsewhere extreme targets say little
  index_t exchanges_ = 0;
  Violators violators_;
  std::vector<index_t> lines_;  // training columns a cache line apart
};

// After a cancellation: what is solved is kept if its held-out values take a moment only.
template <class T>
void finish_soon(FoldPath<T>& path) {
  std::atomic<bool> late = false;
  const auto began = std::chrono::steady_clock::now();
  RunControl moment(
      1, [&] { return std::chrono::steady_clock::now() - began > std::chrono::milliseconds(100); },
      &late);
  try {
    path.finish_held_out(moment);
  } catch (const Cancelled&) {
    // Its cells are lost.
  }
}

}  // namespace

template <class T>
FoldPathResult solve_fold_path(const FoldProblem<T>& problem, const std::vector<PathCell>& cells,
                               const Precision& precision,
                               const std::function<void(index_t)>& on_cells, RunControl& run) {
  FoldPathResult result;
  const std::size_t held_out = problem.held_out.rows.size(), train = problem.train.rows.size();
  const std::size_t dual_rows = problem.place.empty() ? train : problem.place.size();
  result.decision.resize(cells.size() * held_out);
  result.supports.resize(cells.size() * train);
  std::size_t told = 0;
  double told_at = run.seconds();
  const auto tell = [&] {
    if (on_cells && result.cells.size() > told)
      on_cells(static_cast<index_t>(result.cells.size() - told));
    told = result.cells.size();
    told_at = run.seconds();
  };
  FoldPath<T> path(problem, precision, run);
  try {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      run.check();
      const CellOutcome outcome = path.solve(cells[c]);
      path.hold_out(result.decision.data() + c * held_out);
      path.supports(result.supports.data() + c * train);
      if (precision.keep_alpha) {
        const std::vector<double> alpha = path.alpha();
        result.alpha.insert(result.alpha.end(), alpha.begin(), alpha.end());
      }
      result.cells.push_back(outcome);
      if (run.seconds() - told_at > 0.05) tell();
    }
    path.finish_held_out(run);
  } catch (const Cancelled&) {
    finish_soon(path);
    result.cells.resize(std::min(result.cells.size(), path.held_out_finished()));
  }
  tell();
  result.decision.resize(result.cells.size() * held_out);
  result.supports.resize(result.cells.size() * train);
  if (precision.keep_alpha) result.alpha.resize(result.cells.size() * dual_rows);
  return result;
}

template FoldPathResult solve_fold_path<float>(const FoldProblem<float>&,
                                               const std::vector<PathCell>&, const Precision&,
                                               const std::function<void(index_t)>&, RunControl&);
template FoldPathResult solve_fold_path<double>(const FoldProblem<double>&,
                                                const std::vector<PathCell>&, const Precision&,
                                                const std::function<void(index_t)>&, RunControl&);

}  // namespace psvm
