// How many kernel entries this process has computed from features, for the benchmarks: what a fit needs
// beyond the rows of its support vectors.
#pragma once

#include <atomic>
#include <cstdint>

namespace psvm {

// Added to once for every batch of rows, by one thread: nothing beside the entries.
inline std::atomic<std::int64_t> entries_computed{0};

inline void count_entries(std::ptrdiff_t rows, std::ptrdiff_t columns) {
  entries_computed.fetch_add(static_cast<std::int64_t>(rows) * columns, std::memory_order_relaxed);
}

}  // namespace psvm
