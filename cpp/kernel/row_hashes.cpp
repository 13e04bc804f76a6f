#include "kernel/row_hashes.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace psvm {
namespace {

template <class S>
std::uint64_t bits_of(S value) {
  using Bits = std::conditional_t<sizeof(S) == 4, std::uint32_t, std::uint64_t>;
  value += S(0);  // -0 becomes 0
  Bits bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

std::uint64_t step(std::uint64_t sum, std::uint64_t word) {
  sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
  return sum ^ sum >> 29;
}

}  // namespace

template <class S>
void hash_rows(const DenseArray<S>& x, const std::int32_t* codes, std::uint64_t* hashes,
               RunControl& run) {
  constexpr index_t rows_at_once = 256, lanes = 4;  // sums that do not wait for each other
  run.parallel_for((x.rows + rows_at_once - 1) / rows_at_once, [&](index_t task) {
    for (index_t i = task * rows_at_once; i < std::min(x.rows, (task + 1) * rows_at_once); ++i) {
      const S* row = x.data + i * x.row_stride;
      std::uint64_t sums[lanes] = {1, 2, 3, static_cast<std::uint64_t>(codes[i]) + 4};
      index_t j = 0;
      for (; j + lanes <= x.columns; j += lanes)
        for (index_t k = 0; k < lanes; ++k)
          sums[k] = step(sums[k], bits_of(row[(j + k) * x.column_stride]));
      for (; j < x.columns; ++j) sums[0] = step(sums[0], bits_of(row[j * x.column_stride]));
      hashes[i] = step(step(step(sums[0], sums[1]), sums[2]), sums[3]);
    }
  });
}

template void hash_rows<float>(const DenseArray<float>&, const std::int32_t*, std::uint64_t*,
                               RunControl&);
template void hash_rows<double>(const DenseArray<double>&, const std::int32_t*, std::uint64_t*,
                                RunControl&);

}  // namespace psvm
