// The inner loops of dense kernel rows: packed rows against packed columns, a register tile at a time.
//
// A tile accumulates tile_rows x tile_panels panels of entries over all features in registers,
// finishes them (exp2, ...), and either stores them or adds one or several combinations of them to
// the decision values, the entry never leaving the registers.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/simd.hpp"
#include "kernel/kernel_rows.hpp"

namespace psvm {

// A rectangle of tiles: packed rows against some column panels of one segment.
template <class T>
struct TileJob {
  const T* row_panels;  // row_panel_count x d x tile_rows
  const T* row_norms;   // half squared norms, padded
  const T* coef;        // one per row, padded with 0; null to store
  index_t rows;         // true number of rows
  const T* col_panels;  // first column panel of this job
  const T* col_norms;   // padded to whole panels
  index_t columns;      // true number of columns of this job
  index_t features;
  T* stored;  // store: stored[r * stride + j]
  index_t stride;
  double* applied;  // apply: applied[j] += sum_r coef[r] K_rj
  // apply mirrored: also row_applied[r] += sum_j col_coef[j] K_rj; col_coef is padded with 0
  const T* col_coef;
  double* row_applied;
  // combine: coef holds combinations x tile_rows values per row panel, `combined` combinations x
  // lanes sums per column panel.
  index_t combinations;
  T* combined;
};

// What the loops over tiles have in common: tile_rows x P panels of columns.
template <class T, class Kernel, class Arch, int P>
struct Tile {
  using V = Vec<T, Arch>;
  static constexpr int R = Arch::tile_rows, L = lanes<T>, W = width<V>, N = P * L / W;

  static PSVM_INLINE void entries(const TileJob<T>& job, const Kernel& kernel, index_t row0,
                                  index_t col0, V (&entry)[R][N]) {
    if constexpr (Kernel::accumulate == Accumulate::bytes)
      accumulate_bytes(job, row0, col0, entry);
    else
      accumulate(job, row0, col0, entry);
    if constexpr (Kernel::uses_norms && !norms_first<T>) {
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) {
        const V norm = load<V>(job.col_norms + col0 + v * W);
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r) entry[r][v] -= norm + job.row_norms[row0 + r];
      }
    }
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) entry[r][v] = kernel.template finish<V>(entry[r][v]);
  }

  // Adds the sum of the rows, times their coefficients, to the decision values.
  static PSVM_INLINE void add(const TileJob<T>& job, index_t row0, index_t col0,
                              const V (&entry)[R][N]) {
    const T* coef = job.coef + row0;
    alignas(64) T total[P * L];
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) {
      V part{};
#pragma GCC unroll 12
      for (int r = 0; r < R; ++r) part += entry[r][v] * coef[r];
      store<V>(total + v * W, part);
    }
    const index_t used = std::min<index_t>(P * L, job.columns - col0);
    double* out = job.applied + col0;
    if (used == P * L)
      for (int j = 0; j < P * L; ++j) out[j] += static_cast<double>(total[j]);
    else
      for (index_t j = 0; j < used; ++j) out[j] += static_cast<double>(total[j]);
  }

 private:
  // Squared distances of rows of bytes, exact until they are rounded to float. Bytes are less 128, and
  // signed; those of the columns get it back, for which the half norms of rows hold 128 times their sum.
  static PSVM_INLINE void accumulate_bytes(const TileJob<T>& job, index_t row0, index_t col0,
                                           V (&distance)[R][N]) {
    using I = VecInt<T, Arch>;
    const index_t d = job.features;
    const T* row_panel = job.row_panels + row0 * d;
    const T* col_panel = job.col_panels + col0 * d;
    const I offset = I{} + static_cast<std::int32_t>(0x80808080u);
    I sum[R][N] = {};
    for (index_t k = 0; k < d; ++k) {
      I column[N];
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) column[v] = words<I>(col_panel + k * L + place(v, d)) ^ offset;
      const T* x = row_panel + k * R;
#pragma GCC unroll 12
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < N; ++v) sum[r][v] = add_byte_products<I>(sum[r][v], column[v], x + r);
    }
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) {
      const I norm = words<I>(job.col_norms + col0 + v * W);
#pragma GCC unroll 12
      for (int r = 0; r < R; ++r) {
        std::int32_t own;
        std::memcpy(&own, job.row_norms + row0 + r, sizeof own);
        distance[r][v] = __builtin_convertvector(norm + own - 2 * sum[r][v], V);
      }
    }
  }
  template <class I>
  static PSVM_INLINE I words(const T* from) {
    I v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }

  // Where vector v of a feature is, from vector 0 on, in panels of d features.
  static constexpr index_t place(int v, index_t d) { return v * W / L * d * L + v * W % L; }

  // The sums over all features, not finished.
  static PSVM_INLINE void accumulate(const TileJob<T>& job, index_t row0, index_t col0,
                                     V (&sum)[R][N]) {
    const index_t d = job.features;
    const T* row_panel = job.row_panels + row0 * d;
    const T* col_panel = job.col_panels + col0 * d;
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) {
      V norm{};
      if constexpr (Kernel::uses_norms && norms_first<T>)
        norm = load<V>(job.col_norms + col0 + v * W);
#pragma GCC unroll 12
      for (int r = 0; r < R; ++r)
        if constexpr (Kernel::uses_norms && norms_first<T>)
          sum[r][v] = -(norm + job.row_norms[row0 + r]);
        else
          sum[r][v] = V{};
    }
    for (index_t k = 0; k < d; ++k) {
      V column[N];
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) column[v] = load<V>(col_panel + k * L + place(v, d));
      const T* x = row_panel + k * R;
#pragma GCC unroll 12
      for (int r = 0; r < R; ++r) {
        const V own = splat<V>(x + r);
#pragma GCC unroll 4
        for (int v = 0; v < N; ++v) {
          if constexpr (Kernel::accumulate == Accumulate::dot) {
            sum[r][v] += column[v] * own;
          } else if constexpr (Kernel::accumulate == Accumulate::squared_distance) {
            const V difference = column[v] - own;
            sum[r][v] += difference * difference;
          } else {
            sum[r][v] += vabs<V>(column[v] - own);
          }
        }
      }
    }
  }
};

// Half squared norms of the columns of a panel, summed as products in a tile are.
template <class T>
struct NormLoop {
  template <class Arch>
  static PSVM_INLINE void run(const T* panel, index_t features, T* norms) {
    using V = Vec<T, Arch>;
    for (int at = 0; at < lanes<T>; at += width<V>) {
      V sum{};
      for (index_t k = 0; k < features; ++k) {
        const V column = load<V>(panel + k * lanes<T> + at);
        sum += column * column;
      }
      store<V>(norms + at, sum * T(0.5));
    }
  }
};

template <class T, class Kernel>
struct TileLoop {
  template <class Arch>
  static PSVM_INLINE void run(const TileJob<T>* given, const Kernel* kernel) {
    constexpr int R = Arch::tile_rows, L = lanes<T>, P = Arch::tile_panels;
    const TileJob<T> job = *given;  // a copy: what is stored may not be part of it
    for (index_t row0 = 0; row0 < job.rows; row0 += R) {
      index_t col0 = 0;
      for (; col0 + (P - 1) * L < job.columns; col0 += P * L)
        tile<Arch, P>(job, *kernel, row0, col0);
      if constexpr (P > 1)
        for (; col0 < job.columns; col0 += L) tile<Arch, 1>(job, *kernel, row0, col0);
    }
  }

  template <class Arch, int P>
  static PSVM_INLINE void tile(const TileJob<T>& job, const Kernel& kernel, index_t row0,
                               index_t col0) {
    using OneTile = Tile<T, Kernel, Arch, P>;
    using V = Vec<T, Arch>;
    constexpr int R = OneTile::R, L = OneTile::L, W = OneTile::W, N = OneTile::N;
    V entry[R][N];
    OneTile::entries(job, kernel, row0, col0, entry);
    if (job.combinations > 0) {
#pragma GCC unroll 2
      for (int panel = 0; panel < P; ++panel) {
        constexpr int M = L / W;
        const T* coef = job.coef + row0 * job.combinations;
        T* total = job.combined + (col0 + panel * L) * job.combinations;
        for (index_t q = 0; q < job.combinations; ++q, coef += R, total += L) {
          // Summed on their own first, which rounds less than one by one.
          V part[M];
#pragma GCC unroll 4
          for (int v = 0; v < M; ++v) part[v] = V{};
#pragma GCC unroll 12
          for (int r = 0; r < R; ++r) {
            const V own = splat<V>(coef + r);
#pragma GCC unroll 4
            for (int v = 0; v < M; ++v) part[v] += entry[r][panel * M + v] * own;
          }
#pragma GCC unroll 4
          for (int v = 0; v < M; ++v) store<V>(total + v * W, load<V>(total + v * W) + part[v]);
        }
      }
    } else if (job.coef) {
      OneTile::add(job, row0, col0, entry);
    } else {
      T* out = job.stored + row0 * job.stride + col0;
      const index_t used_rows = std::min<index_t>(R, job.rows - row0);
      const index_t used_columns = std::min<index_t>(P * L, job.columns - col0);
      if (used_rows == R && used_columns == P * L) {
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r, out += job.stride)
#pragma GCC unroll 4
          for (int v = 0; v < N; ++v) store<V>(out + v * W, entry[r][v]);
      } else {
        alignas(64) T all[R][P * L];
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
          for (int v = 0; v < N; ++v) store<V>(all[r] + v * W, entry[r][v]);
        for (index_t r = 0; r < used_rows; ++r, out += job.stride)
          std::memcpy(out, all[r], static_cast<std::size_t>(used_columns) * sizeof(T));
      }
    }
  }
};

// Applies entries off the diagonal of a symmetric matrix together with their mirror images.
template <class T, class Kernel>
struct MirroredTileLoop {
  template <class Arch>
  static PSVM_INLINE void run(const TileJob<T>* given, const Kernel* kernel) {
    constexpr int R = Arch::tile_rows, L = lanes<T>, P = Arch::tile_panels;
    using V = Vec<T, Arch>;
    const TileJob<T> job = *given;
    for (index_t row0 = 0; row0 < job.rows; row0 += R) {
      alignas(64) V row_sum[R];
      for (int r = 0; r < R; ++r) row_sum[r] = V{};
      index_t col0 = 0;
      for (; col0 + (P - 1) * L < job.columns; col0 += P * L)
        tile<Arch, P>(job, *kernel, row0, col0, row_sum);
      if constexpr (P > 1)
        for (; col0 < job.columns; col0 += L) tile<Arch, 1>(job, *kernel, row0, col0, row_sum);
      for (index_t r = 0; r < std::min<index_t>(R, job.rows - row0); ++r)
        job.row_applied[row0 + r] += static_cast<double>(sum_of<V>(row_sum[r]));
    }
  }

  template <class Arch, int P>
  static PSVM_INLINE void tile(const TileJob<T>& job, const Kernel& kernel, index_t row0,
                               index_t col0, Vec<T, Arch>* row_sum) {
    using OneTile = Tile<T, Kernel, Arch, P>;
    using V = Vec<T, Arch>;
    constexpr int R = OneTile::R, W = OneTile::W, N = OneTile::N;
    V entry[R][N];
    OneTile::entries(job, kernel, row0, col0, entry);
    OneTile::add(job, row0, col0, entry);
    V own[N];
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) own[v] = load<V>(job.col_coef + col0 + v * W);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      V sum = row_sum[r];
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) sum += entry[r][v] * own[v];
      row_sum[r] = sum;
    }
  }
};

}  // namespace psvm
