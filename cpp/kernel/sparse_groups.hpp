// The inner loops of sparse kernel rows: a scattered group of rows against columns, one after the other.
//
// A distance is what a row and a column have in common taken from their norms. Where little is left of
// these, digits are lost, and the differences of all features are summed instead.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/simd.hpp"
#include "kernel/kernel_rows.hpp"

namespace psvm {

// Share of the norms of a row and a column below which their distance is summed again: above it the
// norms cost six bits at most, and of ordinary data only rows that are nearly equal are below.
inline constexpr double close_share = 1.0 / 64.0;
// Rows of a group, close to a column, up to which each walks its own nonzeros: not those of all rows.
inline constexpr int few_close = 4;

template <class T, class Arch, int registers>
inline constexpr int group_rows = registers * width<Vec<T, Arch>>;

template <class T, class I>
struct GroupJob {
  const T* buffer;                        // d x group: the scattered rows
  const T* row_norms;                     // half squared norms, padded
  const T* row_absolute;                  // sums of absolute values, padded
  const T* coef;                          // padded with 0; null to store
  index_t rows;                           // true number of rows of the group
  const std::span<const I>* row_indices;  // of their nonzeros, in increasing order
  std::vector<I>* features;               // of them all, once they are needed; empty before
  const T* data;                          // of all columns
  const I* indices;
  const index_t* offsets;  // of the first column of this job, one more than columns
  const T *col_norms, *col_absolute;
  index_t columns;
  T* stored;
  index_t stride;
  double* applied;
  // If not null, entries are applied mirrored as well: row_sums[r] += sum_j col_coef[j] K_rj, padded.
  const T* col_coef;
  T* row_sums;
};

// The features of all rows of a group, in increasing order.
template <class T, class I>
void find_features(const GroupJob<T, I>& job) {
  for (index_t r = 0; r < job.rows; ++r)
    job.features->insert(job.features->end(), job.row_indices[r].begin(), job.row_indices[r].end());
  std::sort(job.features->begin(), job.features->end());
  job.features->erase(std::unique(job.features->begin(), job.features->end()), job.features->end());
}

template <class T, class I, class Kernel, int N>
struct GroupLoop {
  static constexpr Accumulate how = Kernel::accumulate;
  // A sum of absolute values loses few digits to its norms: in float no more than the rows have lost.
  static constexpr bool may_cancel = how == Accumulate::squared_distance ||
                                     (how == Accumulate::absolute_distance && !norms_first<T>);

  template <class Arch>
  static PSVM_INLINE void run(const GroupJob<T, I>* job, const Kernel* kernel) {
    using V = Vec<T, Arch>;
    constexpr int G = group_rows<T, Arch, N>, W = width<V>;
    constexpr int columns_at_once = lanes<T>;
    alignas(64) T tile[columns_at_once * G];
    for (index_t j0 = 0; j0 < job->columns; j0 += columns_at_once) {
      const index_t used = std::min<index_t>(columns_at_once, job->columns - j0);
      for (index_t c = 0; c < used; ++c) {
        const index_t j = j0 + c;
        V sum[N];
        from_norms<Arch>(*job, j, sum);
        T* entries = tile + c * G;
#pragma GCC unroll 8
        for (int v = 0; v < N; ++v) store<V>(entries + v * W, kernel->template finish<V>(sum[v]));
        if (job->coef) {
          V total{};
          for (int v = 0; v < N; ++v)
            total += load<V>(entries + v * W) * load<V>(job->coef + v * W);
          job->applied[j] += static_cast<double>(sum_of<V>(total));
        }
        if (job->col_coef) {
          const V own = splat<V>(job->col_coef + j);
#pragma GCC unroll 8
          for (int v = 0; v < N; ++v)
            store<V>(job->row_sums + v * W,
                     load<V>(job->row_sums + v * W) + load<V>(entries + v * W) * own);
        }
      }
      if (!job->coef)
        for (index_t r = 0; r < job->rows; ++r)
          for (index_t c = 0; c < used; ++c)
            job->stored[r * job->stride + j0 + c] = tile[c * G + r];
    }
  }

 private:
  // Sums for a column and the rows from what they have in common, and their norms.
  template <class Arch, class V = Vec<T, Arch>>
  static PSVM_INLINE void from_norms(const GroupJob<T, I>& job, index_t j, V (&sum)[N]) {
    constexpr int G = group_rows<T, Arch, N>, W = width<V>;
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) {
      sum[v] = V{};
      if constexpr (Kernel::uses_norms && norms_first<T>)
        sum[v] = -(load<V>(job.row_norms + v * W) + job.col_norms[j]);
      if constexpr (how == Accumulate::absolute_distance)
        sum[v] = load<V>(job.row_absolute + v * W);
    }
    for (index_t at = job.offsets[j]; at < job.offsets[j + 1]; ++at) {
      const T* rows = job.buffer + static_cast<index_t>(job.indices[at]) * G;
      const V own = splat<V>(job.data + at);
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) {
        const V x = load<V>(rows + v * W);
        if constexpr (how == Accumulate::absolute_distance)
          sum[v] += vabs<V>(x - own) - vabs<V>(x);
        else
          sum[v] = add_product<Arch, V>(sum[v], x, own);
      }
    }
    if constexpr (Kernel::uses_norms && !norms_first<T>)
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) sum[v] -= load<V>(job.row_norms + v * W) + job.col_norms[j];
    if constexpr (may_cancel)
      check_cancellation<Arch>(job, j, sum);
    else if constexpr (how == Accumulate::absolute_distance)
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) sum[v] = vmax<V>(sum[v], V{});
  }

  // Turns products into squared distances, and sums again for rows that are close to the column.
  template <class Arch, class V = Vec<T, Arch>>
  static PSVM_INLINE void check_cancellation(const GroupJob<T, I>& job, index_t j, V (&sum)[N]) {
    constexpr int G = group_rows<T, Arch, N>, W = width<V>;
    const auto limit = [&](int v) PSVM_INLINED {
      if constexpr (how == Accumulate::squared_distance)
        return (load<V>(job.row_norms + v * W) + job.col_norms[j]) * T(2.0 * close_share);
      else
        return (load<V>(job.row_absolute + v * W) + job.col_absolute[j]) * T(close_share);
    };
    Mask<V> far{};
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) {
      if constexpr (how == Accumulate::squared_distance)
        sum[v] = T(2) * (load<V>(job.row_norms + v * W) + job.col_norms[j] - sum[v]);
      const Mask<V> own = greater<V>(sum[v], limit(v));
      far = v ? static_cast<Mask<V>>(far & own) : own;
    }
    if (all_hold<V>(far)) return;
    // In memory, so that the loops above stay in registers.
    alignas(64) T sums[G], limits[G];
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) {
      store<V>(sums + v * W, sum[v]);
      store<V>(limits + v * W, limit(v));
    }
    sum_again<Arch>(job, j, limits, sums);
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) sum[v] = load<V>(sums + v * W);
  }

  // Sums from differences for the rows that are close to a column.
  template <class Arch>
  static PSVM_INLINE void sum_again(const GroupJob<T, I>& job, index_t j, const T* limits,
                                    T* sums) {
    constexpr int G = group_rows<T, Arch, N>;
    int count = 0;
    index_t close[few_close];
    for (index_t r = 0; r < job.rows && count <= few_close; ++r)
      if (!(sums[r] > limits[r]) && ++count <= few_close) close[count - 1] = r;
    if (count > few_close && job.features->empty()) find_features(job);
    alignas(64) T found[G];
    for (int k = 0; k < std::min(count, few_close); ++k) {
      const bool all = count > few_close;
      from_differences<Arch>(job, j, all ? *job.features : job.row_indices[close[k]], found);
      if (all) return static_cast<void>(std::copy_n(found, job.rows, sums));
      sums[close[k]] = found[close[k]];
    }
  }

  // Sums over the nonzeros of a column and the `features` of the rows asked for.
  template <class Arch>
  static PSVM_INLINE void from_differences(const GroupJob<T, I>& job, index_t j,
                                           std::span<const I> features, T* sums) {
    using V = Vec<T, Arch>;
    constexpr int G = group_rows<T, Arch, N>, W = width<V>;
    V sum[N];
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) sum[v] = V{};
    index_t at = job.offsets[j];
    const index_t end = job.offsets[j + 1];
    for (auto feature = features.begin(); at < end || feature != features.end();) {
      const bool of_column = at < end && (feature == features.end() || job.indices[at] <= *feature);
      const I k = of_column ? job.indices[at] : *feature;
      if (feature != features.end() && *feature == k) ++feature;
      const V own = of_column ? splat<V>(job.data + at++) : V{};
      const T* rows = job.buffer + static_cast<index_t>(k) * G;
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) {
        const V difference = load<V>(rows + v * W) - own;
        if constexpr (how == Accumulate::absolute_distance)
          sum[v] += vabs<V>(difference);
        else
          sum[v] += difference * difference;
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) store<V>(sums + v * W, sum[v]);
  }
};

// Half the squared norm of a point, summed as products in a group are.
template <class T>
struct PointNormLoop {
  template <class Arch>
  static PSVM_INLINE void run(const T* data, index_t count, T* norm) {
    using V = Vec<T, Arch>;
    V sum{};
    for (index_t k = 0; k < count; ++k) {
      const V own = splat<V>(data + k);
      sum = add_product<Arch, V>(sum, own, own);
    }
    *norm = T(0.5) * sum[0];
  }
};

}  // namespace psvm
