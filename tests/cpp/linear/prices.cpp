#include "linear/prices.hpp"

#include "check.hpp"

using namespace psvm;

namespace {
const Prices small(300.0, 20.0, 20.0, 2.0, false);

// The record of a pass over all rows that ends at a gap, with a dual.
RoundRecord pass(index_t iteration, double gap, double dual = 1.0) {
  RoundRecord record{};
  record.iteration = iteration;
  record.gap = gap;
  record.dual = dual;
  record.visits = 300 * iteration;
  return record;
}
}  // namespace

TEST(prices, more_rows_features_and_active_rows_cost_more) {
  const Prices wide(300.0, 200.0, 200.0, 2.0, false), tall(3000.0, 20.0, 20.0, 2.0, false);
  for (const Prices& larger : {wide, tall}) {
    CHECK(larger.whole_pass > small.whole_pass);
    CHECK(larger.usual > small.usual);
  }
  CHECK(small.newton_step(200.0) > small.newton_step(100.0));
  CHECK(Prices(300.0, 20.0, 20.0, 1.0, false).usual > small.usual);  // p = 1 takes more steps
}

TEST(prices, a_descent_that_is_near_its_end_goes_on) {
  Descent descent(small, 1.0, 1e-4);
  CHECK(!descent.is_hopeless(pass(9, 1e-2)));
  CHECK(!descent.is_hopeless(pass(10, 1e-3)));
  CHECK(!descent.is_hopeless(pass(11, 2e-4)));
}

TEST(prices, one_that_would_take_longer_than_newton_is_given_up) {
  Descent slow(small, 1.0, 1e-4);
  CHECK(!slow.is_hopeless(pass(5, 0.4)));  // too early to say
  CHECK(slow.is_hopeless(pass(12, 0.399)));
  Descent worse(small, 1.0, 1e-4);
  worse.is_hopeless(pass(9, 0.1));
  CHECK(worse.is_hopeless(pass(12, 0.2)));
}

TEST(prices, a_dual_that_rises_with_the_passes_has_no_end_in_sight) {
  // Few rows are visited, so that passes cost next to nothing.
  const auto follow = [&](double power) {
    Descent descent(Prices(300.0, 20.0, 2000.0, 2.0, false), 1.0, 1e-4);
    bool hopeless = false;
    for (index_t k = 5; k <= 120 && !hopeless; k += 5)
      hopeless = descent.is_hopeless(pass(k, 0.99, std::pow(static_cast<double>(k), power)));
    return hopeless;
  };
  CHECK(follow(1.0));
  CHECK(!follow(0.5));
}
