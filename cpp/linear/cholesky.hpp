// Cholesky factors of small symmetric matrices, up to some hundred rows: no library is called, whose
// threads and calls would cost more than the factor.
#pragma once

#include <cmath>
#include <vector>

#include "base/simd.hpp"
#include "kernel/kernel_rows.hpp"

namespace psvm {

// Row by row, four rows at a time: entry (i, j) needs the dot product of two rows, both contiguous.
struct CholeskyLoop {
  template <class Arch>
  PSVM_INLINE static void run(double* a, index_t n, index_t stride, bool* positive) {
    *positive = true;
    for (index_t i = 0; i < n; i += 4) {
      const index_t rows = n - i < 4 ? n - i : 4;
      double* const first = a + i * stride;
      if (rows == 4)
        for (index_t j = 0; j < i; ++j) reduce<Arch, 4>(first, a + j * stride, j, stride);
      else
        for (index_t r = 0; r < rows; ++r)
          for (index_t j = 0; j < i; ++j) reduce<Arch, 1>(first + r * stride, a + j * stride, j, 0);
      for (index_t r = 0; r < rows; ++r) {  // the triangle on the diagonal
        double* const own = first + r * stride;
        for (index_t j = i; j < i + r; ++j) reduce<Arch, 1>(own, a + j * stride, j, 0);
        const double pivot = own[i + r] - dot<Arch>(own, own, i + r);
        if (!(pivot > 0.0)) {
          *positive = false;
          return;
        }
        own[i + r] = std::sqrt(pivot);
      }
    }
  }

 private:
  // Entries j of `height` rows, from their dot products with row j.
  template <class Arch, int height>
  PSVM_INLINE static void reduce(double* rows, const double* row, index_t j, index_t stride) {
    using V = Vec<double, Arch>;
    V sums[height] = {};
    index_t k = 0;
    for (; k + width<V> <= j; k += width<V>) {
      const V x = load<V>(row + k);
      for (int r = 0; r < height; ++r) sums[r] += load<V>(rows + r * stride + k) * x;
    }
    double sum[height];
    for (int r = 0; r < height; ++r) sum[r] = sum_of<V>(sums[r]);
    for (; k < j; ++k)
      for (int r = 0; r < height; ++r) sum[r] += rows[r * stride + k] * row[k];
    for (int r = 0; r < height; ++r) {
      double& entry = rows[r * stride + j];
      entry = (entry - sum[r]) / row[j];
    }
  }
  template <class Arch>
  PSVM_INLINE static double dot(const double* x, const double* y, index_t n) {
    using V = Vec<double, Arch>;
    V sums{};
    index_t k = 0;
    for (; k + width<V> <= n; k += width<V>) sums += load<V>(x + k) * load<V>(y + k);
    double sum = sum_of<V>(sums);
    for (; k < n; ++k) sum += x[k] * y[k];
    return sum;
  }
};

// The factor of a matrix that is positive definite up to rounding, given by its lower triangle.
class Cholesky {
 public:
  // False if no diagonal that is small beside the matrix makes it positive definite: weights of many
  // orders of magnitude can make rounding win, and then a diagonal just large enough to hold against
  // it still gives a direction of descent.
  bool factor(const std::vector<double>& matrix, index_t n, index_t stride) {
    n_ = n;
    stride_ = stride;
    double largest = 0.0;
    for (index_t i = 0; i < n; ++i) largest = std::max(largest, matrix[at(i, i)]);
    for (const double damping : {0.0, 1e-14, 1e-12, 1e-10}) {
      lower_ = matrix;
      for (index_t i = 0; i < n; ++i) lower_[at(i, i)] += damping * largest;
      bool positive;
      on_this_cpu<CholeskyLoop, double*, index_t, index_t, bool*>(lower_.data(), n, stride,
                                                                  &positive);
      if (positive) return true;
    }
    return false;
  }

  std::vector<double> solve(std::vector<double> v) const {
    for (index_t i = 0; i < n_; ++i) {
      const double* row = lower_.data() + i * stride_;
      double sum = v[static_cast<std::size_t>(i)];
      for (index_t j = 0; j < i; ++j) sum -= row[j] * v[static_cast<std::size_t>(j)];
      v[static_cast<std::size_t>(i)] = sum / row[i];
    }
    for (index_t i = n_ - 1; i >= 0; --i) {
      const double* row = lower_.data() + i * stride_;
      const double x = v[static_cast<std::size_t>(i)] /= row[i];
      for (index_t j = 0; j < i; ++j) v[static_cast<std::size_t>(j)] -= x * row[j];
    }
    return v;
  }

 private:
  std::size_t at(index_t i, index_t j) const { return static_cast<std::size_t>(i * stride_ + j); }

  index_t n_ = 0, stride_ = 0;
  std::vector<double> lower_;
};

}  // namespace psvm
