// psvm_tests --list            the names, those of TEST_PER_CPU followed by " per-cpu"
// psvm_tests [NAME...]         runs these tests, or all; 1 if one failed, 2 for an unknown name
#include <algorithm>
#include <exception>
#include <iostream>

#include "check.hpp"

namespace psvm::check {
namespace {
int failures = 0;
constexpr int shown = 20;
}  // namespace

std::vector<Test>& all_tests() {
  static std::vector<Test> tests;
  return tests;
}

void fail(const char* file, int line, const std::string& message) {
  if (++failures <= shown) std::cerr << file << ":" << line << ": " << message << "\n";
}

static void run(const Test& test) {
  const int before = failures;
  try {
    test.body();
  } catch (const std::exception& error) {
    fail(test.name.c_str(), 0, std::string("threw ") + error.what());
  }
  if (failures > before)
    std::cerr << "FAILED " << test.name << ": " << failures - before << " checks\n";
}

static int main_of(const std::vector<std::string>& arguments) {
  const auto& tests = all_tests();
  if (arguments == std::vector<std::string>{"--list"}) {
    for (const Test& test : tests)
      std::cout << test.name << (test.per_cpu ? " per-cpu" : "") << "\n";
    return 0;
  }
  for (const auto& name : arguments) {
    const auto found = std::find_if(tests.begin(), tests.end(),
                                    [&](const Test& test) { return test.name == name; });
    if (found == tests.end()) {
      std::cerr << "there is no test " << name << "\n";
      return 2;
    }
    run(*found);
  }
  if (arguments.empty())
    for (const Test& test : tests) run(test);
  return failures > 0;
}

}  // namespace psvm::check

int main(int count, char** arguments) {
  return psvm::check::main_of({arguments + 1, arguments + count});
}
