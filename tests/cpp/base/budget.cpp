#include "base/budget.hpp"

#include "check.hpp"

namespace psvm {
namespace {

// Rounds whose gap is multiplied by `gap_factor` and whose dual grows by `dual_growth` each.
std::vector<RoundRecord> rounds(std::size_t count, double gap_factor, double dual_growth) {
  std::vector<RoundRecord> history;
  double gap = 1.0;
  for (std::size_t k = 0; k < count; ++k, gap *= gap_factor) {
    const double dual = dual_growth * static_cast<double>(k);
    history.push_back({static_cast<std::ptrdiff_t>(k), 0.0, gap, 1.0, dual, 0});
  }
  return history;
}

constexpr Budget patient{1e-4, -1, 1e9, false}, impatient{1e-4, -1, 1e9, true};

TEST(budget, a_gap_that_stands_still_is_hopeless_at_the_end_of_a_window) {
  CHECK(hopeless(rounds(100, 1.0, 0.0), patient));
  CHECK(hopeless(rounds(20, 1.0, 0.0), impatient));
  for (std::size_t count : {1, 49, 50, 99, 101}) CHECK(!hopeless(rounds(count, 1.0, 0.0), patient));
  for (std::size_t count : {1, 9, 10, 19, 21}) CHECK(!hopeless(rounds(count, 1.0, 0.0), impatient));
}

TEST(budget, a_gap_that_grows_is_hopeless) { CHECK(hopeless(rounds(100, 1.01, 0.0), patient)); }

TEST(budget, a_gap_that_falls_fast_enough_is_not) {
  // A factor of 10000 in 1000 rounds, then in 10 million.
  CHECK(!hopeless(rounds(100, std::pow(1e-4, 1e-3), 0.0), patient));
  CHECK(hopeless(rounds(100, std::pow(1e-4, 1e-7), 0.0), patient));
  // The impatient wait 100 rounds, not 1000.
  CHECK(!hopeless(rounds(20, std::pow(1e-4, 1.0 / 60.0), 0.0), impatient));
  CHECK(hopeless(rounds(20, std::pow(1e-4, 1e-3), 0.0), impatient));
}

TEST(budget, a_dual_that_grows_is_hope) {
  // The gap of 1 is closed by the dual's growth in 1 / growth rounds.
  CHECK(!hopeless(rounds(100, 1.0, 1e-3), patient));
  CHECK(hopeless(rounds(100, 1.0, 1e-5), patient));
  CHECK(!hopeless(rounds(20, 1.0, 0.02), impatient));
  CHECK(hopeless(rounds(20, 1.0, 0.005), impatient));
}

}  // namespace
}  // namespace psvm
