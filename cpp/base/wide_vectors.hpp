// Which wide vector instructions an x86 CPU has, and the system keeps the registers of. The CPU itself is
// asked: __builtin_cpu_supports needs a library of the compiler's that clang-cl and zig do not link.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace psvm {

struct WideVectors {
  bool avx2 = false;    // with fma
  bool avx512 = false;  // f, dq, vl and bw, with avx2
  bool bytes = false;   // products of bytes (vnni), with avx512
};

inline WideVectors wide_vectors() {
  WideVectors found;
#if defined(__x86_64__)
  const auto has = [](unsigned word, int bit) { return (word >> bit & 1u) != 0; };
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !has(ecx, 27)) return found;  // osxsave
  const bool fma = has(ecx, 12);
  unsigned saved, high;
  asm volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return found;
  found.avx2 = fma && has(ebx, 5) && (saved & 0x06) == 0x06;
  found.avx512 = found.avx2 && has(ebx, 16) && has(ebx, 17) && has(ebx, 30) && has(ebx, 31) &&
                 (saved & 0xe6) == 0xe6;
  found.bytes = found.avx512 && has(ecx, 11);
#endif
  return found;
}

}  // namespace psvm
