// The kernels as a way to accumulate over features and a way to finish, for vectors of entries.
//
// Features are scaled once (`feature_scale`), so that finishing needs no further constant:
//   rbf          exp2(<x,z> - |x|^2/2 - |z|^2/2)   with x scaled by sqrt(2 gamma log2 e)
//   poly         (<x,z> + coef0)^degree            with x scaled by sqrt(gamma)
//   sigmoid      tanh(<x,z> + coef0)               with x scaled by sqrt(gamma)
// or, where differences are summed, by a power of two, which leaves every difference exact:
//   rbf          exp2(-rest |x - z|_2^2)           where norms would cancel (`by_differences`)
//   laplacian    exp2(-rest |x - z|_1)
//   exponential  exp2(-rest |x - z|_2)
// Rows of bytes are not scaled: distances are whole numbers, and only the exponent of rbf is rounded.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/powers.hpp"
#include "base/simd.hpp"

namespace psvm {

struct KernelSpec {
  std::string name;
  double gamma = 1.0, coef0 = 0.0;
  int degree = 3;
  // Whether rbf sums squared differences of features; unless said, points decide by their norms.
  std::optional<bool> by_differences = std::nullopt;
};

// How one feature of a row r and of columns c enters the sum.
enum class Accumulate { dot, squared_distance, absolute_distance, bytes };

constexpr double log2_e = 1.4426950408889634;

// A width, in powers of two, as a power of two to scale features by and the rest of it, a factor of the
// distance or (`of_squares`) of the squared distance. Never above 1, so that no feature overflows.
struct Width {
  double scale, rest;

  explicit Width(double gamma, bool of_squares = false) {
    const double whole = gamma * log2_e;
    const int exponent = std::clamp(std::ilogb(whole), -1000, 0) / (of_squares ? 2 : 1);
    scale = std::ldexp(1.0, exponent);
    rest =
        std::min(whole / (of_squares ? scale * scale : scale), std::numeric_limits<double>::max());
  }
};

// A kernel has: `accumulate`; `uses_norms`, whether (|x|^2 + |z|^2)/2 is subtracted; and `finish`.
//
// Norms are subtracted before the products are added, which is faster (rbf of 8 features: by 7 %, of 2
// nonzeros by 12 %), or after: norms of double are summed exactly as products are, so that they cancel
// to the last bit for equal points.
template <class T>
inline constexpr bool norms_first = sizeof(T) < sizeof(double);

struct Linear {
  static constexpr Accumulate accumulate = Accumulate::dot;
  static constexpr bool uses_norms = false;
  explicit Linear(const KernelSpec&) {}
  static double feature_scale(const KernelSpec&) { return 1.0; }
  template <class V>
  PSVM_INLINE V finish(V sum) const {
    return sum;
  }
};

struct Rbf {
  static constexpr Accumulate accumulate = Accumulate::dot;
  static constexpr bool uses_norms = true;
  explicit Rbf(const KernelSpec&) {}
  static double feature_scale(const KernelSpec& spec) {
    return std::sqrt(2.0 * spec.gamma * log2_e);
  }
  template <class V>
  PSVM_INLINE V finish(V sum) const {
    // Not a number only where norms overflow: 2^sum is then 0, because of the order of the two.
    return exp2_of<V>(vmin<V>(V{}, sum));
  }
};

struct RbfOfDifferences {
  static constexpr Accumulate accumulate = Accumulate::squared_distance;
  static constexpr bool uses_norms = false;
  explicit RbfOfDifferences(const KernelSpec& spec) : rest(Width(spec.gamma, true).rest) {}
  static double feature_scale(const KernelSpec& spec) { return Width(spec.gamma, true).scale; }
  double rest;
  template <class V>
  PSVM_INLINE V finish(V sum) const {
    return exp2_of<V>(sum * static_cast<Scalar<V>>(-rest));
  }
};

// Of squared distances of bytes, of which one is `step` in the units of the features.
struct RbfOfBytes {
  static constexpr Accumulate accumulate = Accumulate::bytes;
  static constexpr bool uses_norms = false;
  RbfOfBytes(double gamma, double step)
      : factor(static_cast<float>(-gamma * log2_e * step * step)) {}
  float factor;
  template <class V>
  PSVM_INLINE V finish(V sum) const {
    return exp2_of<V>(sum * factor);
  }
};

struct Laplacian {
  static constexpr Accumulate accumulate = Accumulate::absolute_distance;
  static constexpr bool uses_norms = false;
  explicit Laplacian(const KernelSpec& spec) : rest(Width(spec.gamma).rest) {}
  static double feature_scale(const KernelSpec& spec) { return Width(spec.gamma).scale; }
  double rest;
  template <class V>
  PSVM_INLINE V finish(V sum) const {
    return exp2_of<V>(sum * static_cast<Scalar<V>>(-rest));
  }
};

struct Exponential {
  static constexpr Accumulate accumulate = Accumulate::squared_distance;
  static constexpr bool uses_norms = false;
  explicit Exponential(const KernelSpec& spec) : rest(Width(spec.gamma).rest) {}
  static double feature_scale(const KernelSpec& spec) { return Width(spec.gamma).scale; }
  double rest;
  template <class V>
  PSVM_INLINE V finish(V sum) const {
    return exp2_of<V>(vsqrt<V>(sum) * static_cast<Scalar<V>>(-rest));
  }
};

struct Poly {
  static constexpr Accumulate accumulate = Accumulate::dot;
  static constexpr bool uses_norms = false;
  explicit Poly(const KernelSpec& spec) : coef0(spec.coef0), degree(spec.degree) {}
  static double feature_scale(const KernelSpec& spec) { return std::sqrt(spec.gamma); }
  double coef0;
  int degree;
  template <class V>
  PSVM_INLINE V finish(V sum) const {
    V base = sum + static_cast<Scalar<V>>(coef0), result = broadcast<V>(1);
    for (int e = degree; e > 0; e >>= 1, base *= base)
      if (e & 1) result *= base;
    return result;
  }
};

struct Sigmoid {
  static constexpr Accumulate accumulate = Accumulate::dot;
  static constexpr bool uses_norms = false;
  explicit Sigmoid(const KernelSpec& spec) : coef0(spec.coef0) {}
  static double feature_scale(const KernelSpec& spec) { return std::sqrt(spec.gamma); }
  template <class V>
  PSVM_INLINE V finish(V sum) const {
    // tanh |x| = (1 - e) / (1 + e) with e = exp(-2 |x|): no overflow, odd symmetry kept.
    using T = Scalar<V>;
    const V x = sum + static_cast<T>(coef0);
    const V e = exp2_of<V>(vabs<V>(x) * static_cast<T>(-2.0 * log2_e));
    const V magnitude = (T(1) - e) / (T(1) + e);
    return x < V{} ? -magnitude : magnitude;
  }

  double coef0;
};

// K(x, x) of a point of scaled squared norm `squared`.
template <class Kernel>
double diagonal_entry(const Kernel& kernel, double squared) {
  typedef double Pair __attribute__((vector_size(16)));
  const bool distance = Kernel::uses_norms || Kernel::accumulate != Accumulate::dot;
  return kernel.template finish<Pair>(broadcast<Pair>(distance ? 0.0 : squared))[0];
}

// Calls action with the kernel named in `spec`.
template <class Action>
auto with_kernel(const KernelSpec& spec, const Action& action) {
  if (spec.name == "linear") return action(Linear(spec));
  if (spec.name == "rbf" && spec.by_differences.value_or(false))
    return action(RbfOfDifferences(spec));
  if (spec.name == "rbf") return action(Rbf(spec));
  if (spec.name == "poly") return action(Poly(spec));
  if (spec.name == "sigmoid") return action(Sigmoid(spec));
  if (spec.name == "laplacian") return action(Laplacian(spec));
  if (spec.name == "exponential") return action(Exponential(spec));
  throw std::invalid_argument("unknown kernel " + spec.name);
}

}  // namespace psvm
