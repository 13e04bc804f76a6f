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

#include "simd.hpp"

namespace psvm {

struct KernelSpec {
  std::string name;
  double gamma = 1.0, coef0 = 0.0;
  int degree = 3;
};

// How one feature of a row r and of columns c enters the sum.
enum class Accumulate { dot, squared_distance, absolute_distance };

// 2^x, relative error 6e-8 (float; 1.4e-7 with AVX-512) or 2e-16 (double) down to the smallest normal
// number, to which smaller results are clamped. 2^0 is exactly 1. Coefficients interpolate
// (2^f - 1)/f at Chebyshev nodes of [-1/2, 1/2]; those of AVX-512 minimise the largest relative error
// over [0, 1] (8.2e-8), which spares a product and two additions (10 features: entries a tenth
// faster).
template <class V>
PSVM_INLINE V exp2_of(V x) {
  using T = Scalar<V>;
  using Lane = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef Lane Int __attribute__((vector_size(sizeof(V))));
#ifdef PSVM_ASM
  if constexpr (std::is_same_v<T, float> && has_mask_registers<V>) {
    x = vmax<V>(x, broadcast<V>(-126.0f));
    const V f = above_floor<V>(x);
    V y = broadcast<V>(0.0018671314779488823f);
    y = y * f + 0.009017024660265906f;
    y = y * f + 0.05579992042465428f;
    y = y * f + 0.24016444655288713f;
    y = y * f + 0.6931513123652508f;
    y = y * f + 1.0f;
    return times_two_to_floor<V>(y, x);
  } else
#endif
      if constexpr (std::is_same_v<T, float>) {
    x = vmax<V>(x, broadcast<V>(-126.0f));
    const V magic = broadcast<V>(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
    const V shifted = x + magic;
    const V f = x - (shifted - magic);
    V y = broadcast<V>(0.000154531629451205f);
    y = y * f + 0.001339086336467123f;
    y = y * f + 0.009618082557277852f;
    y = y * f + 0.05550357114219078f;
    y = y * f + 0.24022650760568126f;
    y = y * f + 0.6931471880262288f;
    y = y * f + 1.0f;
    return (V)((Int)y + ((Int)shifted << 23));
  } else {
    x = vmax<V>(x, broadcast<V>(-1022.0));
    const V magic = broadcast<V>(6755399441055744.0);  // 1.5 * 2^52
    const V shifted = x + magic;
    const V f = x - (shifted - magic);
    V y = broadcast<V>(4.45483496868069e-10);
    y = y * f + 7.072593056023065e-09;
    y = y * f + 1.0178063148911416e-07;
    y = y * f + 1.321544255072364e-06;
    y = y * f + 1.5252733828494863e-05;
    y = y * f + 0.0001540353044179738;
    y = y * f + 0.0013333558146417972;
    y = y * f + 0.009618129107606857;
    y = y * f + 0.05550410866482159;
    y = y * f + 0.24022650695910097;
    y = y * f + 0.6931471805599453;
    y = y * f + 1.0;
    return (V)((Int)y + ((Int)shifted << 52));
  }
}

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
