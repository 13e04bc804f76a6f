// Decision values of pairs of classes as votes; pairs (i, j), i < j, in lexicographic order, a value
// that is not negative for class i.
#pragma once

#include <cstdint>

#include "kernel/kernel_rows.hpp"

namespace psvm {

inline index_t pairs_of(index_t classes) { return classes * (classes - 1) / 2; }

// scores[r * classes + c] = votes of class c in row r, and its confidence: the sum of its decisions
// brought into [-1/3, 1/3], so that it never outweighs a vote. One row of decisions per row of X.
void votes_of_pairs(const double* decisions, index_t rows, index_t classes, double* scores);

// The class with the most votes of every column, and whether it is sure: whether it has more votes than
// any other could get where the true value lies within `bound` of the given one. One row per pair.
void certain_class(const double* values, const double* bound, index_t columns, index_t classes,
                   std::int64_t* codes, bool* sure);

}  // namespace psvm
