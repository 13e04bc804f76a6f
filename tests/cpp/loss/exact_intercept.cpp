#include "loss/exact_intercept.hpp"

#include "check.hpp"
#include "loss/thresholds.hpp"

using namespace psvm;
using namespace psvm::check;

TEST(exact_intercept, to_the_last_digits_with_any_balance) {
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

TEST(exact_intercept, of_numbers_at_the_ends_of_their_range) {
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

TEST(exact_intercept, thresholds_that_are_no_numbers_do_not_count) {
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

TEST(exact_intercept, of_hard_margins_and_of_one_sign) {
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

// Slacks of which only the largest counts, rows beside which others cost nothing, and p near 1, where
// the slope rises at once.
TEST(exact_intercept, of_powers_and_costs_that_leave_no_digit) {
  const std::vector<ThresholdRow> far = {{3.0, 1.0, 1.0}, {0.5, 1.0, 1.0}, {-1.0, 1.0, -1.0}};
  CHECK_NEAR(exact_intercept(PNormHinge(1e6), far, 0.0), 1.0, 1e-5);
  for (const double p : {1.25, 1.5, 2.0, 3.0}) {
    // Where the second row's slack is 1e20^(-1 / (p - 1)) of the first's.
    const std::vector<ThresholdRow> uneven = {{2.0, 1.0, 1.0}, {1.0, 1e20, -1.0}};
    const double share = std::pow(1e-20, 1.0 / (p - 1.0));
    const double b = exact_intercept(PNormHinge(p), uneven, 0.0);
    CHECK(b >= 1.0 - 1e-15 && b <= 1.0 + 2.0 * share + 1e-15);
    const double least = lost(uneven, p, 1.0 + share / (1.0 + share));
    CHECK(lost(uneven, p, b) <= least * (1.0 + 1e-6));
  }
  const auto rows = rows_of(40, 7);
  for (const double p : {1.0 + 1e-12, 1.0 + 1e-6, 1.001}) {
    const double b = exact_intercept(PNormHinge(p), rows, 0.0);
    for (const double by : {1e-14, 1e-9, 1e-3, 1.0})
      for (const double other : {b - by, b + by})
        CHECK(lost(rows, p, b) <= lost(rows, p, other) * (1.0 + 1e-13));
  }
}
