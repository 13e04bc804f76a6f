// A number for every row, equal for equal rows, and which are equal.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/kernel_rows.hpp"

namespace psvm {

// hashes[i] of the entries of row i, -0 taken for 0, and of its class.
template <class S>
void hash_rows(const DenseArray<S>& x, const std::int32_t* codes, std::uint64_t* hashes,
               RunControl& run);
// The same of sparse rows, with their entries in order.
template <class S, class I>
void hash_rows(const SparseArray<S, I>& x, const std::int32_t* codes, std::uint64_t* hashes,
               RunControl& run);

// Which hashes are equal: group[i] of hash i, groups numbered by their first members, which are
// returned.
std::vector<index_t> group_equal(const std::uint64_t* hashes, index_t size, index_t* group);

}  // namespace psvm
