#include "kernel/given_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace psvm {

namespace {

constexpr index_t side = 64;  // of a square that stays in the first-level cache

// Running values of eight columns at a time, so that none waits for the one before.
struct Lanes {
  static constexpr index_t count = 8;
  double largest[count] = {}, difference[count] = {}, not_finite[count] = {};

  void add(index_t k, double a, double b) {
    largest[k] = std::max(largest[k], std::max(std::abs(a), std::abs(b)));
    difference[k] = std::max(difference[k], std::abs(a - b));
    not_finite[k] += 0.0 * (a + b);  // 0, unless a or b is infinite or no number
  }
  Symmetry all() const {
    Symmetry found;
    for (index_t k = 0; k < count; ++k) {
      found.largest = std::max(found.largest, largest[k]);
      found.difference = std::max(found.difference, difference[k]);
      if (not_finite[k] != 0.0) found.largest = std::numeric_limits<double>::infinity();
    }
    return found;
  }
};

}  // namespace

// One pass: every square beside the one across the diagonal, which is turned first.
template <class S>
Symmetry symmetry_of(const DenseArray<S>& matrix, RunControl& run) {
  const index_t n = matrix.rows, squares = (n + side - 1) / side;
  const auto at = [&](index_t i, index_t j) {
    return static_cast<double>(matrix.data[i * matrix.row_stride + j * matrix.column_stride]);
  };
  std::vector<Symmetry> found(static_cast<std::size_t>(squares));
  run.parallel_for(squares, [&](index_t task) {
    Lanes lanes;
    double turned[side * side];
    const index_t i0 = task * side, rows = std::min(side, n - i0);
    for (index_t j0 = i0; j0 < n; j0 += side) {
      const index_t columns = std::min(side, n - j0);
      for (index_t j = 0; j < columns; ++j)
        for (index_t i = 0; i < rows; ++i) turned[i * side + j] = at(j0 + j, i0 + i);
      for (index_t i = 0; i < rows; ++i) {
        index_t j = 0;
        for (; j + Lanes::count <= columns; j += Lanes::count)
          for (index_t k = 0; k < Lanes::count; ++k)
            lanes.add(k, at(i0 + i, j0 + j + k), turned[i * side + j + k]);
        for (; j < columns; ++j) lanes.add(0, at(i0 + i, j0 + j), turned[i * side + j]);
      }
    }
    found[static_cast<std::size_t>(task)] = lanes.all();
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
