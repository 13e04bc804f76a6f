// Whole Gram matrices in float, in memory that the caller owns and may use again.
#pragma once

#include "kernel/kernel_rows.hpp"

namespace psvm {

// A square matrix of the caller: row i starts at data + i * stride.
template <class T>
struct Square {
  T* data;
  index_t size, stride;

  T* row(index_t i) const { return data + i * stride; }
};

// out(i, j) = K(i, j) over all rows of a kernel of one segment.
void fill_gram(const KernelRows<float>& kernel, Square<float> out, RunControl& run);

// Inner products <x_i, x_j> in place become squared distances |x_i - x_j|^2.
void distances_of_products(Square<float> gram, RunControl& run);

// out = exp(-gamma distances)
void rbf_of_distances(Square<const float> distances, double gamma, Square<float> out,
                      RunControl& run);

}  // namespace psvm
