#include "kernel/expansion.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace psvm {
namespace {

// Adds up the parts of the classes: `part(class, first vector, out, stride)` adds the sums over the
// vectors of a class to one row of `out` per row of coef. One row of `out` per problem; `sizes`, if not
// null, gets the sums of the absolute values of the parts.
template <class Part>
void add_parts(const ExpansionShape& shape, index_t columns, double* out, double* sizes,
               const Part& part) {
  std::vector<double> sums(static_cast<std::size_t>(shape.rows * columns));
  index_t first = 0;
  for (index_t own = 0; own < shape.classes(); ++own) {
    const index_t count = shape.counts[static_cast<std::size_t>(own)];
    if (count == 0) continue;
    std::fill(sums.begin(), sums.end(), 0.0);
    part(own, first, sums.data(), columns);
    first += count;
    for (index_t r = 0; r < shape.rows; ++r) {
      const double* from = sums.data() + r * columns;
      double* to = out + shape.problem(own, r) * columns;
      for (index_t c = 0; c < columns; ++c) to[c] += from[c];
      if (!sizes) continue;
      double* size = sizes + shape.problem(own, r) * columns;
      for (index_t c = 0; c < columns; ++c) size[c] += std::abs(from[c]);
    }
  }
}

// The coefficients of the vectors of one class, one row after the other.
template <class T>
std::vector<T> coef_of_class(const ExpansionShape& shape, const T* coef, index_t vectors,
                             index_t first, index_t count) {
  std::vector<T> own;
  own.reserve(static_cast<std::size_t>(shape.rows * count));
  for (index_t r = 0; r < shape.rows; ++r)
    own.insert(own.end(), coef + r * vectors + first, coef + r * vectors + first + count);
  return own;
}

}  // namespace

template <class T>
Expansion<T>::Expansion(const Points<T>& vectors, const T* coef, ExpansionShape shape)
    : shape_(std::move(shape)) {
  index_t first = 0;
  for (const index_t count : shape_.counts) {
    std::vector<index_t> rows(static_cast<std::size_t>(count));
    std::iota(rows.begin(), rows.end(), first);
    const std::vector<T> own = coef_of_class(shape_, coef, vectors.size(), first, count);
    classes_.push_back(vectors.prepare(rows, own.data(), shape_.rows));
    first += count;
  }
}

template <class T>
void Expansion<T>::add(const Points<T>& columns, double* out, double* sizes,
                       RunControl& run) const {
  add_parts(
      shape_, columns.size(), out, sizes, [&](index_t own, index_t, double* sums, index_t stride) {
        columns.combine_prepared(*classes_[static_cast<std::size_t>(own)], 0, sums, stride, run);
      });
}

void add_values(const ExpansionShape& shape, const double* values, const double* coef,
                index_t vectors, index_t columns, double* out, RunControl& run) {
  add_parts(shape, columns, out, nullptr,
            [&](index_t own, index_t first, double* sums, index_t stride) {
              const index_t count = shape.counts[static_cast<std::size_t>(own)];
              const std::vector<double> chosen = coef_of_class(shape, coef, vectors, first, count);
              std::vector<const double*> rows;
              for (index_t s = first; s < first + count; ++s) rows.push_back(values + s * columns);
              combine_stored<double>(rows, chosen.data(), shape.rows, columns, sums, stride, run);
            });
}

void add_intercepts(const double* sums, const double* intercept, index_t problems, index_t columns,
                    double* out) {
  for (index_t t = 0; t < problems; ++t)
    for (index_t c = 0; c < columns; ++c)
      out[c * problems + t] = sums[t * columns + c] + intercept[t];
}

template class Expansion<float>;
template class Expansion<double>;

}  // namespace psvm
