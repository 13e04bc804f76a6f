// Numbers for a random order.
#pragma once

#include <cstdint>

#include "kernel/kernel_rows.hpp"

namespace psvm {

// xorshift64*: the same order on every platform, which std::shuffle does not promise.
class Random {
 public:
  // 0 .. bound - 1; the bias of bound / 2^32 does not matter here.
  index_t below(index_t bound) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    const std::uint64_t bits = (state_ * 0x2545F4914F6CDD1DULL) >> 32;
    return static_cast<index_t>((bits * static_cast<std::uint64_t>(bound)) >> 32);
  }

 private:
  std::uint64_t state_ = 0x9E3779B97F4A7C15ULL;
};

}  // namespace psvm
