// Passes over many rows, on all threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/run_control.hpp"

namespace psvm {

// What part(begin, end) gives for every stretch of [0, n), in order. Stretches are of the same length
// whatever the number of threads, so that sums are, too.
template <class Part>
auto of_stretches(std::ptrdiff_t n, std::ptrdiff_t length, RunControl& run, const Part& part) {
  std::vector<decltype(part(n, n))> found(static_cast<std::size_t>((n + length - 1) / length));
  run.parallel_for(static_cast<std::ptrdiff_t>(found.size()), [&](std::ptrdiff_t k) {
    found[static_cast<std::size_t>(k)] = part(k * length, std::min((k + 1) * length, n));
  });
  return found;
}

}  // namespace psvm
