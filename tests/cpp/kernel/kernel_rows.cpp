#include "kernel/kernel_rows.hpp"

#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

// Points with only what has to be written for a storage: the rest is what Points does for all.
class PlainStorage final : public Points<double> {
 public:
  PlainStorage(const check::PlainPoints& plain, const KernelSpec& spec, std::vector<index_t> starts)
      : Points<double>(std::move(starts)), plain_(plain), spec_(spec) {
    for (index_t i = 0; i < plain.size; ++i) diagonal_.push_back(entry(plain_, i, i));
  }
  double work_per_entry() const override { return 1.0; }
  void store_cross(const Points<double>& from, Rows rows, int segment, double* out, index_t stride,
                   RunControl&) const override {
    const auto& source = dynamic_cast<const PlainStorage&>(from).plain_;
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (index_t j = 0; j < length(segment); ++j)
        out[static_cast<index_t>(r) * stride + j] = entry(source, rows[r], begin(segment) + j);
  }
  void apply_cross(const Points<double>& from, Rows rows, const double* coef, int segment,
                   double* out, RunControl&) const override {
    const auto& source = dynamic_cast<const PlainStorage&>(from).plain_;
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (index_t j = 0; j < length(segment); ++j)
        out[j] += coef[r] * entry(source, rows[r], begin(segment) + j);
  }
  std::vector<double> half_squared_norms() const override { return diagonal_; }
  double cancellation() const override { return 0.0; }
  std::unique_ptr<Points<double>> pick(Rows rows, RunControl&) const override {
    check::PlainPoints chosen(static_cast<index_t>(rows.size()), plain_.features, 0);
    for (std::size_t a = 0; a < rows.size(); ++a)
      std::copy_n(plain_.row(rows[a]), plain_.features,
                  chosen.x.begin() + static_cast<index_t>(a) * plain_.features);
    return std::make_unique<PlainStorage>(chosen, spec_, std::vector<index_t>{0, chosen.size});
  }

 private:
  double entry(const check::PlainPoints& source, index_t i, index_t j) const {
    return check::plain_entry(spec_, source.row(i), plain_.row(j), plain_.features);
  }
  check::PlainPoints plain_;
  KernelSpec spec_;
};

TEST(kernel_rows, segments_share_out_the_columns) {
  const PlainStorage points(check::PlainPoints(9, 2, 1), check::spec_of("rbf"), {0, 4, 4, 9});
  CHECK_EQUAL(points.size(), 9);
  CHECK_EQUAL(points.segments(), 3);
  CHECK_EQUAL(points.begin(2), 4);
  CHECK_EQUAL(points.length(0), 4);
  CHECK_EQUAL(points.length(1), 0);
  CHECK_EQUAL(points.length(2), 5);
}

// More than one batch of rows in the combinations, too.
TEST(kernel_rows, a_storage_needs_only_rows_of_other_points) {
  check::TestRun test(2);
  const KernelSpec spec = check::spec_of("laplacian");
  const check::PlainPoints plain(50, 3, 1), others(150, 3, 2);
  for (const std::vector<index_t>& starts : {std::vector<index_t>{0, 50}, {0, 20, 50}}) {
    const PlainStorage points(plain, spec, starts), from(others, spec, {0, 150});
    const auto K = plain.matrix(spec, plain);
    check::check_rows<double>(points, K, test.run);
    check::check_points<double>(points, from, K, others.matrix(spec, plain), test.run);
  }
}

TEST_PER_CPU(kernel_rows, apply_stored_adds_one_combination) {
  check::TestRun test(1);
  const std::vector<double> values = {1.0, 2.0, 3.0, 10.0, 20.0, 30.0}, coef = {0.5, -1.0};
  const std::vector<const double*> rows = {values.data(), values.data() + 3};
  std::vector<double> out = {100.0, 100.0, 100.0};
  apply_stored<double>(rows, coef.data(), 3, out.data(), test.run);
  CHECK_EQUAL(out[0], 90.5);
  CHECK_EQUAL(out[1], 81.0);
  CHECK_EQUAL(out[2], 71.5);
}

// By the largest norm times the number of terms, of points in double, unless it is said.
TEST(kernel_rows, points_take_differences_where_norms_cancel) {
  const auto kind = [](auto x, KernelSpec spec) {
    using T = typename decltype(x)::value_type;
    const DenseArray<T> rows{x.data(), static_cast<index_t>(x.size()) / 2, 2, 2, 1};
    return dense_points<T, T>(rows, nullptr, spec, {0, rows.rows})->by_differences();
  };
  const std::vector<double> near = {1.0, 2.0, 3.0, 4.0};
  const double limit = std::sqrt(most_cancelled / 4.0 / log2_e);  // of gamma = 1, two features
  const std::vector<double> below = {0.0, 0.0, 0.99 * limit, 0.0};
  const std::vector<double> above = {0.0, 0.0, 1.01 * limit, 0.0};
  const KernelSpec open{"rbf", 1.0}, yes{"rbf", 1.0, 0.0, 3, true}, no{"rbf", 1.0, 0.0, 3, false};
  CHECK(!kind(near, open));
  CHECK(!kind(below, open));
  CHECK(kind(above, open));
  CHECK(kind(std::vector<double>{0.0, 0.0, 1e300, 0.0}, open));
  CHECK(kind(near, yes));
  CHECK(!kind(above, no));
  CHECK(!kind(std::vector<float>(above.begin(), above.end()), open));
  CHECK(!kind(above, {"linear", 1.0}));
}

}  // namespace
}  // namespace psvm
