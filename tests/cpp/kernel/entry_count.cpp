#include "kernel/entry_count.hpp"

#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

TEST(entry_count, rows_times_columns_and_half_of_a_whole_matrix) {
  check::TestRun test(2);
  const check::PlainPoints plain(40, 3, 1);
  const auto points = dense_points<double, double>({plain.row(0), 40, 3, 3, 1}, nullptr,
                                                   check::spec_of("rbf"), {0, 30, 40});
  std::vector<double> out(3 * 40, 0.0);
  const std::vector<index_t> rows = {1, 5, 39};
  const auto counted = [&](const auto& action) {
    const std::int64_t before = entries_computed;
    action();
    return entries_computed - before;
  };
  CHECK_EQUAL(counted([&] { points->store_rows(rows, 0, out.data(), 30, test.run); }), 3 * 30);
  CHECK_EQUAL(counted([&] { points->apply_rows(rows, out.data(), 1, out.data(), test.run); }),
              3 * 10);
  CHECK_EQUAL(counted([&] { points->between(rows, rows, out.data(), 3, test.run); }), 3 * 3);
  const auto one = dense_points<double, double>({plain.row(0), 40, 3, 3, 1}, nullptr,
                                                check::spec_of("rbf"), {0, 40});
  const std::vector<double> coef(40, 1.0);
  std::vector<double> sums(40, 0.0);
  CHECK_EQUAL(counted([&] { one->apply_all(coef.data(), sums.data(), test.run); }), 40 * 20);
}

}  // namespace
}  // namespace psvm
