#include "kernel/given_matrix.hpp"

#include <limits>

#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

TEST(given_matrix, one_entry_makes_it_asymmetric) {
  check::TestRun test(2);
  for (index_t n : {1, 64, 65, 150}) {
    std::vector<float> values(static_cast<std::size_t>(n * n), 0.5f);
    const DenseArray<float> matrix{values.data(), n, n, n, 1};
    CHECK_EQUAL(symmetry_of(matrix, test.run).difference, 0.0);
    CHECK_EQUAL(symmetry_of(matrix, test.run).largest, 0.5);
    values[static_cast<std::size_t>(n - 1)] = -2.0f;
    CHECK_EQUAL(symmetry_of(matrix, test.run).difference, n > 1 ? 2.5 : 0.0);
    CHECK_EQUAL(symmetry_of(matrix, test.run).largest, 2.0);
    values[0] = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isinf(symmetry_of(matrix, test.run).largest));
  }
}

TEST(given_matrix, some_rows_and_columns) {
  check::TestRun test(2);
  const index_t n = 100;
  const std::vector<double> values = check::numbers(static_cast<std::size_t>(n * n), -1.0, 1.0, 3);
  const std::vector<index_t> rows = {7, 3, 99, 0, 3};
  std::vector<double> out(25);
  submatrix_of(DenseArray<double>{values.data(), n, n, n, 1}, rows, out.data(), test.run);
  for (std::size_t a = 0; a < 5; ++a)
    for (std::size_t b = 0; b < 5; ++b)
      CHECK_EQUAL(out[a * 5 + b], values[static_cast<std::size_t>(rows[a] * n + rows[b])]);
}

}  // namespace
}  // namespace psvm
