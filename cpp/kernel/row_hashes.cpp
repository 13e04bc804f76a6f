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

constexpr index_t rows_at_once = 256;

}  // namespace

template <class S>
void hash_rows(const DenseArray<S>& x, const std::int32_t* codes, std::uint64_t* hashes,
               RunControl& run) {
  constexpr index_t lanes = 4;  // sums that do not wait for each other
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

template <class S, class I>
void hash_rows(const SparseArray<S, I>& x, const std::int32_t* codes, std::uint64_t* hashes,
               RunControl& run) {
  run.parallel_for((x.rows + rows_at_once - 1) / rows_at_once, [&](index_t task) {
    for (index_t i = task * rows_at_once; i < std::min(x.rows, (task + 1) * rows_at_once); ++i) {
      // Two sums that do not wait for each other.
      std::uint64_t of_values = 1, of_features = static_cast<std::uint64_t>(codes[i]) + 2;
      for (auto k = static_cast<index_t>(x.indptr[i]); k < static_cast<index_t>(x.indptr[i + 1]);
           ++k) {
        if (x.data[k] == S(0)) continue;  // stored or not, it is the same row
        of_values = step(of_values, bits_of(x.data[k]));
        of_features = step(of_features, static_cast<std::uint64_t>(x.indices[k]));
      }
      hashes[i] = step(of_values, of_features);
    }
  });
}

std::vector<index_t> group_equal(const std::uint64_t* hashes, index_t size, index_t* group) {
  // A table of twice as many places, a power of two; a hash goes to the first free place from its own.
  int bits = 1;
  while ((index_t(1) << bits) < 2 * size) ++bits;
  const index_t places = index_t(1) << bits;
  std::vector<index_t> table(static_cast<std::size_t>(places), -1), first;
  for (index_t i = 0; i < size; ++i) {
    auto place = static_cast<index_t>((hashes[i] * 0x9E3779B97F4A7C15u) >> (64 - bits));
    index_t known;
    while ((known = table[static_cast<std::size_t>(place)]) >= 0 &&
           hashes[first[static_cast<std::size_t>(known)]] != hashes[i])
      place = (place + 1) & (places - 1);
    if (known < 0) {
      known = static_cast<index_t>(first.size());
      table[static_cast<std::size_t>(place)] = known;
      first.push_back(i);
    }
    group[i] = known;
  }
  return first;
}

template void hash_rows<float>(const DenseArray<float>&, const std::int32_t*, std::uint64_t*,
                               RunControl&);
template void hash_rows<double>(const DenseArray<double>&, const std::int32_t*, std::uint64_t*,
                                RunControl&);
#define PSVM_HASHES(S, I)                                                                      \
  template void hash_rows<S, I>(const SparseArray<S, I>&, const std::int32_t*, std::uint64_t*, \
                                RunControl&);
PSVM_HASHES(float, std::int32_t)
PSVM_HASHES(float, std::int64_t)
PSVM_HASHES(double, std::int32_t)
PSVM_HASHES(double, std::int64_t)

}  // namespace psvm
