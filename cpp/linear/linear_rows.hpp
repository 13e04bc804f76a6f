// Rows of features for the linear solvers: products, sums and Gram matrices over a few rows at a
// time. What is done with them is in linear_pass.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>

#include "kernel/kernel_rows.hpp"
#include "loss/loss.hpp"

namespace psvm {

// Rows of features as they are stored: dense with contiguous rows, or CSR with sorted, unique column
// numbers.
using FeatureRows =
    std::variant<DenseArray<float>, DenseArray<double>,  //
                 SparseArray<float, std::int32_t>, SparseArray<float, std::int64_t>,
                 SparseArray<double, std::int32_t>, SparseArray<double, std::int64_t>>;

using row_t = std::int32_t;  // a row within a block

class LinearRows {
 public:
  LinearRows(index_t size, index_t features) : size_(size), features_(features) {}
  virtual ~LinearRows() = default;
  index_t size() const { return size_; }
  index_t features() const { return features_; }
  // Average number of stored entries of a row.
  virtual double entries() const = 0;

  // out[r] = <x_rows[r], w>
  virtual void dots(const row_t* rows, index_t count, const double* w, double* out) const = 0;
  // What rounding may add to each of `dots`: unit roundoff times the terms of its sum and their
  // magnitude; and the squared norms of the rows.
  virtual void dot_errors(const row_t* rows, index_t count, const double* w, double* errors,
                          double* squared_norms) const = 0;
  // sum += sum_r coef[r] x_rows[r]
  virtual void add(const row_t* rows, index_t count, const double* coef, double* sum) const = 0;
  // sum += sum_r coef[r] x_rows[r]^2, feature by feature
  virtual void add_squares(const row_t* rows, index_t count, const double* coef,
                           double* sum) const = 0;
  // Adds sum_r weight[r] z z', z = [x_rows[r] - shift, 1], to the lower triangle of `gram`, whose
  // rows are `stride` apart and zero beyond features + 1. A null shift is none.
  virtual void add_gram(const row_t* rows, index_t count, const double* weight, const double* shift,
                        double* gram, index_t stride) const = 0;

 private:
  index_t size_, features_;
};

// Entries of a row of a Gram matrix over `features` features and a constant, padded for add_gram.
index_t gram_stride(index_t features);

std::unique_ptr<LinearRows> linear_rows(const FeatureRows& features);

}  // namespace psvm
