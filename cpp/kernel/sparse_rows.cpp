// Kernel rows of sparse features, never densified.
//
// A group of rows is scattered into a d x group buffer; every column then walks its own nonzeros
// once and serves the whole group with a few vector operations each. Nonzeros are kept as
// given (rbf is not centred: that would fill the matrix).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>

#include "base/aligned.hpp"
#include "kernel/entry_count.hpp"
#include "kernel/kernel_rows.hpp"
#include "kernel/sparse_groups.hpp"

namespace psvm {
namespace {

// Registers of a group, where its buffer would be too large for the cache, and where rows are few.
// With 2 the end of every column's loop, which the CPU cannot foresee, costs more than the products;
// with 8 it costs least (an entry of w8a, 12 nonzeros a row: 1.3 ns with 2, 0.9 with 4, 0.7 with 8).
constexpr int group_registers = 8, wide_registers = 4, few_registers = 2;
// Bytes of a buffer that is too large (mnist, 784 features: 10 ns an entry with 8 registers, 8 with 4).
constexpr index_t large_buffer = 128 * 1024;

template <class T, int registers>
int group_rows_here() {
  switch (this_cpu()) {
    case Cpu::avx512: return group_rows<T, Avx512, registers>;
    case Cpu::avx2: return group_rows<T, Avx2, registers>;
    default: return group_rows<T, Baseline, registers>;
  }
}

}  // namespace

template <class T, class I>
class SparsePoints final : public Points<T> {
 public:
  SparsePoints(index_t features, const KernelSpec& spec, std::vector<index_t> starts)
      : Points<T>(std::move(starts)), features_(features), spec_(spec) {}

  double work_per_entry() const override {
    return static_cast<double>(data_.size()) /
           static_cast<double>(std::max<index_t>(this->size(), 1));
  }

  // Appends one point from its scaled nonzeros.
  template <class Value>
  void add_point(const I* indices, index_t count, const Value& value) {
    if (offsets_.empty()) offsets_.push_back(0);
    double squared = 0.0, absolute = 0.0;
    for (index_t k = 0; k < count; ++k) {
      const T x = static_cast<T>(value(k));
      data_.push_back(x);
      indices_.push_back(indices[k]);
      squared += static_cast<double>(x) * static_cast<double>(x);
      absolute += std::abs(static_cast<double>(x));
    }
    offsets_.push_back(static_cast<index_t>(data_.size()));
    norms_.push_back(static_cast<T>(0.5 * squared));
    if constexpr (!norms_first<T>)
      on_this_cpu<PointNormLoop<T>, const T*, index_t, T*>(data_.data() + offsets_.end()[-2], count,
                                                           &norms_.back());
    absolute_.push_back(static_cast<T>(absolute));
    this->diagonal_.push_back(
        with_kernel(spec_, [&](auto kernel) { return diagonal_entry(kernel, squared); }));
  }

  void store_cross(const Points<T>& from, Rows rows, int segment, T* out, index_t stride,
                   RunControl& run) const override {
    groups(from, rows, nullptr, segment, out, stride, nullptr, run);
  }
  void apply_cross(const Points<T>& from, Rows rows, const T* coef, int segment, double* out,
                   RunControl& run) const override {
    groups(from, rows, coef, segment, nullptr, 0, out, run);
  }

  // Half of the entries are computed: a group of rows with itself and the columns after it, some groups
  // at a time. Every thread has sums of its own.
  void apply_all(const T* coef, double* out, RunControl& run) const override {
    const index_t n = this->size(), threads = run.threads();
    std::vector<index_t> every(static_cast<std::size_t>(n));
    std::iota(every.begin(), every.end(), index_t(0));
    count_entries(n, (n + 1) / 2);
    const GroupSize size = group_size(n);
    const index_t count = (n + size.rows - 1) / size.rows, batch = 16 * threads;
    std::vector<std::vector<double>> sums(static_cast<std::size_t>(threads));
    for (auto& own : sums) own.assign(static_cast<std::size_t>(n), 0.0);
    for (index_t first = 0; first < count; first += batch)
      run.parallel_for(threads, [&](index_t task) {
        double* own = sums[static_cast<std::size_t>(task)].data();
        GroupMemory memory(size.rows, features_);
        for (index_t g = first + task; g < std::min(first + batch, count) && !run.cancelled();
             g += threads) {
          const index_t begin = g * size.rows, end = std::min(begin + size.rows, n);
          const Rows rows = Rows(every).subspan(static_cast<std::size_t>(begin),
                                                static_cast<std::size_t>(end - begin));
          GroupJob<T, I> job{};
          job.applied = own + begin;
          run_group(*this, rows, coef + begin, size, begin, end - begin, job, memory);
          std::fill(memory.sums.begin(), memory.sums.end(), T(0));
          job.applied = own + end;
          job.col_coef = coef + end;
          job.row_sums = memory.sums.data();
          run_group(*this, rows, coef + begin, size, end, n - end, job, memory);
          for (index_t r = begin; r < end; ++r)
            own[r] += static_cast<double>(memory.sums[static_cast<std::size_t>(r - begin)]);
        }
      });
    for (const auto& own : sums)
      for (std::size_t k = 0; k < own.size(); ++k) out[k] += own[k];
  }

  std::vector<double> half_squared_norms() const override {
    return std::vector<double>(norms_.begin(), norms_.end());
  }

  double cancellation() const override {
    double largest = 0.0;
    for (std::size_t i = 0; i < norms_.size(); ++i) {
      const auto terms = static_cast<double>(offsets_[i + 1] - offsets_[i] + 2);
      const double own = terms * static_cast<double>(norms_[i]);
      largest = std::isnan(own) ? std::numeric_limits<double>::infinity() : std::max(largest, own);
    }
    return largest;
  }
  bool by_differences() const override { return spec_.by_differences.value_or(false); }

  std::unique_ptr<Points<T>> pick(Rows rows, RunControl&) const override {
    const auto count = static_cast<index_t>(rows.size());
    auto chosen = std::make_unique<SparsePoints>(features_, spec_, std::vector<index_t>{0, count});
    for (const index_t i : rows) {
      const auto at = static_cast<std::size_t>(i);
      const index_t first = offsets_[at];
      chosen->add_point(indices_.data() + first, offsets_[at + 1] - first,
                        [&](index_t k) { return data_[static_cast<std::size_t>(first + k)]; });
    }
    return chosen;
  }

 private:
  // Rows and registers of a group.
  struct GroupSize {
    index_t rows;
    int registers;
  };

  GroupSize group_size(index_t rows) const {
    const index_t whole = group_rows_here<T, group_registers>();
    if (rows <= group_rows_here<T, few_registers>())
      return {group_rows_here<T, few_registers>(), few_registers};
    if (features_ * whole * static_cast<index_t>(sizeof(T)) > large_buffer)
      return {group_rows_here<T, wide_registers>(), wide_registers};
    return {whole, group_registers};
  }

  // The scattered rows of a group, all 0 between two groups, and what else there is one of per row.
  struct GroupMemory {
    GroupMemory(index_t rows, index_t features)
        : buffer(static_cast<std::size_t>(std::max<index_t>(features, 1) * rows), T(0)),
          norms(static_cast<std::size_t>(rows)),
          absolute(static_cast<std::size_t>(rows)),
          coef(static_cast<std::size_t>(rows)),
          sums(static_cast<std::size_t>(rows)),
          indices(static_cast<std::size_t>(rows)) {}
    AlignedVector<T> buffer, norms, absolute, coef, sums;
    std::vector<std::span<const I>> indices;
    std::vector<I> features;
  };

  // Entries of a group of rows with `columns` columns from `first` on; `job` says what for.
  void run_group(const SparsePoints& source, Rows rows, const T* coef, GroupSize size,
                 index_t first, index_t columns, GroupJob<T, I> job, GroupMemory& memory) const {
    const index_t G = size.rows, used = static_cast<index_t>(rows.size());
    const auto scatter = [&](bool clear) {
      for (index_t r = 0; r < used; ++r) {
        const auto i = static_cast<std::size_t>(rows[static_cast<std::size_t>(r)]);
        for (index_t at = source.offsets_[i]; at < source.offsets_[i + 1]; ++at)
          memory.buffer[static_cast<std::size_t>(
              static_cast<index_t>(source.indices_[static_cast<std::size_t>(at)]) * G + r)] =
              clear ? T(0) : source.data_[static_cast<std::size_t>(at)];
      }
    };
    scatter(false);
    for (index_t r = 0; r < G; ++r) {
      const bool real = r < used;
      const auto at = static_cast<std::size_t>(r);
      const auto i = real ? static_cast<std::size_t>(rows[at]) : 0;
      memory.norms[at] = real ? source.norms_[i] : T(0);
      memory.absolute[at] = real ? source.absolute_[i] : T(0);
      memory.coef[at] = real && coef ? coef[r] : T(0);
      if (real)
        memory.indices[at] = {source.indices_.data() + source.offsets_[i],
                              source.indices_.data() + source.offsets_[i + 1]};
    }
    memory.features.clear();
    job.buffer = memory.buffer.data();
    job.row_norms = memory.norms.data();
    job.row_absolute = memory.absolute.data();
    job.coef = coef ? memory.coef.data() : nullptr;
    job.rows = used;
    job.row_indices = memory.indices.data();
    job.features = &memory.features;
    job.data = data_.data();
    job.indices = indices_.data();
    job.offsets = offsets_.data() + first;
    job.col_norms = norms_.data() + first;
    job.col_absolute = absolute_.data() + first;
    job.columns = columns;
    with_kernel(spec_, [&](auto kernel) {
      using Kernel = decltype(kernel);
      const auto loop = [&]<int registers>(std::integral_constant<int, registers>) {
        on_this_cpu<GroupLoop<T, I, Kernel, registers>, const GroupJob<T, I>*, const Kernel*>(
            &job, &kernel);
      };
      if (size.registers == few_registers)
        loop(std::integral_constant<int, few_registers>{});
      else if (size.registers == wide_registers)
        loop(std::integral_constant<int, wide_registers>{});
      else
        loop(std::integral_constant<int, group_registers>{});
    });
    scatter(true);
  }

  void groups(const Points<T>& from, Rows rows, const T* coef, int segment, T* stored,
              index_t stride, double* applied, RunControl& run) const {
    const auto& source = dynamic_cast<const SparsePoints&>(from);
    const auto count = static_cast<index_t>(rows.size());
    const GroupSize size = group_size(count);
    const index_t columns = this->length(segment), first = this->begin(segment);
    count_entries(count, columns);
    // Each chunk scatters every group again: chunks of at least 512 columns make that negligible. (Of a
    // small block it costs less than to leave threads without work.)
    const index_t threads = run.threads(), least = std::max<index_t>(128, columns / (2 * threads));
    const index_t chunk =
        std::max(std::min<index_t>(512, least), (columns + 8 * threads - 1) / (8 * threads));
    run.parallel_for((columns + chunk - 1) / chunk, [&](index_t task) {
      const index_t col0 = task * chunk;
      GroupMemory memory(size.rows, features_);
      for (index_t row0 = 0; row0 < count && !run.cancelled(); row0 += size.rows) {
        const index_t used = std::min<index_t>(size.rows, count - row0);
        GroupJob<T, I> job{};
        job.stored = stored ? stored + row0 * stride + col0 : nullptr;
        job.stride = stride;
        job.applied = applied ? applied + col0 : nullptr;
        run_group(source,
                  rows.subspan(static_cast<std::size_t>(row0), static_cast<std::size_t>(used)),
                  coef ? coef + row0 : nullptr, size, first + col0, std::min(chunk, columns - col0),
                  job, memory);
      }
    });
  }

  index_t features_;
  KernelSpec spec_;
  std::vector<T> data_, norms_, absolute_;
  std::vector<I> indices_;
  std::vector<index_t> offsets_;
};

template <class T, class S, class I>
std::unique_ptr<Points<T>> sparse_points(SparseArray<S, I> x, const KernelSpec& spec,
                                         std::vector<index_t> starts) {
  return packed_well<T>(
      spec, most_cancelled_sparse, [&](const KernelSpec& chosen) -> std::unique_ptr<Points<T>> {
        const double scale =
            with_kernel(chosen, [&](auto kernel) { return kernel.feature_scale(chosen); });
        auto points = std::make_unique<SparsePoints<T, I>>(x.columns, chosen, starts);
        for (index_t i = 0; i < x.rows; ++i) {
          const auto first = static_cast<index_t>(x.indptr[i]);
          points->add_point(
              x.indices + first, static_cast<index_t>(x.indptr[i + 1]) - first,
              [&](index_t k) { return scale * static_cast<double>(x.data[first + k]); });
        }
        return points;
      });
}

#define PSVM_SPARSE(T, S, I)                                                                       \
  template std::unique_ptr<Points<T>> sparse_points<T, S, I>(SparseArray<S, I>, const KernelSpec&, \
                                                             std::vector<index_t>);
#define PSVM_SPARSE_INDEX(I)    \
  PSVM_SPARSE(float, float, I)  \
  PSVM_SPARSE(float, double, I) \
  PSVM_SPARSE(double, float, I) \
  PSVM_SPARSE(double, double, I)
PSVM_SPARSE_INDEX(std::int32_t)
PSVM_SPARSE_INDEX(std::int64_t)

}  // namespace psvm
