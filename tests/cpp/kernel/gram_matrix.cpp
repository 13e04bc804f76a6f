#include "kernel/gram_matrix.hpp"

#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

// A matrix with numbers of somebody else after every row.
struct Owned {
  index_t size, stride;
  std::vector<float> values;
  explicit Owned(index_t size)
      : size(size), stride(size + 3), values(static_cast<std::size_t>(size * stride), -9.0f) {}
  Square<float> square() { return {values.data(), size, stride}; }
  float at(index_t i, index_t j) const { return values[static_cast<std::size_t>(i * stride + j)]; }
  void check_margin() const {
    for (index_t i = 0; i < size; ++i)
      for (index_t j = size; j < stride; ++j) CHECK_EQUAL(at(i, j), -9.0f);
  }
};

Owned gram_of(const check::PlainPoints& plain, const KernelSpec& spec, RunControl& run) {
  const DenseArray<double> rows{plain.x.data(), plain.size, plain.features, plain.features, 1};
  const auto points = dense_points<float, double>(rows, nullptr, spec, {0, plain.size});
  Owned gram(plain.size);
  fill_gram(*points, gram.square(), run);
  return gram;
}

// The largest has more rows than a batch (512).
const index_t sizes[] = {1, 5, 64, 131, 530};

TEST_PER_CPU(gram_matrix, holds_every_entry) {
  check::TestRun test(2);
  for (index_t n : sizes) {
    const check::PlainPoints plain(n, 4, 1);
    for (const char* name : {"linear", "rbf"}) {
      const KernelSpec spec = check::spec_of(name);
      const Owned gram = gram_of(plain, spec, test.run);
      const auto K = plain.matrix(spec, plain);
      for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < n; ++j)
          CHECK_NEAR(gram.at(i, j), K[static_cast<std::size_t>(i * n + j)], 1e-5);
      if (spec.name == "rbf")
        for (index_t i = 0; i < n; ++i) CHECK_EQUAL(gram.at(i, i), 1.0f);
      gram.check_margin();
    }
  }
}

TEST_PER_CPU(gram_matrix, products_become_distances_and_these_a_kernel) {
  check::TestRun test(2);
  for (index_t n : sizes) {
    check::PlainPoints plain(n, 4, 2);
    if (n > 1) std::copy_n(plain.x.begin(), 4, plain.x.begin() + 4);  // two equal rows
    Owned distances = gram_of(plain, check::spec_of("linear"), test.run);
    distances_of_products(distances.square(), test.run);
    Owned kernel(n);
    const Square<const float> from{distances.values.data(), n, distances.stride};
    rbf_of_distances(from, 0.7, kernel.square(), test.run);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j) {
        double squared = 0.0;
        for (index_t k = 0; k < 4; ++k) squared += std::pow(plain.row(i)[k] - plain.row(j)[k], 2.0);
        CHECK_NEAR(distances.at(i, j), squared, 1e-5);
        CHECK(distances.at(i, j) >= 0.0f);
        CHECK_NEAR(kernel.at(i, j), std::exp(-0.7 * squared), 1e-5);
      }
    for (index_t i = 0; i < n; ++i) CHECK_EQUAL(kernel.at(i, i), 1.0f);
    if (n > 1) CHECK_EQUAL(kernel.at(0, 1), 1.0f);
    distances.check_margin();
    kernel.check_margin();
  }
}

}  // namespace
}  // namespace psvm
