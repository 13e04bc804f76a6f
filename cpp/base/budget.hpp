// When a solve stops, and what it tells of every round.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>

namespace psvm {

struct Budget {
  double tol;
  std::ptrdiff_t max_iter;        // rounds; negative for no limit
  double max_time;                // seconds; infinite for no limit
  bool impatient;                 // give up when the gap would take hundreds of rounds more
  std::ptrdiff_t max_steps = -1;  // of pairs, then give up; negative for no limit
  // Seconds of the run less those in which a busy machine kept it waiting, then give up.
  double max_effort = std::numeric_limits<double>::infinity();
  // Seconds to keep in reserve for every kernel entry that the proof of the gap will take.
  double certificate = 0.0;
};

struct RoundRecord {
  std::ptrdiff_t iteration;
  double seconds, gap, primal, dual;
  std::ptrdiff_t changed;      // variables moved by the round before
  std::ptrdiff_t current = 0;  // kernel solver: rows whose decision values are up to date
  std::ptrdiff_t part = 0;     // kernel solver: rows that rounds take place among, 0 for all
  std::ptrdiff_t visits = 0;   // coordinate descent: rows met since the beginning
};

// Sees every record, and stops the solve by returning true. May be empty.
using OnRound = std::function<bool(const RoundRecord&)>;

}  // namespace psvm
