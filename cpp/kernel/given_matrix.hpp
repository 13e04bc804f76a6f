// Kernel matrices that the user gives: whether they are symmetric, and some of their rows and columns.
#pragma once

#include "kernel/kernel_rows.hpp"

namespace psvm {

struct Symmetry {
  double largest = 0.0;     // |K_ij|, infinite if one is not a number
  double difference = 0.0;  // |K_ij - K_ji|, if all are
};

template <class S>
Symmetry symmetry_of(const DenseArray<S>& matrix, RunControl& run);

// out[a * rows.size() + b] = K(rows[a], rows[b])
template <class S>
void submatrix_of(const DenseArray<S>& matrix, Rows rows, double* out, RunControl& run);

}  // namespace psvm
