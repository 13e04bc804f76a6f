// Kernel rows that lie in memory already: a precomputed matrix, and the product with stored rows.
#include <algorithm>
#include <cstdint>

#include "kernel_rows.hpp"

namespace psvm {
namespace {

// out[j] += sum_r coef[r] * rows[r][j], eight rows at a time: float sums of these, double sums of all
// (four rows measured 1.2 times slower).
template <class T>
struct AxpyLoop {
  static constexpr int R = 8;

  template <class Arch>
  static PSVM_INLINE void run(const T* const* rows, const T* coef, index_t count, index_t begin,
                              index_t end, double* out) {
    index_t r = 0;
    for (; r + R <= count; r += R) several<Arch, R>(rows + r, coef + r, begin, end, out);
    if (r + 4 <= count) {
      several<Arch, 4>(rows + r, coef + r, begin, end, out);
      r += 4;
    }
    for (; r < count; ++r) several<Arch, 1>(rows + r, coef + r, begin, end, out);
  }

  template <class Arch, int rows_at_once>
  static PSVM_INLINE void several(const T* const* rows, const T* coef, index_t begin, index_t end,
                                  double* out) {
    // As many as a register of double holds.
    typedef T V __attribute__((vector_size(Arch::register_bytes / sizeof(double) * sizeof(T))));
    using Doubles = Vec<double, Arch>;
    const T* from[rows_at_once];
    V own[rows_at_once];
    for (int q = 0; q < rows_at_once; ++q) {
      from[q] = rows[q];
      own[q] = broadcast<V>(coef[q]);
    }
    index_t j = begin;
    for (; j + width<V> <= end; j += width<V>) {
      V sum = own[0] * load<V>(from[0] + j);
#pragma GCC unroll 8
      for (int q = 1; q < rows_at_once; ++q) sum += own[q] * load<V>(from[q] + j);
      store<Doubles>(out + j, load<Doubles>(out + j) + __builtin_convertvector(sum, Doubles));
    }
    for (; j < end; ++j) {
      T sum = T(0);
      for (int q = 0; q < rows_at_once; ++q) sum += coef[q] * from[q][j];
      out[j] += static_cast<double>(sum);
    }
  }
};

}  // namespace

template <class T>
void apply_stored(std::span<const T* const> rows, const T* coef, index_t columns, double* out,
                  RunControl& run) {
  // 1024 decision values (8 kB) stay in the first-level cache while all rows pass.
  constexpr index_t chunk = 1024;
  // A few million products are done before a thread has woken up.
  const bool small = static_cast<index_t>(rows.size()) * columns < 2'000'000;
  const index_t step = small ? std::max<index_t>(columns, 1) : chunk;
  run.parallel_for((columns + step - 1) / step, [&](index_t task) {
    for (index_t j = task * step; j < std::min((task + 1) * step, columns); j += chunk)
      on_this_cpu<AxpyLoop<T>, const T* const*, const T*, index_t, index_t, index_t, double*>(
          rows.data(), coef, static_cast<index_t>(rows.size()), j, std::min(j + chunk, columns),
          out);
  });
}

template void apply_stored<float>(std::span<const float* const>, const float*, index_t, double*,
                                  RunControl&);
template void apply_stored<double>(std::span<const double* const>, const double*, index_t, double*,
                                   RunControl&);

namespace {

template <class T>
class MatrixRows final : public KernelRows<T> {
 public:
  MatrixRows(DenseArray<T> matrix, std::vector<index_t> starts)
      : KernelRows<T>(std::move(starts)), matrix_(matrix) {
    this->diagonal_.resize(static_cast<std::size_t>(this->size()));
    for (index_t i = 0; i < this->size(); ++i)
      this->diagonal_[static_cast<std::size_t>(i)] = static_cast<double>(at(i, i));
  }

  double work_per_entry() const override { return 1.0; }
  bool stored() const override { return true; }

  void store_rows(Rows rows, int segment, T* out, index_t stride, RunControl&) const override {
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (index_t j = 0; j < this->length(segment); ++j)
        out[static_cast<index_t>(r) * stride + j] = at(rows[r], this->begin(segment) + j);
  }

  void apply_rows(Rows rows, const T* coef, int segment, double* out,
                  RunControl& run) const override {
    std::vector<const T*> pointers;
    for (const index_t i : rows)
      pointers.push_back(matrix_.data + i * matrix_.row_stride + this->begin(segment));
    apply_stored<T>(pointers, coef, this->length(segment), out, run);
  }

  void between(Rows rows, Rows columns, T* out, index_t stride, RunControl& run) const override {
    const std::vector<std::int32_t> short_columns(columns.begin(), columns.end());
    constexpr index_t chunk = 64;
    const auto count = static_cast<index_t>(rows.size());
    run.parallel_for((count + chunk - 1) / chunk, [&](index_t task) {
      for (index_t a = task * chunk; a < std::min((task + 1) * chunk, count); ++a) {
        const T* from = matrix_.data + rows[static_cast<std::size_t>(a)] * matrix_.row_stride;
        T* to = out + a * stride;
        for (const std::int32_t column : short_columns) *to++ = from[column];
      }
    });
  }

 private:
  T at(index_t i, index_t j) const { return matrix_.data[i * matrix_.row_stride + j]; }
  DenseArray<T> matrix_;
};

}  // namespace

template <class T>
std::unique_ptr<KernelRows<T>> matrix_rows(DenseArray<T> matrix, std::vector<index_t> starts) {
  return std::make_unique<MatrixRows<T>>(matrix, std::move(starts));
}

template std::unique_ptr<KernelRows<float>> matrix_rows<float>(DenseArray<float>,
                                                               std::vector<index_t>);
template std::unique_ptr<KernelRows<double>> matrix_rows<double>(DenseArray<double>,
                                                                 std::vector<index_t>);

}  // namespace psvm
