#include "loss/loss.hpp"

#include "check.hpp"

namespace psvm {
namespace {

const double exponents[] = {1.0, 1.05, 1.25, 4.0 / 3.0, 1.5, 1.9, 2.0, 2.5, 3.0, 5.0};

TEST(loss, powers_are_those_of_the_library) {
  for (double e : {0.0, 0.1, 0.25, 0.5, 1.0, 1.1, 1.25, 1.5, 2.0, 2.7, 3.0, 4.0, 20.0}) {
    const Power power(e);
    for (double x : check::numbers(200, 0.0, 5.0, 1))
      CHECK_NEAR(power(x), std::pow(x, e), 2e-15 * std::pow(x, e));
    CHECK_EQUAL(power(1.0), 1.0);
    CHECK_EQUAL(power(0.0), e == 0.0 ? 1.0 : 0.0);
  }
}

TEST(loss, alpha_is_the_slope_of_the_value) {
  for (double p : exponents) {
    const PNormHinge loss(p);
    for (double xi : check::numbers(100, 0.01, 3.0, 2)) {
      const double cost = 1.7, h = 1e-6;
      const double slope = (loss.value(xi + h, cost) - loss.value(xi - h, cost)) / (2.0 * h);
      CHECK_NEAR(loss.alpha_of(xi, cost), slope, 1e-6 * (1.0 + std::abs(slope)));
    }
    CHECK_EQUAL(loss.value(-0.5, 2.0), 0.0);
    CHECK_EQUAL(loss.alpha_of(-0.5, 2.0), 0.0);
    CHECK_EQUAL(loss.alpha_of(0.0, 2.0), 0.0);
  }
}

TEST(loss, slack_is_the_inverse_of_alpha) {
  for (double p : exponents) {
    const PNormHinge loss(p);
    for (double xi : check::numbers(100, 0.01, 3.0, 3)) {
      const double alpha = loss.alpha_of(xi, 0.6), slack = loss.slack_of(alpha, 0.6);
      CHECK_NEAR(slack, p > 1.0 ? xi : 0.0, 1e-12 * xi);
      const double h = 1e-6 * alpha;
      const double slope =
          (loss.slack_of(alpha + h, 0.6) - loss.slack_of(alpha - h, 0.6)) / (2 * h);
      CHECK_NEAR(loss.slack_slope(alpha, slack), slope, 1e-6 * (1.0 + slope));
    }
    CHECK_EQUAL(loss.slack_of(0.0, 1.0), 0.0);
    CHECK_EQUAL(loss.slack_of(3.0, infinity), 0.0);  // the hard margin
  }
}

TEST(loss, the_conjugate_is_the_largest_difference) {
  for (double p : exponents) {
    const PNormHinge loss(p);
    const double cost = 0.8;
    for (double alpha : check::numbers(20, 0.0, cost, 4)) {
      const auto difference = [&](double xi) { return alpha * xi - cost * std::pow(xi, p); };
      double low = 0.0, high = 2.0;  // of a concave function: thirds
      for (int step = 0; step < 200; ++step) {
        const double left = (2.0 * low + high) / 3.0, right = (low + 2.0 * high) / 3.0;
        (difference(left) < difference(right) ? low : high) =
            difference(left) < difference(right) ? left : right;
      }
      CHECK_NEAR(loss.conjugate(alpha, loss.slack_of(alpha, cost)), difference(low), 1e-12);
    }
  }
}

// --- the pair step -------------------------------------------------------------------------------

struct Pair {
  PairSide i, j;
  double violation, eta;

  double limit(const PNormHinge& loss) const {
    double limit = infinity;
    for (const PairSide& side : {i, j}) {
      if (side.direction < 0.0) limit = std::min(limit, side.alpha);
      if (side.direction > 0.0 && loss.p == 1.0) limit = std::min(limit, side.cost - side.alpha);
    }
    return limit;
  }

  // phi'(t), written with std::pow alone.
  double slope(const PNormHinge& loss, double t) const {
    double value = -violation + std::max(eta, 0.0) * t;
    for (const PairSide& side : {i, j}) {
      const auto slack = [&](double alpha) {
        return loss.p > 1.0 ? std::pow(alpha / (loss.p * side.cost), 1.0 / (loss.p - 1.0)) : 0.0;
      };
      value += side.direction * (slack(side.alpha + side.direction * t) - slack(side.alpha));
    }
    return value;
  }

  double by_bisection(const PNormHinge& loss) const {
    double low = 0.0, high = 1.0;
    const double end = limit(loss);
    while (high < end && slope(loss, high) < 0.0) high *= 2.0;
    high = std::min(high, end);
    if (slope(loss, high) <= 0.0) return high;
    for (int step = 0; step < 200; ++step) {
      const double middle = 0.5 * (low + high);
      (slope(loss, middle) < 0.0 ? low : high) = middle;
    }
    return low;
  }
};

// `loss` decides the slacks, and keeps p = 1 below the cost.
Pair random_pair(const PNormHinge& loss, unsigned seed) {
  const auto u = check::numbers(10, 0.0, 1.0, seed);
  const auto side = [&](std::size_t k) {
    PairSide side;
    side.cost = 0.1 + 2.0 * u[k];
    side.alpha = u[k + 1] < 0.2 ? 0.0 : u[k + 1] * side.cost;
    side.slack = loss.slack_of(side.alpha, side.cost);
    side.direction = u[k + 2] < 0.5 ? -1.0 : 1.0;
    return side;
  };
  // A fifth with equal rows, a fifth of an indefinite kernel.
  const double eta = u[6] < 0.2 ? 0.0 : u[6] < 0.4 ? -u[7] : 2.0 * u[7];
  return {side(0), side(3), 0.01 + u[8], eta};
}

TEST(loss, a_pair_step_solves_its_equation) {
  for (double p : exponents) {
    const PNormHinge loss(p);
    int inside = 0, at_limit = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
      const Pair pair = random_pair(loss, seed);
      // Both sides grow and nothing resists: no problem has such a pair.
      if (std::isinf(pair.limit(loss)) && p == 1.0) continue;
      const double t = pair_step(loss, pair.i, pair.j, pair.violation, pair.eta);
      const double expected = pair.by_bisection(loss);
      CHECK_NEAR(t, expected, 1e-6 * expected);
      ++(t < pair.limit(loss) ? inside : at_limit);
    }
    CHECK(inside > 50);
    CHECK(at_limit > 50);
  }
}

TEST(loss, a_pair_step_of_the_hard_margin_is_newtons) {
  const double p = 1.5;
  const PNormHinge loss(p);
  const PairSide grows{0.3, infinity, 0.0, 1.0}, falls{0.4, infinity, 0.0, -1.0};
  CHECK_NEAR(pair_step(loss, grows, falls, 0.5, 2.0), 0.25, 1e-9);
  CHECK_EQUAL(pair_step(loss, grows, falls, 0.5, 1e-3), 0.4);
  CHECK_EQUAL(pair_step(loss, grows, grows, 0.5, 0.0), infinity);
}

}  // namespace
}  // namespace psvm
