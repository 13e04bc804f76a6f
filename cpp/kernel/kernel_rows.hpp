// What a solver sees of a kernel matrix: rows and a diagonal. It knows nothing of features.
//
// Columns are split into segments (one per class of a one-vs-one problem, else a single one), and
// a row is always computed over whole segments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "base/run_control.hpp"
#include "kernel/kernel_functions.hpp"

namespace psvm {

using index_t = std::ptrdiff_t;
using Rows = std::span<const index_t>;

template <class T>
class Points;

template <class T>
class KernelRows {
 public:
  // `starts` holds the first column of every segment and, last, the number of columns.
  explicit KernelRows(std::vector<index_t> starts) : starts_(std::move(starts)) {}
  virtual ~KernelRows() = default;

  index_t size() const { return starts_.back(); }
  int segments() const { return static_cast<int>(starts_.size()) - 1; }
  index_t begin(int segment) const { return starts_[static_cast<std::size_t>(segment)]; }
  index_t length(int segment) const { return begin(segment + 1) - begin(segment); }
  const std::vector<double>& diagonal() const { return diagonal_; }
  // Relative cost of recomputing an entry: the number of features it sums over.
  virtual double work_per_entry() const = 0;
  // Whether rows already lie in memory, so that a cache would only copy them.
  virtual bool stored() const { return false; }
  // The points behind the matrix, if it is computed from features here.
  virtual const Points<T>* points() const { return nullptr; }

  // out[r * stride + j] = K(rows[r], begin(segment) + j)
  virtual void store_rows(Rows rows, int segment, T* out, index_t stride,
                          RunControl& run) const = 0;
  // out[j] += sum_r coef[r] K(rows[r], begin(segment) + j)
  virtual void apply_rows(Rows rows, const T* coef, int segment, double* out,
                          RunControl& run) const = 0;
  // out[a * stride + b] = K(rows[a], columns[b])
  virtual void between(Rows rows, Rows columns, T* out, index_t stride, RunControl& run) const = 0;

 protected:
  std::vector<index_t> starts_;
  std::vector<double> diagonal_;
};

// out[q * stride + j] += sum_r coef[q * rows.size() + r] * rows[r][j] for every q < combinations, over
// stored rows, in parallel over columns.
template <class T>
void combine_stored(std::span<const T* const> rows, const T* coef, index_t combinations,
                    index_t columns, double* out, index_t stride, RunControl& run);
template <class T>
void apply_stored(std::span<const T* const> rows, const T* coef, index_t columns, double* out,
                  RunControl& run) {
  combine_stored<T>(rows, coef, 1, columns, out, 0, run);
}

// A view of a dense array as the binding hands it over.
template <class S>
struct DenseArray {
  const S* data;
  index_t rows, columns, row_stride, column_stride;
};

// A view of compressed sparse rows as the binding hands them over.
template <class S, class I>
struct SparseArray {
  const S* data;
  const I* indices;
  const I* indptr;
  index_t rows, columns;
};

// Rows of points with their coefficients in several combinations, to be used again and again.
template <class T>
struct PreparedRows {
  virtual ~PreparedRows() = default;
};

// Points of any storage, as the columns of a kernel matrix whose rows may come from other points
// of the same storage and scale (`cross`: support vectors against new rows).
template <class T>
class Points : public KernelRows<T> {
 public:
  using KernelRows<T>::KernelRows;
  virtual void store_cross(const Points<T>& from, Rows rows, int segment, T* out, index_t stride,
                           RunControl& run) const = 0;
  virtual void apply_cross(const Points<T>& from, Rows rows, const T* coef, int segment,
                           double* out, RunControl& run) const = 0;
  // out[q * stride + j] += sum_r coef[q * rows.size() + r] K(rows[r], begin(segment) + j) for every
  // q < combinations. What a column gets does not depend on the others.
  virtual void combine_cross(const Points<T>& from, Rows rows, const T* coef, index_t combinations,
                             int segment, double* out, index_t stride, RunControl& run) const;
  // Some of the points as rows, with `combinations` x rows.size() coefficients. Refers to the points.
  virtual std::unique_ptr<PreparedRows<T>> prepare(Rows rows, const T* coef,
                                                   index_t combinations) const;
  // The same as `combine_cross` with the rows that points like these have prepared.
  virtual void combine_prepared(const PreparedRows<T>& prepared, int segment, double* out,
                                index_t stride, RunControl& run) const;
  // out[j] += sum_i coef[i] K(i, j) over all points, of one segment.
  virtual void apply_all(const T* coef, double* out, RunControl& run) const {
    std::vector<index_t> every(static_cast<std::size_t>(this->size()));
    std::iota(every.begin(), every.end(), index_t(0));
    apply_cross(*this, every, coef, 0, out, run);
  }
  // Half the squared norm of every point, as scaled and shifted here.
  virtual std::vector<double> half_squared_norms() const = 0;
  // The largest half squared norm times its terms (and two): what <x,z> - |x|^2/2 - |z|^2/2 may lose;
  // infinite after an overflow.
  virtual double cancellation() const = 0;
  // Whether distances are summed from differences where products would do.
  virtual bool by_differences() const { return false; }
  // Some of the points as columns of their own, in the given order and one segment.
  virtual std::unique_ptr<Points<T>> pick(Rows rows, RunControl& run) const = 0;

  const Points<T>* points() const override { return this; }
  void between(Rows rows, Rows columns, T* out, index_t stride, RunControl& run) const override {
    const auto chosen = pick(columns, run);
    if (rows.data() != columns.data() || rows.size() != columns.size())
      return chosen->store_cross(*this, rows, 0, out, stride, run);
    // The same points: those chosen are in cache, while these are all over memory.
    std::vector<index_t> every(rows.size());
    std::iota(every.begin(), every.end(), index_t(0));
    chosen->store_cross(*chosen, every, 0, out, stride, run);
  }
  void store_rows(Rows rows, int segment, T* out, index_t stride, RunControl& run) const override {
    store_cross(*this, rows, segment, out, stride, run);
  }
  void apply_rows(Rows rows, const T* coef, int segment, double* out,
                  RunControl& run) const override {
    apply_cross(*this, rows, coef, segment, out, run);
  }
};

template <class T>
void Points<T>::combine_cross(const Points<T>& from, Rows rows, const T* coef, index_t combinations,
                              int segment, double* out, index_t stride, RunControl& run) const {
  if (combinations == 1) return apply_cross(from, rows, coef, segment, out, run);
  constexpr std::size_t batch = 64;
  const auto columns = static_cast<std::size_t>(this->length(segment));
  std::vector<T> values(std::min(batch, rows.size()) * columns);
  for (std::size_t first = 0; first < rows.size(); first += batch) {
    const Rows some = rows.subspan(first, std::min(batch, rows.size() - first));
    store_cross(from, some, segment, values.data(), this->length(segment), run);
    std::vector<const T*> pointers;
    for (std::size_t r = 0; r < some.size(); ++r) pointers.push_back(values.data() + r * columns);
    for (index_t q = 0; q < combinations; ++q)
      apply_stored<T>(pointers, coef + q * static_cast<index_t>(rows.size()) + first,
                      this->length(segment), out + q * stride, run);
  }
}

// Nothing is gained by preparing: numbers of rows and their coefficients.
template <class T>
struct ListedRows final : PreparedRows<T> {
  const Points<T>* from;
  std::vector<index_t> rows;
  std::vector<T> coef;
  index_t combinations;
};

template <class T>
std::unique_ptr<PreparedRows<T>> Points<T>::prepare(Rows rows, const T* coef,
                                                    index_t combinations) const {
  auto listed = std::make_unique<ListedRows<T>>();
  listed->from = this;
  listed->rows.assign(rows.begin(), rows.end());
  listed->coef.assign(coef, coef + combinations * static_cast<index_t>(rows.size()));
  listed->combinations = combinations;
  return listed;
}

template <class T>
void Points<T>::combine_prepared(const PreparedRows<T>& prepared, int segment, double* out,
                                 index_t stride, RunControl& run) const {
  const auto& listed = dynamic_cast<const ListedRows<T>&>(prepared);
  combine_cross(*listed.from, listed.rows, listed.coef.data(), listed.combinations, segment, out,
                stride, run);
}

// The exponent of rbf from products errs by at most 4 u `cancellation()` (u = 2^-53), at this limit by
// 2e-10. Beyond it points in double take differences, at half the speed. Rows and columns need the same
// kind: of a column with a larger norm than all rows have the distance is large, too, and cancels
// nothing. Sparse rows are not centred, and an offset counts in full: text and counts have 2^7 to 2^11.
constexpr double most_cancelled = 0x1p19, most_cancelled_sparse = 0x1p13;

// Points as `pack` packs them for a kernel, by differences where that is left open and needed.
template <class T, class Pack>
std::unique_ptr<Points<T>> packed_well(KernelSpec spec, double limit, const Pack& pack) {
  std::unique_ptr<Points<T>> points = pack(spec);
  if (sizeof(T) < sizeof(double) || spec.name != "rbf" || spec.by_differences) return points;
  spec.by_differences = points->cancellation() > limit;
  return *spec.by_differences ? pack(spec) : std::move(points);
}

// `shift` (one value per feature, or null) is subtracted before scaling, but from doubles whose
// differences are summed: distances do not change, and rounding errors shrink.
template <class T, class S>
std::unique_ptr<Points<T>> dense_points(DenseArray<S> x, const double* shift,
                                        const KernelSpec& spec, std::vector<index_t> starts);
// Rows of bytes, side by side, that stand for features `step` apart, for rbf with float entries. Words of four bytes
// take the place of floats in panels: a quarter of their memory and, with `has_byte_products`, of the time.
std::unique_ptr<Points<float>> byte_points(DenseArray<std::uint8_t> x, double step, double gamma,
                                           std::vector<index_t> starts);
// Features up to which squared distances of bytes stay in range.
constexpr index_t most_byte_features = 8192;
template <class T, class S, class I>
std::unique_ptr<Points<T>> sparse_points(SparseArray<S, I> x, const KernelSpec& spec,
                                         std::vector<index_t> starts);
// A precomputed kernel matrix, kept by reference.
template <class T>
std::unique_ptr<KernelRows<T>> matrix_rows(DenseArray<T> matrix, std::vector<index_t> starts);

}  // namespace psvm
