// The nonzero entries of dense rows, as CSR arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/run_control.hpp"
#include "kernel/kernel_rows.hpp"

namespace psvm {

template <class S>
struct Nonzeros {
  std::vector<S> data;
  std::vector<std::int32_t> indices, indptr;
};

// Fewer than 2^31 of them.
template <class S>
Nonzeros<S> nonzeros_of(const DenseArray<S>& rows, RunControl& run) {
  constexpr index_t rows_at_once = 256;
  const index_t n = rows.rows, d = rows.columns;
  const index_t tasks = (n + rows_at_once - 1) / rows_at_once;
  Nonzeros<S> found;
  found.indptr.assign(static_cast<std::size_t>(n) + 1, 0);
  const auto for_rows = [&](const auto& body) {
    run.parallel_for(tasks, [&](index_t task) {
      const index_t end = std::min(n, (task + 1) * rows_at_once);
      for (index_t i = task * rows_at_once; i < end; ++i) body(i, rows.data + i * rows.row_stride);
    });
  };
  for_rows([&](index_t i, const S* x) {
    std::int32_t count = 0;
    for (index_t j = 0; j < d; ++j) count += x[j] != S{0};
    found.indptr[static_cast<std::size_t>(i) + 1] = count;
  });
  std::partial_sum(found.indptr.begin(), found.indptr.end(), found.indptr.begin());
  const auto total = static_cast<std::size_t>(found.indptr.back());
  found.data.resize(total);
  found.indices.resize(total);
  for_rows([&](index_t i, const S* x) {
    const auto first = found.indptr[static_cast<std::size_t>(i)];
    const auto end = found.indptr[static_cast<std::size_t>(i) + 1];
    S* data = found.data.data() + first;
    std::int32_t *indices = found.indices.data() + first, k = 0;
    // Without a branch, which would be guessed wrong at every edge of a letter: each entry is written
    // where the next nonzero belongs. Behind the last one would be another row.
    for (index_t j = 0; j < d && k < end - first; ++j) {
      data[k] = x[j];
      indices[k] = static_cast<std::int32_t>(j);
      k += x[j] != S{0};
    }
  });
  return found;
}

}  // namespace psvm
