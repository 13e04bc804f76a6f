#include "linear/newton.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linear/damped_system.hpp"

namespace psvm {

namespace {

using Values = std::vector<double>;

// Constants as in newton.py and newton_rules.py.
constexpr index_t max_iterations = 2000, most_infinite = 200, refresh = 25, chord_features = 50;
constexpr int polish_steps = 4;
// Tamed costs: from which step on, how well each is solved (0.3 and 1: up to four times the steps),
// and by how much the next one is larger (4 and 30: up to a fifth more).
constexpr index_t tame_from = 5;
constexpr double tame_exactness = 0.1, tame_growth = 10.0;
// The lowest cost, times the largest |x|^2 (10: a fifth more steps), and the factor down to which the
// solution for it is sought from where Newton is; further off it is nearer to 0.
constexpr double tame_cost = 30.0, tame_near = 0.01;
constexpr double near_gap = 1e-6;
// A step so small beside u is rounding.
constexpr double little = 1e-14;

double dot(const Values& x, const Values& y, std::size_t n) {
  return std::inner_product(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n), y.begin(), 0.0);
}

double relative_gap(double primal, double dual) {
  if (!(std::isfinite(primal) && std::isfinite(dual))) return infinity;
  return std::max(primal - dual, 0.0) / std::max(std::abs(primal), 1e-300);
}

int patience(double gap) { return gap <= 1e-11 ? 4 : gap <= 1e-6 ? 15 : 100; }

// Line search on the slope of a convex function along a direction, from the step 1.
class SlopeSearch {
 public:
  explicit SlopeSearch(double first) : first_(first), at_low_(first) {}
  double step = 1.0;

  bool done(double slope) {
    if (!std::isfinite(slope)) slope = infinity;
    ++tries_;
    if (first_ >= 0.0 || std::abs(slope) <= 0.5 * std::abs(first_) || tries_ > 60) return true;
    if (slope < 0.0)
      low_ = step, at_low_ = slope;
    else
      high_ = step, at_high_ = slope;
    if (std::isinf(high_)) {
      step *= 4.0;
    } else if (std::isinf(at_high_)) {
      step = 0.5 * (low_ + high_);
    } else {
      const double width = high_ - low_;
      const double secant = low_ - at_low_ * width / (at_high_ - at_low_);
      step = std::min(std::max(secant, low_ + 0.05 * width), high_ - 0.05 * width);
    }
    return false;
  }

 private:
  double first_, low_ = 0.0, at_low_, high_ = infinity, at_high_ = 0.0;
  int tries_ = 0;
};

struct Point {
  Values u;  // [w; b of features less their shift]
  PassSums sums;
  Values gradient;
  double primal = infinity;
};

struct NotPositiveDefinite {};

class Newton {
 public:
  Newton(const LinearRows& rows, Share& share, const NewtonProblem& problem,
         const NewtonStart& start, const Budget& budget, const OnRound& on_round, RunControl& run)
      : rows_(rows),
        share_(share),
        problem_(problem),
        start_(start),
        budget_(budget),
        on_round_(on_round),
        run_(run),
        d_(static_cast<std::size_t>(rows.features())),
        sigma_(start.sigma > 0.0 ? start.sigma : first_sigma(problem)),
        sigma_limit_(1e12 * std::max(problem.typical_cost, sigma_)) {}

  NewtonResult solve() {
    begin();
    std::string status = stop();
    while (status.empty()) {
      ++iteration_;
      run_.check();
      try {
        if (struggles()) tame(tame_cost / problem_.largest);
        iterate();
        status = stop();
      } catch (const NotPositiveDefinite&) {
        status = "stalled";
      }
    }
    if (share_.tamed() < 1.0) {  // stopped on the way
      set_cost(1.0);
      consider(false);
    }
    if (!kept_) keep(share_.alpha, 0.0, 0.0);
    return {{best_u_.begin(), best_u_.end() - 1},
            best_u_.back() - shifted(best_u_),
            status,
            iteration_};
  }

 private:
  // --- the loop ----------------------------------------------------------------------------------

  void begin() {
    Values u = start_.w;
    u.push_back(0.0);
    if (problem_.fit_intercept) u.back() = start_.b + shifted(u);
    PassOrder order = product(PassKind::begin, u);
    order.centre = start_.centre;
    point_ = evaluate(u, order);
    if (!(point_.primal <= problem_.total_cost)) {
      std::fill(u.begin(), u.end(), 0.0);
      order = product(PassKind::begin, u);
      order.centre = Centre::zero;
      point_ = evaluate(u, order);
    }
    best_u_ = u;
    best_dual_ = 0.0;  // of alpha = 0
    if (start_.has_best) {
      best_primal_ = start_.primal, best_dual_ = start_.dual, kept_ = true;
      best_u_ = start_.w;
      best_u_.push_back(0.0);
      if (problem_.fit_intercept) best_u_.back() = start_.b + shifted(best_u_);
      for (double& value : best_u_) value *= start_.best_scale;
    }
    consider(false);
  }

  void iterate() {
    const double sigma = sigma_, gap = best_gap();
    const index_t active = point_.sums.active;
    if (iteration_ % refresh == 0) {  // margins add up the rounding of steps
      const Values u = point_.u;
      point_ = evaluate(u, product(PassKind::begin, u));
    }
    if (has_system_ && solved(decrement_of_system())) recentre();
    const Values direction = find_direction(sigma);
    for (const double value : direction)
      if (!std::isfinite(value)) throw NotPositiveDefinite();
    decrement_ = std::max(-dot(point_.gradient, direction, d_ + 1), 0.0);
    const double tol = std::max(budget_.tol, near_gap);
    const bool near = decrement_ + point_.sums.moved < 3.0 * tol * std::abs(point_.primal);
    step(direction, near);
    grew_ = grew_ || point_.sums.active > active;
    if (share_.tamed() < 1.0) {
      if (decrement_ < tame_exactness * std::abs(point_.primal)) grow_cost();
      return;
    }
    moved_little_ = largest_of(direction) <= little * largest_of(point_.u);
    consider(false);
    if (near && stepped_fully_ && best_gap() > budget_.tol) consider(true);
    note(sigma_ > sigma, best_gap() < gap && best_gap() <= 0.5 * gap);
  }

  std::string stop() {
    const double gap = best_gap();
    const double now = run_.seconds();
    const bool asked =
        on_round_({iteration_, now, gap, best_primal_, best_dual_, point_.sums.active});
    // Below rounding, a few more steps still gain digits of w, until they leave it as it is.
    if (gap <= std::max(budget_.tol, as_good_as_rounding) &&
        (budget_.tol > as_good_as_rounding || ++settled_ > polish_steps || moved_little_))
      return "converged";
    if (asked) return "stopped";
    if (iteration_ >= max_iterations || idle_ >= patience(gap)) return "stalled";
    // Rather a round too few than one too many.
    const double last = now - round_began_;
    round_began_ = now;
    if (now + std::min(2.0 * last, 0.5 * budget_.max_time) >= budget_.max_time) return "max_time";
    if (budget_.max_iter >= 0 && iteration_ >= budget_.max_iter) return "max_iter";
    if (now >= budget_.max_effort && run_.effort() >= budget_.max_effort) return "stalled";
    return "";
  }

  // How long nothing has been gained.
  void note(bool new_sigma, bool gained) {
    const double primal = point_.primal, smallest = new_sigma ? infinity : smallest_;
    bool falling = primal < (1.0 - 1e-6) * lowest_ || decrement_ < 0.99 * smallest;
    infinite_ = std::isfinite(primal) ? 0 : infinite_ + 1;
    falling = falling || (0 < infinite_ && infinite_ <= most_infinite);
    lowest_ = std::min(lowest_, primal);
    smallest_ = std::min(smallest, decrement_);
    idle_ = gained || falling ? 0 : idle_ + 1;
  }

  // --- outer step --------------------------------------------------------------------------------

  double exactness() const { return problem_.p == 1.0 ? 0.1 : 0.5; }

  bool solved(double decrement) const {
    return !std::isinf(sigma_) &&
           decrement < std::max(exactness() * point_.sums.moved, 1e-18 * std::abs(best_primal_));
  }

  void recentre() {
    const bool small = point_.sums.moved < 1e-5 * budget_.tol * std::abs(point_.primal);
    if (problem_.p == 1.0 || !small || best_gap() > 0.01)
      sigma_ = std::min(sigma_ * (problem_.p == 1.0 ? 3.0 : 5.0), sigma_limit_);
    PassOrder order = plain(PassKind::settle);
    order.centre = Centre::alpha;
    order.delta = few_change();
    const Values u = point_.u;
    point_ = evaluate(u, order);
  }

  // --- tamed costs -------------------------------------------------------------------------------

  // p >= 2 has no outer step. Where the cost is so large that Newton proves nothing in a few steps
  // (classes that are separable, or almost), it goes by the solutions for lower costs: 200 steps
  // become 20.
  bool struggles() const {
    if (problem_.p < 2.0 || best_gap() <= 0.5 || was_tamed_) return false;
    // Of classes that overlap, fewer rows are active at every step, but more than there are features.
    // From a cold start it need not be waited for others.
    const bool cold = !start_.has_best, few = point_.sums.active <= rows_.features();
    return ((cold && few) || (iteration_ >= tame_from && (few || grew_))) &&
           problem_.typical_cost > tame_cost / problem_.largest;
  }

  void tame(double cost) {
    was_tamed_ = true;
    const double factor = cost / problem_.typical_cost;
    const Values u = factor > tame_near ? point_.u : Values(d_ + 1, 0.0);
    share_.tame(factor);
    point_ = evaluate(u, product(PassKind::begin, u));
    has_system_ = false;
  }

  void grow_cost() {
    set_cost(std::min(share_.tamed() * tame_growth, 1.0));
    if (share_.tamed() == 1.0) consider(false);
  }

  void set_cost(double factor) {
    share_.tame(factor);
    const Values u = point_.u;
    point_ = evaluate(u, product(PassKind::begin, u));
    has_system_ = false;
  }

  // --- the rows ----------------------------------------------------------------------------------

  bool few_change() const { return problem_.p == 1.0; }

  double shifted(const Values& u) const {
    return problem_.shift && problem_.fit_intercept
               ? std::inner_product(problem_.shift, problem_.shift + d_, u.begin(), 0.0)
               : 0.0;
  }

  PassOrder plain(PassKind kind) const {
    PassOrder order;
    order.share = &share_;
    order.kind = kind;
    order.envelope = {problem_.p, sigma_, false};
    return order;
  }

  PassOrder product(PassKind kind, const Values& u) const {
    PassOrder order = plain(kind);
    order.direction.assign(u.begin(), u.end() - 1);
    order.b = u.back() - shifted(u);
    return order;
  }

  PassSums pass(const PassOrder& order) { return std::move(run_pass(rows_, {order}, run_)[0]); }

  // The point at u, by an order that ends at its margins.
  Point evaluate(const Values& u, const PassOrder& order) {
    Point point{u, pass(order), {}, 0.0};
    if (order.delta)
      for (int c = 0; c < 2; ++c)
        for (std::size_t j = 0; j < d_; ++j)
          point.sums.dual.image[c][j] += point_.sums.dual.image[c][j];
    const DualSums& dual = point.sums.dual;
    const double balance = dual.alpha[1] - dual.alpha[0];
    const double* shift = problem_.fit_intercept ? problem_.shift : nullptr;
    point.gradient.resize(d_ + 1);
    for (std::size_t j = 0; j < d_; ++j)
      point.gradient[j] =
          u[j] - (dual.image[1][j] - dual.image[0][j] - balance * (shift ? shift[j] : 0.0));
    point.gradient[d_] = problem_.fit_intercept ? -balance : 0.0;
    point.primal = 0.5 * dot(u, u, d_) + point.sums.loss;
    return point;
  }

  // --- the gap -----------------------------------------------------------------------------------

  double best_gap() const { return relative_gap(best_primal_, best_dual_); }

  // Compare P and D at the present point with the best so far.
  void consider(bool linearised) {
    const double smallest = point_.sums.smallest_margin;
    double primal = point_.primal, factor = 1.0;
    if (smallest > 1.0 && !share_.block.target) {  // separable, and further than need be
      primal = primal / smallest / smallest;
      factor = 1.0 / smallest;
    }
    if (primal < best_primal_ || !std::isfinite(best_primal_)) {
      best_primal_ = primal;
      best_u_ = point_.u;
      for (double& value : best_u_) value *= factor;
    }
    double factors[2];
    const double value =
        balanced_dual(linearised ? point_.sums.linearised : point_.sums.dual, factors);
    if (!std::isfinite(value)) return;
    const double gap = relative_gap(best_primal_, value), pair = best_gap();
    const bool better = gap < 0.5 * pair || (gap <= budget_.tol && budget_.tol < pair);
    if (!better && (kept_ || !(value > best_dual_))) return;
    keep(linearised ? share_.linearised : share_.alpha, factors[0], factors[1]);
    best_dual_ = value;
  }

  void keep(const double* alpha, double minus, double plus) {
    const double factors[2] = {minus, plus};
    share_.keep_best(alpha, factors);
    if (minus == 0.0 && plus == 0.0)  // whatever alpha is, perhaps not even a number
      std::fill_n(share_.best, share_.count(), 0.0);
    kept_ = true;
  }

  // D of alpha with the heavier class scaled down to balance, and the factors of that.
  double balanced_dual(const DualSums& dual, double* factors) const {
    factors[0] = factors[1] = 1.0;
    if (problem_.fit_intercept) {
      const double excess = dual.alpha[1] - dual.alpha[0];
      const int heavier = excess > 0.0;
      if (std::abs(excess) > 1e-15 * (dual.alpha[0] + dual.alpha[1])) {
        if (dual.alpha[heavier] < std::abs(excess)) return -infinity;
        factors[heavier] = 1.0 - std::abs(excess) / dual.alpha[heavier];
      }
    }
    double squared = 0.0;
    for (std::size_t j = 0; j < d_; ++j) {
      const double w = factors[1] * dual.image[1][j] - factors[0] * dual.image[0][j];
      squared += w * w;
    }
    double value = factors[0] * dual.linear[0] + factors[1] * dual.linear[1] - 0.5 * squared;
    if (problem_.p > 1.0) {
      const double q = problem_.p / (problem_.p - 1.0);
      for (int c = 0; c < 2; ++c)
        value -= (factors[c] == 1.0 ? 1.0 : std::pow(factors[c], q)) * dual.conjugate[c];
    }
    return value;
  }

  // --- the Newton direction ----------------------------------------------------------------------

  double decrement_of_system() const {
    return dot(point_.gradient, system_.solve(point_.gradient), d_ + 1);
  }

  // Whether the last system still serves.
  bool reusable(double sigma) const {
    return has_system_ && problem_.p > 1.0 && static_cast<index_t>(d_) >= chord_features &&
           budget_.tol > as_good_as_rounding && stepped_fully_ && sigma_ == sigma &&
           decrement_of_system() < 0.03 * decrement_;
  }

  Values find_direction(double sigma) {
    if (!reusable(sigma)) form_system();
    Values direction = system_.solve(point_.gradient);
    for (double& value : direction) value = -value;
    return direction;
  }

  void form_system() {
    const PassSums& sums = point_.sums;
    const double* shift = problem_.fit_intercept ? problem_.shift : nullptr;
    std::vector<double> gram = weighted_gram(rows_, share_, shift, run_);
    const index_t d = rows_.features(), stride = gram_stride(d);
    for (index_t j = 0; j < d; ++j) gram[static_cast<std::size_t>(j * stride + j)] += 1.0;
    double* last = gram.data() + d * stride;
    if (problem_.fit_intercept) {
      const bool few = sums.weight < 1e-9 * problem_.typical_cost;
      last[d] += 1e-13 * (sums.weight + problem_.typical_cost) +
                 (few ? 1e-3 * std::abs(point_.gradient[d_]) : 0.0);
    } else {
      std::fill_n(last, d, 0.0);
      last[d] = 1.0;
    }
    has_system_ = system_.factor(gram, d + 1, stride);
    if (!has_system_) throw NotPositiveDefinite();
  }

  // --- the step ----------------------------------------------------------------------------------

  // Go along the direction until the slope is at most half of what it was.
  void step(const Values& direction, bool linearise) {
    const Values from = point_.u;
    const double linear = dot(from, direction, d_), quadratic = dot(direction, direction, d_);
    const auto along = [&](double length) {
      Values u = from;
      for (std::size_t j = 0; j <= d_; ++j) u[j] += length * direction[j];
      return u;
    };
    PassOrder order = product(PassKind::move, direction);
    order.linearise = linearise;
    order.delta = few_change();
    point_ = evaluate(along(1.0), order);
    SlopeSearch search(linear - point_.sums.slope_before);
    double slope = linear + quadratic - point_.sums.slope;
    while (!search.done(slope)) {
      PassOrder probe = plain(PassKind::probe);
      probe.step = search.step - 1.0;
      slope = linear + search.step * quadratic - pass(probe).slope;
    }
    if (search.step != 1.0) {
      PassOrder settle = plain(PassKind::settle);
      settle.step = search.step - 1.0;
      settle.delta = few_change();
      DualSums linearised = std::move(point_.sums.linearised);
      point_ = evaluate(along(search.step), settle);
      point_.sums.linearised = std::move(linearised);
    }
    stepped_fully_ = search.step == 1.0;
  }

  static double largest_of(const Values& values) {
    double largest = 0.0;
    for (const double value : values) largest = std::max(largest, std::abs(value));
    return largest;
  }

  const LinearRows& rows_;
  Share& share_;
  const NewtonProblem& problem_;
  const NewtonStart& start_;
  const Budget& budget_;
  const OnRound& on_round_;
  RunControl& run_;
  const std::size_t d_;
  double sigma_;
  const double sigma_limit_;
  Point point_;
  // The best values so far: P at best_u_, D at the alpha kept by the share.
  Values best_u_;
  double best_primal_ = infinity, best_dual_ = 0.0;
  bool kept_ = false;
  // The system of the last direction, and how the last step went.
  DampedSystem system_;
  bool has_system_ = false, stepped_fully_ = false, moved_little_ = false;
  double decrement_ = infinity;
  bool grew_ = false, was_tamed_ = false;  // the number of active rows; the cost
  // Progress.
  double lowest_ = infinity, smallest_ = infinity;
  index_t idle_ = 0, infinite_ = 0, iteration_ = 0;
  int settled_ = 0;
  double round_began_ = 0.0;
};

}  // namespace

double first_sigma(const NewtonProblem& problem) {
  if (problem.p >= 2.0) return infinity;
  return std::min(problem.typical_cost, 10.0 / problem.largest) * (problem.p == 1.0 ? 0.5 : 1.0);
}

NewtonResult solve_newton(const LinearRows& rows, Share& share, const NewtonProblem& problem,
                          const NewtonStart& start, const Budget& budget, const OnRound& on_round,
                          RunControl& run) {
  return Newton(rows, share, problem, start, budget, on_round, run).solve();
}

}  // namespace psvm
