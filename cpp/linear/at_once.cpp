#include "linear/at_once.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <memory>
#include <numeric>
#include <thread>

#include "linear/coordinate_descent.hpp"
#include "linear/coordinate_rows.hpp"
#include "linear/prices.hpp"
#include "loss/intercept.hpp"

namespace psvm {

namespace {

// Passes of coordinate descent that it has to be worth (for its own preparations cost as much as ten),
// and the most.
constexpr double worth_descent = 20.0;
constexpr index_t most_passes = 10'000;
// Work, in nanoseconds, below which a second thread is not worth waking.
constexpr double worth_a_thread = 1e6;

double trust_in(double gap) { return 1.0 / std::sqrt(std::clamp(gap, 1e-12, 1.0)); }

// What the solvers need to know of the features: about their mean, which only dense rows are rid of,
// and about the largest squared norm of a row less that. By a look at some rows.
struct Look {
  std::vector<double> shift;
  double largest = 0.0;
  bool sparse = false;

  template <class S>
  void at(const DenseArray<S>& rows, bool centred) {
    const index_t step = step_of(rows.rows);
    if (centred) {
      shift.assign(static_cast<std::size_t>(rows.columns), 0.0);
      double count = 0.0;
      for (index_t i = 0; i < rows.rows; i += step, ++count)
        for (index_t j = 0; j < rows.columns; ++j)
          shift[static_cast<std::size_t>(j)] += rows.data[i * rows.row_stride + j];
      for (double& value : shift) value /= count;
    }
    for (index_t i = 0; i < rows.rows; i += step) {
      double sum = 0.0;
      for (index_t j = 0; j < rows.columns; ++j) {
        const double x = rows.data[i * rows.row_stride + j];
        const double off = centred ? x - shift[static_cast<std::size_t>(j)] : x;
        sum += off * off;
      }
      largest = std::max(largest, sum);
    }
  }
  template <class S, class I>
  void at(const SparseArray<S, I>& rows, bool) {
    sparse = true;
    for (index_t i = 0; i < rows.rows; i += step_of(rows.rows))
      largest = std::max(largest, squared_norm(rows, i));
  }

 private:
  static index_t step_of(index_t rows) { return std::max<index_t>(1, rows / 2000); }
};

Look look_at(const FeatureRows& features, bool centred) {
  Look look;
  std::visit([&](const auto& rows) { look.at(rows, centred); }, features);
  if (!(look.largest > 0.0)) look.largest = 1.0;
  return look;
}

// Some rows of a block as a block of their own: the passes of a pair of classes among many would
// else meet its rows few at a time.
class OwnBlock {
 public:
  OwnBlock(const FeatureRows& features, const BlockProblem& whole,
           const std::vector<row_t>& chosen) {
    std::vector<row_t> places = chosen;  // the rows of features
    if (whole.feature_row) {
      places.clear();
      for (const row_t row : chosen) {
        const row_t place = whole.feature_row[row];
        if (places.empty() || places.back() != place) places.push_back(place);
        feature_row_.push_back(static_cast<row_t>(places.size() - 1));
      }
    }
    for (const row_t row : chosen) {
      codes_.push_back(whole.codes[row]);
      cost_.push_back(whole.cost[row]);
      if (whole.target) target_.push_back(whole.target[row]);
    }
    features_ = std::visit([&](const auto& rows) { return taken(rows, places); }, features);
    rows_ = linear_rows(features_);
  }
  const FeatureRows& features() const { return features_; }
  const LinearRows& rows() const { return *rows_; }
  BlockProblem block() const {
    return {static_cast<index_t>(codes_.size()), codes_.data(), cost_.data(),
            target_.empty() ? nullptr : target_.data(),
            feature_row_.empty() ? nullptr : feature_row_.data()};
  }

 private:
  template <class S>
  FeatureRows taken(const DenseArray<S>& rows, const std::vector<row_t>& chosen) {
    const auto data = kept<S>(chosen.size() * static_cast<std::size_t>(rows.columns));
    S* to = data;
    for (const row_t row : chosen)
      to = std::copy_n(rows.data + row * rows.row_stride, rows.columns, to);
    return DenseArray<S>{data, static_cast<index_t>(chosen.size()), rows.columns, rows.columns, 1};
  }
  template <class S, class I>
  FeatureRows taken(const SparseArray<S, I>& rows, const std::vector<row_t>& chosen) {
    I* const ends = kept<I>(chosen.size() + 1);
    ends[0] = 0;
    for (std::size_t k = 0; k < chosen.size(); ++k)
      ends[k + 1] = ends[k] + rows.indptr[chosen[k] + 1] - rows.indptr[chosen[k]];
    const auto stored = static_cast<std::size_t>(ends[chosen.size()]);
    S* const data = kept<S>(stored);
    I* const indices = kept<I>(stored);
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const I first = rows.indptr[chosen[k]], count = ends[k + 1] - ends[k];
      std::copy_n(rows.data + first, count, data + ends[k]);
      std::copy_n(rows.indices + first, count, indices + ends[k]);
    }
    return SparseArray<S, I>{data, indices, ends, static_cast<index_t>(chosen.size()),
                             rows.columns};
  }
  template <class S>
  S* kept(std::size_t size) {
    auto values = std::make_shared<std::vector<S>>(size);
    S* const data = values->data();
    kept_.push_back(std::move(values));
    return data;
  }

  std::vector<std::shared_ptr<void>> kept_;
  FeatureRows features_;
  std::unique_ptr<LinearRows> rows_;
  std::vector<std::int32_t> codes_;
  std::vector<double> cost_, target_;
  std::vector<row_t> feature_row_;
};

// One problem over all rows of a block.
class OneProblem {
 public:
  OneProblem(const FeatureRows& features, const LinearRows& rows, const BlockProblem& block,
             const ProblemsAtOnce& problems, index_t t, const Look& look, const Budget& budget,
             double began, const Tell& tell, RunControl& run)
      : features_(features),
        rows_(rows),
        block_(block),
        problems_(problems),
        t_(t),
        look_(look),
        budget_(budget),
        began_(began),
        tell_(tell),
        run_(run),
        share_(
            {}, block,
            {problems.signs + t * problems.classes, problems.signs + (t + 1) * problems.classes}),
        problem_{problems.p,
                 problems.fit_intercept,
                 look.shift.empty() ? nullptr : look.shift.data(),
                 look.largest,
                 1.0,
                 0.0} {
    share_.gather();
    prices();
  }

  SolvedProblem solve(const NewtonStart* given) {
    if (given) {
      NewtonStart start = *given;
      start.sigma *= problem_.typical_cost;
      newton(start);
    } else {
      begin_cold();
    }
    certify();
    solved_.alpha.assign(share_.best, share_.best + share_.count());
    for (char& letter : solved_.status)
      letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    return std::move(solved_);
  }

 private:
  void begin_cold() {
    const Prices prices(static_cast<double>(rows_.size()), rows_.entries(),
                        static_cast<double>(rows_.features()), problems_.p, look_.sparse);
    NewtonStart start;
    start.w.assign(static_cast<std::size_t>(rows_.features()), 0.0);
    bool done = false;
    if (share_of_newton() * prices.usual >= worth_descent * prices.whole_pass)
      done = descend(prices, start);
    if (!done) newton(start);
  }

  // Median of the costs, and P at w = 0 and b = 0.
  void prices() {
    const PNormHinge loss(problems_.p);
    std::vector<double> costs(block_.cost, block_.cost + block_.size);
    for (std::size_t k = 0; k < costs.size(); ++k)
      problem_.total_cost +=
          loss.value(block_.target ? share_.y[k] * block_.target[k] : 1.0, costs[k]);
    const auto middle = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2);
    const auto differs = [&](double cost) { return cost != costs.front(); };
    if (std::any_of(costs.begin(), costs.end(), differs))
      std::nth_element(costs.begin(), middle, costs.end());
    problem_.typical_cost = *middle;
  }

  // Puts a round on record; true if it is to be the last.
  bool told(RoundRecord record, bool newton) {
    Why why = Why::known;
    if (solved_.history.empty())
      why = newton ? Why::newton : Why::descent;
    else if (newton && !solved_.history.back().newton)
      why = Why::after_descent;
    record.iteration += solved_.iterations;
    record.seconds += began_;
    solved_.history.push_back({record, newton, why});
    return tell_ && tell_(t_, solved_.history.back());
  }

  // What coordinate descent may cost beside Newton: where that polishes anyway, it is saved only half
  // of its steps.
  double share_of_newton() const { return problems_.exact ? 0.5 : 1.0; }

  // Coordinate descent, as long as that seems to cost no more than Newton. True if it solved the problem; else Newton begins
  // where it ended.
  bool descend(const Prices& prices, NewtonStart& start) {
    std::vector<std::int64_t> place;
    if (block_.feature_row) place.assign(block_.feature_row, block_.feature_row + block_.size);
    const CoordinateProblem problem{block_.size,
                                    share_.y,
                                    block_.target,
                                    block_.cost,
                                    place.empty() ? nullptr : place.data(),
                                    problems_.p,
                                    problems_.fit_intercept};
    Budget budget = budget_;
    budget.max_iter = budget_.max_iter < 0 ? most_passes : std::min(most_passes, budget_.max_iter);
    Descent descent(prices, share_of_newton(), budget.tol);
    bool asked = false;
    const OnRound hopeless = [&](const RoundRecord& now) {
      asked = told(now, false);
      return descent.is_hopeless(now) || asked;
    };
    const std::vector<double> nothing(static_cast<std::size_t>(block_.size), 0.0);
    CoordinateResult end =
        solve_coordinate_descent(features_, problem, nothing, budget, hopeless, run_);
    const double factors[2] = {1.0, 1.0};
    share_.keep_best(end.alpha.data(), factors);
    std::copy(end.alpha.begin(), end.alpha.end(), share_.centre);
    solved_.iterations = end.iterations;
    solved_.w = end.w;
    solved_.b = end.intercept;
    solved_.status = end.status;
    const RoundRecord& found = end.history.back();
    const bool limited = budget_.max_iter >= 0 && end.iterations >= budget_.max_iter;
    if (asked || end.status == "max_time" || (end.status == "max_iter" && limited)) return true;
    if (end.status == "converged" && !problems_.exact) return true;
    start.best_scale = problems_.p < 2.0 || block_.target ? 1.0 : largest_margin(end);
    start.w = std::move(end.w);
    for (double& value : start.w) value /= start.best_scale;
    start.b = end.intercept / start.best_scale;
    start.centre = Centre::keep;
    start.sigma = first_sigma(problem_) * trust_in(found.gap);
    start.has_best = true;
    start.primal = found.primal;
    start.dual = found.dual;
    return false;
  }

  // Of the rows with alpha > 0, and at least 1. From p = 2 on only its margin says whether a row is
  // active. Newton starts where those rows are: the first step then ends close to the solution, where
  // from the best point, at which no row has slack if the classes are separable, it takes one step for
  // each row (one digit against the others, 2,000 images: 2 to 9 steps where there were 150 to 210).
  double largest_margin(const CoordinateResult& end) const {
    std::vector<row_t> support;
    for (index_t k = 0; k < block_.size; ++k)
      if (end.alpha[static_cast<std::size_t>(k)] > 0.0) support.push_back(static_cast<row_t>(k));
    std::vector<double> decision(support.size());
    rows_.dots(support.data(), static_cast<index_t>(support.size()), end.w.data(), decision.data());
    double largest = 1.0;
    for (std::size_t k = 0; k < support.size(); ++k) {
      const double y = share_.y[static_cast<std::size_t>(support[k])];
      largest = std::max(largest, y * (decision[k] + end.intercept));
    }
    return largest;
  }

  void newton(const NewtonStart& start) {
    Budget budget = budget_;
    if (problems_.exact) budget.tol = as_good_as_rounding;
    if (budget.max_iter >= 0) budget.max_iter -= solved_.iterations;
    const OnRound on_round = [&](const RoundRecord& record) { return told(record, true); };
    NewtonResult end = solve_newton(rows_, share_, problem_, start, budget, on_round, run_);
    solved_.iterations += end.iterations;
    solved_.w = std::move(end.w);
    solved_.b = end.b;
    solved_.status = end.status;
  }

  void certify() {
    if (problems_.exact && problems_.fit_intercept) solved_.b = best_intercept();
    PassOrder order;
    order.share = &share_;
    order.kind = PassKind::certify;
    order.envelope = {problems_.p, infinity, false};
    order.direction = solved_.w;
    order.b = solved_.b;
    const PassSums sums = std::move(run_pass(rows_, {order}, run_)[0]);
    solved_.proof = certify_pair(sums, solved_.w.data(), rows_.features(), share_.count(),
                                 problems_.fit_intercept, false, problems_.power_error);
  }

  // Where the best intercepts are an interval, the middle does not depend on rounding.
  double best_intercept() {
    const auto n = static_cast<std::size_t>(rows_.size());
    std::vector<double> decision(n);
    std::vector<row_t> every(n);
    std::iota(every.begin(), every.end(), 0);
    rows_.dots(every.data(), rows_.size(), solved_.w.data(), decision.data());
    double largest = std::abs(solved_.b);
    for (const double value : decision) {
      if (!std::isfinite(value)) return solved_.b;
      largest = std::max(largest, std::abs(value));
    }
    const auto row = [&](std::size_t k) {
      const double y = share_.y[k], target = block_.target ? block_.target[k] : y;
      const std::size_t place =
          block_.feature_row ? static_cast<std::size_t>(block_.feature_row[k]) : k;
      return ThresholdRow{target - decision[place], block_.cost[k], y};
    };
    return InterceptSearch().best(PNormHinge(problems_.p), static_cast<std::size_t>(block_.size),
                                  row, solved_.b, {.b = unit_roundoff * largest});
  }

  const FeatureRows& features_;
  const LinearRows& rows_;
  const BlockProblem block_;
  const ProblemsAtOnce& problems_;
  const index_t t_;
  const Look& look_;
  const Budget& budget_;
  const double began_;
  const Tell& tell_;
  RunControl& run_;
  Share share_;
  NewtonProblem problem_;
  SolvedProblem solved_;
};

// The rows of every problem: those of its classes, ascending, less those without a cost.
class Members {
 public:
  explicit Members(const ProblemsAtOnce& problems)
      : problems_(problems), of_class_(static_cast<std::size_t>(problems.classes)) {
    const std::int8_t* last = problems.signs + problems.problems * problems.classes;
    const bool pairs = std::find(problems.signs, last, 0) != last;
    all_.reserve(static_cast<std::size_t>(problems.block.size));
    for (index_t i = 0; i < problems.block.size; ++i) {
      if (!(problems.block.cost[i] > 0.0)) continue;
      all_.push_back(static_cast<row_t>(i));
      if (pairs)
        of_class_[static_cast<std::size_t>(problems.block.codes[i])].push_back(
            static_cast<row_t>(i));
    }
  }

  std::vector<row_t> of(index_t t) const {
    const std::int8_t* signs = problems_.signs + t * problems_.classes;
    if (std::find(signs, signs + problems_.classes, 0) == signs + problems_.classes) return all_;
    std::vector<row_t> rows;
    for (index_t c = 0; c < problems_.classes; ++c) {
      if (signs[c] == 0) continue;
      const auto& own = of_class_[static_cast<std::size_t>(c)];
      const auto before = static_cast<std::ptrdiff_t>(rows.size());
      rows.insert(rows.end(), own.begin(), own.end());
      std::inplace_merge(rows.begin(), rows.begin() + before, rows.end());
    }
    return rows;
  }

 private:
  const ProblemsAtOnce& problems_;
  std::vector<std::vector<row_t>> of_class_;
  std::vector<row_t> all_;
};

}  // namespace

std::vector<SolvedProblem> solve_at_once(const FeatureRows& features, const LinearRows& rows,
                                         const ProblemsAtOnce& problems, const NewtonStart* start,
                                         const Budget& budget, const Tell& tell, RunControl& run) {
  const Members members(problems);
  const Look look = look_at(features, problems.fit_intercept);
  std::vector<SolvedProblem> solved(static_cast<std::size_t>(problems.problems));
  const auto solve = [&](index_t t, RunControl& own) {
    Budget left = budget;
    const double began = run.seconds();
    left.max_time = std::max(left.max_time - began, 0.0);
    // What others have left over is shared among those to come.
    if (std::isfinite(left.max_effort))
      left.max_effort = std::max(left.max_effort - run.effort(), 0.0) /
                        static_cast<double>(problems.problems - t);
    const double second = &own == &run ? 0.0 : began;
    SolvedProblem& one = solved[static_cast<std::size_t>(t)];
    std::vector<row_t> chosen = members.of(t);
    if (static_cast<index_t>(chosen.size()) == problems.block.size) {
      one = OneProblem(features, rows, problems.block, problems, t, look, left, second, tell, own)
                .solve(start);
    } else {
      const OwnBlock block(features, problems.block, chosen);
      one = OneProblem(block.features(), block.rows(), block.block(), problems, t, look, left,
                       second, tell, own)
                .solve(start);
    }
    one.rows = std::move(chosen);
  };
  if (problems.problems == 1) {
    solve(0, run);
    return solved;
  }
  const auto caller = std::this_thread::get_id();
  const auto solve_alone = [&](std::ptrdiff_t t) {
    std::atomic<bool> cancel{false};
    const auto poll = [&] {
      if (std::this_thread::get_id() == caller) run.check();
      return run.cancelled();
    };
    RunControl own(1, poll, &cancel);
    solve(t, own);
  };
  const double some = static_cast<double>(members.of(0).size());
  const Prices prices(some, rows.entries(), static_cast<double>(rows.features()), problems.p,
                      look.sparse);
  const double work = static_cast<double>(problems.problems) *
                      std::min(prices.usual, worth_descent * prices.whole_pass);
  if (work < worth_a_thread)
    for (index_t t = 0; t < problems.problems; ++t) solve_alone(t);
  else
    run.parallel_for(problems.problems, solve_alone);
  return solved;
}

}  // namespace psvm
