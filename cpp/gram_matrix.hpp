// Whole Gram matrices in float, in memory that the caller owns and may use again.
#pragma once

#include "kernel_rows.hpp"

namespace psvm {

// out[i * n + j] = K(i, j) over all rows of a kernel of one segment.
void fill_gram(const KernelRows<float>& kernel, float* out, RunControl& run);

// Inner products <x_i, x_j> in place become squared distances |x_i - x_j|^2.
void distances_of_products(float* gram, index_t n, RunControl& run);

// out = exp(-gamma distances)
void rbf_of_distances(const float* distances, index_t n, double gamma, float* out, RunControl& run);

}  // namespace psvm
