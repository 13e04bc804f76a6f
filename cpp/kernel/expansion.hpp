// Sums over support vectors, sorted by class, for all binary problems of a model at once.
//
//   f_t(x) = sum_s coef_ts K(vector_s, x)
//
// `coef` has one row per problem, or of pairs (i, j) of classes SVC's layout: in the columns of class i,
// row r belongs to the pair with the r-th other class. So every kernel value is computed once, and the
// vectors of a class serve only its own pairs.
#pragma once

#include <memory>
#include <vector>

#include "kernel/kernel_rows.hpp"
#include "kernel/votes.hpp"

namespace psvm {

struct ExpansionShape {
  std::vector<index_t> counts;  // vectors of every class
  index_t rows;                 // of coef
  bool pairwise;

  index_t classes() const { return static_cast<index_t>(counts.size()); }
  index_t problems() const { return pairwise ? pairs_of(classes()) : rows; }
  // The problem that row r of the coefficients of a class belongs to.
  index_t problem(index_t own, index_t r) const {
    if (!pairwise) return r;
    const index_t i = r < own ? r : own, j = r < own ? own : r + 1;
    return i * (2 * classes() - i - 1) / 2 + j - i - 1;
  }
};

// Support vectors and coefficients, ready for any number of rows.
template <class T>
class Expansion {
 public:
  // Refers to the vectors; `coef` is copied.
  Expansion(const Points<T>& vectors, const T* coef, ExpansionShape shape);
  Expansion(const Expansion&) = delete;
  Expansion& operator=(const Expansion&) = delete;

  const ExpansionShape& shape() const { return shape_; }
  // Adds f_t to row t of `out`, for the points as columns; and to `sizes`, if not null, the sum of the
  // absolute values of the parts that the classes have in f_t.
  void add(const Points<T>& columns, double* out, double* sizes, RunControl& run) const;

 private:
  ExpansionShape shape_;
  std::vector<std::unique_ptr<PreparedRows<T>>> classes_;
};

// The same from kernel values: values[s * columns + c] = K(vector_s, x_c).
void add_values(const ExpansionShape& shape, const double* values, const double* coef,
                index_t vectors, index_t columns, double* out, RunControl& run);

// Rows as columns, with an intercept each: out[c * problems + t] = sums[t * columns + c] + intercept[t]
void add_intercepts(const double* sums, const double* intercept, index_t problems, index_t columns,
                    double* out);

}  // namespace psvm
