#include "base/fingerprint.hpp"

#include <algorithm>
#include <cstring>

namespace psvm {
namespace {

// A product spreads bits upwards only, the shift brings them down again.
std::uint64_t step(std::uint64_t sum, std::uint64_t word) {
  sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
  return sum ^ sum >> 29;
}

}  // namespace

void Fingerprint::add(const unsigned char* bytes, std::size_t count) {
  constexpr std::size_t stripe = sizeof(sums_);
  std::uint64_t sums[lanes];
  std::memcpy(sums, sums_, stripe);
  for (; count >= stripe; bytes += stripe, count -= stripe) {
    std::uint64_t words[lanes];
    std::memcpy(words, bytes, stripe);
    for (int k = 0; k < lanes; ++k) sums[k] = step(sums[k], words[k]);
  }
  std::memcpy(sums_, sums, stripe);
  while (count > 0) {
    const std::size_t used = std::min(count, sizeof(std::uint64_t));
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, used);
    add(word);
    bytes += used;
    count -= used;
  }
}

void Fingerprint::add(std::uint64_t word) { sums_[0] = step(sums_[0], word); }

std::uint64_t Fingerprint::value() const {
  std::uint64_t all = 0;
  for (const std::uint64_t sum : sums_) all = step(all, sum);
  return all ^ all >> 32;
}

}  // namespace psvm
