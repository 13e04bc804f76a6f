#include "loss/intercept.hpp"

#include "check.hpp"
#include "loss/thresholds.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
// p > 1: the root of the slope plus the balance.
double by_bisection(const std::vector<ThresholdRow>& rows, double p, double balance = 0.0) {
  double low = -20.0, high = 20.0;
  for (int step = 0; step < 200; ++step) {
    const double b = 0.5 * (low + high);
    (slope(rows, p, b) + balance < 0.0 ? low : high) = b;
  }
  return low;
}
auto nth(const std::vector<ThresholdRow>& rows) {
  return [&rows](std::size_t k) { return rows[k]; };
}
}  // namespace

TEST(intercept, the_best_is_the_root_of_the_slope) {
  InterceptSearch search;
  for (const double p : {1.1, 1.5, 2.0, 3.0})
    for (const std::size_t n : {2u, 9u, 150u})
      for (unsigned seed = 0; seed < 20; ++seed)
        for (const double start : {0.0, -2.5, 100.0}) {
          const auto rows = rows_of(n, seed);
          const double b = search.best(PNormHinge(p), n, nth(rows), start, {.b = 1e-10});
          CHECK_NEAR(b, by_bisection(rows, p), 1e-7);
        }
}

TEST(intercept, the_best_of_the_hinge_is_a_weighted_median) {
  InterceptSearch search;
  for (const bool equal_costs : {false, true})  // equal ones: often an interval, whose middle it is
    for (const std::size_t n : {2u, 3u, 8u, 9u, 40u, 150u, 151u})
      for (unsigned seed = 0; seed < 40; ++seed) {
        const auto rows = rows_of(n, seed, equal_costs);
        const double b = search.best(PNormHinge(1.0), n, nth(rows), 0.0, {});
        CHECK_NEAR(b, by_trial(rows), 1e-9);
      }
}

TEST(intercept, without_overlap_the_middle) {
  InterceptSearch search;
  for (const double p : {1.0, 1.5, 2.0}) {
    // Any b from 1 on passes both rows of the positive class, any up to 2 those of the other.
    const std::vector<ThresholdRow> rows = {
        {1.0, 1.0, 1.0}, {0.3, 1.0, 1.0}, {2.0, 3.0, -1.0}, {5.0, 1.0, -1.0}};
    CHECK_EQUAL(search.best(PNormHinge(p), 4, nth(rows), 0.0, {.b = 1e-9}), 1.5);
    // With infinite costs the middle, too, and with one sign only where it starts.
    const std::vector<ThresholdRow> hard = {{2.0, infinity, 1.0}, {1.0, infinity, -1.0}};
    CHECK_EQUAL(search.best(PNormHinge(p), 2, nth(hard), 0.0, {.b = 1e-9}), 1.5);
    const std::vector<ThresholdRow> one = {{2.0, 1.0, 1.0}, {1.0, 1.0, 1.0}};
    CHECK_EQUAL(search.best(PNormHinge(p), 2, nth(one), 0.7, {.b = 1e-9}), 0.7);
  }
}

TEST(intercept, between_two_bounds_and_with_a_balance) {
  for (const double p : {1.25, 1.5, 2.0, 3.0})
    for (const double balance : {0.0, 2.0, -1.0}) {
      int exact_ones = 0;
      for (unsigned seed = 0; seed < 50; ++seed) {
        const auto rows = rows_of(80, seed);
        const double exact = by_bisection(rows, p, balance);
        const Bracket bracket{exact - 0.3, exact + 0.5};
        const auto slopes = [&](double b) {
          constexpr double h = 1e-6;
          return Slope{slope(rows, p, b) + balance,
                       (slope(rows, p, b + h) - slope(rows, p, b - h)) / (2.0 * h)};
        };
        const double b = newton_intercept(slopes, bracket, exact - 0.1, {.b = 0.01 * 0.8}, 5);
        CHECK(b >= bracket.low && b <= bracket.high);
        exact_ones += std::abs(b - exact) <= 0.01 * 0.8;
      }
      // A few steps are enough, but for p < 2, where a kink beside b makes a step look small.
      CHECK(exact_ones >= (p < 2.0 ? 40 : 50));
    }
}

TEST(intercept, of_the_hinge_to_what_is_enough) {
  for (const double enough : {1.0, 1e-2, 1e-6})
    for (unsigned seed = 0; seed < 40; ++seed) {
      const auto rows = rows_of(60, seed);
      const double start = 5.0 * numbers(1, -1.0, 1.0, seed)[0],
                   least = lost(rows, 1.0, by_trial(rows));
      int calls = 0;
      const auto counted = [&](double b) {
        ++calls;
        return slope(rows, 1.0, b);
      };
      const double b = hinge_intercept(counted, {-3.0, 3.0}, start, enough);
      CHECK(b >= -3.0 && b <= 3.0);
      if (calls <= 20) CHECK(lost(rows, 1.0, b) <= least + enough + 1e-12);
      CHECK(lost(rows, 1.0, b) <= least + 1.01);
      CHECK(calls <= 21);
    }
}
