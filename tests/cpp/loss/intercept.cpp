#include "loss/intercept.hpp"

#include "check.hpp"
#include "loss/exact_intercept.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
std::vector<ThresholdRow> rows_of(std::size_t n, unsigned seed, bool equal_costs = false) {
  const auto u = numbers(3 * n, 0.0, 1.0, seed);
  std::vector<ThresholdRow> rows;
  for (std::size_t i = 0; i < n; ++i)
    rows.push_back({6.0 * u[3 * i] - 3.0, equal_costs ? 1.0 : 0.2 + u[3 * i + 1],
                    i < 2                ? (i ? 1.0 : -1.0)
                    : u[3 * i + 2] < 0.5 ? 1.0
                                         : -1.0});
  // So that rows overlap: positive ones have the larger thresholds at times, at times not.
  rows[0].threshold = -2.0;
  rows[1].threshold = 2.0;
  return rows;
}
double lost(const std::vector<ThresholdRow>& rows, double p, double b) {
  double sum = 0.0;
  for (const auto& row : rows)
    sum += row.cost * std::pow(std::max(0.0, row.y * (row.threshold - b)), p);
  return sum;
}
double slope(const std::vector<ThresholdRow>& rows, double p, double b) {
  double sum = 0.0;
  for (const auto& row : rows) {
    const double xi = row.y * (row.threshold - b);
    if (xi > 0.0) sum -= row.y * row.cost * p * std::pow(xi, p - 1.0);
  }
  return sum;
}
// p > 1: the root of the slope plus the balance.
double by_bisection(const std::vector<ThresholdRow>& rows, double p, double balance = 0.0) {
  double low = -20.0, high = 20.0;
  for (int step = 0; step < 200; ++step) {
    const double b = 0.5 * (low + high);
    (slope(rows, p, b) + balance < 0.0 ? low : high) = b;
  }
  return low;
}
// p = 1: the middle of the thresholds that cost least.
double by_trial(const std::vector<ThresholdRow>& rows) {
  double least = infinity, first = 0.0, last = 0.0;
  for (const auto& row : rows) least = std::min(least, lost(rows, 1.0, row.threshold));
  first = infinity, last = -infinity;
  for (const auto& row : rows)
    if (lost(rows, 1.0, row.threshold) <= least + 1e-9) {
      first = std::min(first, row.threshold);
      last = std::max(last, row.threshold);
    }
  return 0.5 * (first + last);
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

TEST(intercept, to_the_last_digits_with_any_balance) {
  for (const double p : {1.0, 1.0001, 1.1, 1.5, 2.0, 3.0, 8.0})
    for (const double balance : {0.0, 1.5, -1.0, 40.0, -40.0})
      for (unsigned seed = 0; seed < 30; ++seed) {
        const auto rows = rows_of(40, seed);
        if (p == 1.0) {  // beyond all costs the sum has no minimum
          if (balance == 0.0)
            CHECK_NEAR(exact_intercept(PNormHinge(p), rows, 0.0), by_trial(rows), 1e-12);
          continue;
        }
        const double b = exact_intercept(PNormHinge(p), rows, balance);
        const auto at = [&](double there) { return slope(rows, p, there) + balance; };
        const double by = 1e-13 * (1.0 + std::abs(b));
        CHECK(at(b - by) <= 1e-12 && at(b + by) >= -1e-12);
        CHECK_NEAR(exact_intercept(PNormHinge(p), rows, balance, b + 0.1), b,
                   1e-12 * (1.0 + std::abs(b)));
      }
}

TEST(intercept, of_numbers_at_the_ends_of_their_range) {
  for (const double p : {1.0, 1.5, 2.0, 7.0, 200.0})
    for (const double size : {1e-300, 1e-12, 1.0, 1e200, 1e300})
      for (const double price : {1e-300, 1.0, 1e307}) {
        const auto rows = rows_of(30, 3);
        auto sized = rows;
        for (auto& row : sized) row.threshold *= size, row.cost *= price;
        const double b = exact_intercept(PNormHinge(p), rows, 0.0);
        CHECK_NEAR(exact_intercept(PNormHinge(p), sized, 0.0) / size, b, 1e-12);
      }
}

TEST(intercept, thresholds_that_are_no_numbers_do_not_count) {
  const auto rows = rows_of(30, 5);
  auto more = rows;
  for (const double wrong : {infinity, -infinity, std::nan("")}) {
    more.push_back({wrong, 1.0, 1.0});
    more.push_back({wrong, 1.0, -1.0});
  }
  for (const double p : {1.0, 1.5}) {
    CHECK_EQUAL(exact_intercept(PNormHinge(p), more, 0.0),
                exact_intercept(PNormHinge(p), rows, 0.0));
    CHECK_EQUAL(exact_intercept(PNormHinge(p), {more.begin() + 30, more.end()}, 0.0), 0.0);
  }
}

TEST(intercept, of_hard_margins_and_of_one_sign) {
  const std::vector<ThresholdRow> hard = {{2.0, infinity, 1.0}, {1.0, infinity, -1.0}};
  CHECK_EQUAL(exact_intercept(PNormHinge(1.0), hard, 0.0), 1.5);
  CHECK_EQUAL(exact_intercept(PNormHinge(1.0), hard, 1.0), 2.0);
  CHECK_EQUAL(exact_intercept(PNormHinge(1.0), hard, -1.0), 1.0);
  const std::vector<ThresholdRow> one = {{2.0, 1.0, 1.0}, {1.0, 1.0, 1.0}};
  CHECK_EQUAL(exact_intercept(PNormHinge(2.0), one, 0.0), 2.0);
  // 2 (2 - b) = 1, and further out 2 (2 - b) + 2 (1 - b) = 10
  CHECK_NEAR(exact_intercept(PNormHinge(2.0), one, 1.0), 1.5, 1e-14);
  CHECK_NEAR(exact_intercept(PNormHinge(2.0), one, 10.0), -1.0, 1e-14);
}
