// The Cholesky factor of a small positive definite matrix.
//
// In panels of eight columns, from the left: what the finished columns take off a panel is a product of
// rows with the panel's own rows, transposed, so that registers hold a tile of it. Eight panels at a
// time, so that rows are read from memory once for all of these. (200 unknowns: 0.3 ms; a system of
// LAPACK's takes a call into Python, and its threads spin on the cores of others.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/aligned.hpp"
#include "base/run_control.hpp"
#include "base/simd.hpp"

namespace psvm {

class Cholesky {
 public:
  using index = std::ptrdiff_t;
  static constexpr index panel = lanes<double>;

  // Makes room for n unknowns; the caller fills in `row(i)[j]` for j <= i.
  void resize(index n) {
    n_ = n;
    padded_ = (n + panel - 1) / panel * panel;
    // An odd number of cache lines: rows a power of two apart would share a cache set.
    stride_ = (padded_ / panel | 1) * panel;
    entries_.make_room_for(static_cast<std::size_t>(padded_ * stride_));
    above_.make_room_for(static_cast<std::size_t>(padded_ * strip));
    for (index i = n; i < padded_; ++i) {
      std::fill(row(i), row(i) + i, 0.0);
      row(i)[i] = 1.0;
    }
  }
  index size() const { return n_; }
  double* row(index i) { return entries_.data() + i * stride_; }
  const double* row(index i) const { return entries_.data() + i * stride_; }

  // Replaces the lower triangle by its factor. False, and of no use, if a pivot is not above `least`
  // times the largest diagonal entry; with `held` such rows are put on that list instead, and solutions
  // leave their unknowns at 0. On the threads of a run, if there is one.
  bool factor(double least, std::vector<index>* held = nullptr, RunControl* run = nullptr) {
    held_ = held;
    if (held) held->clear();
    double largest = 0.0;
    for (index i = 0; i < n_; ++i) largest = std::max(largest, row(i)[i]);
    bool positive = true;
    for (index begin = 0; begin < padded_ && positive; begin += strip) {
      const index end = std::min(begin + strip, padded_);
      if (begin > 0) take_off(begin, end, run);
      for (index first = begin; first < end && positive; first += panel) {
        copy_above(first, begin, first, above_.data());
        subtract(above_.data(), first, begin, first, first, padded_);
        positive = finish(first, least * largest);
      }
    }
    return positive && std::isfinite(largest);
  }

  // x becomes the solution of (L L') x = x.
  void solve(double* x) const {
    for (index i = 0; i < n_; ++i) {
      double sum = 0.0;
      on_this_cpu<Dot, const double*, const double*, index, double*>(row(i), x, i, &sum);
      x[i] = (x[i] - sum) / row(i)[i];
    }
    for (index i = n_ - 1; i >= 0; --i) {
      x[i] /= row(i)[i];
      on_this_cpu<Axpy, const double*, double, double*, index>(row(i), -x[i], x, i);
    }
  }

  struct Dot {
    template <class Arch>
    static PSVM_INLINE void run(const double* a, const double* b, index n, double* out) {
      using V = Vec<double, Arch>;
      constexpr index W = width<V>;
      V sums[4] = {};
      index k = 0;
      for (; k + 4 * W <= n; k += 4 * W)
        for (index v = 0; v < 4; ++v) sums[v] += load<V>(a + k + v * W) * load<V>(b + k + v * W);
      double sum = sum_of<V>((sums[0] + sums[1]) + (sums[2] + sums[3]));
      for (; k < n; ++k) sum += a[k] * b[k];
      *out = sum;
    }
  };

  // y += factor x
  struct Axpy {
    template <class Arch>
    static PSVM_INLINE void run(const double* x, double factor, double* y, index n) {
      using V = Vec<double, Arch>;
      constexpr index W = width<V>;
      const V times = broadcast<V>(factor);
      index k = 0;
      for (; k + W <= n; k += W) store<V>(y + k, load<V>(y + k) + times * load<V>(x + k));
      for (; k < n; ++k) y[k] += factor * x[k];
    }
  };

 private:
  static std::size_t at(index k) { return static_cast<std::size_t>(k); }

  // Columns [begin, end) of a panel's own rows, transposed.
  void copy_above(index first, index begin, index end, double* above) {
    for (index k = begin; k < end; ++k)
      for (index c = 0; c < panel; ++c) *above++ = row(first + c)[k];
  }

  // Takes the columns before a strip off it, for all rows from its own on.
  void take_off(index begin, index end, RunControl* run) {
    for (index first = begin; first < end; first += panel)
      copy_above(first, 0, begin, above_.data() + (first - begin) * begin);
    const auto rows = [&](index task) {
      const index top = begin + task * strip, bottom = std::min(top + strip, padded_);
      for (index first = begin; first < end; first += panel)
        subtract(above_.data() + (first - begin) * begin, first, 0, begin, std::max(top, first),
                 bottom);
    };
    const index tasks = (padded_ - begin + strip - 1) / strip;
    if (run && tasks * begin >= many)
      run->parallel_for(tasks, rows);
    else
      for (index task = 0; task < tasks; ++task) rows(task);
  }

  void subtract(const double* above, index first, index begin, index end, index top, index bottom) {
    if (begin < end)
      on_this_cpu<Subtract, double*, index, const double*, index, index, index, index, index>(
          entries_.data(), stride_, above, first, begin, end, top, bottom);
  }

  // Takes columns [begin, end) off the panel at `first`, for rows [top, bottom): tiles of as many rows
  // as registers hold.
  struct Subtract {
    template <class Arch>
    static PSVM_INLINE void run(double* entries, index stride, const double* above, index first,
                                index begin, index end, index top, index bottom) {
      using V = Vec<double, Arch>;
      constexpr index W = width<V>, N = panel / W, R = N == 1 ? 8 : 4;
      for (index i0 = top; i0 < bottom; i0 += R) {
        V tile[R][N];
        double* out = entries + i0 * stride + first;
        const double *own = entries + i0 * stride, *column_of = above;
        for (index r = 0; r < R; ++r)
          for (index v = 0; v < N; ++v) tile[r][v] = V{};
        for (index k = begin; k < end; ++k, column_of += panel)
          for (index v = 0; v < N; ++v) {
            const V column = load<V>(column_of + v * W);
            for (index r = 0; r < R; ++r) tile[r][v] += splat<V>(own + r * stride + k) * column;
          }
        for (index r = 0; r < R; ++r)
          for (index v = 0; v < N; ++v)
            store<V>(out + r * stride + v * W, load<V>(out + r * stride + v * W) - tile[r][v]);
      }
    }
  };

  // The panel's own triangle, and the rows below it, which its inverse takes one product each.
  bool finish(index first, double least) {
    double columns[panel][panel] = {}, inverse[panel][panel] = {};  // both transposed
    for (index i = 0; i < panel; ++i) {
      const double* own = row(first + i) + first;
      for (index j = 0; j <= i; ++j) columns[j][i] = own[j];
      inverse[i][i] = 1.0;
    }
    for (index j = 0; j < panel; ++j) {
      double& pivot = columns[j][j];
      if (first + j < n_ && !(pivot > least)) {  // the padding is not asked
        if (!held_ || std::isnan(pivot)) return false;
        held_->push_back(first + j);
        pivot = infinite;
      }
      on_this_cpu<Eliminate, double*, double*, index>(columns[0], inverse[0], j);
    }
    for (index i = 0; i < panel; ++i) {
      double* own = row(first + i) + first;
      for (index j = 0; j <= i; ++j) own[j] = columns[j][i];
    }
    on_this_cpu<Below, double*, index, const double*, index>(row(first + panel) + first, stride_,
                                                             inverse[0], padded_ - first - panel);
    return true;
  }

  // Divides column j by the root of its pivot, and takes it off those to the right; the same in the
  // inverse, a column of which is a multiple of it below row j. Whole vectors, for sums one entry at a
  // time wait for each other (21 unknowns: 0.7 us in all instead of 1.2).
  struct Eliminate {
    template <class Arch>
    static PSVM_INLINE void run(double* columns, double* inverse, index j) {
      using V = Vec<double, Arch>;
      constexpr index W = width<V>, N = panel / W;
      double* own = columns + j * panel;
      const double root = std::sqrt(own[j]), factor = 1.0 / root;
      std::fill(own, own + j + 1, 0.0);  // others were taken off above the diagonal, too
      V column[N];
      for (index v = 0; v < N; ++v) {
        column[v] = load<V>(own + v * W) * factor;
        store<V>(own + v * W, column[v]);
      }
      for (index k = j + 1; k < panel; ++k) subtract(columns + k * panel, own[k], column);
      for (index k = 0; k <= j; ++k) {
        double* other = inverse + k * panel;
        const double times = other[j] * factor;
        subtract(other, times, column);
        other[j] = times;
      }
      own[j] = root;
    }

   private:
    template <class V, std::size_t N>
    static PSVM_INLINE void subtract(double* from, double times, const V (&column)[N]) {
      constexpr index W = width<V>;
      for (std::size_t v = 0; v < N; ++v) {
        double* at = from + static_cast<index>(v) * W;
        store<V>(at, load<V>(at) - times * column[v]);
      }
    }
  };

  struct Below {
    template <class Arch>
    static PSVM_INLINE void run(double* entries, index stride, const double* inverse, index rows) {
      using V = Vec<double, Arch>;
      constexpr index W = width<V>, N = panel / W;
      for (index i = 0; i < rows; ++i) {
        double* own = entries + i * stride;
        V out[N];
        for (index v = 0; v < N; ++v) out[v] = V{};
        for (index k = 0; k < panel; ++k)
          for (index v = 0; v < N; ++v)
            out[v] += splat<V>(own + k) * load<V>(inverse + k * panel + v * W);
        for (index v = 0; v < N; ++v) store<V>(own + v * W, out[v]);
      }
    }
  };

  // Columns of a strip, and of how many rows and columns times that it takes threads to be taken off.
  static constexpr index strip = 8 * panel, many = 2048;
  // Of a pivot that lets nothing through, and still has an inverse.
  static constexpr double infinite = 1e300;

  std::vector<index>* held_ = nullptr;
  index n_ = 0, padded_ = 0, stride_ = 0;
  AlignedMemory<double> entries_, above_;
};

}  // namespace psvm
