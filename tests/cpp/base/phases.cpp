#include "base/phases.hpp"

#include <thread>

#include "check.hpp"

namespace psvm {
namespace {

TEST(phases, seconds_go_to_the_phase_that_was_entered_last) {
  PhaseClock clock;
  const auto pass = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  pass(5);
  clock.enter(Phase::steps);
  pass(10);
  clock.enter(Phase::apply);
  pass(20);
  clock.enter(Phase::steps);
  pass(10);
  clock.enter(Phase::outside);
  pass(5);
  const PhaseSeconds seconds = clock.seconds();
  const auto of = [&](Phase phase) { return seconds[static_cast<std::size_t>(phase)]; };
  CHECK(of(Phase::steps) >= 0.02);
  CHECK(of(Phase::apply) >= 0.02);
  CHECK_EQUAL(of(Phase::select) + of(Phase::gram) + of(Phase::certify), 0.0);
  pass(5);
  clock.enter(Phase::outside);
  CHECK(clock.seconds() == seconds);
}

}  // namespace
}  // namespace psvm
