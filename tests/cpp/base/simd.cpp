#include "base/simd.hpp"

#include <cstdlib>
#include <string_view>

#include "check.hpp"

namespace psvm {
namespace {

constexpr std::size_t count = 64;  // whole registers on every CPU

// What the vector functions make of two arrays; condition is a > b.
template <class T>
struct Results {
  T max[count], min[count], abs[count], sqrt[count], inverse[count], chosen[count], splat[count];
  int held[count];
  T sums[count], largest[count], smallest[count];  // of registers: one per `register_scalars`
  int all_held[count], any_held[count];
  int register_scalars, register_bytes;
};

template <class T>
struct AllLoop {
  template <class Arch>
  static PSVM_INLINE void run(const T* a, const T* b, Results<T>* out) {
    using V = Vec<T, Arch>;
    constexpr int W = width<V>;
    out->register_scalars = W;
    out->register_bytes = static_cast<int>(sizeof(V));
    for (std::size_t k = 0; k < count; k += W) {
      const V left = load<V>(a + k), right = load<V>(b + k);
      store<V>(out->max + k, vmax<V>(left, right));
      store<V>(out->min + k, vmin<V>(left, right));
      store<V>(out->abs + k, vabs<V>(left));
      store<V>(out->sqrt + k, vsqrt<V>(vabs<V>(left)));
      store<V>(out->inverse + k, about_inverse<V>(left));
      const Mask<V> mask = greater<V>(left, right);
      store<V>(out->chosen + k, choose<V>(mask, left, broadcast<V>(T(7))));
      for (int j = 0; j < W; ++j) out->held[k + static_cast<std::size_t>(j)] = holds<V>(mask, j);
      out->all_held[k / W] = all_hold<V>(mask);
      out->any_held[k / W] = any_holds<V>(mask);
      store<V>(out->splat + k, splat<V>(a + k));
      out->sums[k / W] = sum_of<V>(left);
      out->largest[k / W] = largest_of<V>(left);
      out->smallest[k / W] = smallest_of<V>(left);
    }
  }
};

template <class T>
std::vector<T> some(unsigned seed) {
  std::vector<T> values;
  for (double value : check::numbers(count, -3.0, 3.0, seed))
    values.push_back(static_cast<T>(value));
  return values;
}

template <class T>
Results<T> results_of(const std::vector<T>& a, const std::vector<T>& b) {
  Results<T> results;
  on_this_cpu<AllLoop<T>, const T*, const T*, Results<T>*>(a.data(), b.data(), &results);
  return results;
}

template <class T>
void check_scalar_by_scalar() {
  auto a = some<T>(1), b = some<T>(2);
  b[5] = a[5];
  const auto found = results_of(a, b);
  for (std::size_t k = 0; k < count; ++k) {
    CHECK_EQUAL(found.max[k], a[k] > b[k] ? a[k] : b[k]);
    CHECK_EQUAL(found.min[k], a[k] < b[k] ? a[k] : b[k]);
    CHECK_EQUAL(found.abs[k], std::abs(a[k]));
    CHECK_EQUAL(found.sqrt[k], std::sqrt(std::abs(a[k])));
    CHECK_NEAR(static_cast<double>(found.inverse[k] * a[k]), 1.0, 0x1p-11);
    CHECK_EQUAL(found.held[k], a[k] > b[k] ? 1 : 0);
    CHECK_EQUAL(found.chosen[k], a[k] > b[k] ? a[k] : T(7));
    CHECK_EQUAL(found.splat[k], a[k - k % static_cast<std::size_t>(found.register_scalars)]);
  }
}

TEST_PER_CPU(simd, floats_scalar_by_scalar) { check_scalar_by_scalar<float>(); }
TEST_PER_CPU(simd, doubles_scalar_by_scalar) { check_scalar_by_scalar<double>(); }

template <class T>
void check_not_a_number() {
  auto a = some<T>(1), b = some<T>(2);
  const T nan = std::numeric_limits<T>::quiet_NaN();
  a[3] = b[4] = nan;
  const auto found = results_of(a, b);
  CHECK_EQUAL(found.max[3], b[3]);
  CHECK_EQUAL(found.min[3], b[3]);
  CHECK(std::isnan(found.max[4]));
  CHECK(std::isnan(found.min[4]));
  CHECK_EQUAL(found.held[3], 0);
  CHECK_EQUAL(found.held[4], 0);
  CHECK_EQUAL(found.chosen[4], T(7));
}

TEST_PER_CPU(simd, the_second_of_two_where_one_is_not_a_number) {
  check_not_a_number<float>();
  check_not_a_number<double>();
}

template <class T>
void check_folds() {
  const auto a = some<T>(1);
  auto b = some<T>(2);
  for (std::size_t k = 16; k < count; ++k) b[k] = a[k] - T(1);  // held by whole registers,
  b[40] = a[40];                                                // but for one,
  for (std::size_t k = 0; k < 16; ++k) b[k] = a[k] + T(1);      // and by none
  const auto found = results_of(a, b);
  const auto scalars = static_cast<std::size_t>(found.register_scalars);
  for (std::size_t first = 0; first < count; first += scalars) {
    double sum = 0.0;
    T largest = a[first], smallest = a[first];
    int held = 1, any = 0;
    for (std::size_t k = first; k < first + scalars; ++k) {
      sum += static_cast<double>(a[k]);
      held &= found.held[k];
      any |= found.held[k];
      largest = std::max(largest, a[k]);
      smallest = std::min(smallest, a[k]);
    }
    const double error = 100.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
    CHECK_NEAR(static_cast<double>(found.sums[first / scalars]), sum, error);
    CHECK_EQUAL(found.all_held[first / scalars], held);
    CHECK_EQUAL(found.any_held[first / scalars], any);
    CHECK_EQUAL(found.largest[first / scalars], largest);
    CHECK_EQUAL(found.smallest[first / scalars], smallest);
  }
}

TEST_PER_CPU(simd, sums_and_extremes_of_a_register) {
  check_folds<float>();
  check_folds<double>();
}

struct ByteLoop {
  template <class Arch>
  static PSVM_INLINE void run(const std::uint8_t* columns, const float* row, std::int32_t* sums) {
    using I = VecInt<float, Arch>;
    for (int k = 0; k < 16; k += width<I>) {
      I sum, of_columns;
      std::memcpy(&sum, sums + k, sizeof sum);
      std::memcpy(&of_columns, columns + 4 * k, sizeof of_columns);
      sum = add_byte_products<I>(sum, of_columns, row);
      std::memcpy(sums + k, &sum, sizeof sum);
    }
  }
};

TEST_PER_CPU(simd, products_of_bytes_are_whole_numbers) {
  if (this_cpu() == Cpu::avx512 && !has_byte_products()) return;
  std::uint8_t columns[64];
  for (int k = 0; k < 64; ++k) columns[k] = static_cast<std::uint8_t>(k < 4 ? 255 : 37 * k);
  for (const int of_first : {-128, 127}) {
    const std::int8_t bytes[4] = {static_cast<std::int8_t>(of_first), 127, -128, -1};
    float row;
    std::memcpy(&row, bytes, sizeof row);
    std::int32_t sums[16];
    std::fill_n(sums, 16, -5);
    on_this_cpu<ByteLoop, const std::uint8_t*, const float*, std::int32_t*>(columns, &row, sums);
    for (int lane = 0; lane < 16; ++lane) {
      int sum = -5;
      for (int k = 0; k < 4; ++k) sum += columns[4 * lane + k] * bytes[k];
      CHECK_EQUAL(sums[lane], sum);
    }
  }
}

TEST_PER_CPU(simd, the_environment_lowers_the_instruction_set) {
  const char* wish = std::getenv("PSVM_CPU");
  const std::string_view limit = wish ? wish : "";
  if (limit == "baseline") CHECK(this_cpu() == Cpu::baseline);
  if (limit == "avx2") CHECK(this_cpu() != Cpu::avx512);
  const int bytes = results_of(some<float>(1), some<float>(2)).register_bytes;
  CHECK_EQUAL(bytes, this_cpu() == Cpu::avx512 ? 64 : this_cpu() == Cpu::avx2 ? 32 : 16);
}

#ifdef PSVM_ASM
struct FloorLoop {
  template <class Arch>
  static PSVM_INLINE void run(const float* x, float* rest, float* scaled) {
    using V = Vec<float, Arch>;
    if constexpr (has_mask_registers<V>)
      for (std::size_t k = 0; k < count; k += width<V>) {
        const V own = load<V>(x + k);
        store<V>(rest + k, above_floor<V>(own));
        store<V>(scaled + k, times_two_to_floor<V>(broadcast<V>(3.0f), own));
      }
  }
};

TEST_PER_CPU(simd, floors_of_avx512) {
  const auto x = some<float>(3);
  float rest[count], scaled[count];
  for (std::size_t k = 0; k < count;
       ++k) {  // what other CPUs, which have no such instruction, leave
    rest[k] = x[k] - std::floor(x[k]);
    scaled[k] = 3.0f * std::exp2(std::floor(x[k]));
  }
  on_this_cpu<FloorLoop, const float*, float*, float*>(x.data(), rest, scaled);
  for (std::size_t k = 0; k < count; ++k) {
    CHECK_NEAR(rest[k], x[k] - std::floor(x[k]), 0x1p-23);  // rounds downwards
    CHECK_EQUAL(scaled[k], 3.0f * std::exp2(std::floor(x[k])));
  }
}
#endif

}  // namespace
}  // namespace psvm
