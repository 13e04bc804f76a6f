// When a solve stops, and what it tells of every round.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace psvm {

struct Budget {
  double tol;
  std::ptrdiff_t max_iter;        // rounds; negative for no limit
  double max_time;                // seconds; infinite for no limit
  bool impatient;                 // give up when the gap would take hundreds of rounds more
  std::ptrdiff_t max_steps = -1;  // of pairs, then give up; negative for no limit
};

struct RoundRecord {
  std::ptrdiff_t iteration;
  double seconds, gap, primal, dual;
  std::ptrdiff_t changed;      // variables moved by the round before
  std::ptrdiff_t current = 0;  // kernel solver: rows whose decision values are up to date
  std::ptrdiff_t part = 0;     // kernel solver: rows that rounds take place among, 0 for all
};

// Sees every record, and stops the solve by returning true. May be empty.
using OnRound = std::function<bool(const RoundRecord&)>;

// Whether the gap would take very many rounds more, if it goes on as over the last window: tens of
// thousands, or hundreds for the impatient. Gap and dual must agree that there is no hope: the gap
// falls in steps, and the dual may grow slowly just before the end.
inline bool hopeless(const std::vector<RoundRecord>& history, const Budget& budget) {
  const std::size_t window = budget.impatient ? 10 : 50;
  const double patience = budget.impatient ? 100 : 2e4;
  if (history.size() <= window || history.size() % window) return false;
  const RoundRecord &now = history.back(), &then = history[history.size() - 1 - window];
  const double rounds = static_cast<double>(window);
  const double by_gap = std::log(now.gap / budget.tol) * rounds / std::log(then.gap / now.gap);
  const double by_dual =
      now.gap * std::abs(now.primal) * rounds / std::max(now.dual - then.dual, 0.0);
  const bool gap_hopeless = !(now.gap < then.gap) || by_gap > patience;
  return gap_hopeless && !(by_dual < patience);
}

}  // namespace psvm
