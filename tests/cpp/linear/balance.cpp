#include "linear/balance.hpp"

#include "check.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
// Some at 0, at p = 1 some at their cost, the positive ones heavier if asked for.
std::vector<Variable> variables(double p, bool positive_heavier, unsigned seed) {
  const PNormHinge loss(p);
  const auto draws = numbers(4 * 30, 0.0, 1.0, seed);
  std::vector<Variable> all;
  for (std::size_t i = 0; i < 30; ++i) {
    const double *draw = &draws[4 * i], y = draw[0] < 0.5 ? 1.0 : -1.0, cost = 0.5 + draw[1];
    double alpha = std::clamp(1.6 * draw[2] - 0.3, 0.0, 1.0) * cost;
    if ((y > 0.0) != positive_heavier) alpha *= 0.3;
    all.push_back({alpha, loss.slack_of(alpha, cost), cost, 1.0, y, 1.0, draw[3] - 0.5, 0.0});
  }
  return all;
}
double imbalance(const std::vector<Variable>& all, const std::vector<double>& alpha) {
  double sum = 0.0;
  for (std::size_t i = 0; i < all.size(); ++i) sum += all[i].y * alpha[i];
  return sum;
}
}  // namespace

TEST(balance, ends_balanced_and_within_the_bounds) {
  for (const double p : {1.0, 1.5, 3.0})
    for (const bool positive : {false, true})
      for (unsigned seed = 0; seed < 20; ++seed) {
        const auto all = variables(p, positive, seed);
        std::vector<double> before, balanced(all.size());
        for (const Variable& v : all) before.push_back(v.alpha);
        const double price = balance(PNormHinge(p), true, false, all, balanced);
        CHECK(std::abs(imbalance(all, before)) > 0.1);
        CHECK_NEAR(imbalance(all, balanced), 0.0, 1e-13);
        CHECK(price >= 0.0);
        for (std::size_t i = 0; i < all.size(); ++i)
          CHECK(balanced[i] >= 0.0 && (p > 1.0 || balanced[i] <= all[i].cost));
        if (p > 1.0) CHECK_EQUAL(price, 0.0);
      }
}

TEST(balance, free_variables_move_first_and_for_nothing) {
  // Both are free: each gives up or takes its share of the excess by its room.
  const std::vector<Variable> all = {{0.9, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0},
                                     {0.5, 0.0, 1.0, 1.0, -1.0, 1.0, 0.0, 0.0},
                                     {1.0, 0.0, 1.0, 1.0, 1.0, 1.0, -2.0, 0.0},
                                     {1.0, 0.0, 1.0, 1.0, -1.0, 1.0, -2.0, 0.0}};
  std::vector<double> balanced(4);
  CHECK_EQUAL(balance(PNormHinge(1.0), true, false, all, balanced), 0.0);
  const double part = 0.4 / (0.9 + 0.5);
  CHECK_NEAR(balanced[0], 0.9 * (1.0 - part), 1e-15);
  CHECK_NEAR(balanced[1], 0.5 + 0.5 * part, 1e-15);
  CHECK_EQUAL(balanced[2], 1.0);
  CHECK_EQUAL(balanced[3], 1.0);
}

TEST(balance, then_rows_at_a_bound_by_their_price) {
  // No room among free variables: the one of the smaller gradient pays.
  const std::vector<Variable> all = {{1.0, 0.0, 1.0, 1.0, 1.0, 1.0, -3.0, 0.0},
                                     {0.0, 0.0, 2.0, 1.0, -1.0, 1.0, 0.25, 0.0}};
  std::vector<double> balanced(2);
  CHECK_NEAR(balance(PNormHinge(1.0), true, false, all, balanced), 0.25, 1e-15);
  CHECK_EQUAL(balanced[0], 1.0);
  CHECK_NEAR(balanced[1], 1.0, 1e-15);
}

TEST(balance, nothing_moves_without_an_intercept) {
  const auto all = variables(1.0, true, 1);
  std::vector<double> balanced(all.size());
  CHECK_EQUAL(balance(PNormHinge(1.0), false, false, all, balanced), 0.0);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK_EQUAL(balanced[i], all[i].alpha);
}
