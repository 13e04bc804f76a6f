#include "kernel/dense_tiles.hpp"

#include "base/aligned.hpp"
#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

// Rows and columns packed for one job, as wide and high as the tiles of `Arch`.
template <class T>
struct Packed {
  AlignedVector<T> panels, norms;

  Packed(const check::PlainPoints& points, const KernelSpec& spec, index_t side, double scale) {
    const index_t padded = (points.size + side - 1) / side * side;
    panels.assign(static_cast<std::size_t>(padded * points.features), T(0));
    norms.assign(static_cast<std::size_t>(padded), T(0));
    for (index_t i = 0; i < points.size; ++i) {
      for (index_t k = 0; k < points.features; ++k)
        panels[static_cast<std::size_t>((i / side * points.features + k) * side + i % side)] =
            static_cast<T>(scale * points.row(i)[k]);
      const KernelSpec linear{"linear", spec.gamma, spec.coef0, spec.degree};
      const double squared =
          scale * scale * check::plain_entry(linear, points.row(i), points.row(i), points.features);
      norms[static_cast<std::size_t>(i)] = static_cast<T>(0.5 * squared);
    }
  }
};

struct Tiles {
  index_t rows, panels;
};

struct TilesHere {
  template <class Arch>
  static PSVM_INLINE void run(Tiles* tiles) {
    *tiles = {Arch::tile_rows, Arch::tile_panels};
  }
};

template <class T, class Kernel>
void check_job(const KernelSpec& spec, index_t rows, index_t columns) {
  Tiles tiles;
  on_this_cpu<TilesHere, Tiles*>(&tiles);
  const Kernel kernel(spec);
  const double scale = Kernel::feature_scale(spec), error = check::rounding<T>();
  const check::PlainPoints left(rows, 5, 1), right(columns, 5, 2);
  const auto K = left.matrix(spec, right);
  const Packed<T> row_side(left, spec, tiles.rows, scale);
  const Packed<T> column_side(right, spec, lanes<T>, scale);
  const auto entry = [&](index_t r, index_t j) {
    return K[static_cast<std::size_t>(r * columns + j)];
  };

  TileJob<T> job{};
  job.row_panels = row_side.panels.data();
  job.row_norms = row_side.norms.data();
  job.rows = rows;
  job.col_panels = column_side.panels.data();
  job.col_norms = column_side.norms.data();
  job.columns = columns;
  job.features = 5;
  const auto run = [&] {
    on_this_cpu<TileLoop<T, Kernel>, const TileJob<T>*, const Kernel*>(&job, &kernel);
  };

  // Stored, with one number of somebody else after every row.
  std::vector<T> stored(static_cast<std::size_t>(rows * (columns + 1)), T(-9));
  job.stored = stored.data();
  job.stride = columns + 1;
  run();
  for (index_t r = 0; r < rows; ++r) {
    const T* row = stored.data() + r * (columns + 1);
    for (index_t j = 0; j < columns; ++j) CHECK_NEAR(row[j], entry(r, j), error);
    CHECK_EQUAL(row[columns], T(-9));
  }

  // Applied.
  auto coef = check::coefficients<T>(row_side.norms.size(), 3);
  std::fill(coef.begin() + rows, coef.end(), T(0));
  std::vector<double> applied(static_cast<std::size_t>(columns + 1), 0.5);
  job.coef = coef.data();
  job.applied = applied.data();
  run();
  const auto sum_over_rows = [&](index_t j) {
    double sum = 0.0;
    for (index_t r = 0; r < rows; ++r)
      sum += static_cast<double>(coef[static_cast<std::size_t>(r)]) * entry(r, j);
    return sum;
  };
  for (index_t j = 0; j < columns; ++j)
    CHECK_NEAR(applied[static_cast<std::size_t>(j)], 0.5 + sum_over_rows(j), 30 * error);
  CHECK_EQUAL(applied.back(), 0.5);

  // Applied with the mirror image.
  auto col_coef = check::coefficients<T>(column_side.norms.size(), 4);
  std::fill(col_coef.begin() + columns, col_coef.end(), T(0));
  std::vector<double> row_applied(static_cast<std::size_t>(rows + 1), 0.25);
  std::fill(applied.begin(), applied.end(), 0.0);
  job.col_coef = col_coef.data();
  job.row_applied = row_applied.data();
  on_this_cpu<MirroredTileLoop<T, Kernel>, const TileJob<T>*, const Kernel*>(&job, &kernel);
  for (index_t j = 0; j < columns; ++j)
    CHECK_NEAR(applied[static_cast<std::size_t>(j)], sum_over_rows(j), 30 * error);
  for (index_t r = 0; r < rows; ++r) {
    double sum = 0.25;
    for (index_t j = 0; j < columns; ++j)
      sum += static_cast<double>(col_coef[static_cast<std::size_t>(j)]) * entry(r, j);
    CHECK_NEAR(row_applied[static_cast<std::size_t>(r)], sum, 60 * error);
  }
  CHECK_EQUAL(row_applied.back(), 0.25);

  // Combined: the coefficients of a row panel together, the sums of a column panel together.
  constexpr index_t combinations = 3;
  const auto panels = static_cast<index_t>(row_side.norms.size()) / tiles.rows;
  std::vector<T> several(static_cast<std::size_t>(panels * combinations * tiles.rows), T(0));
  for (index_t r = 0; r < rows; ++r)
    for (index_t q = 0; q < combinations; ++q)
      several[static_cast<std::size_t>((r / tiles.rows * combinations + q) * tiles.rows +
                                       r % tiles.rows)] =
          static_cast<T>(q + 1) * coef[static_cast<std::size_t>(r)];
  AlignedVector<T> combined(column_side.norms.size() * combinations, T(0));
  job.coef = several.data();
  job.combinations = combinations;
  job.combined = combined.data();
  run();
  for (index_t j = 0; j < columns; ++j)
    for (index_t q = 0; q < combinations; ++q)
      CHECK_NEAR(combined[static_cast<std::size_t>((j / lanes<T> * combinations + q) * lanes<T> +
                                                   j % lanes<T>)],
                 static_cast<double>(q + 1) * sum_over_rows(j), 100 * error);
}

template <class T>
void check_shapes() {
  for (index_t rows : {1, 6, 12, 25})
    for (index_t columns : {1, 16, 32, 53}) {
      check_job<T, Rbf>(check::spec_of("rbf"), rows, columns);
      check_job<T, RbfOfDifferences>(check::spec_of(check::by_differences), rows, columns);
      check_job<T, Laplacian>(check::spec_of("laplacian"), rows, columns);
      check_job<T, Exponential>(check::spec_of("exponential"), rows, columns);
    }
}

// The same sum for a point with itself, bit by bit: half the norms cancel what the tile sums.
TEST_PER_CPU(dense_tiles, norms_are_summed_as_products_are) {
  constexpr index_t d = 13;
  constexpr int L = lanes<double>;
  AlignedVector<double> panel(d * L);
  const auto values = check::numbers(d * L, -100.0, 100.0, 3);
  std::copy(values.begin(), values.end(), panel.begin());
  double norms[L];
  on_this_cpu<NormLoop<double>, const double*, index_t, double*>(panel.data(), d, norms);
  Tiles tiles;
  on_this_cpu<TilesHere, Tiles*>(&tiles);
  for (int own = 0; own < L; ++own) {
    std::vector<double> row(static_cast<std::size_t>(d * tiles.rows), 0.0);
    for (index_t k = 0; k < d; ++k)
      row[static_cast<std::size_t>(k * tiles.rows)] = panel[static_cast<std::size_t>(k * L + own)];
    std::vector<double> row_norms(static_cast<std::size_t>(tiles.rows), norms[own]);
    double stored[L];
    TileJob<double> job{};
    job.row_panels = row.data();
    job.row_norms = row_norms.data();
    job.rows = 1;
    job.col_panels = panel.data();
    job.col_norms = norms;
    job.columns = L;
    job.features = d;
    job.stored = stored;
    job.stride = L;
    const Rbf kernel(check::spec_of("rbf"));
    on_this_cpu<TileLoop<double, Rbf>, const TileJob<double>*, const Rbf*>(&job, &kernel);
    CHECK_EQUAL(stored[own], 1.0);
    CHECK_EQUAL(stored[(own + 1) % L] < 1e-9, true);
  }
}

TEST_PER_CPU(dense_tiles, jobs_of_floats) { check_shapes<float>(); }
TEST_PER_CPU(dense_tiles, jobs_of_doubles) { check_shapes<double>(); }

}  // namespace
}  // namespace psvm
