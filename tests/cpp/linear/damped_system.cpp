#include "linear/damped_system.hpp"

#include "check.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
// A'A of random entries, plus a diagonal; rows `stride` apart, the upper triangle not a number.
std::vector<double> positive(index_t n, index_t stride, double diagonal, unsigned seed) {
  const auto a = numbers(static_cast<std::size_t>(n * n), -1.0, 1.0, seed);
  std::vector<double> matrix(static_cast<std::size_t>(n * stride), std::nan(""));
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j <= i; ++j) {
      double sum = i == j ? diagonal : 0.0;
      for (index_t k = 0; k < n; ++k)
        sum += a[static_cast<std::size_t>(k * n + i)] * a[static_cast<std::size_t>(k * n + j)];
      matrix[static_cast<std::size_t>(i * stride + j)] = sum;
    }
  return matrix;
}
double entry(const std::vector<double>& matrix, index_t stride, index_t i, index_t j) {
  return matrix[static_cast<std::size_t>(std::max(i, j) * stride + std::min(i, j))];
}
}  // namespace

TEST(damped_system, solves_the_system) {
  for (const index_t n : {1, 2, 3, 4, 5, 7, 8, 9, 20, 33, 70}) {
    const index_t stride = n + 3;
    const auto matrix = positive(n, stride, 1.0, static_cast<unsigned>(n));
    const auto v = numbers(static_cast<std::size_t>(n), -1.0, 1.0, 99);
    DampedSystem system;
    CHECK(system.factor(matrix, n, stride));
    const auto x = system.solve(v);
    for (index_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (index_t j = 0; j < n; ++j)
        sum += entry(matrix, stride, i, j) * x[static_cast<std::size_t>(j)];
      CHECK(std::abs(sum - v[static_cast<std::size_t>(i)]) < 1e-11);
    }
  }
}

TEST(damped_system, damps_what_is_singular_and_refuses_what_is_indefinite) {
  DampedSystem system;
  CHECK(system.factor({1.0, 0.0, 1.0, 1.0}, 2, 2));
  CHECK(!system.factor({1.0, 0.0, 2.0, 1.0}, 2, 2));
  CHECK(!system.factor({std::nan("")}, 1, 1));
}
