#include "loss/rounding.hpp"

#include "check.hpp"

using namespace psvm;

namespace {

// Two rows x = 1 and x = -1 with signs of their own, of which w = s and b = 0 leave slacks 1 - s; alpha
// of both is s / 2, and costs are 1.
CertifiedSums two_rows(double s, double p) {
  const double lost = 2.0 * std::pow(1.0 - s, p), alpha = 0.5 * s;
  double conjugate = 0.0;  // of max(0, slack)^p: what alpha slack - slack^p is at most
  if (p > 1.0) {
    const double slack = std::pow(alpha / p, 1.0 / (p - 1.0));
    conjugate = alpha * slack - std::pow(slack, p);
  }
  const double primal = 0.5 * s * s + lost, dual = s - 0.5 * s * s - 2.0 * conjugate;
  return {2.0, 2.0, s, 0.0, 1.0, primal, dual, (primal - dual) / primal, primal, s * s, 0.0};
}

PowerError exact_powers() { return {0.0, 0.0}; }

}  // namespace

TEST(rounding, what_every_slack_may_gain_is_lost) {
  for (const double p : {1.0, 1.5, 2.0, 3.0})
    for (const double error : {1e-12, 1e-6, 1e-2}) {
      const CertifiedSums sums = two_rows(0.5, p);
      const Rounding found = rounding_of_sums(sums, p, false, 0.0, exact_powers(), error, 1.0);
      const double more = 2.0 * (std::pow(0.5 + error, p) - std::pow(0.5, p));
      CHECK(found.difference >= more + sums.alpha * error);
      CHECK(found.difference <= 1.01 * (more + sums.alpha * error) + 1e-13);
      CHECK(found.primal >= more);
    }
}

TEST(rounding, without_errors_there_are_only_those_of_the_sums) {
  const Rounding found =
      rounding_of_sums(two_rows(0.5, 2.0), 2.0, true, 0.0, exact_powers(), 0.0, 1.0);
  CHECK(found.difference > 0.0);
  CHECK(found.difference < 1e-13);
}

TEST(rounding, an_alpha_without_a_balance_costs_what_brings_it_there) {
  CertifiedSums sums = two_rows(0.5, 2.0);
  const auto difference = [&](bool fit_intercept) {
    return rounding_of_sums(sums, 2.0, fit_intercept, 0.0, exact_powers(), 0.0, 1.0).difference;
  };
  sums.excess = 0.01;
  CHECK(difference(true) > 100.0 * difference(false));
  CHECK(difference(true) > 1e-4);  // the square of the excess
  sums.excess = 0.49;              // one sign has next to nothing
  CHECK_EQUAL(difference(true), infinity);
}

TEST(rounding, what_is_no_number_proves_nothing) {
  CertifiedSums sums = two_rows(0.5, 2.0);
  CHECK_EQUAL(rounding_of_sums(sums, 2.0, true, 0.0, exact_powers(), infinity, 1.0).difference,
              infinity);
  sums.dual = std::nan("");
  CHECK_EQUAL(rounding_of_sums(sums, 2.0, true, 0.0, exact_powers(), 0.0, 1.0).difference,
              infinity);
}

TEST(rounding, the_true_gap_is_at_most_one_of_a_sum_that_is_not_negative) {
  CertifiedSums sums = two_rows(0.5, 2.0);
  CHECK_NEAR(true_gap(sums, {0.0, 0.0}), sums.gap, 1e-15);
  CHECK_NEAR(true_gap(sums, {0.1 * sums.magnitude, 0.0}), sums.gap + 0.1, 1e-15);
  CHECK_EQUAL(true_gap(sums, {9.0 * sums.magnitude, 0.0}), 1.0);
  CHECK_EQUAL(true_gap(sums, {0.0, sums.magnitude}), 1.0);  // rounding may be all there is
  sums.primal = -sums.primal;
  CHECK_EQUAL(true_gap(sums, {infinity, 0.0}), infinity);
}
