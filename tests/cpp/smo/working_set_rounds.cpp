#include "smo/working_set_rounds.hpp"

#include <set>

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
template <class T>
struct Fixture {
  static constexpr index_t n = 1500;
  SmallProblem problem;
  SmallKernel<T> kernel;
  RowCache<T> cache;
  TestRun test{1};
  KernelProblem given;
  PNormHinge loss;

  Fixture(double p, index_t features, bool fit_intercept)
      : problem(p, at(n), 1),
        kernel(n, features, 2),
        cache(*kernel.points, 1e8),
        given{{0}, problem.rows(), p, fit_intercept},
        loss(p) {
    problem.alpha.assign(at(n), 0.0);
  }
  WorkingSetRounds<T> rounds(WorkingSetStart start) {
    return {*kernel.points, &cache, given, loss, std::move(start), 1e-6, test.run};
  }
};

// Each round: decision values that belong to alpha, a dual that does not fall, a balance that stays.
template <class T>
void check_rounds(double p, index_t features, bool fit_intercept) {
  Fixture<T> fixture(p, features, fit_intercept);
  auto rounds = fixture.rounds({fixture.problem.alpha, {}, {}});
  double dual = -infinity;
  index_t total = 0;
  for (int k = 0; k < 8; ++k) {
    const Proof proof = rounds.certify();
    const auto alpha = rounds.rows().alphas();
    const auto f = fixture.problem.decision(fixture.kernel.K, alpha);
    const double plain = fixture.problem.dual(f, alpha), error = 1e4 * rounding<T>();
    CHECK_NEAR(proof.dual, plain, error * std::max(1.0, std::abs(plain)));
    CHECK(proof.dual >= dual - error * std::abs(plain));
    dual = proof.dual;
    for (std::size_t i = 0; i < alpha.size(); i += 7) CHECK_NEAR(rounds.decision()[i], f[i], error);
    if (fit_intercept) CHECK_NEAR(balance_of(fixture.problem.y, alpha), 0.0, 1e-9);
    const index_t changed = rounds.improve(k == 0);
    index_t differ = 0;
    for (std::size_t i = 0; i < alpha.size(); ++i) differ += rounds.rows().alpha(i) != alpha[i];
    CHECK_EQUAL(changed, differ);
    CHECK(changed > 0 && changed <= rounds.block_size());
    total += changed;
  }
  CHECK_EQUAL(rounds.total_changed(), total);
  CHECK(!rounds.indefinite() && !rounds.unbounded());
  CHECK(dual > 10.0);
}
}  // namespace

TEST(working_set_rounds, each_raises_the_dual) {
  check_rounds<double>(1.0, 3, true);
  check_rounds<double>(1.5, 70, false);
  check_rounds<float>(1.5, 3, true);
  check_rounds<float>(1.0, 70, true);
}

TEST(working_set_rounds, blocks_grow_until_they_hold_the_free_ones) {
  Fixture<float> fixture(1.5, 1000, true);
  auto rounds = fixture.rounds({fixture.problem.alpha, {}, {}});
  for (int k = 0; k < 12; ++k) {
    const index_t free = rounds.rows().free();
    rounds.certify();
    rounds.improve(k == 0);
    if (4 * free <= 3 * 512) CHECK(rounds.block_size() <= 512);
  }
  CHECK(4 * rounds.rows().free() > 3 * 512);
  CHECK(3 * rounds.block_size() >= 4 * rounds.rows().free());
}

TEST(working_set_rounds, start_from_known_decision_values) {
  Fixture<double> fixture(1.5, 3, true);
  auto rounds = fixture.rounds({fixture.problem.alpha, {}, {}});
  rounds.certify();
  rounds.improve(true);
  const double dual = rounds.certify().dual;
  auto again = fixture.rounds({rounds.rows().alphas(), rounds.decision().values(), {}});
  CHECK_NEAR(again.certify().dual, dual, 1e-9 * std::abs(dual));
  auto anew = fixture.rounds({rounds.rows().alphas(), {}, {}});
  CHECK_NEAR(anew.certify().dual, dual, 1e-9 * std::abs(dual));
}

TEST(working_set_rounds, the_worst_are_taken_and_no_other) {
  Fixture<double> fixture(2.0, 3, true);
  auto rounds = fixture.rounds({fixture.problem.alpha, {}, {}});
  rounds.certify();
  std::vector<std::pair<double, index_t>> all;
  for (std::size_t i = 0; i < fixture.problem.size(); ++i)
    if (fixture.problem.y[i] > 0.0 && i % 2)
      all.push_back({-fixture.problem.target[i], static_cast<index_t>(i)});
  std::sort(all.begin(), all.end());
  std::set<index_t> found, expected;
  rounds.take_worst(
      true, 20, false, [](index_t i) { return i % 2 == 0; }, [&](index_t i) { found.insert(i); });
  for (std::size_t k = 0; k < 20; ++k) expected.insert(all[k].second);
  CHECK(found == expected);
}
