// What the checks of a coordinate descent so far tell of those to come.
#pragma once

#include <cmath>
#include <vector>

#include "base/budget.hpp"
#include "loss/loss.hpp"

namespace psvm {

// Passes still to come, at the rate of those between the last two checks. (The first ones are faster
// than the rest, and tell little.)
inline double passes_to_come(const std::vector<RoundRecord>& history, double tol) {
  const RoundRecord& now = history.back();
  if (now.iteration < 20 || history.size() < 2) return 0.0;
  const RoundRecord& then = history[history.size() - 2];
  const double passes = static_cast<double>(now.iteration - then.iteration);
  const double rate = std::log(then.gap / now.gap) / passes;
  return rate > 0.0 ? std::log(now.gap / tol) / rate : infinity;
}

// Whether in the second half of a long run neither the gap fell by a hundredth nor the dual rose by
// more than rounding. (The dual alone may still tell progress: with a large cost the primal shows it
// last.)
inline bool has_stalled(const std::vector<RoundRecord>& history) {
  const RoundRecord& now = history.back();
  if (now.iteration < 1000) return false;
  for (auto then = history.rbegin(); then != history.rend(); ++then)
    if (then->iteration <= now.iteration / 2)
      return !(now.gap < 0.99 * then->gap) && !(now.dual > then->dual + 1e-12 * std::abs(now.dual));
  return false;
}

}  // namespace psvm
