// Portable vectors and run-time choice of the CPU clone of a hot loop.
//
// A hot loop is a struct with an always-inlined static template `run<Arch>(args...)`. `on_this_cpu`
// compiles it once per instruction set and calls the best one the machine has. Vectors are the
// compiler's own (GCC and Clang), as wide as a register: wider ones are kept in memory (measured:
// ten times slower).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#define PSVM_INLINED __attribute__((always_inline))
#define PSVM_INLINE inline PSVM_INLINED

#if defined(__x86_64__)
#define PSVM_X86 1
// Instructions that GCC does not choose by itself are spelled out. Clang chooses well, and accepts a
// wide register only in a function compiled for it.
#ifndef __clang__
#define PSVM_ASM 1
#endif
#define PSVM_AVX2 __attribute__((target("avx2,fma")))
#define PSVM_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
#endif

namespace psvm {

// Entries of a packed panel: 16 floats or 8 doubles, 64 bytes, on every CPU.
template <class T>
inline constexpr int lanes = 64 / static_cast<int>(sizeof(T));

// A register of `Arch`, as a vector of T, and the integers of the same width.
template <class T, class Arch>
struct Register {
  typedef T Vec __attribute__((vector_size(Arch::register_bytes)));
  using Lane = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef Lane Int __attribute__((vector_size(Arch::register_bytes)));
};
template <class T, class Arch>
using Vec = typename Register<T, Arch>::Vec;
template <class T, class Arch>
using VecInt = typename Register<T, Arch>::Int;

// The scalar type and the number of scalars of a vector.
template <class V>
using Scalar = std::remove_cvref_t<decltype(V{}[0])>;
template <class V>
inline constexpr int width = static_cast<int>(sizeof(V) / sizeof(Scalar<V>));

template <class V>
PSVM_INLINE V load(const Scalar<V>* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class V>
PSVM_INLINE void store(Scalar<V>* to, V v) {
  std::memcpy(to, &v, sizeof v);
}

template <class V>
PSVM_INLINE V broadcast(Scalar<V> value) {
  return V{} + value;
}

// All scalars of a vector from one in memory. GCC makes an addition and a shuffle of what should be
// one load (measured: 1.6 times slower tiles), so it is spelled out for the inner loops.
template <class V>
PSVM_INLINE V splat(const Scalar<V>* from) {
#ifdef PSVM_ASM
  V v;
  if constexpr (sizeof(V) >= 32 && sizeof(Scalar<V>) == 4) {
    asm("vbroadcastss %1, %0" : "=v"(v) : "m"(*from));
    return v;
  } else if constexpr (sizeof(V) >= 32) {
    asm("vbroadcastsd %1, %0" : "=v"(v) : "m"(*from));
    return v;
  }
#endif
  return broadcast<V>(*from);
}

// The larger (smaller) of two vectors, scalar by scalar; the second where either is not a number.
// GCC makes a comparison and a blend of `a > b ? a : b`, because of zeros of either sign.
#ifdef PSVM_ASM
#define PSVM_OF_TWO(name, instruction, relation)                    \
  template <class V>                                                \
  PSVM_INLINE V name(V a, V b) {                                    \
    V v;                                                            \
    if constexpr (sizeof(V) >= 32 && sizeof(Scalar<V>) == 4) {      \
      asm(instruction "ps %2, %1, %0" : "=v"(v) : "v"(a), "vm"(b)); \
      return v;                                                     \
    } else if constexpr (sizeof(V) >= 32) {                         \
      asm(instruction "pd %2, %1, %0" : "=v"(v) : "v"(a), "vm"(b)); \
      return v;                                                     \
    }                                                               \
    return a relation b ? a : b;                                    \
  }
#else
#define PSVM_OF_TWO(name, instruction, relation) \
  template <class V>                             \
  PSVM_INLINE V name(V a, V b) {                 \
    return a relation b ? a : b;                 \
  }
#endif
PSVM_OF_TWO(vmax, "vmax", >)
PSVM_OF_TWO(vmin, "vmin", <)
#undef PSVM_OF_TWO

template <class V>
PSVM_INLINE V vabs(V a) {
  using Lane = std::conditional_t<sizeof(Scalar<V>) == 4, std::int32_t, std::int64_t>;
  typedef Lane Int __attribute__((vector_size(sizeof(V))));
  return (V)((Int)a & std::numeric_limits<Lane>::max());
}

template <class V>
PSVM_INLINE V vsqrt(V a) {
  V root;
#ifdef PSVM_ASM
  if constexpr (sizeof(V) >= 32 && sizeof(Scalar<V>) == 4) {
    asm("vsqrtps %1, %0" : "=v"(root) : "vm"(a));
    return root;
  } else if constexpr (sizeof(V) >= 32) {
    asm("vsqrtpd %1, %0" : "=v"(root) : "vm"(a));
    return root;
  }
#endif
  for (int k = 0; k < width<V>; ++k) root[k] = std::sqrt(a[k]);
  return root;
}

// Where a condition holds: one bit per scalar in a mask register of AVX-512, else all bits of a lane.
// GCC 12 takes comparisons of 512 bits apart, scalar by scalar, unless a single choice follows
// (measured: pair steps five times slower), so these are spelled out.
template <class V>
inline constexpr bool has_mask_registers =
#ifdef PSVM_ASM
    sizeof(V) == 64;
#else
    false;
#endif
template <class V, bool = has_mask_registers<V>>
struct MaskOf {
  using Lane = std::conditional_t<sizeof(Scalar<V>) == 4, std::int32_t, std::int64_t>;
  typedef Lane type __attribute__((vector_size(sizeof(V))));
};
template <class V>
struct MaskOf<V, true> {
  using type = std::conditional_t<sizeof(Scalar<V>) == 4, std::uint16_t, std::uint8_t>;
};
template <class V>
using Mask = typename MaskOf<V>::type;

template <class V>
PSVM_INLINE Mask<V> greater(V a, V b) {
#ifdef PSVM_ASM
  if constexpr (has_mask_registers<V>) {
    Mask<V> mask;
    if constexpr (sizeof(Scalar<V>) == 4)
      asm("vcmpgtps %2, %1, %0" : "=Yk"(mask) : "v"(a), "vm"(b));
    else
      asm("vcmpgtpd %2, %1, %0" : "=Yk"(mask) : "v"(a), "vm"(b));
    return mask;
  } else
#endif
    return a > b;
}

// Whether a mask of vectors V holds for scalar k, as 0 or 1.
template <class V>
PSVM_INLINE int holds(Mask<V> mask, int k) {
  if constexpr (has_mask_registers<V>)
    return mask >> k & 1;
  else
    return mask[k] != 0;
}

// `yes` where the mask of vectors V holds, else `no`; these are V or integers of its width.
template <class V, class Chosen>
PSVM_INLINE Chosen choose(Mask<V> mask, Chosen yes, Chosen no) {
  static_assert(sizeof(Chosen) == sizeof(V) && sizeof(Scalar<Chosen>) == sizeof(Scalar<V>));
#ifdef PSVM_ASM
  if constexpr (has_mask_registers<V>) {
    Chosen chosen;
    if constexpr (sizeof(Scalar<V>) == 4)
      asm("vpblendmd %2, %1, %0%{%3%}" : "=v"(chosen) : "v"(no), "vm"(yes), "Yk"(mask));
    else
      asm("vpblendmq %2, %1, %0%{%3%}" : "=v"(chosen) : "v"(no), "vm"(yes), "Yk"(mask));
    return chosen;
  } else
#endif
    return mask ? yes : no;
}

#ifdef PSVM_ASM
// x less its floor, and y times two to the floor of x: one instruction of AVX-512 each, for float.
template <class V>
PSVM_INLINE V above_floor(V x) {
  static_assert(has_mask_registers<V> && sizeof(Scalar<V>) == 4);
  V rest;
  asm("vreduceps $1, %1, %0" : "=v"(rest) : "v"(x));
  return rest;
}
template <class V>
PSVM_INLINE V times_two_to_floor(V y, V x) {
  static_assert(has_mask_registers<V> && sizeof(Scalar<V>) == 4);
  V product;
  asm("vscalefps %2, %1, %0" : "=v"(product) : "v"(y), "v"(x));
  return product;
}
#endif

// Adds to every lane of 32 bits the products of its four bytes: unsigned ones of a vector, signed ones of
// the four at `row`. One instruction of AVX-512 where the CPU has it (`has_byte_products`).
template <class I, class T>
PSVM_INLINE I add_byte_products(I sum, I columns, const T* row) {
  static_assert(sizeof(T) == 4 && sizeof(Scalar<I>) == 4);
#ifdef PSVM_X86
  if constexpr (sizeof(I) == 64) {
    asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(columns), "m"(*row));
    return sum;
  }
#endif
  std::uint8_t unsigned_bytes[sizeof(I)];
  std::int8_t signed_bytes[4];
  std::memcpy(unsigned_bytes, &columns, sizeof columns);
  std::memcpy(signed_bytes, row, sizeof signed_bytes);
  for (int lane = 0; lane < width<I>; ++lane)
    for (int k = 0; k < 4; ++k) sum[lane] += unsigned_bytes[4 * lane + k] * signed_bytes[k];
  return sum;
}

// 1 / a to at least 11 bits in float, where a division takes as long as all the rest of a loop.
template <class V>
PSVM_INLINE V about_inverse(V a) {
#ifdef PSVM_ASM
  V inverse;
  if constexpr (sizeof(V) == 64 && sizeof(Scalar<V>) == 4) {
    asm("vrcp14ps %1, %0" : "=v"(inverse) : "vm"(a));
    return inverse;
  } else if constexpr (sizeof(V) == 32 && sizeof(Scalar<V>) == 4) {
    asm("vrcpps %1, %0" : "=x"(inverse) : "xm"(a));
    return inverse;
  }
#endif
  return Scalar<V>(1) / a;
}

// One scalar of all scalars of a vector, by halves; `combine` takes two vectors or two scalars.
template <class V, class Combine>
PSVM_INLINE Scalar<V> folded(V v, const Combine& combine) {
  if constexpr (width<V> == 2) {
    return combine(v[0], v[1]);
  } else {
    typedef Scalar<V> Half __attribute__((vector_size(sizeof(V) / 2)));
    Half halves[2];
    std::memcpy(halves, &v, sizeof v);
    return folded<Half>(combine(halves[0], halves[1]), combine);
  }
}
template <class V>
PSVM_INLINE Scalar<V> sum_of(V v) {
  return folded<V>(v, [](auto a, auto b) PSVM_INLINED { return a + b; });
}
template <class V>
PSVM_INLINE Scalar<V> largest_of(V v) {
  return folded<V>(v, [](auto a, auto b) PSVM_INLINED { return a > b ? a : b; });
}
template <class V>
PSVM_INLINE Scalar<V> smallest_of(V v) {
  return folded<V>(v, [](auto a, auto b) PSVM_INLINED { return a < b ? a : b; });
}

// Whether a mask of vectors V holds for all scalars.
template <class V>
PSVM_INLINE bool all_hold(Mask<V> mask) {
  if constexpr (has_mask_registers<V>)
    return mask == static_cast<Mask<V>>(~0u);
  else
    return folded<Mask<V>>(mask, [](auto a, auto b) PSVM_INLINED { return a & b; }) != 0;
}

// Whether it holds for any of them.
template <class V>
PSVM_INLINE bool any_holds(Mask<V> mask) {
  if constexpr (has_mask_registers<V>)
    return mask != 0;
  else
    return folded<Mask<V>>(mask, [](auto a, auto b) PSVM_INLINED { return a | b; }) != 0;
}

// Instruction sets: the bytes of a register, and the rows and column panels (64 bytes each) of a
// register tile. Its accumulators take 12 of 16 AVX2 registers (6 rows measured best), 24 of 32
// AVX-512 registers (one panel measured 1.3 times slower: as many broadcasts as products), 8 of 16
// SSE or of 32 NEON registers.
struct Baseline {
  static constexpr int register_bytes = 16, tile_rows = 2, tile_panels = 1;
};
struct Avx2 {
  static constexpr int register_bytes = 32, tile_rows = 6, tile_panels = 1;
};
struct Avx512 {
  static constexpr int register_bytes = 64, tile_rows = 12, tile_panels = 2;
};

// sum + x * y, rounded once where the CPU can do so, and alike wherever it is written. GCC always fuses;
// Clang splits the products off where it vectorises a scalar loop, and then equal sums differ.
template <class Arch, class V>
PSVM_INLINE V add_product(V sum, V x, V y) {
#if defined(__clang__)
#if __has_builtin(__builtin_elementwise_fma)
#if defined(__aarch64__)
  return __builtin_elementwise_fma(x, y, sum);
#else
  if constexpr (!std::is_same_v<Arch, Baseline>) return __builtin_elementwise_fma(x, y, sum);
#endif
#endif
#endif
  return sum + x * y;
}

enum class Cpu { baseline, avx2, avx512 };

// The best instruction set of this machine; the environment variable PSVM_CPU (baseline, avx2)
// lowers it, for tests.
Cpu this_cpu();

// Whether products of bytes take one instruction here; without it there is nothing to be gained.
bool has_byte_products();

template <class Body, class... Args>
struct Clones {
  static void baseline(Args... args) { Body::template run<Baseline>(args...); }
#ifdef PSVM_X86
  PSVM_AVX2 static void avx2(Args... args) { Body::template run<Avx2>(args...); }
  PSVM_AVX512 static void avx512(Args... args) { Body::template run<Avx512>(args...); }
#endif
};

template <class Body, class... Args>
void on_this_cpu(Args... args) {
#ifdef PSVM_X86
  switch (this_cpu()) {
    case Cpu::avx512: return Clones<Body, Args...>::avx512(args...);
    case Cpu::avx2: return Clones<Body, Args...>::avx2(args...);
    default: break;
  }
#endif
  Clones<Body, Args...>::baseline(args...);
}

}  // namespace psvm
