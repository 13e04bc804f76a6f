// A number for every row of an array, equal for equal rows.
#pragma once

#include <cstdint>

#include "kernel/kernel_rows.hpp"

namespace psvm {

// hashes[i] of the entries of row i, -0 taken for 0, and of its class.
template <class S>
void hash_rows(const DenseArray<S>& x, const std::int32_t* codes, std::uint64_t* hashes,
               RunControl& run);

}  // namespace psvm
