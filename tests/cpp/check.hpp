// Named tests without a framework:
//   TEST(powers, two_to_zero_is_one) { CHECK_EQUAL(f(0), 1); }
// A failed check says where and with which values, and the test goes on. TEST_PER_CPU is for code
// that differs between instruction sets: test_headers.py runs it on each.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace psvm::check {

struct Test {
  std::string name;
  bool per_cpu;
  void (*body)();
};

std::vector<Test>& all_tests();
// To be called on the main thread only.
void fail(const char* file, int line, const std::string& message);

struct Entry {
  Entry(const char* header, const char* what, bool per_cpu, void (*body)()) {
    all_tests().push_back({std::string(header) + "." + what, per_cpu, body});
  }
};

template <class A, class B>
void expect(bool holds, const char* file, int line, const char* texts, const A& a, const B& b) {
  if (holds) return;
  std::ostringstream message;
  message.precision(17);
  message << texts << ": " << a << " and " << b;
  fail(file, line, message.str());
}

template <class A, class B>
void expect_equal(const char* file, int line, const char* texts, const A& a, const B& b) {
  expect(a == b, file, line, texts, a, b);
}

// Never true of a value that is not a number.
inline void expect_near(const char* file, int line, const char* texts, double a, double b,
                        double tolerance) {
  expect(a == b || std::abs(a - b) <= tolerance, file, line, texts, a, b);
}

// Numbers from a stream that is the same on every machine.
inline std::vector<double> numbers(std::size_t count, double low, double high, unsigned seed) {
  std::mt19937_64 stream(seed);
  std::vector<double> values(count);
  for (double& value : values)
    value = low + (high - low) * (static_cast<double>(stream() >> 11) * 0x1p-53);
  return values;
}

}  // namespace psvm::check

#define PSVM_TEST(header, what, per_cpu)                                           \
  static void header##_##what();                                                   \
  static const psvm::check::Entry header##_##what##_entry(#header, #what, per_cpu, \
                                                          header##_##what);        \
  static void header##_##what()
#define TEST(header, what) PSVM_TEST(header, what, false)
#define TEST_PER_CPU(header, what) PSVM_TEST(header, what, true)

#define CHECK(condition) \
  if (!(condition)) psvm::check::fail(__FILE__, __LINE__, #condition)
#define CHECK_EQUAL(a, b) psvm::check::expect_equal(__FILE__, __LINE__, #a " == " #b, a, b)
#define CHECK_NEAR(a, b, tolerance) \
  psvm::check::expect_near(__FILE__, __LINE__, #a " near " #b, a, b, tolerance)
#define CHECK_THROWS(Exception, expression)                                          \
  try {                                                                              \
    expression;                                                                      \
    psvm::check::fail(__FILE__, __LINE__, #expression " did not throw " #Exception); \
  } catch (const Exception&) {                                                       \
  }
