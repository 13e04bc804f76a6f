// Rows of features one at a time: <x_i, w>, w += factor x_i, |x_i|^2.
#pragma once

#include <cstdint>

#include "base/simd.hpp"
#include "kernel/kernel_rows.hpp"

namespace psvm {

struct DenseDot {
  template <class Arch, class S>
  static PSVM_INLINE void run(const S* x, const double* w, index_t d, double* out) {
    constexpr int sums = 8;
    double sum[sums] = {};
    index_t j = 0;
    for (; j + sums <= d; j += sums)
      for (int k = 0; k < sums; ++k) sum[k] += static_cast<double>(x[j + k]) * w[j + k];
    for (; j < d; ++j) sum[0] += static_cast<double>(x[j]) * w[j];
    *out = ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
  }
};

struct DenseAdd {
  template <class Arch, class S>
  static PSVM_INLINE void run(const S* x, double factor, index_t d, double* w) {
    for (index_t j = 0; j < d; ++j) w[j] += factor * static_cast<double>(x[j]);
  }
};

template <class S>
double dot(const DenseArray<S>& rows, index_t i, const double* w) {
  double out;
  on_this_cpu<DenseDot, const S*, const double*, index_t, double*>(rows.data + i * rows.row_stride,
                                                                   w, rows.columns, &out);
  return out;
}

template <class S>
void add(const DenseArray<S>& rows, index_t i, double factor, double* w) {
  on_this_cpu<DenseAdd, const S*, double, index_t, double*>(rows.data + i * rows.row_stride, factor,
                                                            rows.columns, w);
}

template <class S>
double squared_norm(const DenseArray<S>& rows, index_t i) {
  double sum = 0.0;
  for (index_t j = 0; j < rows.columns; ++j) {
    const double x = rows.data[i * rows.row_stride + j];
    sum += x * x;
  }
  return sum;
}

template <class S>
void prefetch(const DenseArray<S>& rows, index_t i) {
  __builtin_prefetch(rows.data + i * rows.row_stride);
}

template <class S>
void prefetch_start(const DenseArray<S>&, index_t) {}

template <class S, class I>
void prefetch_start(const SparseArray<S, I>& rows, index_t i) {
  __builtin_prefetch(rows.indptr + i);
}

// Four sums, for one alone waits for every addition.
template <class S, class I>
double dot(const SparseArray<S, I>& rows, index_t i, const double* w) {
  const index_t end = rows.indptr[i + 1];
  index_t k = rows.indptr[i];
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
  for (; k + 4 <= end; k += 4) {
    s0 += static_cast<double>(rows.data[k]) * w[rows.indices[k]];
    s1 += static_cast<double>(rows.data[k + 1]) * w[rows.indices[k + 1]];
    s2 += static_cast<double>(rows.data[k + 2]) * w[rows.indices[k + 2]];
    s3 += static_cast<double>(rows.data[k + 3]) * w[rows.indices[k + 3]];
  }
  for (; k < end; ++k) s0 += static_cast<double>(rows.data[k]) * w[rows.indices[k]];
  return (s0 + s1) + (s2 + s3);
}

template <class S, class I>
void add(const SparseArray<S, I>& rows, index_t i, double factor, double* w) {
  const index_t end = rows.indptr[i + 1];
  for (index_t k = rows.indptr[i]; k < end; ++k)
    w[rows.indices[k]] += factor * static_cast<double>(rows.data[k]);
}

template <class S, class I>
double squared_norm(const SparseArray<S, I>& rows, index_t i) {
  double sum = 0.0;
  for (index_t k = rows.indptr[i]; k < rows.indptr[i + 1]; ++k) {
    const double x = rows.data[k];
    sum += x * x;
  }
  return sum;
}

template <class S, class I>
void prefetch(const SparseArray<S, I>& rows, index_t i) {
  const index_t k = rows.indptr[i];
  __builtin_prefetch(rows.data + k);
  __builtin_prefetch(rows.indices + k);
}

// The rows of a problem: row i has the features of row place[i] of the array, or of row i.
template <class Array>
struct CoordinateRows {
  Array array;
  index_t size;
  const std::int64_t* place;  // null: each row has its own

  index_t features() const { return array.columns; }
  double dot(index_t i, const double* w) const { return psvm::dot(array, at(i), w); }
  void add(index_t i, double factor, double* w) const { psvm::add(array, at(i), factor, w); }
  double squared_norm(index_t i) const { return psvm::squared_norm(array, at(i)); }
  void prefetch(index_t i) const { psvm::prefetch(array, at(i)); }
  void prefetch_start(index_t i) const { psvm::prefetch_start(array, at(i)); }

 private:
  index_t at(index_t i) const { return place ? place[i] : i; }
};

}  // namespace psvm
