// tests: kernel/dense_rows.cpp
#include <cstdint>

#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

template <class T, class S>
std::unique_ptr<Points<T>> points_of(const check::PlainPoints& plain, const KernelSpec& spec,
                                     const double* shift, std::vector<index_t> starts) {
  const std::vector<S> x(plain.x.begin(), plain.x.end());
  const DenseArray<S> rows{x.data(), plain.size, plain.features, plain.features, 1};
  return dense_points<T, S>(rows, shift, spec, std::move(starts));
}

template <class T, class S>
void check_dense(int threads) {
  check::TestRun test(threads);
  for (const auto& name : check::kernel_names)
    for (const auto& shape : check::shapes) {
      const KernelSpec spec = check::spec_of(name);
      const check::PlainPoints plain(shape.starts.back(), shape.features, 1);
      const check::PlainPoints others(std::min<index_t>(plain.size, 150), shape.features, 2);
      const auto points = points_of<T, S>(plain, spec, nullptr, shape.starts);
      const auto from = points_of<T, S>(others, spec, nullptr, {0, others.size});
      const auto K = plain.matrix(spec, plain);
      CHECK_EQUAL(points->work_per_entry(), static_cast<double>(shape.features));
      CHECK(points->points() == points.get());
      CHECK(!points->stored());
      check::check_rows<T>(*points, K, test.run);
      check::check_points<T>(*points, *from, K, others.matrix(spec, plain), test.run);
    }
}

TEST_PER_CPU(dense_rows, rows_in_float_of_float) { check_dense<float, float>(2); }
TEST_PER_CPU(dense_rows, rows_in_float_of_double) { check_dense<float, double>(1); }
TEST_PER_CPU(dense_rows, rows_in_double_of_float) { check_dense<double, float>(1); }
TEST_PER_CPU(dense_rows, rows_in_double_of_double) { check_dense<double, double>(2); }

TEST_PER_CPU(dense_rows, many_rows_on_several_threads) {
  check::TestRun test(2);
  const KernelSpec spec = check::spec_of("rbf");
  const check::PlainPoints plain(700, 40, 3);  // long enough that threads share the columns
  const auto points = points_of<double, double>(plain, spec, nullptr, {0, 700});
  check::check_rows<double>(*points, plain.matrix(spec, plain), test.run);
}

TEST_PER_CPU(dense_rows, bytes_give_the_entries_of_the_features_they_stand_for) {
  if (this_cpu() == Cpu::avx512 && !has_byte_products()) return;
  check::TestRun test(2);
  const double step = 1.0 / 64.0;
  for (const auto& shape : check::shapes) {
    check::PlainPoints plain(shape.starts.back(), shape.features, 1);
    std::vector<std::uint8_t> x(plain.x.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      x[k] =
          static_cast<std::uint8_t>(k < 3 ? 255 * (k % 2) : std::lround(85.0 * (plain.x[k] + 1.5)));
      plain.x[k] = step * x[k];
    }
    const KernelSpec spec{"rbf", 0.02};
    const auto points = byte_points({x.data(), plain.size, plain.features, plain.features, 1}, step,
                                    0.02, shape.starts);
    CHECK_EQUAL(points->work_per_entry(), static_cast<double>((plain.features + 3) / 4));
    CHECK_EQUAL(points->cancellation(), 0.0);
    const auto K = plain.matrix(spec, plain);
    check::check_rows<float>(*points, K, test.run);
    check::check_points<float>(*points, *points, K, K, test.run);
    // With room after every row.
    const index_t stride = plain.features + 5;
    std::vector<std::uint8_t> apart(static_cast<std::size_t>(plain.size * stride), 9);
    for (index_t i = 0; i < plain.size; ++i)
      std::copy_n(x.begin() + i * plain.features, plain.features, apart.begin() + i * stride);
    const auto others = byte_points({apart.data(), plain.size, plain.features, stride, 1}, step,
                                    0.02, shape.starts);
    check::check_rows<float>(*others, K, test.run);
  }
}

TEST_PER_CPU(dense_rows, bytes_far_apart_stay_in_range) {
  if (this_cpu() == Cpu::avx512 && !has_byte_products()) return;
  check::TestRun test(2);
  const index_t n = 300, d = most_byte_features;
  std::vector<std::uint8_t> x(static_cast<std::size_t>(n * d), 0);
  // As far apart as can be, and as large: distances are near the end of their range.
  for (index_t i = 0; i < n; i += 2) std::fill_n(x.begin() + i * d, d, std::uint8_t(255));
  x[0] = 254;
  const double farthest = 255.0 * 255.0 * static_cast<double>(d);
  const auto points = byte_points({x.data(), n, d, d, 1}, 1.0, 1.0 / farthest, {0, n});
  std::vector<float> out(static_cast<std::size_t>(2 * n));
  const std::vector<index_t> rows = {0, 1};
  points->store_rows(rows, 0, out.data(), n, test.run);
  CHECK_EQUAL(out[0], 1.0f);
  CHECK_EQUAL(out[static_cast<std::size_t>(n) + 1], 1.0f);
  CHECK_NEAR(out[2], std::exp(-1.0 / farthest), 1e-6);
  CHECK_NEAR(out[3], std::exp(-1.0), 1e-6);
  CHECK_NEAR(out[static_cast<std::size_t>(n) + 2], std::exp(-1.0), 1e-6);
}

TEST(dense_rows, a_shift_changes_no_distance) {
  check::TestRun test(1);
  const std::vector<double> shift = {0.5, -1.0, 0.25, 2.0};
  const check::PlainPoints plain(30, 4, 1);
  for (const char* name : {"rbf", "laplacian", "exponential"}) {
    const KernelSpec spec = check::spec_of(name);
    const auto points = points_of<double, double>(plain, spec, shift.data(), {0, 30});
    check::check_rows<double>(*points, plain.matrix(spec, plain), test.run);
  }
  // Of a product it does: the points are moved.
  check::PlainPoints moved = plain;
  for (index_t i = 0; i < 30; ++i)
    for (std::size_t k = 0; k < 4; ++k) moved.x[static_cast<std::size_t>(4 * i) + k] -= shift[k];
  const KernelSpec spec = check::spec_of("linear");
  const auto points = points_of<double, double>(plain, spec, shift.data(), {0, 30});
  check::check_rows<double>(*points, moved.matrix(spec, moved), test.run);
  for (index_t i = 0; i < 30; ++i)
    CHECK_NEAR(points->half_squared_norms()[static_cast<std::size_t>(i)],
               0.5 * check::plain_entry(spec, moved.row(i), moved.row(i), 4), 1e-13);
}

// Two clusters: no shift brings all points near the origin.
TEST_PER_CPU(dense_rows, far_points_keep_their_digits) {
  check::TestRun test(1);
  const check::PlainPoints plain = check::far_points(70, 1e7);
  const std::vector<double> shift(9, 0.1);
  for (const char* name : {"rbf", "laplacian", "exponential"}) {
    const KernelSpec spec = check::spec_of(name);
    const auto points = points_of<double, double>(plain, spec, shift.data(), {0, 70});
    CHECK_EQUAL(points->by_differences(), spec.name == "rbf");
    CHECK_EQUAL(points->pick(check::all_of(3), test.run)->by_differences(), spec.name == "rbf");
    check::check_rows<double>(*points, plain.matrix(spec, plain), test.run);
  }
}

TEST(dense_rows, columns_may_lie_anywhere) {
  check::TestRun test(1);
  const check::PlainPoints plain(9, 3, 4);
  std::vector<double> columns(3 * 20, 1e9);  // Fortran order, 20 apart
  for (index_t i = 0; i < 9; ++i)
    for (index_t k = 0; k < 3; ++k) columns[static_cast<std::size_t>(20 * k + i)] = plain.row(i)[k];
  const KernelSpec spec = check::spec_of("rbf");
  const DenseArray<double> rows{columns.data(), 9, 3, 1, 20};
  const auto points = dense_points<double, double>(rows, nullptr, spec, {0, 9});
  check::check_rows<double>(*points, plain.matrix(spec, plain), test.run);
}

}  // namespace
}  // namespace psvm
