// tests: kernel/sparse_rows.cpp
#include <cstdint>

#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

template <class T, class S, class I>
std::unique_ptr<Points<T>> points_of(const check::PlainPoints& plain, const KernelSpec& spec,
                                     std::vector<index_t> starts) {
  std::vector<S> data;
  std::vector<I> indices, indptr = {0};
  for (index_t i = 0; i < plain.size; ++i) {
    for (index_t k = 0; k < plain.features; ++k)
      if (plain.row(i)[k] != 0.0) {
        data.push_back(static_cast<S>(plain.row(i)[k]));
        indices.push_back(static_cast<I>(k));
      }
    indptr.push_back(static_cast<I>(data.size()));
  }
  const SparseArray<S, I> rows{data.data(), indices.data(), indptr.data(), plain.size,
                               plain.features};
  return sparse_points<T, S, I>(rows, spec, std::move(starts));
}

template <class T, class S, class I>
void check_sparse(int threads, const std::vector<check::Shape>& shapes = check::shapes,
                  const std::vector<std::string>& names = check::kernel_names) {
  check::TestRun test(threads);
  for (const auto& name : names)
    for (const auto& shape : shapes) {
      const KernelSpec spec = check::spec_of(name);
      const check::PlainPoints plain(shape.starts.back(), shape.features, 1);
      const check::PlainPoints others(std::min<index_t>(plain.size, 150), shape.features, 2);
      const auto points = points_of<T, S, I>(plain, spec, shape.starts);
      const auto from = points_of<T, S, I>(others, spec, {0, others.size});
      const auto K = plain.matrix(spec, plain);
      CHECK(points->work_per_entry() <= static_cast<double>(shape.features));
      check::check_rows<T>(*points, K, test.run);
      check::check_points<T>(*points, *from, K, others.matrix(spec, plain), test.run);
    }
}

TEST_PER_CPU(sparse_rows, rows_in_float) { check_sparse<float, float, std::int32_t>(2); }
TEST_PER_CPU(sparse_rows, rows_in_double) { check_sparse<double, double, std::int32_t>(2); }
TEST_PER_CPU(sparse_rows, long_indices) {
  check_sparse<float, double, std::int64_t>(1);
  check_sparse<double, float, std::int64_t>(1);
}
// So many features that the buffer of a group leaves the cache, and columns for several threads.
TEST_PER_CPU(sparse_rows, many_features) {
  check_sparse<double, double, std::int32_t>(2, {{1100, {0, 45}}},
                                             {"rbf", "laplacian", "exponential"});
}
TEST_PER_CPU(sparse_rows, many_columns) {
  check_sparse<float, float, std::int32_t>(2, {{3, {0, 600, 1250}}}, {"rbf"});
}

TEST(sparse_rows, work_is_the_mean_number_of_nonzeros) {
  const std::vector<double> data = {1.0, 2.0, 3.0};
  const std::vector<std::int32_t> indices = {0, 4, 2}, indptr = {0, 2, 2, 3, 3};
  const SparseArray<double, std::int32_t> rows{data.data(), indices.data(), indptr.data(), 4, 5};
  const auto points =
      sparse_points<double, double, std::int32_t>(rows, check::spec_of("linear"), {0, 4});
  CHECK_EQUAL(points->work_per_entry(), 0.75);
  CHECK_EQUAL(points->cancellation(), 0.5 * 9.0 * 3.0);
  CHECK_EQUAL(points->diagonal()[0], 5.0);
  CHECK_EQUAL(points->diagonal()[1], 0.0);
}

// Many points close to a column and few: features of the whole group, and of a row.
TEST_PER_CPU(sparse_rows, far_points_keep_their_digits) {
  check::TestRun test(1);
  for (const index_t size : {6, 70, 150}) {
    const check::PlainPoints plain = check::far_points(size, 1e7);
    for (const char* name : {"rbf", "laplacian", "exponential"}) {
      const KernelSpec spec = check::spec_of(name);
      const auto points = points_of<double, double, std::int32_t>(plain, spec, {0, size});
      CHECK_EQUAL(points->by_differences(), spec.name == "rbf");
      const auto K = plain.matrix(spec, plain);
      check::check_rows<double>(*points, K, test.run);
      check::check_points<double>(*points, *points, K, K, test.run);
    }
  }
}

// Equal rows far from the origin: what cancellation leaves of their distance is taken for none.
TEST_PER_CPU(sparse_rows, equal_rows_have_no_distance) {
  check::TestRun test(1);
  check::PlainPoints plain(6, 40, 5);
  for (double& value : plain.x) value = 1000.1 + value;
  std::copy(plain.x.begin(), plain.x.begin() + 40, plain.x.begin() + 40);
  const auto points =
      points_of<float, float, std::int32_t>(plain, check::spec_of("exponential"), {0, 6});
  float row[6];
  const std::vector<index_t> first = {0};
  points->store_rows(first, 0, row, 6, test.run);
  CHECK_EQUAL(row[0], 1.0f);
  CHECK_EQUAL(row[1], 1.0f);
  CHECK(row[2] < 1.0f);
}

// Norms cancel bit by bit, also where no differences are summed.
TEST_PER_CPU(sparse_rows, equal_rows_have_kernel_1) {
  check::TestRun test(1);
  check::PlainPoints plain(40, 33, 5);
  for (double& value : plain.x) value *= 1.0 / 3.0;
  std::copy(plain.x.begin(), plain.x.begin() + 33, plain.x.end() - 33);
  const auto points =
      points_of<double, double, std::int32_t>(plain, check::spec_of("rbf"), {0, 40});
  CHECK(!points->by_differences());
  std::vector<double> K(1600);
  points->store_rows(check::all_of(40), 0, K.data(), 40, test.run);
  for (std::size_t i = 0; i < 40; ++i) CHECK_EQUAL(K[41 * i], 1.0);
  CHECK_EQUAL(K[39], 1.0);
}

}  // namespace
}  // namespace psvm
