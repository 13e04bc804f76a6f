#include "base/stretches.hpp"

#include <utility>

#include "check.hpp"
#include "kernel/plain_kernels.hpp"

using namespace psvm;
using namespace psvm::check;

TEST(stretches, they_cover_all_rows_in_order) {
  using Stretch = std::pair<std::ptrdiff_t, std::ptrdiff_t>;
  for (const int threads : {1, 3}) {
    TestRun test(threads);
    const auto of = [&](std::ptrdiff_t n) {
      return of_stretches(n, 10, test.run, [](std::ptrdiff_t begin, std::ptrdiff_t end) {
        return Stretch{begin, end};
      });
    };
    CHECK(of(0).empty());
    CHECK(of(10) == (std::vector<Stretch>{{0, 10}}));
    CHECK(of(31) == (std::vector<Stretch>{{0, 10}, {10, 20}, {20, 30}, {30, 31}}));
  }
}
