// 2^x, log2 x and x^e, for vectors of numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "base/simd.hpp"

namespace psvm {

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

// log2 of positive normal numbers, relative error 1e-15: exponent plus a series in (f-1)/(f+1).
template <class V>
PSVM_INLINE V log2_of(V x) {
  typedef std::int64_t Int __attribute__((vector_size(sizeof(V))));
  const Int bits = (Int)x;
  // The mantissa in [sqrt(1/2), sqrt(2)), and what that leaves of the exponent.
  const Int offset = bits - (Int{} + 0x3fe6a09e667f3bcd);
  const Int exponent = offset >> 52;
  const V f = (V)(bits - (exponent << 52));
  const V s = (f - 1.0) / (f + 1.0), z = s * s;
  V series = broadcast<V>(1.0 / 21.0);
  for (const double odd : {19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0})
    series = series * z + 1.0 / odd;
  return s * series * (2.0 * 1.4426950408889634) + __builtin_convertvector(exponent, V);
}

// x^e for x >= 0 and e > 0; exact 0 at 0, infinity beyond the range.
template <class V>
PSVM_INLINE V power_of(V x, double e) {
  constexpr double tiny = std::numeric_limits<double>::min();
  const V y = log2_of<V>(vmax<V>(x, broadcast<V>(tiny))) * e;
  const V value = exp2_of<V>(y < 1023.0 ? y : broadcast<V>(1023.0));
  return x > tiny ? (y < 1023.0 ? value : broadcast<V>(std::numeric_limits<double>::infinity()))
                  : V{};
}

}  // namespace psvm
