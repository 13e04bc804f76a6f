// The kernels as a way to accumulate over features and a way to finish, for vectors of entries.
//
// Features are scaled once (`feature_scale`), so that finishing needs no further constant:
//   rbf          exp2(<x,z> - |x|^2/2 - |z|^2/2)   with x scaled by sqrt(2 gamma log2 e)
//   laplacian    exp2(-|x - z|_1)                  with x scaled by gamma log2 e
//   exponential  exp2(-|x - z|_2)                  with x scaled by gamma log2 e
//   poly         (<x,z> + coef0)^degree            with x scaled by sqrt(gamma)
//   sigmoid      tanh(<x,z> + coef0)               with x scaled by sqrt(gamma)
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "base/powers.hpp"
#include "base/simd.hpp"

namespace psvm {

struct KernelSpec {
  std::string name;
  double gamma = 1.0, coef0 = 0.0;
  int degree = 3;
};

// How one feature of a row r and of columns c enters the sum.
enum class Accumulate { dot, squared_distance, absolute_distance };

// A kernel has: `accumulate`; `uses_norms`, whether sums start at -(|x|^2 + |z|^2)/2; and `finish`.
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
    return std::sqrt(2.0 * spec.gamma * 1.4426950408889634);
  }
  template <class V>
  PSVM_INLINE V finish(V sum) const {
    return exp2_of<V>(vmin<V>(sum, V{}));
  }
};

struct Laplacian {
  static constexpr Accumulate accumulate = Accumulate::absolute_distance;
  static constexpr bool uses_norms = false;
  explicit Laplacian(const KernelSpec&) {}
  static double feature_scale(const KernelSpec& spec) { return spec.gamma * 1.4426950408889634; }
  template <class V>
  PSVM_INLINE V finish(V sum) const {
    return exp2_of<V>(-sum);
  }
};

struct Exponential {
  static constexpr Accumulate accumulate = Accumulate::squared_distance;
  static constexpr bool uses_norms = false;
  explicit Exponential(const KernelSpec&) {}
  static double feature_scale(const KernelSpec& spec) { return spec.gamma * 1.4426950408889634; }
  template <class V>
  PSVM_INLINE V finish(V sum) const {
    return exp2_of<V>(-vsqrt<V>(sum));
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
    const V e = exp2_of<V>(vabs<V>(x) * static_cast<T>(-2.0 * 1.4426950408889634));
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
  if (spec.name == "rbf") return action(Rbf(spec));
  if (spec.name == "poly") return action(Poly(spec));
  if (spec.name == "sigmoid") return action(Sigmoid(spec));
  if (spec.name == "laplacian") return action(Laplacian(spec));
  if (spec.name == "exponential") return action(Exponential(spec));
  throw std::invalid_argument("unknown kernel " + spec.name);
}

}  // namespace psvm
