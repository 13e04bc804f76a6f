#include "gram_matrix.hpp"

#include <algorithm>
#include <numeric>

namespace psvm {
namespace {

// Rows of one task of a pass over a matrix.
constexpr index_t rows_at_once = 64;

template <class Body>
void for_row_blocks(index_t n, RunControl& run, const Body& body) {
  run.parallel_for((n + rows_at_once - 1) / rows_at_once, [&](index_t task) {
    body(task * rows_at_once, std::min(n, (task + 1) * rows_at_once));
  });
}

struct RbfLoop {
  template <class Arch>
  static PSVM_INLINE void run(const float* from, index_t count, float factor, float* out) {
    using V = Vec<float, Arch>;
    constexpr int W = width<V>;
    index_t j = 0;
    for (; j + W <= count; j += W) store<V>(out + j, exp2_of<V>(load<V>(from + j) * factor));
    float rest[W] = {};
    std::copy(from + j, from + count, rest);
    const V last = exp2_of<V>(load<V>(rest) * factor);
    for (int k = 0; j + k < count; ++k) out[j + k] = last[k];
  }
};

}  // namespace

void fill_gram(const KernelRows<float>& kernel, float* out, RunControl& run) {
  const index_t n = kernel.size();
  // Many rows at once: the column panels are read once for all of them.
  constexpr index_t batch = 512;
  for (index_t begin = 0; begin < n; begin += batch) {
    std::vector<index_t> rows(static_cast<std::size_t>(std::min(batch, n - begin)));
    std::iota(rows.begin(), rows.end(), begin);
    kernel.store_rows(rows, 0, out + begin * n, n, run);
    for (const index_t i : rows)
      out[i * n + i] = static_cast<float>(kernel.diagonal()[static_cast<std::size_t>(i)]);
    run.check();
  }
}

void distances_of_products(float* gram, index_t n, RunControl& run) {
  std::vector<float> norms(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) norms[static_cast<std::size_t>(i)] = gram[i * n + i];
  for_row_blocks(n, run, [&](index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) {
      float* row = gram + i * n;
      const float own = norms[static_cast<std::size_t>(i)];
      for (index_t j = 0; j < n; ++j)
        row[j] = std::max((own + norms[static_cast<std::size_t>(j)]) - 2.0f * row[j], 0.0f);
      row[i] = 0.0f;
    }
  });
}

void rbf_of_distances(const float* distances, index_t n, double gamma, float* out,
                      RunControl& run) {
  const auto factor = static_cast<float>(-gamma * 1.4426950408889634);
  for_row_blocks(n, run, [&](index_t begin, index_t end) {
    on_this_cpu<RbfLoop, const float*, index_t, float, float*>(
        distances + begin * n, (end - begin) * n, factor, out + begin * n);
  });
}

}  // namespace psvm
