// tests: kernel/matrix_rows.cpp
#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

template <class T>
void check_matrix() {
  check::TestRun test(2);
  for (const auto& shape : check::shapes) {
    const index_t n = shape.starts.back(), stride = n + 2;
    const check::PlainPoints plain(n, 4, 3);
    const auto K = plain.matrix(check::spec_of("sigmoid"), plain);
    std::vector<T> padded(static_cast<std::size_t>(n * stride), T(55));
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j)
        padded[static_cast<std::size_t>(i * stride + j)] =
            static_cast<T>(K[static_cast<std::size_t>(i * n + j)]);
    const auto rows = matrix_rows<T>({padded.data(), n, n, stride, 1}, shape.starts);
    CHECK(rows->stored());
    CHECK(rows->points() == nullptr);
    check::check_rows<T>(*rows, K, test.run);
  }
}

TEST_PER_CPU(matrix_rows, rows_of_a_float_matrix) { check_matrix<float>(); }
TEST_PER_CPU(matrix_rows, rows_of_a_double_matrix) { check_matrix<double>(); }

// Counts of rows and combinations that leave every kind of rest of eight rows and four combinations;
// the last is worth several threads.
template <class T>
void check_combine(index_t count, index_t combinations, index_t columns) {
  check::TestRun test(2);
  const auto values = check::coefficients<T>(static_cast<std::size_t>(count * columns), 1);
  const auto coef = check::coefficients<T>(static_cast<std::size_t>(combinations * count), 2);
  std::vector<const T*> rows;
  for (index_t r = 0; r < count; ++r) rows.push_back(values.data() + r * columns);
  const index_t stride = columns + 5;
  std::vector<double> out(static_cast<std::size_t>(combinations * stride), 0.5);
  combine_stored<T>(rows, coef.data(), combinations, columns, out.data(), stride, test.run);
  const double error = (sizeof(T) == 4 ? 1e-6 : 1e-15) * static_cast<double>(count + 1);
  for (index_t q = 0; q < combinations; ++q)
    for (index_t j = 0; j < stride; ++j) {
      double sum = 0.5;
      for (index_t r = 0; r < count && j < columns; ++r)
        sum += static_cast<double>(coef[static_cast<std::size_t>(q * count + r)]) *
               static_cast<double>(rows[static_cast<std::size_t>(r)][j]);
      CHECK_NEAR(out[static_cast<std::size_t>(q * stride + j)], sum, error);
    }
}

TEST_PER_CPU(matrix_rows, combinations_of_stored_rows) {
  for (index_t count : {0, 1, 4, 7, 8, 13, 24})
    for (index_t combinations : {1, 2, 3, 4, 7})
      for (index_t columns : {1, 5, 64, 1030}) {
        check_combine<float>(count, combinations, columns);
        check_combine<double>(count, combinations, columns);
      }
  check_combine<float>(90, 8, 3500);
}

}  // namespace
}  // namespace psvm
