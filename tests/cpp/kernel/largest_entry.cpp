#include "kernel/largest_entry.hpp"

#include <limits>

#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

template <class S>
void check_largest(index_t n, index_t d, index_t row_stride, index_t column_stride) {
  check::TestRun test(2);
  const auto size = static_cast<std::size_t>(n * row_stride + d * column_stride + 1);
  std::vector<S> x(size, S(0));
  const DenseArray<S> array{x.data(), n, d, row_stride, column_stride};
  CHECK_EQUAL(largest_entry(array, test.run), 0.0);
  // At every place in turn, of either sign, but some.
  for (index_t i = 0; i < n; i += 1 + n / 7)
    for (index_t j = 0; j < d; j += 1 + d / 5) {
      S& entry = x[static_cast<std::size_t>(i * row_stride + j * column_stride)];
      entry = static_cast<S>((i + j) % 2 ? -2.5 : 2.5);
      CHECK_EQUAL(largest_entry(array, test.run), 2.5);
      entry = S(0);
    }
  if (n == 0 || d == 0) return;
  x[0] = std::numeric_limits<S>::infinity();
  CHECK(std::isinf(largest_entry(array, test.run)));
}

TEST_PER_CPU(largest_entry, is_found_wherever_it_is) {
  for (const index_t n : {0, 1, 3, 700})
    for (const index_t d : {1, 5, 64, 301}) {
      check_largest<double>(n, d, d, 1);
      check_largest<float>(n, d, d, 1);
      check_largest<float>(n, d, d + 3, 1);
      check_largest<double>(n, d, 1, n + 1);
    }
}

}  // namespace
}  // namespace psvm
