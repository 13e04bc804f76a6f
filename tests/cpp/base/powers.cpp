#include "base/powers.hpp"

#include <algorithm>

#include "check.hpp"

namespace psvm {
namespace {

template <class T, class Function>
struct EachLoop {
  template <class Arch>
  static PSVM_INLINE void run(const T* in, std::size_t count, double extra, T* out) {
    using V = Vec<T, Arch>;
    for (std::size_t k = 0; k < count; k += width<V>)
      store<V>(out + k, Function::template of<V>(load<V>(in + k), extra));
  }
};

// f of every number, on the CPU chosen.
template <class Function, class T>
std::vector<T> each(std::vector<T> in, double extra = 0.0) {
  const std::size_t count = in.size();
  in.resize((count + 63) / 64 * 64, T(1));
  std::vector<T> out(in.size());
  on_this_cpu<EachLoop<T, Function>, const T*, std::size_t, double, T*>(in.data(), in.size(), extra,
                                                                        out.data());
  out.resize(count);
  return out;
}

struct Exp2 {
  template <class V>
  static PSVM_INLINE V of(V x, double) {
    return exp2_of<V>(x);
  }
};
struct Log2 {
  template <class V>
  static PSVM_INLINE V of(V x, double) {
    return log2_of<V>(x);
  }
};
struct ToThe {
  template <class V>
  static PSVM_INLINE V of(V x, double e) {
    return power_of<V>(x, e);
  }
};

template <class T>
void check_exp2(double lowest, double highest, double error) {
  std::vector<T> x;
  for (double value : check::numbers(20000, lowest, highest, 1)) x.push_back(static_cast<T>(value));
  for (double value : check::numbers(2000, -1.0, 1.0, 2)) x.push_back(static_cast<T>(value));
  for (int whole = static_cast<int>(lowest); whole <= highest; ++whole)
    x.push_back(static_cast<T>(whole));
  const std::vector<T> found = each<Exp2>(x);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double expected = std::exp2(static_cast<double>(x[k]));
    CHECK_NEAR(static_cast<double>(found[k]), expected, error * expected);
  }
}

TEST_PER_CPU(powers, exp2_of_floats) { check_exp2<float>(-126, 126, 1.7e-7); }
TEST_PER_CPU(powers, exp2_of_doubles) { check_exp2<double>(-1022, 1022, 4e-16); }

TEST_PER_CPU(powers, exp2_of_zero_is_one_and_of_little_the_smallest_number) {
  const auto floats = each<Exp2>(std::vector<float>{0.0f, -126.0f, -127.0f, -1000.0f, -1e30f});
  CHECK_EQUAL(floats[0], 1.0f);
  for (std::size_t k = 1; k < floats.size(); ++k)
    CHECK_EQUAL(floats[k], std::numeric_limits<float>::min());
  const auto doubles = each<Exp2>(std::vector<double>{0.0, -1022.0, -1023.0, -1e5, -1e300});
  CHECK_EQUAL(doubles[0], 1.0);
  for (std::size_t k = 1; k < doubles.size(); ++k)
    CHECK_EQUAL(doubles[k], std::numeric_limits<double>::min());
}

TEST_PER_CPU(powers, log2_of_normal_numbers) {
  std::vector<double> x = {1.0,
                           2.0,
                           0.5,
                           1e-300,
                           1e300,
                           std::numeric_limits<double>::min(),
                           std::numeric_limits<double>::max()};
  for (double value : check::numbers(20000, -1021.0, 1023.0, 3)) x.push_back(std::exp2(value));
  for (double value : check::numbers(2000, 0.5, 2.0, 4)) x.push_back(value);
  for (double value : check::numbers(2000, -1e-6, 1e-6, 5)) x.push_back(1.0 + value);
  const auto found = each<Log2>(x);
  CHECK_EQUAL(found[0], 0.0);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double expected = std::log2(x[k]);
    CHECK_NEAR(found[k], expected, 1.5e-15 * std::abs(expected));
  }
}

TEST_PER_CPU(powers, power_of_numbers_over_the_range) {
  for (double e : {1e-3, 0.1, 0.5, 1.0, 2.0, 3.7, 20.0}) {
    std::vector<double> x;
    for (double value : check::numbers(4000, -1000.0, 1000.0, 6)) x.push_back(std::exp2(value));
    for (double value : check::numbers(4000, 0.0, 3.0, 7)) x.push_back(value);
    const auto found = each<ToThe>(x, e);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double expected = std::pow(x[k], e), doublings = std::abs(std::log2(x[k]) * e);
      if (doublings > 1021.0) continue;  // at the ends of the range: see below
      // An error of log2 x counts e log2 x times.
      CHECK_NEAR(found[k], expected, 2e-15 * (1.0 + doublings) * expected);
    }
  }
}

TEST_PER_CPU(powers, power_of_zero_is_zero_and_beyond_the_range_infinite) {
  const double huge = std::numeric_limits<double>::infinity();
  const auto found = each<ToThe>(std::vector<double>{0.0, 1e200, 1e-200, 1e153}, 2.0);
  CHECK_EQUAL(found[0], 0.0);
  CHECK_EQUAL(found[1], huge);
  CHECK(found[2] <= std::numeric_limits<double>::min());
  CHECK(found[3] < huge);
}

}  // namespace
}  // namespace psvm
