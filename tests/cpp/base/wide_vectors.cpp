#include "base/wide_vectors.hpp"

#include "check.hpp"

namespace psvm {
namespace {

TEST(wide_vectors, avx512_has_avx2) { CHECK(wide_vectors().avx2 || !wide_vectors().avx512); }

#if defined(__x86_64__) && !defined(__clang__)
TEST(wide_vectors, gcc_says_the_same) {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  CHECK_EQUAL(wide_vectors().avx2, avx2);
  CHECK_EQUAL(wide_vectors().avx512, avx2 && avx512);
  const bool bytes = __builtin_cpu_supports("avx512vnni");
  CHECK_EQUAL(wide_vectors().bytes, avx2 && avx512 && bytes);
}
#endif

}  // namespace
}  // namespace psvm
