#include "smo/violators.hpp"

#include <set>

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
const auto none = [](index_t) { return false; };
std::set<index_t> rows_of(std::span<const Violators::Violator> found) {
  std::set<index_t> rows;
  for (const auto& one : found) rows.insert(one.row);
  CHECK_EQUAL(rows.size(), found.size());
  return rows;
}
// The same by sorting all of them.
template <class Taken>
std::set<index_t> sorted(const RowStates& rows, std::size_t n, double middle, bool up,
                         std::size_t count, const Taken& taken) {
  std::vector<std::pair<double, index_t>> all;
  for (std::size_t i = 0; i < n; ++i) {
    const double by = (up ? 1.0 : -1.0) * (rows.score(i) - middle);
    const auto row = static_cast<index_t>(i);
    if ((up ? rows.can_go_up(i) : rows.can_go_low(i)) && by > 0.0 && !taken(row))
      all.push_back({-by, row});
  }
  std::sort(all.begin(), all.end());
  std::set<index_t> found;
  for (std::size_t k = 0; k < std::min(count, all.size()); ++k) found.insert(all[k].second);
  return found;
}
}  // namespace

// The same object over rounds whose violations fall, jump and rise: what it remembers of the last
// round must not matter.
TEST(violators, the_worst_as_by_a_full_sort) {
  TestRun test(1);
  const std::size_t n = 300;
  const PNormHinge loss(1.0);
  const SmallProblem problem(1.0, n, 1);
  RowStates rows(loss, problem.rows(), problem.alpha, test.run);
  Violators violators;
  const auto taken = [](index_t i) { return i % 7 == 0; };
  unsigned seed = 2;
  for (const double scale : {1.0, 0.9, 0.9, 0.1, 3.0, 0.0}) {
    auto f = numbers(n, -1.0, 1.0, ++seed);
    // At scale 0 all scores are those of two values, and nearly all tie.
    for (std::size_t i = 0; i < n; ++i)
      f[i] = problem.target[i] - scale * f[i] - (i % 2 ? 0.5 : -0.5);
    rows.extremes(f.data());
    for (const std::size_t count : {5u, 40u, 1000u})
      for (const bool up : {true, false}) {
        const auto found = rows_of(violators.worst(rows, 0.05, up, count, taken));
        CHECK(found == sorted(rows, n, 0.05, up, count, taken));
        CHECK(!found.empty());
      }
  }
}

TEST(violators, of_both_sides_on_any_threads) {
  const std::size_t n = 9001;
  const PNormHinge loss(1.0);
  const SmallProblem problem(1.0, n, 1);
  const auto taken = [](index_t i) { return i % 7 == 0; };
  for (const int threads : {1, 2}) {
    TestRun test(threads);
    RowStates rows(loss, problem.rows(), problem.alpha, test.run);
    // In the last round hardly a row may go up: more that may go low are chosen.
    Violators violators;
    for (const double offset : {0.0, 0.1, 1.98}) {
      auto f = numbers(n, -1.0, 1.0, 3);
      for (std::size_t i = 0; i < n; ++i) f[i] = problem.target[i] - f[i] + offset;
      rows.extremes(f.data());
      const auto [up, low] = violators.worst_of_both(rows, 0.0, 301, taken, test.run);
      CHECK(rows_of(up) == sorted(rows, n, 0.0, true, 150, taken));
      CHECK(rows_of(low) == sorted(rows, n, 0.0, false, 301 - up.size(), taken));
      CHECK((up.size() < 150) == (offset > 1.0));
    }
  }
}

TEST(violators, some_are_a_random_choice_of_all) {
  TestRun test(1);
  const std::size_t n = 200;
  const PNormHinge loss(2.0);
  const std::vector<double> y(n, 1.0), cost(n, 1.0), f(n, 0.0);
  RowStates rows(loss, {y.data(), y.data(), cost.data()}, std::vector<double>(n, 0.0), test.run);
  rows.extremes(f.data());
  Violators violators;
  const auto odd = [](index_t i) { return i % 2 == 1; };
  const auto found = rows_of(violators.some(rows, 0.0, true, 30, odd));
  CHECK_EQUAL(found.size(), std::size_t(30));
  for (const index_t row : found) CHECK_EQUAL(row % 2, 0);
  CHECK(*found.rbegin() > 100);  // not the first ones
  CHECK_EQUAL(violators.some(rows, 0.0, true, 1000, none).size(), n);
  CHECK_EQUAL(violators.some(rows, 0.0, false, 1000, none).size(), std::size_t(0));
}
