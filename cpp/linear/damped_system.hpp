// The system of a Newton step: a matrix that is positive definite up to rounding.
#pragma once

#include <algorithm>
#include <vector>

#include "base/cholesky.hpp"
#include "kernel/kernel_rows.hpp"

namespace psvm {

class DampedSystem {
 public:
  // Of the lower triangle of a matrix. False if no diagonal that is small beside the matrix makes it
  // positive definite: weights of many orders of magnitude can make rounding win, and then a diagonal
  // just large enough to hold against it still gives a direction of descent.
  bool factor(const std::vector<double>& matrix, index_t n, index_t stride) {
    double largest = 0.0;
    for (index_t i = 0; i < n; ++i) largest = std::max(largest, matrix[at(i * stride + i)]);
    for (const double damping : {0.0, 1e-14, 1e-12, 1e-10}) {
      system_.resize(n);
      for (index_t i = 0; i < n; ++i) {
        const double* row = matrix.data() + i * stride;
        std::copy(row, row + i + 1, system_.row(i));
        system_.row(i)[i] += damping * largest;
      }
      if (system_.factor(0.0)) return true;
    }
    return false;
  }

  std::vector<double> solve(std::vector<double> v) const {
    system_.solve(v.data());
    return v;
  }

 private:
  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  Cholesky system_;
};

}  // namespace psvm
