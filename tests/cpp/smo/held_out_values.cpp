#include "smo/held_out_values.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
constexpr index_t n = 60, stride = 64;

template <class T>
void check_values(bool stored, std::size_t cells) {
  const SmallKernel<T> kernel(n, 3, 1);
  TestRun test(2);
  std::vector<T> gram(at(n * stride), T(99));
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j) gram[at(i * stride + j)] = static_cast<T>(kernel.entry(i, j));
  std::vector<index_t> train, rows;
  for (index_t i = 0; i < n; ++i) (i >= 10 && i < 45 && i % 3 ? rows : train).push_back(i);
  const auto train_points = kernel.points->pick(train, test.run),
             points = kernel.points->pick(rows, test.run);
  const FoldKernel<T> fold = stored ? FoldKernel<T>{gram.data(), stride, nullptr}
                                    : FoldKernel<T>{nullptr, 0, kernel.points.get()};
  const FoldRows of{rows, {{10, 30}, {30, 45}}};
  HeldOutValues<T> values(fold, train, of, train_points.get(), points.get());
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<std::vector<double>> coef, out(cells, std::vector<double>(rows.size(), -5.0));
    for (std::size_t q = 0; q < cells; ++q) {
      CHECK(!values.full());
      coef.push_back(numbers(train.size(), -1.0, 1.0, static_cast<unsigned>(10 * q) + 2));
      for (std::size_t k = 0; k < train.size(); ++k)
        if (k % 4 == 0 || (k + q) % 3 == 0) coef[q][k] = 0.0;
      values.add(coef[q], 0.5 * static_cast<double>(q), out[q].data());
    }
    CHECK_EQUAL(values.full(), cells == 8);
    CHECK_EQUAL(out[0][0], -5.0);
    values.finish(test.run);
    CHECK_EQUAL(values.finished(), cells * static_cast<std::size_t>(turn + 1));
    for (std::size_t q = 0; q < cells; ++q)
      for (std::size_t i = 0; i < rows.size(); ++i) {
        double f = 0.5 * static_cast<double>(q);
        for (std::size_t k = 0; k < train.size(); ++k)
          f += coef[q][k] * kernel.entry(rows[i], train[k]);
        CHECK_NEAR(out[q][i], f, 100.0 * rounding<T>());
      }
  }
  values.finish(test.run);  // nothing waits
  CHECK_EQUAL(values.finished(), 2 * cells);
}
}  // namespace

TEST(held_out_values, of_a_stored_matrix) {
  for (const std::size_t cells : {1u, 3u, 8u}) {
    check_values<float>(true, cells);
    check_values<double>(true, cells);
  }
}

TEST(held_out_values, of_points) {
  for (const std::size_t cells : {1u, 3u, 8u}) {
    check_values<float>(false, cells);
    check_values<double>(false, cells);
  }
}

TEST(held_out_values, no_coefficients_leave_the_intercept) {
  const SmallKernel<double> kernel(6, 2, 1);
  TestRun test(1);
  const std::vector<index_t> train = {0, 1, 2}, rows = {3, 4, 5};
  const FoldKernel<double> fold{kernel.K.data(), 6, nullptr};
  const FoldRows of{rows, {{3, 6}}};
  HeldOutValues<double> values(fold, train, of, nullptr, nullptr);
  std::vector<double> out(3, 0.0);
  values.add({0.0, 0.0, 0.0}, 1.25, out.data());
  values.finish(test.run);
  for (const double value : out) CHECK_EQUAL(value, 1.25);
}
