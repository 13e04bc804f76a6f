#include "kernel/sparse_groups.hpp"

#include "base/aligned.hpp"
#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

constexpr int registers = 2;

struct GroupHere {
  template <class Arch>
  static PSVM_INLINE void run(index_t* rows) {
    *rows = group_rows<double, Arch, registers>;
  }
};

// A group of rows with themselves as columns, scaled for `Kernel`, and norms that may be wrong.
template <class Kernel>
struct Group {
  using I = std::int32_t;
  index_t wide = 0;
  AlignedVector<double> buffer, norms, absolute;
  std::vector<double> data;
  std::vector<I> indices, features;
  std::vector<index_t> offsets = {0};
  std::vector<std::span<const I>> row_indices;

  Group(const check::PlainPoints& plain, const KernelSpec& spec) {
    on_this_cpu<GroupHere, index_t*>(&wide);
    CHECK(plain.size <= wide);
    buffer.assign(static_cast<std::size_t>(plain.features * wide), 0.0);
    norms.assign(static_cast<std::size_t>(wide), 0.0);
    absolute.assign(static_cast<std::size_t>(wide), 0.0);
    for (index_t i = 0; i < plain.size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      for (index_t k = 0; k < plain.features; ++k) {
        const double x = Kernel::feature_scale(spec) * plain.row(i)[k];
        if (x == 0.0) continue;
        data.push_back(x);
        indices.push_back(static_cast<I>(k));
        buffer[static_cast<std::size_t>(k * wide + i)] = x;
        norms[at] += 0.5 * x * x;
        absolute[at] += std::abs(x);
      }
      offsets.push_back(static_cast<index_t>(data.size()));
    }
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
      row_indices.emplace_back(indices.data() + offsets[i], indices.data() + offsets[i + 1]);
  }

  std::vector<double> entries(const KernelSpec& spec) {
    const auto n = static_cast<index_t>(row_indices.size());
    std::vector<double> stored(static_cast<std::size_t>(n * n));
    GroupJob<double, I> job{};
    job.buffer = buffer.data();
    job.row_norms = job.col_norms = norms.data();
    job.row_absolute = job.col_absolute = absolute.data();
    job.rows = job.columns = job.stride = n;
    job.row_indices = row_indices.data();
    job.features = &features;
    job.data = data.data();
    job.indices = indices.data();
    job.offsets = offsets.data();
    job.stored = stored.data();
    const Kernel kernel(spec);
    on_this_cpu<GroupLoop<double, I, Kernel, registers>, const GroupJob<double, I>*, const Kernel*>(
        &job, &kernel);
    return stored;
  }
};

template <class Kernel>
void check_group(const std::string& name) {
  const KernelSpec spec = check::spec_of(name);
  for (const double distance : {0.0, 1e6})
    for (const index_t rows : {2, 4}) {
      const check::PlainPoints plain = check::far_points(rows, distance);
      const auto K = plain.matrix(spec, plain);
      Group<Kernel> group(plain, spec);
      const auto found = group.entries(spec);
      for (std::size_t k = 0; k < K.size(); ++k) CHECK_NEAR(found[k], K[k], 1e-13);
      // Norms that nothing is left of do not enter.
      for (auto* norms : {&group.norms, &group.absolute})
        for (double& norm : *norms) norm = std::numeric_limits<double>::infinity();
      const auto again = group.entries(spec);
      for (std::size_t k = 0; k < K.size(); ++k) CHECK_NEAR(again[k], K[k], 1e-13);
    }
}

TEST_PER_CPU(sparse_groups, close_rows_are_summed_from_differences) {
  check_group<Exponential>("exponential");
  check_group<Laplacian>("laplacian");
  check_group<RbfOfDifferences>(check::by_differences);
}

TEST(sparse_groups, features_of_all_rows_once_and_in_order) {
  const std::vector<std::int32_t> first = {1, 4, 7}, second = {}, third = {0, 4, 9};
  const std::span<const std::int32_t> rows[] = {first, second, third};
  std::vector<std::int32_t> features;
  GroupJob<double, std::int32_t> job{};
  job.rows = 3;
  job.row_indices = rows;
  job.features = &features;
  find_features(job);
  CHECK(features == (std::vector<std::int32_t>{0, 1, 4, 7, 9}));
}

// Bit by bit, so that the products of a point with itself cancel its norms.
TEST_PER_CPU(sparse_groups, norms_are_summed_as_products_are) {
  check::PlainPoints plain(2, 33, 3);
  for (double& value : plain.x) value /= 3.0;
  const KernelSpec spec = check::spec_of("rbf");
  Group<Rbf> group(plain, spec);
  for (std::size_t i = 0; i < 2; ++i)
    on_this_cpu<PointNormLoop<double>, const double*, index_t, double*>(
        group.data.data() + group.offsets[i], group.offsets[i + 1] - group.offsets[i],
        &group.norms[i]);
  const auto found = group.entries(spec);
  CHECK_EQUAL(found[0], 1.0);
  CHECK_EQUAL(found[3], 1.0);
  CHECK_NEAR(found[1], check::plain_entry(spec, plain.row(0), plain.row(1), 33), 1e-13);
}

}  // namespace
}  // namespace psvm
