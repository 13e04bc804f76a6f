#include "linear/coordinate_step.hpp"

#include "check.hpp"

using namespace psvm;

namespace {
Variable variable(double alpha, double cost, const PNormHinge& loss) {
  return {alpha, loss.slack_of(alpha, cost), cost, 1.0, 1.0, 1.0, 0.0, 0.0};
}
const double powers[] = {1.0, 1.001, 1.2, 1.5, 1.9, 2.0, 2.1, 3.0, 7.0, 50.0};
}  // namespace

// From any start the step ends at the root of Q alpha + slack_of(alpha) = c.
TEST(coordinate_step, root_of_its_equation) {
  for (const double p : powers) {
    const PNormHinge loss(p);
    const CoordinateStep step(loss);
    for (const double cost : {1e-4, 1.0, 1e4})
      for (const double Q : {0.0, 1e-6, 1.0, 1e6})
        for (const double c : {1e-8, 0.5, 1.0, 1e5})
          for (const double start : {0.0, 1e-3 * cost, cost}) {
            Variable v = variable(start, cost, loss);
            step.solve(v, Q, c);
            CHECK(v.alpha >= 0.0 && v.slack >= 0.0);
            if (p == 1.0) {
              const double root = Q > 0.0 && c / Q < cost ? c / Q : cost;
              CHECK_NEAR(v.alpha, root, 1e-15 * root);
              continue;
            }
            CHECK_NEAR(Q * v.alpha + v.slack, c, 1e-12 * c);
            // alpha and slack belong together, unless the steep power of p near 1 underflows.
            if (std::min(v.alpha, v.slack) > 1e-290)
              CHECK_NEAR(loss.alpha_of(v.slack, cost), v.alpha, 1e-9 * v.alpha);
          }
  }
}

TEST(coordinate_step, at_the_lower_bound_without_a_gain) {
  for (const double p : powers) {
    const PNormHinge loss(p);
    for (const double c : {0.0, -1.0}) {
      Variable v = variable(0.5, 1.0, loss);
      CoordinateStep(loss).solve(v, 1.0, c);
      CHECK(v.at_lower_bound());
      CHECK_EQUAL(v.slack, 0.0);
    }
  }
}

TEST(coordinate_step, the_upper_bound_is_met_exactly) {
  const PNormHinge loss(1.0);
  Variable v = variable(0.1, 0.3, loss);
  CoordinateStep(loss).solve(v, 0.7, 0.7 * 0.3);
  CHECK(v.at_upper_bound());
}
