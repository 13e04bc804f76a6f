// A few rows of features in every storage, with some entries 0.
#pragma once

#include <cstdint>
#include <vector>

#include "check.hpp"
#include "linear/linear_rows.hpp"

namespace psvm::check {

template <class S>
class SmallRows {
 public:
  SmallRows(index_t rows, index_t columns, unsigned seed) : rows(rows), columns(columns) {
    for (const double x : numbers(static_cast<std::size_t>(rows * columns), -1.0, 1.0, seed))
      values.push_back(static_cast<S>(x > 0.3 ? 0.0 : x));
    indptr.push_back(0);
    for (index_t i = 0; i < rows; ++i) {
      for (index_t j = 0; j < columns; ++j)
        if (values[static_cast<std::size_t>(i * columns + j)] != S{0}) {
          data.push_back(values[static_cast<std::size_t>(i * columns + j)]);
          indices.push_back(static_cast<std::int32_t>(j));
        }
      indptr.push_back(static_cast<std::int32_t>(data.size()));
    }
  }

  double at(index_t i, index_t j) const {
    return static_cast<double>(values[static_cast<std::size_t>(i * columns + j)]);
  }
  DenseArray<S> dense() const { return {values.data(), rows, columns, columns, 1}; }
  SparseArray<S, std::int32_t> sparse() const {
    return {data.data(), indices.data(), indptr.data(), rows, columns};
  }

  const index_t rows, columns;
  std::vector<S> values, data;
  std::vector<std::int32_t> indices, indptr;
};

// Calls body(small, array) for float32 and float64, dense and sparse.
template <class Body>
void for_every_storage(index_t rows, index_t columns, unsigned seed, const Body& body) {
  const SmallRows<float> singles(rows, columns, seed);
  const SmallRows<double> doubles(rows, columns, seed);
  body(singles, singles.dense());
  body(singles, singles.sparse());
  body(doubles, doubles.dense());
  body(doubles, doubles.sparse());
}

}  // namespace psvm::check
