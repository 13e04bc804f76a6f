// Where the seconds of a kernel solve go. A clock is read when a phase ends and the next begins, some
// ten times in a round: 25 ns each, of rounds that take 100 us and more.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

namespace psvm {

enum class Phase {
  select,   // the working set
  gram,     // the entries among its members
  steps,    // of pairs, on one thread
  apply,    // kernel rows of changed variables to the decision values
  certify,  // intercept, primal, dual, gap
  outside   // whatever else
};

inline constexpr std::array phase_names = {"select", "gram", "steps", "apply", "certify"};
using PhaseSeconds = std::array<double, phase_names.size()>;

class PhaseClock {
 public:
  // Seconds from here on belong to this phase.
  void enter(Phase phase) {
    const auto now = Clock::now();
    if (phase_ != Phase::outside)
      seconds_[static_cast<std::size_t>(phase_)] +=
          std::chrono::duration<double>(now - since_).count();
    since_ = now;
    phase_ = phase;
  }

  // Of all phases that have ended, but for those outside.
  const PhaseSeconds& seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;

  PhaseSeconds seconds_{};
  Phase phase_ = Phase::outside;
  Clock::time_point since_ = Clock::now();
};

}  // namespace psvm
