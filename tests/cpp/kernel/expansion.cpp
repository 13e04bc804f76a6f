#include "kernel/expansion.hpp"

#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

TEST(expansion, problems_of_pairs_are_in_lexicographic_order) {
  const ExpansionShape shape{{1, 1, 1, 1}, 3, true};
  CHECK_EQUAL(shape.problems(), 6);
  index_t t = 0;
  for (index_t i = 0; i < 4; ++i)
    for (index_t j = i + 1; j < 4; ++j, ++t) {
      CHECK_EQUAL(shape.problem(i, j - 1), t);
      CHECK_EQUAL(shape.problem(j, i), t);
    }
}

// Sums over the vectors of both classes of a pair, or over all, against plain kernel values.
template <class T>
void check_sums(bool pairwise) {
  check::TestRun test(2);
  const std::vector<index_t> counts = {5, 0, 11, 20};
  const index_t vectors = 36, columns = 19, d = 3;
  const ExpansionShape shape{counts, 3, pairwise};
  const auto problems = static_cast<std::size_t>(shape.problems());
  const check::PlainPoints from(vectors, d, 1), to(columns, d, 2);
  const KernelSpec spec = check::spec_of("rbf");
  const auto K = from.matrix(spec, to);
  const auto coef = check::coefficients<T>(static_cast<std::size_t>(3 * vectors), 4);
  std::vector<double> expected(problems * columns, 0.0), sizes = expected;
  index_t first = 0;
  for (index_t own = 0; own < 4; ++own) {
    for (index_t r = 0; r < 3; ++r)
      for (index_t c = 0; c < columns; ++c) {
        double sum = 0.0;
        for (index_t s = first; s < first + counts[static_cast<std::size_t>(own)]; ++s)
          sum += static_cast<double>(coef[static_cast<std::size_t>(r * vectors + s)]) *
                 K[static_cast<std::size_t>(s * columns + c)];
        const auto at = static_cast<std::size_t>(shape.problem(own, r) * columns + c);
        expected[at] += sum;
        sizes[at] += std::abs(sum);
      }
    first += counts[static_cast<std::size_t>(own)];
  }
  const double error = sizeof(T) == 4 ? 1e-4 : 1e-12;
  const auto packed = [&](const check::PlainPoints& points, index_t n) {
    return dense_points<T, double>({points.x.data(), n, d, d, 1}, nullptr, spec, {0, n});
  };
  const auto source = packed(from, vectors), target = packed(to, columns);
  const Expansion<T> sums(*source, coef.data(), shape);
  std::vector<double> out(problems * columns, 0.0), found = out;
  sums.add(*target, out.data(), found.data(), test.run);
  for (std::size_t k = 0; k < out.size(); ++k) {
    CHECK_NEAR(out[k], expected[k], error);
    CHECK_NEAR(found[k], sizes[k], error);
  }
  const std::vector<double> exact(coef.begin(), coef.end());
  std::vector<double> again(problems * columns, 0.0);
  add_values(shape, K.data(), exact.data(), vectors, columns, again.data(), test.run);
  for (std::size_t k = 0; k < out.size(); ++k) CHECK_NEAR(again[k], expected[k], 1e-12);
}

TEST_PER_CPU(expansion, sums_of_pairs_in_float) { check_sums<float>(true); }
TEST_PER_CPU(expansion, sums_of_pairs_in_double) { check_sums<double>(true); }
TEST_PER_CPU(expansion, sums_of_problems_in_double) { check_sums<double>(false); }

TEST(expansion, intercepts_and_one_row_per_column) {
  const std::vector<double> sums = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, intercept = {10.0, 20.0};
  std::vector<double> out(6);
  add_intercepts(sums.data(), intercept.data(), 2, 3, out.data());
  const std::vector<double> expected = {11.0, 24.0, 12.0, 25.0, 13.0, 26.0};
  CHECK(out == expected);
}

}  // namespace
}  // namespace psvm
