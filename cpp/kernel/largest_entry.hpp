// The size of the largest entry of an array.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/simd.hpp"
#include "base/stretches.hpp"
#include "kernel/kernel_rows.hpp"

namespace psvm {

template <class S>
struct LargestLoop {
  template <class Arch>
  static PSVM_INLINE void run(const S* values, index_t size, double* largest) {
    using V = Vec<S, Arch>;
    constexpr int W = width<V>, chains = 4;
    V most[chains] = {};
    index_t k = 0;
    for (; k + chains * W <= size; k += chains * W)
      for (int v = 0; v < chains; ++v)
        most[v] = vmax<V>(vabs<V>(load<V>(values + k + v * W)), most[v]);
    S found = S(0);
    for (int v = 0; v < chains; ++v) found = std::max(found, largest_of<V>(most[v]));
    for (; k < size; ++k) found = std::max(found, std::abs(values[k]));
    *largest = static_cast<double>(found);
  }
};

// 0 of an empty one. NaN counts for nothing.
template <class S>
double largest_entry(const DenseArray<S>& x, RunControl& run) {
  constexpr index_t at_once = 1 << 17;  // entries
  const bool side_by_side = x.column_stride == 1 && x.row_stride == x.columns;
  const auto in_order = [&](index_t begin, index_t end) {
    double most = 0.0;
    on_this_cpu<LargestLoop<S>, const S*, index_t, double*>(x.data + begin, end - begin, &most);
    return most;
  };
  const auto by_rows = [&](index_t begin, index_t end) {
    S most = S(0);
    for (index_t i = begin; i < end; ++i)
      for (index_t j = 0; j < x.columns; ++j)
        most = std::max(most, std::abs(x.data[i * x.row_stride + j * x.column_stride]));
    return static_cast<double>(most);
  };
  const std::vector<double> found =
      side_by_side
          ? of_stretches(x.rows * x.columns, at_once, run, in_order)
          : of_stretches(x.rows, at_once / std::max<index_t>(x.columns, 1) + 1, run, by_rows);
  return found.empty() ? 0.0 : *std::max_element(found.begin(), found.end());
}

}  // namespace psvm
