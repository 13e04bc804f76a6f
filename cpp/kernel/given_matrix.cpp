#include "kernel/given_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace psvm {

// One pass over a square matrix, in squares that stay in the first-level cache while they are read
// across.
template <class S>
Symmetry symmetry_of(const DenseArray<S>& matrix, RunControl& run) {
  constexpr index_t side = 64;
  const index_t n = matrix.rows, squares = (n + side - 1) / side;
  const auto at = [&](index_t i, index_t j) {
    return static_cast<double>(matrix.data[i * matrix.row_stride + j * matrix.column_stride]);
  };
  std::vector<Symmetry> found(static_cast<std::size_t>(squares));
  run.parallel_for(squares, [&](index_t task) {
    Symmetry own;
    double not_finite = 0.0;  // 0 times an infinite number is none
    for (index_t other = task; other < squares; ++other)
      for (index_t i = task * side; i < std::min(n, (task + 1) * side); ++i) {
        const index_t begin = std::max(other * side, i), end = std::min(n, (other + 1) * side);
        for (index_t j = begin; j < end; ++j) {
          const double a = at(i, j), b = at(j, i);
          own.largest = std::max(own.largest, std::max(std::abs(a), std::abs(b)));
          own.difference = std::max(own.difference, std::abs(a - b));
          not_finite += 0.0 * a + 0.0 * b;
        }
      }
    if (not_finite != 0.0) own.largest = std::numeric_limits<double>::infinity();
    found[static_cast<std::size_t>(task)] = own;
  });
  Symmetry all;
  for (const Symmetry& own : found) {
    all.largest = std::max(all.largest, own.largest);
    all.difference = std::max(all.difference, own.difference);
  }
  return all;
}

template <class S>
void submatrix_of(const DenseArray<S>& matrix, Rows rows, double* out, RunControl& run) {
  constexpr index_t rows_at_once = 64;
  const auto count = static_cast<index_t>(rows.size());
  run.parallel_for((count + rows_at_once - 1) / rows_at_once, [&](index_t task) {
    for (index_t a = task * rows_at_once; a < std::min(count, (task + 1) * rows_at_once); ++a) {
      const S* from = matrix.data + rows[static_cast<std::size_t>(a)] * matrix.row_stride;
      double* to = out + a * count;
      for (const index_t column : rows)
        *to++ = static_cast<double>(from[column * matrix.column_stride]);
    }
  });
}

template Symmetry symmetry_of<float>(const DenseArray<float>&, RunControl&);
template void submatrix_of<float>(const DenseArray<float>&, Rows, double*, RunControl&);
template Symmetry symmetry_of<double>(const DenseArray<double>&, RunControl&);
template void submatrix_of<double>(const DenseArray<double>&, Rows, double*, RunControl&);

}  // namespace psvm
