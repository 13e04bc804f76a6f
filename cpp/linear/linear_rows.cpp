#include "linear/linear_rows.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/simd.hpp"
#include "linear/coordinate_rows.hpp"

namespace psvm {

namespace {

// Entries of packed rows that stay in the second-level cache.
constexpr index_t cache_entries = 48 * 1024;

// Features as doubles: float32 rows are widened on the way.
template <class V, class S>
PSVM_INLINE V widened(const S* from) {
  if constexpr (sizeof(S) == 8) {
    return load<V>(from);
  } else {
    typedef float Half __attribute__((vector_size(sizeof(V) / 2)));
    return __builtin_convertvector(load<Half>(from), V);
  }
}

template <class S>
struct DotLoop {
  template <class Arch>
  PSVM_INLINE static void run(const S* data, index_t stride, index_t features, const row_t* rows,
                              index_t count, const double* w, double* out) {
    using V = Vec<double, Arch>;
    constexpr index_t step = width<V>;
    const index_t whole = features / step * step;
    index_t r = 0;
    for (; r + 4 <= count; r += 4) {  // four rows share the loads of w
      const S* x[4];
      for (int k = 0; k < 4; ++k) x[k] = data + rows[r + k] * stride;
      V sums[4] = {};
      for (index_t j = 0; j < whole; j += step) {
        const V wj = load<V>(w + j);
        for (int k = 0; k < 4; ++k) sums[k] += widened<V>(x[k] + j) * wj;
      }
      for (int k = 0; k < 4; ++k) {
        double sum = sum_of<V>(sums[k]);
        for (index_t j = whole; j < features; ++j) sum += static_cast<double>(x[k][j]) * w[j];
        out[r + k] = sum;
      }
    }
    for (; r < count; ++r) {
      const S* x = data + rows[r] * stride;
      V sums{};
      for (index_t j = 0; j < whole; j += step) sums += widened<V>(x + j) * load<V>(w + j);
      double sum = sum_of<V>(sums);
      for (index_t j = whole; j < features; ++j) sum += static_cast<double>(x[j]) * w[j];
      out[r] = sum;
    }
  }
};

template <class S>
struct SizeLoop {
  template <class Arch>
  PSVM_INLINE static void run(const S* data, index_t stride, index_t features, const row_t* rows,
                              index_t count, const double* w, double* sizes,
                              double* squared_norms) {
    using V = Vec<double, Arch>;
    constexpr index_t step = width<V>;
    const index_t whole = features / step * step;
    for (index_t r = 0; r < count; ++r) {
      const S* x = data + rows[r] * stride;
      V size{}, squares{};
      for (index_t j = 0; j < whole; j += step) {
        const V xj = widened<V>(x + j);
        size += vabs<V>(xj * load<V>(w + j));
        squares += xj * xj;
      }
      sizes[r] = sum_of<V>(size);
      squared_norms[r] = sum_of<V>(squares);
      for (index_t j = whole; j < features; ++j) {
        const double xj = static_cast<double>(x[j]);
        sizes[r] += std::abs(xj * w[j]);
        squared_norms[r] += xj * xj;
      }
    }
  }
};

// A sum of so many products, in any order, is off by at most this share of their magnitudes. (The
// magnitudes are rounded, too: three more.)
double share_lost(index_t terms) { return unit_roundoff * static_cast<double>(terms + 4); }

template <class S>
struct AddLoop {
  template <class Arch>
  PSVM_INLINE static void run(const S* data, index_t stride, index_t features, const row_t* rows,
                              index_t count, const double* coef, double* sum) {
    using V = Vec<double, Arch>;
    constexpr index_t step = width<V>;
    const index_t whole = features / step * step;
    for (index_t r = 0; r < count; r += 4) {  // four rows share the loads and stores of the sum
      const S* x[4];
      double c[4];
      for (index_t k = 0; k < 4; ++k) {
        const bool inside = r + k < count;
        x[k] = data + rows[inside ? r + k : r] * stride;
        c[k] = inside ? coef[r + k] : 0.0;
      }
      for (index_t j = 0; j < whole; j += step) {
        V total = load<V>(sum + j);
        for (int k = 0; k < 4; ++k) total += widened<V>(x[k] + j) * c[k];
        store<V>(sum + j, total);
      }
      for (index_t j = whole; j < features; ++j)
        for (int k = 0; k < 4; ++k) sum[j] += c[k] * static_cast<double>(x[k][j]);
    }
  }
};

// Tiles of Arch::tile_rows x 8 of the Gram matrix, over rows packed in panels of 8 columns: entry
// (r, j) is packed[(j / 8 * count + r) * 8 + j % 8], so that every operand is read in order.
struct GramLoop {
  static constexpr int columns = lanes<double>;
  template <class Arch>
  PSVM_INLINE static void run(const double* packed, index_t count, index_t size, double* gram,
                              index_t stride) {
    using V = Vec<double, Arch>;
    constexpr int parts = columns / width<V>, height = Arch::tile_rows;
    for (index_t i = 0; i < size; i += height) {
      const double* left[height];
      for (index_t a = 0; a < height; ++a)
        left[a] = packed + (i + a) / columns * count * columns + (i + a) % columns;
      const index_t last = std::min<index_t>(height, size - i);
      for (index_t j = 0; j < i + height && j < size; j += columns) {
        const double* right = packed + j * count;
        V sums[height][parts] = {};
        for (index_t r = 0; r < count; ++r) {
          V z[parts];
          for (int part = 0; part < parts; ++part)
            z[part] = load<V>(right + r * columns + part * width<V>);
          // Beyond the matrix the packed columns are zero.
          for (int a = 0; a < height; ++a)
            for (int part = 0; part < parts; ++part)
              sums[a][part] += z[part] * left[a][r * columns];
        }
        for (index_t a = 0; a < last; ++a)
          for (int part = 0; part < parts; ++part) {
            double* at = gram + (i + a) * stride + j + part * width<V>;
            store<V>(at, load<V>(at) + sums[a][part]);
          }
      }
    }
  }
};

template <class Array>
class StoredRows;

template <class S>
class StoredRows<DenseArray<S>> final : public LinearRows {
 public:
  explicit StoredRows(const DenseArray<S>& array)
      : LinearRows(array.rows, array.columns), data_(array.data), stride_(array.row_stride) {}

  double entries() const override { return static_cast<double>(features()); }

  void dots(const row_t* rows, index_t count, const double* w, double* out) const override {
    on_this_cpu<DotLoop<S>, const S*, index_t, index_t, const row_t*, index_t, const double*,
                double*>(data_, stride_, features(), rows, count, w, out);
  }
  void dot_errors(const row_t* rows, index_t count, const double* w, double* errors,
                  double* squared_norms) const override {
    on_this_cpu<SizeLoop<S>, const S*, index_t, index_t, const row_t*, index_t, const double*,
                double*, double*>(data_, stride_, features(), rows, count, w, errors,
                                  squared_norms);
    for (index_t r = 0; r < count; ++r) errors[r] *= share_lost(features());
  }
  void add(const row_t* rows, index_t count, const double* coef, double* sum) const override {
    on_this_cpu<AddLoop<S>, const S*, index_t, index_t, const row_t*, index_t, const double*,
                double*>(data_, stride_, features(), rows, count, coef, sum);
  }
  void add_squares(const row_t* rows, index_t count, const double* coef,
                   double* sum) const override {
    for (index_t r = 0; r < count; ++r) {
      const S* x = data_ + rows[r] * stride_;
      for (index_t j = 0; j < features(); ++j) {
        const double value = static_cast<double>(x[j]);
        sum[j] += coef[r] * value * value;
      }
    }
  }
  void add_gram(const row_t* rows, index_t count, const double* weight, const double* shift,
                double* gram, index_t stride) const override {
    constexpr index_t columns = GramLoop::columns;
    // Packed rows of one batch stay in the second-level cache.
    const index_t most = std::clamp<index_t>(cache_entries / stride, 16, 256);
    const index_t batch = std::min(most, count);
    std::vector<double> packed(static_cast<std::size_t>(batch * stride), 0.0);
    for (index_t first = 0; first < count; first += batch) {
      const index_t some = std::min(batch, count - first);
      if (some < batch) std::fill(packed.begin(), packed.end(), 0.0);
      for (index_t r = 0; r < some; ++r) {
        const S* x = data_ + rows[first + r] * stride_;
        const double root = std::sqrt(weight[first + r]);
        double* z = packed.data() + r * columns;
        const auto put = [&](index_t j, double value) {
          z[j / columns * some * columns + j % columns] = root * value;
        };
        for (index_t j = 0; j < features(); ++j)
          put(j, static_cast<double>(x[j]) - (shift ? shift[j] : 0.0));
        put(features(), 1.0);
      }
      on_this_cpu<GramLoop, const double*, index_t, index_t, double*, index_t>(
          packed.data(), some, features() + 1, gram, stride);
    }
  }

 private:
  const S* data_;
  index_t stride_;
};

template <class S, class I>
class StoredRows<SparseArray<S, I>> final : public LinearRows {
 public:
  explicit StoredRows(const SparseArray<S, I>& array)
      : LinearRows(array.rows, array.columns), array_(array) {}

  double entries() const override {
    return size() ? static_cast<double>(array_.indptr[size()] - array_.indptr[0]) /
                        static_cast<double>(size())
                  : 0.0;
  }
  void dots(const row_t* rows, index_t count, const double* w, double* out) const override {
    for (index_t r = 0; r < count; ++r) out[r] = dot(array_, rows[r], w);
  }
  void dot_errors(const row_t* rows, index_t count, const double* w, double* errors,
                  double* squared_norms) const override {
    for (index_t r = 0; r < count; ++r) {
      const I begin = array_.indptr[rows[r]], end = array_.indptr[rows[r] + 1];
      double size = 0.0, squares = 0.0;
      for (I k = begin; k < end; ++k) {
        const double value = static_cast<double>(array_.data[k]);
        size += std::abs(value * w[array_.indices[k]]);
        squares += value * value;
      }
      errors[r] = size * share_lost(static_cast<index_t>(end - begin));
      squared_norms[r] = squares;
    }
  }
  void add(const row_t* rows, index_t count, const double* coef, double* sum) const override {
    for (index_t r = 0; r < count; ++r) psvm::add(array_, rows[r], coef[r], sum);
  }
  void add_squares(const row_t* rows, index_t count, const double* coef,
                   double* sum) const override {
    for (index_t r = 0; r < count; ++r)
      for (I k = array_.indptr[rows[r]]; k < array_.indptr[rows[r] + 1]; ++k) {
        const double value = static_cast<double>(array_.data[k]);
        sum[array_.indices[k]] += coef[r] * value * value;
      }
  }
  void add_gram(const row_t* rows, index_t count, const double* weight, const double*, double* gram,
                index_t stride) const override {
    double* constant = gram + features() * stride;
    for (index_t r = 0; r < count; ++r) {
      const I begin = array_.indptr[rows[r]], end = array_.indptr[rows[r] + 1];
      for (I k = begin; k < end; ++k) {
        const double scaled = weight[r] * static_cast<double>(array_.data[k]);
        double* line = gram + static_cast<index_t>(array_.indices[k]) * stride;
        for (I l = begin; l <= k; ++l)
          line[array_.indices[l]] += scaled * static_cast<double>(array_.data[l]);
        constant[array_.indices[k]] += scaled;
      }
      constant[features()] += weight[r];
    }
  }

 private:
  SparseArray<S, I> array_;
};

}  // namespace

index_t gram_stride(index_t features) {
  // A tile may read up to 12 rows and 8 columns beyond the last whole one.
  return (features + 1 + 12 + lanes<double> - 1) / lanes<double> * lanes<double>;
}

std::unique_ptr<LinearRows> linear_rows(const FeatureRows& features) {
  const auto made_of = []<class Array>(const Array& array) -> std::unique_ptr<LinearRows> {
    return std::make_unique<StoredRows<Array>>(array);
  };
  return std::visit(made_of, features);
}

}  // namespace psvm
