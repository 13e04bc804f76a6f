// Decision values of held-out rows, for several cells at once: cells in a row share most of their
// support vectors, and a kernel row that is read or computed serves all of them.
#pragma once

#include <algorithm>
#include <vector>

#include "smo/fold_values.hpp"

namespace psvm {

template <class T>
class HeldOutValues {
 public:
  // Values of the rows `of`, as sums over the rows `train`; where the matrix is not stored, both are
  // also given as points.
  HeldOutValues(const FoldKernel<T>& kernel, Rows train, const FoldRows& of,
                const Points<T>* train_points, const Points<T>* points)
      : kernel_(kernel), train_(train), of_(of), train_points_(train_points), points_(points) {}

  // A cell whose values are to be written to `out`, one per row, by the next `finish`.
  void add(const std::vector<double>& coef, double intercept, double* out) {
    coef_.insert(coef_.end(), coef.begin(), coef.end());
    cells_.push_back({intercept, out});
  }

  // Whether to finish before another cell is added (after 8 or 16 cells measured equal, after 2 up to
  // 4 % slower).
  bool full() const { return cells_.size() >= 8; }

  void finish(RunControl& run) {
    const std::size_t count = cells_.size(), n = train_.size();
    if (count == 0) return;
    std::vector<index_t> used;
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t q = 0; q < count; ++q)
        if (coef_[q * n + k] != 0.0) {
          used.push_back(static_cast<index_t>(k));
          break;
        }
    std::vector<T> coef;
    for (std::size_t q = 0; q < count; ++q)
      for (const index_t k : used) coef.push_back(static_cast<T>(coef_[q * n + at(k)]));
    combine(used, coef, run);
    for (std::size_t q = 0; q < count; ++q)
      for (std::size_t i = 0; i < of_.rows.size(); ++i)
        cells_[q].out[i] = cells_[q].intercept + sums_[q * places() + place(i)];
    finished_ += count;
    cells_.clear();
    coef_.clear();
  }

  // Cells whose values are written.
  std::size_t finished() const { return finished_; }

 private:
  struct Cell {
    double intercept;
    double* out;
  };

  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  // Where the sum of a row is: by its column of the Gram matrix, from the first one needed on, or by
  // its number where no matrix is stored.
  std::size_t place(std::size_t i) const {
    return kernel_.gram ? at(of_.rows[i] - of_.columns.front().begin) : i;
  }
  std::size_t places() const {
    if (!kernel_.gram || of_.rows.empty()) return of_.rows.size();
    return at(of_.columns.back().end - of_.columns.front().begin);
  }

  void combine(const std::vector<index_t>& used, const std::vector<T>& coef, RunControl& run) {
    const auto count = static_cast<index_t>(cells_.size());
    const auto stride = static_cast<index_t>(places());
    sums_.assign(cells_.size() * places(), 0.0);
    if (used.empty() || of_.rows.empty()) return;
    if (!kernel_.gram)
      return points_->combine_cross(*train_points_, used, coef.data(), count, 0, sums_.data(),
                                    stride, run);
    std::vector<const T*> rows(used.size());
    for (const ColumnRange& range : of_.columns) {
      for (std::size_t r = 0; r < rows.size(); ++r)
        rows[r] = kernel_.gram + train_[at(used[r])] * kernel_.stride + range.begin;
      combine_stored<T>(rows, coef.data(), count, range.end - range.begin,
                        sums_.data() + (range.begin - of_.columns.front().begin), stride, run);
    }
  }

  const FoldKernel<T>& kernel_;
  const Rows train_;
  const FoldRows& of_;
  const Points<T>*const train_points_, *const points_;
  std::vector<double> coef_;  // cells x training rows
  std::vector<Cell> cells_;   // that wait for their values
  std::vector<double> sums_;  // cells x places
  std::size_t finished_ = 0;
};

}  // namespace psvm
