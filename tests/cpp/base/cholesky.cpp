#include "base/cholesky.hpp"

#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
using count_t = Cholesky::index;

// B B' + ridge I, whose entries are known.
std::vector<double> matrix(count_t n, double ridge, unsigned seed, count_t rank) {
  const auto b = numbers(static_cast<std::size_t>(n * rank), -1.0, 1.0, seed);
  std::vector<double> a(static_cast<std::size_t>(n * n));
  for (count_t i = 0; i < n; ++i)
    for (count_t j = 0; j < n; ++j) {
      double sum = i == j ? ridge : 0.0;
      for (count_t k = 0; k < rank; ++k)
        sum +=
            b[static_cast<std::size_t>(i * rank + k)] * b[static_cast<std::size_t>(j * rank + k)];
      a[static_cast<std::size_t>(i * n + j)] = sum;
    }
  return a;
}

void fill(Cholesky& system, const std::vector<double>& a, count_t n) {
  system.resize(n);
  for (count_t i = 0; i < n; ++i)
    for (count_t j = 0; j <= i; ++j) system.row(i)[j] = a[static_cast<std::size_t>(i * n + j)];
}
}  // namespace

TEST_PER_CPU(cholesky, solves_systems_of_any_size) {
  Cholesky system;  // its memory serves larger and smaller ones
  for (const count_t n : {1, 2, 7, 8, 9, 16, 31, 64, 100, 33}) {
    const auto a = matrix(n, 0.5, static_cast<unsigned>(n), n);
    fill(system, a, n);
    CHECK(system.factor(1e-10));
    const auto x = numbers(static_cast<std::size_t>(n), -1.0, 1.0, 7);
    std::vector<double> right(x.size(), 0.0);
    for (count_t i = 0; i < n; ++i)
      for (count_t j = 0; j < n; ++j)
        right[static_cast<std::size_t>(i)] +=
            a[static_cast<std::size_t>(i * n + j)] * x[static_cast<std::size_t>(j)];
    system.solve(right.data());
    for (std::size_t i = 0; i < x.size(); ++i) CHECK_NEAR(right[i], x[i], 1e-9);
  }
}

TEST_PER_CPU(cholesky, tells_matrices_without_a_factor) {
  Cholesky system;
  for (const count_t n : {2, 9, 40}) {
    fill(system, matrix(n, 0.0, 3, n - 1), n);  // singular
    CHECK(!system.factor(1e-10));
    fill(system, matrix(n, -0.5, 3, n - 1), n);  // indefinite
    CHECK(!system.factor(0.0));
  }
  auto a = matrix(5, 1.0, 1, 5);
  a[12] = std::numeric_limits<double>::quiet_NaN();
  fill(system, a, 5);
  CHECK(!system.factor(0.0));
}

TEST_PER_CPU(cholesky, holds_rows_that_depend_on_others) {
  Cholesky system;
  for (const double scale : {1e-20, 1.0, 1e20}) {  // whatever the padding is beside it
    auto a = matrix(13, 0.0, 5, 9);
    for (double& entry : a) entry *= scale;
    fill(system, a, 13);
    std::vector<count_t> held;
    CHECK(system.factor(1e-10, &held));
    CHECK((held == std::vector<count_t>{9, 10, 11, 12}));
    // The others solve their part; the system of dependent rows is solved with them.
    std::vector<double> x(13, 0.0), right(13, 0.0);
    for (std::size_t j = 0; j < 9; ++j) x[j] = 1.0;
    for (std::size_t i = 0; i < 13; ++i)
      for (std::size_t j = 0; j < 9; ++j) right[i] += a[i * 13 + j];
    system.solve(right.data());
    for (std::size_t i = 0; i < 13; ++i) CHECK_NEAR(right[i], x[i], 1e-6);
  }
}

TEST(cholesky, of_many_unknowns_is_the_same_on_any_number_of_threads) {
  // Several strips, the last of them not whole.
  constexpr count_t n = 700;
  std::vector<double> a(static_cast<std::size_t>(n * n));
  for (count_t i = 0; i < n; ++i)
    for (count_t j = 0; j < n; ++j)
      a[static_cast<std::size_t>(i * n + j)] =
          (i == j ? 0.1 : 0.0) + std::exp(-0.01 * static_cast<double>((i - j) * (i - j)));
  const auto x = numbers(static_cast<std::size_t>(n), -1.0, 1.0, 7);
  std::vector<double> right(x.size(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < x.size(); ++j) right[i] += a[i * x.size() + j] * x[j];
  std::vector<double> alone;
  for (const int threads : {1, 3}) {
    std::atomic<bool> cancel{false};
    RunControl run(threads, {}, &cancel);
    Cholesky system;
    fill(system, a, n);
    CHECK(system.factor(0.0, nullptr, &run));
    auto solved = right;
    system.solve(solved.data());
    for (std::size_t i = 0; i < x.size(); ++i) CHECK_NEAR(solved[i], x[i], 1e-9);
    if (threads == 1) alone = solved;
    CHECK((solved == alone));
  }
}
