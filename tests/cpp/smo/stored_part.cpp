#include "smo/stored_part.hpp"

#include <set>

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
// Rows of the problem are the points in reverse order.
constexpr index_t n = 700;
index_t point_of(index_t row) { return n - 1 - row; }

template <class T>
void check_entries(const StoredPart<T>& part, const SmallKernel<T>& kernel, RunControl& run) {
  const auto& members = part.members();
  const auto m = static_cast<index_t>(members.size());
  std::vector<T> rows(members.size() * members.size());
  part.matrix()->store_rows(all_of(m), 0, rows.data(), m, run);
  for (std::size_t a = 0; a < members.size(); ++a)
    for (std::size_t b = 0; b < members.size(); ++b)
      CHECK_NEAR(static_cast<double>(rows[a * members.size() + b]),
                 kernel.entry(point_of(members[a]), point_of(members[b])), rounding<T>());
}

std::vector<index_t> range(index_t from, index_t to) {
  std::vector<index_t> rows;
  for (index_t i = from; i < to; ++i) rows.push_back(i);
  return rows;
}

template <class T>
void check_joining(int threads) {
  const SmallKernel<T> kernel(n, 9, 1);
  TestRun test(threads);
  StoredPart<T> part(*kernel.points, n, 400);
  // More than a batch at first; then some join, some are there, and at last places must be given up.
  for (const auto& wanted : {range(0, 300), range(250, 320), range(500, 590), range(590, 600)}) {
    part.include(wanted, point_of, test.run);
    const std::set<index_t> members(part.members().begin(), part.members().end());
    CHECK_EQUAL(members.size(), part.members().size());
    CHECK(part.members().size() <= 400);
    for (const index_t row : wanted) CHECK(members.count(row) == 1);
    for (index_t row = 0; row < n; ++row) CHECK_EQUAL(part.has(row), members.count(row) == 1);
    check_entries(part, kernel, test.run);
  }
  CHECK_EQUAL(part.members().size(), std::size_t(400));
}
}  // namespace

TEST(stored_part, entries_are_those_of_the_kernel) {
  check_joining<double>(1);
  check_joining<float>(2);
}

TEST(stored_part, as_large_as_the_cache_allows) {
  const SmallKernel<double> kernel(n, 9, 2);
  RowCache<double> plenty(*kernel.points, 1e9), little(*kernel.points, 2.0 * 108 * 108 * 8);
  CHECK_EQUAL(StoredPart<double>::within(plenty, *kernel.points, n, n)->capacity(), n);
  CHECK(StoredPart<double>::within(little, *kernel.points, n, 200) == nullptr);
  {
    const auto part = StoredPart<double>::within(little, *kernel.points, n, 50);
    CHECK_EQUAL(part->capacity(), 108 - lanes<double>);
    // Half is taken, and of the other half a half would be granted.
    CHECK_NEAR(little.reserve(1e9), 0.5 * 108 * 108 * 8, 1e-6);
    little.give_back(0.5 * 108 * 108 * 8);
  }
  CHECK_NEAR(little.reserve(1e9), 108 * 108 * 8, 1e-6);  // all given back
}
