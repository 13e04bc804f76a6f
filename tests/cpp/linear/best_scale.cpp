#include "linear/best_scale.hpp"

#include "check.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
std::vector<Variable> rows(double spread, bool goals, unsigned seed) {
  const auto draws = numbers(3 * 40, 0.0, 1.0, seed);
  std::vector<Variable> all;
  for (std::size_t i = 0; i < 40; ++i) {
    const double goal = goals ? 3.0 * draws[3 * i] - 1.0 : 1.0;
    const double margin = spread * (1.5 * draws[3 * i + 1] - 0.3);
    all.push_back({0.0, 0.0, 0.2 + draws[3 * i + 2], 1.0, 1.0, goal, 0.0, margin});
  }
  return all;
}
}  // namespace

// Against a fine grid over the factors that it looks at.
TEST(best_scale, minimum_over_the_factors) {
  for (const double p : {1.0, 1.5, 2.0, 3.0})
    for (const double spread : {0.2, 1.0, 5.0})
      for (const bool goals : {false, true})
        for (const double norm : {0.1, 10.0}) {
          const PNormHinge loss(p);
          const auto all = rows(spread, goals, 1);
          const BestScale scale(loss, all, norm);
          const double found = scale.find(1e-9), value = scale.value(found);
          double least = infinity;
          for (double e = -1.024; e <= 1.024; e += 1e-3)
            least = std::min(least, scale.value(std::exp2(e)));
          CHECK(std::abs(std::log2(found)) < 1.025);
          CHECK(value <= least + 2e-9);
        }
}

TEST(best_scale, value_is_the_primal_of_the_multiple) {
  const auto all = rows(1.0, true, 2);
  const double p = 1.75, s = 0.8;
  double primal = 0.5 * s * s * 3.0;
  for (const Variable& v : all)
    primal += v.cost * std::pow(std::max(0.0, v.goal - s * v.margin), p);
  CHECK_NEAR(BestScale(PNormHinge(p), all, 3.0).value(s), primal, 1e-13 * primal);
}

TEST(best_scale, smallest_factor_without_slack) {
  const PNormHinge loss(1.0);
  const auto smallest = [&](std::vector<std::pair<double, double>> margins_and_goals) {
    std::vector<Variable> all;
    for (const auto& [margin, goal] : margins_and_goals)
      all.push_back({0.0, 0.0, infinity, 1.0, 1.0, goal, 0.0, margin});
    return BestScale(loss, all, 1.0).smallest_without_slack();
  };
  CHECK_EQUAL(smallest({{2.0, 1.0}, {0.5, 1.0}}), 2.0);
  CHECK_EQUAL(smallest({{2.0, 1.0}, {-0.5, 1.0}}), infinity);
  CHECK_EQUAL(smallest({{0.0, 1.0}}), infinity);
  CHECK_EQUAL(smallest({{-2.0, -1.0}, {1.0, -1.0}, {0.0, 0.0}}), 0.0);
  CHECK_EQUAL(smallest({{2.0, 0.5}, {-2.0, -1.0}}), 0.25);  // up to 0.5
  CHECK_EQUAL(smallest({{2.0, 1.5}, {-2.0, -1.0}}), infinity);
}
