#include "smo/part_rounds.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
constexpr index_t n = 2600;

// Large costs, so that variables change many times; rows may share their kernel rows by twos.
struct Fixture {
  SmallProblem problem;
  SmallKernel<double> kernel;
  RowCache<double> cache;
  TestRun test{1};
  Budget budget{1e-9, -1, infinity, false};
  std::vector<index_t> kernel_row;
  KernelProblem given;
  PNormHinge loss;
  WorkingSetRounds<double> rounds;
  PartRounds<double> part;

  Fixture(double p, index_t features, bool shared, double cost, const std::string& name = "rbf")
      : problem(with_cost(p, cost)),
        kernel(shared ? n / 2 : n, features, 2, {}, name),
        cache(*kernel.points, 1e9),
        kernel_row(shared ? by_twos() : std::vector<index_t>{}),
        given{{0}, problem.rows(), p, true, kernel_row},
        loss(p),
        rounds(*kernel.points, &cache, given, loss, {problem.alpha, {}, {}}, 1e-9, test.run),
        part(rounds, given, &cache, budget, test.run) {}

  static SmallProblem with_cost(double p, double cost) {
    SmallProblem problem(p, at(n), 1);
    for (double& c : problem.cost) c *= cost;
    problem.alpha.assign(at(n), 0.0);
    return problem;
  }
  static std::vector<index_t> by_twos() {
    std::vector<index_t> rows;
    for (index_t i = 0; i < n; ++i) rows.push_back(i % (n / 2));
    return rows;
  }
  index_t place(std::size_t i) const {
    return kernel_row.empty() ? static_cast<index_t>(i) : kernel_row[i];
  }
  // The decision values of all places, from all variables.
  std::vector<double> plain_decision() const {
    std::vector<double> coef(at(kernel.plain.size), 0.0), f(coef.size(), 0.0);
    for (std::size_t i = 0; i < problem.size(); ++i)
      coef[at(place(i))] += problem.y[i] * rounds.rows().alpha(i);
    for (std::size_t i = 0; i < f.size(); ++i)
      for (std::size_t j = 0; j < f.size(); ++j) f[i] += coef[j] * kernel.K[i * f.size() + j];
    return f;
  }
};

// Rounds over all rows until a part pays, then some among it.
void check_part(double p, index_t features, bool shared, double cost, const std::string& name) {
  Fixture fixture(p, features, shared, cost, name);
  int before = 0;
  for (; before < 300 && !fixture.part.pays(); ++before) {
    fixture.rounds.certify();
    fixture.rounds.improve(before == 0);
  }
  CHECK(before > 2 && before < 300);
  CHECK_EQUAL(fixture.part.size(), 0);
  for (int k = 0; k < 2; ++k) {  // the same part again, perhaps with others
    const double dual = fixture.rounds.certify().dual;
    const auto alpha = fixture.rounds.rows().alphas();
    const index_t changed = fixture.part.improve();
    index_t differ = 0;
    for (std::size_t i = 0; i < alpha.size(); ++i)
      differ += fixture.rounds.rows().alpha(i) != alpha[i];
    CHECK_EQUAL(changed, differ);
    CHECK(changed > 0);
    CHECK(fixture.part.size() > 0 && fixture.part.size() <= fixture.rounds.decision().size());
    CHECK(fixture.rounds.certify().dual > dual);
    CHECK_NEAR(balance_of(fixture.problem.y, fixture.rounds.rows().alphas()), 0.0, 1e-7);
    const auto f = fixture.plain_decision();
    for (std::size_t i = 0; i < f.size(); ++i) CHECK_NEAR(fixture.rounds.decision()[i], f[i], 1e-7);
  }
  CHECK(fixture.part.pays());  // once it does, it stays
  CHECK(!fixture.part.indefinite());
  index_t stored = 0;
  for (index_t place = 0; place < fixture.rounds.decision().size(); ++place)
    stored += fixture.part.stores(place);
  CHECK_EQUAL(stored, features > 64 ? fixture.part.size() : 0);
}
}  // namespace

TEST(part_rounds, outside_hears_of_the_outcome) { check_part(1.5, 3, false, 100.0, "rbf"); }

TEST(part_rounds, rows_that_share_kernel_rows) { check_part(1.5, 3, true, 100.0, "rbf"); }

TEST(part_rounds, of_stored_entries) { check_part(1.5, 70, false, 30.0, "linear"); }

TEST(part_rounds, no_part_where_variables_change_once) {
  Fixture fixture(1.0, 3, false, 1e-3);
  for (int k = 0; k < 5; ++k) {
    fixture.rounds.certify();
    fixture.rounds.improve(k == 0);
    CHECK(!fixture.part.pays());
  }
}
