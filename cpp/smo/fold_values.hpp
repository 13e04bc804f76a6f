// Decision values of the training rows of one problem of one split.
//
// The kernel matrix is stored, shared by all splits, problems and cells of a search, and its rows are
// read; or nothing is stored and its entries are computed from points, where that is no slower.
#pragma once

#include <algorithm>
#include <vector>

#include "kernel/kernel_rows.hpp"
#include "smo/places.hpp"

namespace psvm {

// Columns [begin, end) of the Gram matrix.
struct ColumnRange {
  index_t begin, end;
};

// Some rows of the data by number, and columns of the Gram matrix that cover them.
struct FoldRows {
  Rows rows;
  std::vector<ColumnRange> columns;
};

// The kernel matrix over all rows of the data: stored, or as points.
template <class T>
struct FoldKernel {
  const T* gram = nullptr;
  index_t stride = 0;
  const Points<T>* points = nullptr;  // if gram is null
};

template <class T>
class FoldValues {
 public:
  // Where the matrix is not stored, the rows are also given as points.
  FoldValues(const FoldKernel<T>& kernel, const FoldRows& train, const Points<T>* points)
      : kernel_(kernel), train_(train), points_(points) {
    coef_.assign(train.rows.size(), 0.0);
    std::size_t places = train.rows.size();
    if (kernel.gram)
      for (const ColumnRange& range : train.columns) places = std::max(places, at(range.end));
    values_.assign(places, 0.0);
  }

  double operator[](std::size_t k) const { return values_[kernel_.gram ? at(train_.rows[k]) : k]; }
  // The coefficients that the values belong to.
  const std::vector<double>& coef() const { return coef_; }

  // The values of all rows that have a place among these.
  void copy(const Places& places, std::vector<double>& out) const {
    if (!kernel_.gram && !places.shared()) {
      out = values_;
      return;
    }
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = (*this)[at(places.of(static_cast<index_t>(i)))];
  }

  void multiply(double t) {
    for (double& value : values_) value *= t;
    for (double& c : coef_) c *= t;
  }
  void clear() {
    std::fill(values_.begin(), values_.end(), 0.0);
    std::fill(coef_.begin(), coef_.end(), 0.0);
  }

  // Brings the values up to date with new coefficients of some rows, rounded to T.
  void follow(const std::vector<index_t>& variables, const std::vector<double>& wanted,
              RunControl& run) {
    std::vector<index_t> changed;
    std::vector<T> by;
    for (const index_t k : variables) {
      const auto c = static_cast<T>(wanted[at(k)] - coef_[at(k)]);
      if (c == T(0)) continue;
      coef_[at(k)] += static_cast<double>(c);
      changed.push_back(k);
      by.push_back(c);
    }
    if (!kernel_.gram)
      points_->apply_rows(changed, by.data(), 0, values_.data(), run);
    else
      add_stored(changed, by, run);
  }

 private:
  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  void add_stored(const std::vector<index_t>& changed, const std::vector<T>& by, RunControl& run) {
    std::vector<const T*> rows(changed.size());
    for (const ColumnRange& range : train_.columns) {
      for (std::size_t r = 0; r < rows.size(); ++r)
        rows[r] = kernel_.gram + train_.rows[at(changed[r])] * kernel_.stride + range.begin;
      apply_stored<T>(rows, by.data(), range.end - range.begin, values_.data() + range.begin, run);
    }
  }

  const FoldKernel<T>& kernel_;
  const FoldRows& train_;
  const Points<T>* const points_;
  std::vector<double> values_;  // by column of the Gram matrix, or by row where it is not stored
  std::vector<double> coef_;
};

}  // namespace psvm
