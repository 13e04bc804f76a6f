#include "smo/round.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

TEST(round, a_proof_is_the_plain_primal_and_dual) {
  TestRun test(1);
  for (const double p : {1.0, 1.5, 2.0, 3.0})
    for (const bool fit_intercept : {true, false}) {
      const SmallProblem problem(p, 50, 1);
      const SmallKernel<double> kernel(50, 3, 2);
      const PNormHinge loss(p);
      Round<double> round(fit_intercept, 0.0, 1e-6, test.run);
      round.start(loss, problem.rows(), problem.alpha);
      const auto f = problem.decision(kernel.K, problem.alpha);
      const Proof proof = round.certify(f);
      const double norm = 0.5 * problem.squared_norm(f, problem.alpha), b = round.intercept();
      const double primal = norm + problem.lost(f, b), dual = problem.dual(f, problem.alpha);
      CHECK_NEAR(proof.primal, primal, 1e-12 * primal);
      CHECK_NEAR(proof.dual, dual, 1e-12 * primal);
      CHECK_NEAR(proof.gap, (primal - dual) / primal, 1e-12);
      CHECK_NEAR(round.difference(), primal - dual, 1e-12 * primal);
      CHECK_NEAR(round.magnitude(), primal, 1e-12 * primal);
      CHECK_NEAR(round.reach(), problem.violation(f, problem.alpha, fit_intercept), 1e-12);
      if (!fit_intercept) {
        CHECK_EQUAL(b, 0.0);
        continue;
      }
      // b is good, and the best one no worse than any.
      const double least = best_lost(problem, f);
      CHECK(problem.lost(f, b) <= least + 0.02 * (primal - dual));
      CHECK_NEAR(problem.lost(f, round.best_intercept(f)), least, 1e-10 * least);
    }
}

TEST(round, a_balance_counts_in_the_primal) {
  TestRun test(1);
  SmallProblem problem(1.5, 40, 3);
  const SmallKernel<double> kernel(40, 3, 4);
  for (std::size_t i = 0; i < 40; ++i)
    if (problem.y[i] > 0.0) problem.alpha[i] += 0.05;
  const double balance = balance_of(problem.y, problem.alpha);
  CHECK(balance > 0.3);
  const PNormHinge loss(1.5);
  Round<double> round(true, balance, 1e-6, test.run);
  round.start(loss, problem.rows(), problem.alpha);
  const auto f = problem.decision(kernel.K, problem.alpha);
  const Proof proof = round.certify(f);
  const double b = round.intercept();
  const double primal =
      0.5 * problem.squared_norm(f, problem.alpha) + problem.lost(f, b) + balance * b;
  CHECK_NEAR(proof.primal, primal, 1e-12 * std::abs(primal));
  CHECK_NEAR(proof.dual, problem.dual(f, problem.alpha), 1e-12 * std::abs(primal));
  CHECK(problem.lost(f, b) + balance * b <=
        best_lost(problem, f, balance) + 0.02 * round.difference());
}

TEST(round, a_given_norm_replaces_that_of_the_decision_values) {
  TestRun test(1);
  const SmallProblem problem(1.0, 20, 5);
  const PNormHinge loss(1.0);
  Round<double> round(true, 0.0, 1e-6, test.run);
  round.start(loss, problem.rows(), problem.alpha);
  const std::vector<double> f(20, 0.0);
  CHECK_NEAR(round.certify(f).dual - round.certify(f, 3.0).dual, 1.5, 1e-12);
}

TEST(round, rounds_of_whole_blocks_close_the_gap) {
  for (const double p : {1.0, 1.5, 3.0})
    for (const bool fit_intercept : {true, false}) {
      const SmallProblem problem(p, 40, 6);
      const SmallKernel<double> kernel(40, 3, 7);
      const PNormHinge loss(p);
      TestRun test(1);
      Round<double> round(fit_intercept, 0.0, 1e-8, test.run);
      round.start(loss, problem.rows(), problem.alpha);
      Block<double>& block = round.block();
      block.resize(40, !fit_intercept);
      for (std::size_t i = 0; i < 40; ++i) {
        for (std::size_t j = 0; j < 40; ++j)
          block.gram[i * at(block.stride) + j] = kernel.K[i * 40 + j];
        block.diagonal[i] = kernel.K[i * 41];
      }
      double dual = -infinity;
      Proof proof{};
      for (int k = 0; k < 30; ++k) {
        const auto before = round.rows().alphas();
        proof = round.certify(problem.decision(kernel.K, before));
        CHECK(proof.dual >= dual - 1e-12);
        dual = proof.dual;
        const BlockChanges changes = round.solve(all_of(40));
        std::vector<index_t> changed;
        for (std::size_t i = 0; i < 40; ++i)
          if (round.rows().alpha(i) != before[i]) changed.push_back(static_cast<index_t>(i));
        CHECK(changes.places == changed);
        CHECK(changes.steps > 0 || changed.empty());
      }
      CHECK(proof.gap <= 1e-8);
    }
}

TEST(round, steps_are_counted_down) {
  const SmallProblem problem(2.0, 30, 8);
  const SmallKernel<double> kernel(30, 3, 9);
  const PNormHinge loss(2.0);
  TestRun test(1);
  Round<double> round(true, 0.0, 1e-8, test.run);
  round.start(loss, problem.rows(), problem.alpha);
  Block<double>& block = round.block();
  block.resize(30, false);
  for (std::size_t i = 0; i < 30; ++i) {
    for (std::size_t j = 0; j < 30; ++j)
      block.gram[i * at(block.stride) + j] = kernel.K[i * 30 + j];
    block.diagonal[i] = kernel.K[i * 31];
  }
  round.limit_steps(5);
  round.certify(problem.decision(kernel.K, problem.alpha));
  CHECK_EQUAL(round.solve(all_of(30)).steps, 5);
  CHECK_EQUAL(round.steps_left(), 0);
  round.limit_steps(-1);
  CHECK(round.steps_left() > 1000000000);
}

TEST(round, the_hard_margin_is_scaled_to_be_feasible) {
  TestRun test(1);
  // Two points at a distance of 2 along a line: w = 1 is the widest margin; alpha = 1/4 gives w = 1/2.
  const std::vector<double> y = {1.0, -1.0}, cost(2, infinity);
  const PNormHinge loss(1.0);
  Round<double> round(true, 0.0, 1e-6, test.run);
  round.start(loss, {y.data(), y.data(), cost.data()}, {0.25, 0.25});
  const Proof proof = round.certify({0.5, -0.5});
  CHECK_NEAR(proof.dual, 0.5 - 0.125, 1e-15);
  CHECK_NEAR(proof.primal, 0.5, 1e-15);
  CHECK_NEAR(proof.gap, 0.25, 1e-15);
  CHECK_EQUAL(round.certify({-0.5, 0.5}).gap, infinity);
}

// --- the outlook ---------------------------------------------------------------------------------

namespace {
// Whether it has no hope in the last of some rounds, whose gap is multiplied by `gap_factor` and whose
// dual grows by `dual_growth` each.
bool hopeless(std::size_t rounds, double gap_factor, double dual_growth, bool impatient = false) {
  Outlook outlook(1e-4, impatient ? 10 : 50, impatient ? 100.0 : 2e4);
  double gap = 1.0;
  bool last = false;
  for (std::size_t k = 0; k < rounds; ++k, gap *= gap_factor)
    last = outlook.hopeless({gap, 1.0, dual_growth * static_cast<double>(k)});
  return last;
}
}  // namespace

TEST(round, a_gap_that_stands_still_is_hopeless_at_the_end_of_a_window) {
  CHECK(hopeless(100, 1.0, 0.0));
  CHECK(hopeless(20, 1.0, 0.0, true));
  for (const std::size_t rounds : {1u, 49u, 50u, 99u, 101u}) CHECK(!hopeless(rounds, 1.0, 0.0));
  for (const std::size_t rounds : {1u, 9u, 10u, 19u, 21u}) CHECK(!hopeless(rounds, 1.0, 0.0, true));
}

TEST(round, a_gap_that_grows_is_hopeless) { CHECK(hopeless(100, 1.01, 0.0)); }

TEST(round, a_gap_that_falls_fast_enough_is_not) {
  // A factor of 10000 in 1000 rounds, then in 10 million.
  CHECK(!hopeless(100, std::pow(1e-4, 1e-3), 0.0));
  CHECK(hopeless(100, std::pow(1e-4, 1e-7), 0.0));
  // The impatient wait 100 rounds, not 1000.
  CHECK(!hopeless(20, std::pow(1e-4, 1.0 / 60.0), 0.0, true));
  CHECK(hopeless(20, std::pow(1e-4, 1e-3), 0.0, true));
}

TEST(round, a_dual_that_grows_is_hope) {
  // The gap of 1 is closed by the dual's growth in 1 / growth rounds.
  CHECK(!hopeless(100, 1.0, 1e-3));
  CHECK(hopeless(100, 1.0, 1e-5));
  CHECK(!hopeless(20, 1.0, 0.02, true));
  CHECK(hopeless(20, 1.0, 0.005, true));
}
