#include "smo/fold_values.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
constexpr index_t n = 60, stride = 64;

template <class T>
void check_values(bool stored) {
  const SmallKernel<T> kernel(n, 3, 1);
  TestRun test(2);
  std::vector<T> gram(at(n * stride), T(99));
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j) gram[at(i * stride + j)] = static_cast<T>(kernel.entry(i, j));
  std::vector<index_t> rows;
  for (index_t i = 5; i < 58; ++i)
    if (i < 20 || i >= 31) rows.push_back(i);
  const auto points = kernel.points->pick(rows, test.run);
  const FoldKernel<T> fold = stored ? FoldKernel<T>{gram.data(), stride, nullptr}
                                    : FoldKernel<T>{nullptr, 0, points.get()};
  const FoldRows train{rows, {{5, 20}, {31, 58}}};
  FoldValues<T> values(fold, train, stored ? nullptr : points.get());
  const auto check = [&](double factor) {
    std::vector<double> copied(rows.size());
    values.copy(Places({}, static_cast<index_t>(rows.size())), copied);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      double f = 0.0;
      for (std::size_t l = 0; l < rows.size(); ++l)
        f += values.coef()[l] * kernel.entry(rows[k], rows[l]);
      CHECK_NEAR(values[k], f, 100.0 * rounding<T>() * factor);
      CHECK_EQUAL(copied[k], values[k]);
    }
  };
  const auto first = numbers(rows.size(), -1.0, 1.0, 2),
             second = numbers(rows.size(), -1.0, 1.0, 3);
  values.follow(all_of(static_cast<index_t>(rows.size())), first, test.run);
  for (std::size_t k = 0; k < rows.size(); ++k)
    CHECK_NEAR(values.coef()[k], first[k], rounding<T>());
  check(1.0);
  values.follow({2, 30}, second, test.run);
  CHECK_NEAR(values.coef()[30], second[30], rounding<T>());
  CHECK_NEAR(values.coef()[29], first[29], rounding<T>());
  check(1.0);
  const double before = values[7];
  values.multiply(3.0);
  CHECK_NEAR(values[7], 3.0 * before, 1e-14);
  check(3.0);
  values.clear();
  for (std::size_t k = 0; k < rows.size(); ++k) CHECK(values[k] == 0.0 && values.coef()[k] == 0.0);
}
}  // namespace

TEST(fold_values, of_a_stored_matrix) {
  check_values<float>(true);
  check_values<double>(true);
}

TEST(fold_values, of_points) {
  check_values<float>(false);
  check_values<double>(false);
}
