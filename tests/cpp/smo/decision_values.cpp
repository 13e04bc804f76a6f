#include "smo/decision_values.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
constexpr index_t n = 120;

template <class T>
struct Fixture {
  SmallKernel<T> kernel;
  RowCache<T> cache;
  TestRun test{2};
  std::vector<int> segments;
  DecisionValues<T> values;
  std::vector<index_t> rows;  // of the kernel

  Fixture(index_t features, bool cached, std::vector<int> chosen = {0, 2})
      : kernel(n, features, 1, {0, 30, 70, n}),
        cache(*kernel.points, 50.0 * n * sizeof(T)),
        segments(std::move(chosen)),
        values(*kernel.points, cached ? &cache : nullptr, segments) {
    for (const int s : segments)
      for (index_t i = kernel.points->begin(s); i < kernel.points->begin(s + 1); ++i)
        rows.push_back(i);
  }

  // All values but those left behind, and the norm, as sums over the coefficients.
  void check(bool with_norm = true) const {
    double norm = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double f = 0.0;
      for (std::size_t j = 0; j < rows.size(); ++j)
        f += values.coef()[j] * kernel.entry(rows[i], rows[j]);
      norm += values.coef()[i] * f;
      if (!values.is_stale(i)) CHECK_NEAR(values[i], f, 100.0 * rounding<T>());
    }
    if (with_norm) CHECK_NEAR(values.squared_norm(), norm, 1000.0 * rounding<T>());
  }

  std::vector<double> targets(unsigned seed) const { return numbers(rows.size(), -1.0, 1.0, seed); }
};

template <class T>
void check_changes(index_t features, bool cached) {
  Fixture<T> given(features, cached);
  CHECK_EQUAL(given.values.size(), index_t(80));
  CHECK_EQUAL(given.values.kernel_row(29), 29);
  CHECK_EQUAL(given.values.kernel_row(30), 70);
  given.check();
  const auto first = given.targets(2), second = given.targets(3);
  given.values.change({3, 70, 31}, first, given.test.run);
  for (const index_t i : {3, 70, 31})
    CHECK_NEAR(given.values.coef()[at(i)], first[at(i)], rounding<T>());
  CHECK_EQUAL(given.values.coef()[4], 0.0);
  given.check();
  given.values.change({70, 4}, second, given.test.run);
  given.check();
  given.values.change_all(first, given.test.run);
  for (std::size_t i = 0; i < 80; ++i) CHECK_NEAR(given.values.coef()[i], first[i], rounding<T>());
  given.check();
}
}  // namespace

TEST(decision_values, follow_changes) {
  for (const bool cached : {false, true})
    for (const index_t features : {3, 70}) {
      check_changes<double>(features, cached);
      check_changes<float>(features, cached);
    }
}

TEST(decision_values, start_from_known_values) {
  Fixture<double> given(3, false), other(3, false);
  given.values.change_all(given.targets(2), given.test.run);
  other.values.start_at(given.values.coef(), given.values.values());
  other.check();
  other.values.change({5}, given.targets(3), other.test.run);
  other.check();
}

TEST(decision_values, rows_left_behind_are_brought_up_to_date) {
  Fixture<double> given(3, false);
  DecisionValues<double>& values = given.values;
  CHECK(values.can_leave_rows());
  values.change_all(given.targets(2), given.test.run);
  // Twice, so that rows are left behind with different coefficients.
  std::vector<index_t> keep;
  for (index_t i = 0; i < 80; i += 2) keep.push_back(i);
  values.leave_all_but(keep, given.test.run);
  values.change({0, 2, 40}, given.targets(3), given.test.run);
  CHECK_EQUAL(values.current_rows(), 40);
  CHECK(values.has_stale_rows() && values.is_stale(1) && !values.is_stale(2));
  given.check();
  keep.resize(10);
  values.leave_all_but(keep, given.test.run);
  values.change({0, 4}, given.targets(4), given.test.run);
  given.check();
  std::vector<index_t> current;
  values.for_current([&](index_t i) { current.push_back(i); });
  CHECK(current == keep);
  const double stale = values[1];
  values.complete(given.test.run);
  CHECK(!values.has_stale_rows());
  CHECK_EQUAL(values.current_rows(), index_t(80));
  CHECK(values[1] != stale);
  given.check();
  values.leave_all_but(keep, given.test.run);
  values.start_over();
  CHECK(!values.has_stale_rows());
  CHECK_EQUAL(values[0], 0.0);
  given.check();
  values.change_all(given.targets(5), given.test.run);
  given.check();
}

TEST(decision_values, adopt_what_a_part_found) {
  for (const bool cached : {false, true}) {
    Fixture<double> given(70, cached);
    DecisionValues<double>& values = given.values;
    CHECK_EQUAL(values.can_leave_rows(), !cached);
    values.change_all(given.targets(2), given.test.run);
    for (unsigned seed : {3u, 4u}) {  // the same members again
      const std::vector<index_t> members = {7, 60, 8, 33};
      const auto wanted = given.targets(seed);
      std::vector<double> coef = values.coef(), of_members, found;
      for (const index_t i : members) {
        coef[at(i)] = wanted[at(i)];
        of_members.push_back(wanted[at(i)]);
      }
      for (const index_t i : members) {
        double f = 0.0;
        for (std::size_t j = 0; j < 80; ++j)
          f += coef[j] * given.kernel.entry(given.rows[at(i)], given.rows[j]);
        found.push_back(f);
      }
      values.adopt(members, of_members, found, given.test.run);
      for (std::size_t k = 0; k < members.size(); ++k)
        CHECK_EQUAL(values[at(members[k])], found[k]);
      given.check();
    }
  }
}

TEST(decision_values, entries_by_way_of_kept_rows) {
  Fixture<double> given(70, true);
  CHECK(given.values.can_keep(10));
  CHECK(!given.values.can_keep(1000));
  CHECK(!Fixture<double>(70, false).values.can_keep(1));
  CHECK(!Fixture<double>(3, true).values.can_keep(1));  // computed sooner than cached
  const std::vector<index_t> rows = {5, 80, 29}, columns = {100, 0, 70, 12};
  std::vector<double> out(3 * 5, -7.0);
  given.values.between(rows, columns, out.data(), 5, given.test.run);
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 4; ++b)
      CHECK_NEAR(out[5 * a + b], given.kernel.entry(rows[a], columns[b]), 1e-12);
    CHECK_EQUAL(out[5 * a + 4], -7.0);
  }
}
