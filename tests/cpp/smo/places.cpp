#include "smo/places.hpp"

#include "check.hpp"

using namespace psvm;

TEST(places, without_sharing_nothing_is_copied) {
  Places places({}, 4);
  const std::vector<double> values = {1.0, 2.0, 3.0, 4.0};
  CHECK(!places.shared());
  CHECK_EQUAL(places.rows(), 4);
  CHECK_EQUAL(places.size(), 4);
  CHECK_EQUAL(places.of(2), 2);
  CHECK(places.of(std::vector<index_t>{3, 1}) == (std::vector<index_t>{3, 1}));
  CHECK(&places.spread(values) == &values);
  CHECK(&places.sum(values) == &values);
  std::vector<index_t> seen;
  places.for_rows_at(3, [&](index_t i) { seen.push_back(i); });
  CHECK(seen == (std::vector<index_t>{3}));
}

TEST(places, rows_share_kernel_rows) {
  // Place 1 has no row.
  const std::vector<index_t> place = {2, 0, 2, 3, 0, 2};
  Places places(place, 4);
  CHECK(places.shared());
  CHECK_EQUAL(places.rows(), 6);
  CHECK_EQUAL(places.size(), 4);
  const std::vector<std::vector<index_t>> rows = {{1, 4}, {}, {0, 2, 5}, {3}};
  for (index_t p = 0; p < 4; ++p) {
    std::vector<index_t> seen;
    places.for_rows_at(p, [&](index_t i) { seen.push_back(i); });
    CHECK(seen == rows[static_cast<std::size_t>(p)]);
    for (const index_t row : seen) CHECK_EQUAL(places.of(row), p);
  }
  CHECK(places.of(std::vector<index_t>{5, 3, 0}) == (std::vector<index_t>{2, 3}));
  const auto& by_row = places.spread({10.0, 11.0, 12.0, 13.0});
  CHECK(by_row == (std::vector<double>{12.0, 10.0, 12.0, 13.0, 10.0, 12.0}));
  const auto& by_place = places.sum({1.0, 2.0, 4.0, 8.0, 16.0, 32.0});
  CHECK(by_place == (std::vector<double>{18.0, 0.0, 37.0, 8.0}));
  CHECK(places.sum({1.0, 0.0, 0.0, 0.0, 0.0, 0.0}) == (std::vector<double>{0.0, 0.0, 1.0, 0.0}));
}
