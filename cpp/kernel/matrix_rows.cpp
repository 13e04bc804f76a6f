// Kernel rows that lie in memory already: a precomputed matrix, and the product with stored rows.
#include <algorithm>
#include <cstdint>

#include "kernel/kernel_rows.hpp"

namespace psvm {
namespace {

// out[q * stride + j] += sum_r coef[q * count + r] * rows[r][j], eight rows and up to four combinations
// q at a time: float sums of these, double sums of all (four rows measured 1.2 times slower).
template <class T>
struct CombineLoop {
  static constexpr int R = 8;

  struct Job {
    const T* const* rows;
    const T* coef;
    index_t count, combinations;
    double* out;
    index_t stride;
  };

  template <class Arch>
  static PSVM_INLINE void run(const Job* job, index_t begin, index_t end) {
    index_t r = 0;
    for (; r + R <= job->count; r += R) all_combinations<Arch, R>(*job, r, begin, end);
    if (r + 4 <= job->count) {
      all_combinations<Arch, 4>(*job, r, begin, end);
      r += 4;
    }
    for (; r < job->count; ++r) all_combinations<Arch, 1>(*job, r, begin, end);
  }

  template <class Arch, int rows>
  static PSVM_INLINE void all_combinations(const Job& job, index_t r, index_t begin, index_t end) {
    index_t q = 0;
    for (; q + 4 <= job.combinations; q += 4) several<Arch, rows, 4>(job, r, q, begin, end);
    if (q + 2 <= job.combinations) {
      several<Arch, rows, 2>(job, r, q, begin, end);
      q += 2;
    }
    if (q < job.combinations) several<Arch, rows, 1>(job, r, q, begin, end);
  }

  template <class Arch, int rows, int combinations>
  static PSVM_INLINE void several(const Job& job, index_t r, index_t q, index_t begin,
                                  index_t end) {
    // As many as a register of double holds.
    typedef T V __attribute__((vector_size(Arch::register_bytes / sizeof(double) * sizeof(T))));
    using Doubles = Vec<double, Arch>;
    const T* from[rows];
    V own[combinations][rows];
    double* out[combinations];
    for (int a = 0; a < rows; ++a) from[a] = job.rows[r + a];
    for (int b = 0; b < combinations; ++b) {
      for (int a = 0; a < rows; ++a)
        own[b][a] = broadcast<V>(job.coef[(q + b) * job.count + r + a]);
      out[b] = job.out + (q + b) * job.stride;
    }
    index_t j = begin;
    for (; j + width<V> <= end; j += width<V>) {
      V sum[combinations];
      const V first = load<V>(from[0] + j);
#pragma GCC unroll 4
      for (int b = 0; b < combinations; ++b) sum[b] = own[b][0] * first;
#pragma GCC unroll 8
      for (int a = 1; a < rows; ++a) {
        const V next = load<V>(from[a] + j);
#pragma GCC unroll 4
        for (int b = 0; b < combinations; ++b) sum[b] += own[b][a] * next;
      }
#pragma GCC unroll 4
      for (int b = 0; b < combinations; ++b)
        store<Doubles>(out[b] + j,
                       load<Doubles>(out[b] + j) + __builtin_convertvector(sum[b], Doubles));
    }
    for (; j < end; ++j)
      for (int b = 0; b < combinations; ++b) {
        T sum = T(0);
        for (int a = 0; a < rows; ++a) sum += own[b][a][0] * from[a][j];
        out[b][j] += static_cast<double>(sum);
      }
  }
};

}  // namespace

template <class T>
void combine_stored(std::span<const T* const> rows, const T* coef, index_t combinations,
                    index_t columns, double* out, index_t stride, RunControl& run) {
  // 1024 decision values (8 kB) stay in the first-level cache while all rows pass.
  constexpr index_t chunk = 1024;
  const auto count = static_cast<index_t>(rows.size());
  // A few million products are done before a thread has woken up.
  const bool small = count * columns * combinations < 2'000'000;
  const index_t step = small ? std::max<index_t>(columns, 1) : chunk;
  using Loop = CombineLoop<T>;
  const typename Loop::Job job{rows.data(), coef, count, combinations, out, stride};
  run.parallel_for((columns + step - 1) / step, [&](index_t task) {
    for (index_t j = task * step; j < std::min((task + 1) * step, columns); j += chunk)
      on_this_cpu<Loop, const typename Loop::Job*, index_t, index_t>(&job, j,
                                                                     std::min(j + chunk, columns));
  });
}

template void combine_stored<float>(std::span<const float* const>, const float*, index_t, index_t,
                                    double*, index_t, RunControl&);
template void combine_stored<double>(std::span<const double* const>, const double*, index_t,
                                     index_t, double*, index_t, RunControl&);

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
