#include "kernel/kernel_functions.hpp"

#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

// One entry from the parts a kernel consists of: the scale of features, a sum over them, the end.
template <class T, class Kernel>
double entry_of_parts(const KernelSpec& spec, const Kernel& kernel, const double* x,
                      const double* z, index_t d) {
  typedef T V __attribute__((vector_size(16)));
  const double scale = Kernel::feature_scale(spec);
  double sum = 0.0;
  for (index_t k = 0; k < d; ++k) {
    const double a = scale * x[k], b = scale * z[k];
    if (Kernel::uses_norms) sum -= 0.5 * (a * a + b * b);
    switch (Kernel::accumulate) {
      case Accumulate::dot: sum += a * b; break;
      case Accumulate::squared_distance: sum += (a - b) * (a - b); break;
      case Accumulate::absolute_distance: sum += std::abs(a - b); break;
    }
  }
  return static_cast<double>(kernel.template finish<V>(broadcast<V>(static_cast<T>(sum)))[0]);
}

TEST(kernel_functions, the_parts_of_a_kernel_make_its_formula) {
  const check::PlainPoints points(12, 5, 1);
  for (const auto& name : check::kernel_names) {
    const KernelSpec spec = check::spec_of(name);
    for (index_t i = 0; i < points.size; ++i)
      for (index_t j = 0; j < points.size; ++j) {
        const double *x = points.row(i), *z = points.row(j);
        const double expected = check::plain_entry(spec, x, z, points.features);
        with_kernel(spec, [&](auto kernel) {
          const double size = std::max(1.0, std::abs(expected));
          CHECK_NEAR(entry_of_parts<double>(spec, kernel, x, z, points.features), expected,
                     1e-14 * size);
          CHECK_NEAR(entry_of_parts<float>(spec, kernel, x, z, points.features), expected,
                     1e-5 * size);
        });
      }
  }
}

TEST(kernel_functions, the_diagonal_is_the_entry_of_a_point_with_itself) {
  const check::PlainPoints points(12, 5, 2);
  for (const auto& name : check::kernel_names) {
    const KernelSpec spec = check::spec_of(name);
    for (index_t i = 0; i < points.size; ++i) {
      const double* x = points.row(i);
      double squared = 0.0;
      for (index_t k = 0; k < points.features; ++k) squared += x[k] * x[k];
      with_kernel(spec, [&](auto kernel) {
        const double scale = kernel.feature_scale(spec);
        CHECK_NEAR(diagonal_entry(kernel, scale * scale * squared),
                   check::plain_entry(spec, x, x, points.features), 1e-13);
      });
    }
  }
}

TEST(kernel_functions, a_width_is_a_power_of_two_and_the_rest) {
  for (const double gamma : {5e-324, 1e-300, 1e-3, 0.3, 1.0, 7.0, 1e200, 1.7e308})
    for (const bool of_squares : {false, true}) {
      const Width width(gamma, of_squares);
      int exponent = 0;
      CHECK_EQUAL(std::frexp(width.scale, &exponent), 0.5);
      CHECK(width.scale <= 1.0);
      CHECK(std::isfinite(width.rest));
      const double product =
          of_squares ? width.scale * (width.scale * width.rest) : width.scale * width.rest;
      if (gamma > 1e-300 && gamma < 1e308) CHECK_NEAR(product / (gamma * log2_e), 1.0, 1e-15);
    }
  CHECK_EQUAL(Width(0.0).rest, 0.0);
}

// Where norms overflow there is a distance, and not the smallest.
TEST(kernel_functions, what_is_not_a_number_is_far_away) {
  typedef double V __attribute__((vector_size(16)));
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  CHECK(Rbf(check::spec_of("rbf")).finish<V>(broadcast<V>(nothing))[0] < 1e-300);
}

TEST(kernel_functions, every_degree_of_a_polynomial) {
  typedef double V __attribute__((vector_size(16)));
  for (int degree = 0; degree < 12; ++degree) {
    const Poly poly(KernelSpec{"poly", 1.0, 0.5, degree});
    CHECK_NEAR(poly.finish<V>(broadcast<V>(0.75))[0], std::pow(1.25, degree), 1e-13);
    CHECK_NEAR(poly.finish<V>(broadcast<V>(-1.75))[0], std::pow(-1.25, degree), 1e-13);
  }
}

TEST(kernel_functions, a_sigmoid_is_odd_and_never_overflows) {
  typedef double V __attribute__((vector_size(16)));
  const Sigmoid sigmoid(KernelSpec{"sigmoid", 1.0, 0.0, 3});
  for (double x : {0.0, 1e-8, 0.1, 1.0, 20.0, 1e3, 1e300}) {
    const double plus = sigmoid.finish<V>(broadcast<V>(x))[0];
    CHECK_NEAR(plus, std::tanh(x), 1e-15);
    CHECK_EQUAL(sigmoid.finish<V>(broadcast<V>(-x))[0], -plus);
  }
}

TEST(kernel_functions, an_unknown_name_is_an_error) {
  CHECK_THROWS(std::invalid_argument, with_kernel(check::spec_of("cosine"), [](auto) {}));
}

}  // namespace
}  // namespace psvm
