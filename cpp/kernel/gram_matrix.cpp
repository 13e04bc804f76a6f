#include "kernel/gram_matrix.hpp"

#include <algorithm>
#include <numeric>

namespace psvm {
namespace {

// Rows of one task of a pass over a matrix.
constexpr index_t rows_at_once = 64;

template <class Body>
void for_rows(index_t n, RunControl& run, const Body& body) {
  run.parallel_for((n + rows_at_once - 1) / rows_at_once, [&](index_t task) {
    for (index_t i = task * rows_at_once; i < std::min(n, (task + 1) * rows_at_once); ++i) body(i);
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

void fill_gram(const KernelRows<float>& kernel, Square<float> out, RunControl& run) {
  const index_t n = kernel.size();
  // Many rows at once: the column panels are read once for all of them.
  constexpr index_t batch = 512;
  for (index_t begin = 0; begin < n; begin += batch) {
    std::vector<index_t> rows(static_cast<std::size_t>(std::min(batch, n - begin)));
    std::iota(rows.begin(), rows.end(), begin);
    kernel.store_rows(rows, 0, out.row(begin), out.stride, run);
    for (const index_t i : rows)
      out.row(i)[i] = static_cast<float>(kernel.diagonal()[static_cast<std::size_t>(i)]);
    run.check();
  }
}

void distances_of_products(Square<float> gram, RunControl& run) {
  std::vector<float> norms(static_cast<std::size_t>(gram.size));
  for (index_t i = 0; i < gram.size; ++i) norms[static_cast<std::size_t>(i)] = gram.row(i)[i];
  for_rows(gram.size, run, [&](index_t i) {
    float* row = gram.row(i);
    const float own = norms[static_cast<std::size_t>(i)];
    for (index_t j = 0; j < gram.size; ++j)
      row[j] = std::max((own + norms[static_cast<std::size_t>(j)]) - 2.0f * row[j], 0.0f);
    row[i] = 0.0f;
  });
}

void rbf_of_distances(Square<const float> distances, double gamma, Square<float> out,
                      RunControl& run) {
  const auto factor = static_cast<float>(-gamma * 1.4426950408889634);
  for_rows(out.size, run, [&](index_t i) {
    on_this_cpu<RbfLoop, const float*, index_t, float, float*>(distances.row(i), out.size, factor,
                                                               out.row(i));
  });
}

}  // namespace psvm
