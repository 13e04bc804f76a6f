#include "smo/slack_newton.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
constexpr index_t n = 60;

void fill(Block<double>& block, const SmallKernel<double>& kernel, bool phantom) {
  block.resize(n, phantom);
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) block.gram[at(i * block.stride + j)] = kernel.entry(i, j);
    block.diagonal[at(i)] = kernel.entry(i, i);
  }
}

// Two rows per kernel row: those of a tube of width epsilon around targets of which a few lie far out.
struct Tube {
  std::vector<double> y, target, cost;
  std::vector<index_t> place;

  Tube(double epsilon, double C) {
    const auto values = numbers(at(n), -1.0, 1.0, 5);
    for (index_t i = 0; i < 2 * n; ++i) {
      y.push_back(i % 2 ? -1.0 : 1.0);
      const double far = i / 2 % 15 == 0 ? 40.0 : 1.0;
      target.push_back(far * values[at(i / 2)] - y.back() * epsilon);
      cost.push_back(C);
      place.push_back(i / 2);
    }
  }
  DualRows rows() const { return {y.data(), target.data(), cost.data()}; }
};

struct Objectives {
  double primal, dual, balance;
};

// Of alpha, with the best of intercepts that slacks tell of.
Objectives objectives(const SmallKernel<double>& kernel, const Tube& tube, double p,
                      const std::vector<double>& alpha) {
  const PNormHinge loss(p);
  std::vector<double> f(alpha.size(), 0.0);
  Objectives found{0.0, 0.0, 0.0};
  for (std::size_t i = 0; i < alpha.size(); ++i)
    for (std::size_t j = 0; j < alpha.size(); ++j)
      f[i] += alpha[j] * tube.y[j] * kernel.entry(tube.place[i], tube.place[j]);
  InterceptSearch intercepts;
  const double b = intercepts.best(
      loss, alpha.size(),
      [&](std::size_t i) { return ThresholdRow{tube.target[i] - f[i], tube.cost[i], tube.y[i]}; },
      0.0, {.b = 1e-12});
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    const double norm = 0.5 * alpha[i] * tube.y[i] * f[i];
    found.primal += norm + loss.value(tube.y[i] * (tube.target[i] - (f[i] + b)), tube.cost[i]);
    found.dual += alpha[i] * tube.y[i] * tube.target[i] - norm -
                  loss.conjugate(alpha[i], loss.slack_of(alpha[i], tube.cost[i]));
    found.balance += alpha[i] * tube.y[i];
  }
  return found;
}
}  // namespace

TEST(slack_newton, ends_where_no_row_wants_to_move) {
  const SmallKernel<double> kernel(n, 8, 2);
  TestRun test(1);
  for (const double p : {2.0, 2.5, 3.0, 6.0})
    for (const bool fit_intercept : {true, false}) {
      const SmallProblem problem(p, static_cast<std::size_t>(n), 1, true);
      const PNormHinge loss(p);
      const DualRows rows = problem.rows();
      Block<double> block;
      fill(block, kernel, !fit_intercept);
      Places places({}, n);
      WholeMatrix matrix(block, places);
      std::vector<double> alpha = problem.alpha;
      CHECK(SlackNewton(loss, rows, matrix, fit_intercept, test.run).solve(alpha));
      const auto f = problem.decision(kernel.K, alpha);
      CHECK(problem.violation(f, alpha, fit_intercept) < 1e-7);
      // To the digits of slacks, whose powers alpha are.
      if (fit_intercept) CHECK_NEAR(balance_of(problem.y, alpha), 0.0, 1e-7);
    }
}

TEST(slack_newton, stops_at_the_gap_asked_for) {
  // From nothing, with targets that lie far out.
  const SmallKernel<double> kernel(n, 8, 2);
  TestRun test(1);
  Block<double> block;
  fill(block, kernel, false);
  int went_on = 0;
  for (const double p : {2.0, 3.0, 6.0, 10.0})
    for (const double C : {1.0, 100.0})
      for (const double epsilon : {0.0, 0.1}) {
        const Tube tube(epsilon, C);
        const DualRows rows = tube.rows();
        const PNormHinge loss(p);
        Places places(tube.place, n);
        WholeMatrix matrix(block, places);
        std::vector<double> alpha(tube.y.size(), 0.0);
        // The second time, to see that it goes on where it is not enough; the first may be the end.
        int asked = 0;
        const SlackNewton::Enough enough{1e-3, [&] { return ++asked == 2; }};
        CHECK(SlackNewton(loss, rows, matrix, true, test.run).solve(alpha, enough));
        CHECK(asked == 1 || asked == 2);
        went_on += asked == 2;
        const Objectives rough = objectives(kernel, tube, p, alpha);
        CHECK_NEAR(rough.balance, 0.0, 1e-6 * rough.primal);
        for (const double one : alpha) CHECK(one >= 0.0);
        CHECK(rough.primal - rough.dual <= 1e-3 * rough.primal);
        // To the last digits, which at a large p leave alpha fewer.
        CHECK(SlackNewton(loss, rows, matrix, true, test.run).solve(alpha));
        const Objectives best = objectives(kernel, tube, p, alpha);
        if (p <= 3.0) CHECK_NEAR((best.primal - best.dual) / best.primal, 0.0, 1e-7);
      }
  CHECK(went_on > 8);
}

TEST(slack_newton, may_begin_at_the_end) {
  // Nothing to be gained, and a gap of 0: targets within the tube.
  const SmallKernel<double> kernel(n, 8, 2);
  TestRun test(1);
  Block<double> block;
  fill(block, kernel, false);
  Tube tube(0.1, 1.0);
  std::fill(tube.target.begin(), tube.target.end(), 0.0);
  for (std::size_t i = 0; i < tube.y.size(); ++i) tube.target[i] = i < 2 ? tube.y[i] : -tube.y[i];
  const DualRows rows = tube.rows();
  const PNormHinge loss(2.0);
  Places places(tube.place, n);
  WholeMatrix matrix(block, places);
  std::vector<double> alpha(tube.y.size(), 0.0);
  CHECK(SlackNewton(loss, rows, matrix, true, test.run).solve(alpha));
  const Objectives best = objectives(kernel, tube, 2.0, alpha);
  CHECK_NEAR(best.primal, best.dual, 1e-12);
}

TEST(slack_newton, tells_where_there_is_no_end) {
  SmallKernel<double> kernel(n, 8, 2);
  TestRun test(1);
  Block<double> block;
  fill(block, kernel, true);
  block.gram[0] = std::numeric_limits<double>::quiet_NaN();
  const SmallProblem problem(3.0, static_cast<std::size_t>(n), 1, true);
  const PNormHinge loss(3.0);
  const DualRows rows = problem.rows();
  Places places({}, n);
  WholeMatrix matrix(block, places);
  std::vector<double> alpha = problem.alpha;
  CHECK(!SlackNewton(loss, rows, matrix, false, test.run).solve(alpha));
}
