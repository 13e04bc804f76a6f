#include "kernel/row_cache.hpp"

#include <set>

#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

// Rows of 100 i + j, and which of them were asked for.
class CountedRows final : public KernelRows<double> {
 public:
  explicit CountedRows(std::vector<index_t> starts) : KernelRows<double>(std::move(starts)) {}
  double work_per_entry() const override { return 1.0; }
  void store_rows(Rows rows, int segment, double* out, index_t stride, RunControl&) const override {
    asked.insert(asked.end(), rows.begin(), rows.end());
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (index_t j = 0; j < length(segment); ++j)
        out[static_cast<index_t>(r) * stride + j] = entry(rows[r], begin(segment) + j);
  }
  void apply_rows(Rows, const double*, int, double*, RunControl&) const override {}
  void between(Rows, Rows, double*, index_t, RunControl&) const override {}
  static double entry(index_t i, index_t j) { return static_cast<double>(100 * i + j); }

  mutable std::vector<index_t> asked;
};

using Row = RowCache<double>::Row;

struct Fixture {
  check::TestRun test{2};
  CountedRows kernel;
  RowCache<double> cache;
  std::vector<double> scratch;

  Fixture(std::vector<index_t> starts, double bytes)
      : kernel(std::move(starts)), cache(kernel, bytes) {}

  std::vector<Row> fetch(const std::vector<index_t>& rows, int segment = 0) {
    kernel.asked.clear();
    return cache.fetch(rows, segment, scratch, test.run);
  }
  void check(const std::vector<Row>& found, const std::vector<index_t>& rows, int segment = 0) {
    CHECK_EQUAL(found.size(), rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (index_t j = 0; j < kernel.length(segment); ++j)
        CHECK_EQUAL(found[r][j], CountedRows::entry(rows[r], kernel.begin(segment) + j));
  }
};

constexpr double row_bytes = 10 * sizeof(double);

TEST(row_cache, a_row_is_computed_once) {
  Fixture given({0, 10}, 100 * row_bytes);
  given.check(given.fetch({3, 1, 4}), {3, 1, 4});
  CHECK(given.kernel.asked == (std::vector<index_t>{3, 1, 4}));
  given.check(given.fetch({1, 5, 3, 9}), {1, 5, 3, 9});
  CHECK(given.kernel.asked == (std::vector<index_t>{5, 9}));
  given.check(given.fetch({}), {});
  CHECK(given.kernel.asked.empty());
}

TEST(row_cache, segments_are_kept_apart) {
  Fixture given({0, 4, 10}, 100 * row_bytes);
  given.check(given.fetch({2, 7}, 0), {2, 7}, 0);
  given.check(given.fetch({2, 7}, 1), {2, 7}, 1);
  CHECK_EQUAL(given.kernel.asked.size(), 2u);
  given.check(given.fetch({2, 7}, 0), {2, 7}, 0);
  CHECK(given.kernel.asked.empty());
  CHECK_EQUAL(given.cache.rows_that_fit(0), 250);
  CHECK_EQUAL(given.cache.rows_that_fit(1), 166);
}

TEST(row_cache, the_row_not_used_for_longest_goes_first) {
  Fixture given({0, 10}, 3 * row_bytes);
  given.fetch({0, 1, 2});
  given.fetch({0});
  given.fetch({3});  // 1 goes
  given.check(given.fetch({0, 2, 3}), {0, 2, 3});
  CHECK(given.kernel.asked.empty());
  given.check(given.fetch({1}), {1});
  CHECK_EQUAL(given.kernel.asked.size(), 1u);
}

TEST(row_cache, memory_is_bounded_and_rows_in_use_are_not_touched) {
  Fixture given({0, 10}, 4.5 * row_bytes);
  const auto held = given.fetch({6, 7});
  std::vector<std::weak_ptr<double[]>> seen;
  for (index_t first = 0; first < 60; ++first) {
    const std::vector<index_t> rows = {first % 10, (3 * first + 1) % 10, (7 * first + 2) % 10};
    const auto found = given.fetch(rows);
    given.check(found, rows);
    seen.insert(seen.end(), found.begin(), found.end());
  }
  given.check(held, {6, 7});
  std::set<double*> alive;
  for (const auto& row : seen)
    if (const auto lives = row.lock()) alive.insert(lives.get());
  for (const auto& row : held) alive.erase(row.get());
  CHECK(alive.size() >= 3);
  CHECK(alive.size() <= 4);
}

TEST(row_cache, rows_that_do_not_fit_are_computed_and_not_kept) {
  Fixture given({0, 10}, 0.5 * row_bytes);
  CHECK_EQUAL(given.cache.rows_that_fit(0), 1);
  given.check(given.fetch({3, 5}), {3, 5});
  given.check(given.fetch({3, 5}), {3, 5});
  CHECK_EQUAL(given.kernel.asked.size(), 2u);
}

TEST(row_cache, a_batch_larger_than_the_cache_arrives_whole) {
  Fixture given({0, 10}, 2 * row_bytes);
  const std::vector<index_t> all = check::all_of(10);
  given.check(given.fetch(all), all);
  given.check(given.fetch({8, 9}), {8, 9});
  CHECK(given.kernel.asked.empty());
}

TEST(row_cache, a_reservation_takes_half_of_what_is_free_at_most) {
  Fixture given({0, 10}, 8 * row_bytes);
  CHECK_EQUAL(given.cache.reserve(row_bytes), row_bytes);
  CHECK_EQUAL(given.cache.reserve(100 * row_bytes), 3.5 * row_bytes);
  given.cache.give_back(3.5 * row_bytes);
  given.cache.give_back(row_bytes);
  CHECK_EQUAL(given.cache.reserve(100 * row_bytes), 4 * row_bytes);
}

TEST(row_cache, a_reservation_drops_rows_and_ends_with_its_owner) {
  Fixture given({0, 10}, 8 * row_bytes);
  const std::vector<index_t> rows = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto computed = [&] {
    given.check(given.fetch(rows), rows);
    return given.kernel.asked.size();
  };
  CHECK_EQUAL(computed(), 8u);
  CHECK_EQUAL(computed(), 0u);
  {
    Reservation<double> outer;
    CHECK_EQUAL(outer.bytes(), 0.0);
    {
      Reservation<double> inner(given.cache, 4 * row_bytes);
      CHECK_EQUAL(inner.bytes(), 4 * row_bytes);
      outer = std::move(inner);
    }
    CHECK_EQUAL(outer.bytes(), 4 * row_bytes);
    given.fetch({4, 5, 6, 7});  // the latest four are still there
    CHECK(given.kernel.asked.empty());
    given.fetch({0, 1, 2, 3});
    CHECK_EQUAL(given.kernel.asked.size(), 4u);
  }
  computed();
  CHECK_EQUAL(computed(), 0u);
}

}  // namespace
}  // namespace psvm
