#include "base/budget.hpp"

#include <cmath>

#include "check.hpp"

namespace psvm {
namespace {

TEST(budget, steps_are_unlimited_unless_said) {
  const Budget budget{1e-4, 100, 2.0, true};
  CHECK_EQUAL(budget.tol, 1e-4);
  CHECK_EQUAL(budget.max_iter, 100);
  CHECK_EQUAL(budget.max_time, 2.0);
  CHECK(budget.impatient);
  CHECK(budget.max_steps < 0);
  CHECK(std::isinf(budget.max_effort));
  CHECK_EQUAL(budget.certificate, 0.0);
}

TEST(budget, a_record_goes_to_who_listens) {
  const RoundRecord record{7, 0.5, 0.1, 3.0, 2.7, 12};
  CHECK_EQUAL(record.current, 0);  // of the kernel solver only
  CHECK_EQUAL(record.part, 0);
  const OnRound nobody;
  CHECK(!nobody);
  const OnRound stops = [](const RoundRecord& one) { return one.iteration == 7; };
  CHECK(stops(record));
}

}  // namespace
}  // namespace psvm
