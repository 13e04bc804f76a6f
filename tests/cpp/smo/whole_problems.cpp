#include "smo/whole_problems.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
WholeGoal goal_of(double p, bool fit_intercept, bool polish) {
  return {p, fit_intercept, 1e-6, polish, false, -1, -1, infinity, infinity};
}
}  // namespace

TEST(whole_problems, every_outcome_is_the_plain_certificate_of_its_alpha) {
  // Three classes of 20, 25 and 30 rows, and their pairs.
  const SmallKernel<double> kernel(75, 3, 2, {0, 20, 45, 75});
  const index_t starts[] = {0, 20, 45, 75};
  for (const double p : {1.0, 1.5, 3.0})
    for (const int threads : {1, 2})
      for (const bool fit_intercept : {true, false}) {
        std::vector<SmallProblem> stated;
        std::vector<WholeProblem> problems;
        const int pairs[][2] = {{0, 1}, {0, 2}, {1, 2}};
        index_t total = 0;
        for (const auto& [a, b] : pairs) {
          const index_t rows = starts[a + 1] - starts[a] + starts[b + 1] - starts[b];
          stated.emplace_back(p, static_cast<std::size_t>(rows), 1u, true);
          total += rows;
        }
        const std::vector<double> zeros(at(total), 0.0);
        for (std::size_t t = 0; t < 3; ++t)
          problems.push_back({{pairs[t][0], pairs[t][1]},
                              static_cast<index_t>(stated[t].size()),
                              stated[t].rows(),
                              {},
                              zeros.data()});
        std::vector<double> alpha(at(total)), decision(at(total));
        TestRun test(threads);
        const auto outcomes =
            solve_whole_problems(*kernel.points, problems, goal_of(p, fit_intercept, true), {},
                                 alpha.data(), decision.data(), test.run);
        std::size_t begin = 0;
        for (std::size_t t = 0; t < 3; ++t) {
          const SmallProblem& problem = stated[t];
          const std::size_t size = problem.size();
          const std::vector<double> own(alpha.begin() + static_cast<index_t>(begin),
                                        alpha.begin() + static_cast<index_t>(begin + size));
          std::vector<index_t> rows;
          for (const int s : pairs[t])
            for (index_t i = starts[s]; i < starts[s + 1]; ++i) rows.push_back(i);
          std::vector<double> K(size * size);
          for (std::size_t i = 0; i < size; ++i)
            for (std::size_t j = 0; j < size; ++j) K[i * size + j] = kernel.entry(rows[i], rows[j]);
          const auto f = problem.decision(K, own);
          const double norm = problem.squared_norm(f, own);
          const double primal = 0.5 * norm + problem.lost(f, outcomes[t].intercept);
          CHECK(outcomes[t].solved && outcomes[t].polished);
          CHECK_NEAR(outcomes[t].primal, primal, 1e-9 * primal);
          CHECK_NEAR(outcomes[t].dual, problem.dual(f, own), 1e-9 * primal);
          CHECK_NEAR(outcomes[t].squared_norm, norm, 1e-9 * norm);
          CHECK(outcomes[t].gap <= 1e-11);
          for (std::size_t i = 0; i < size; ++i) CHECK_NEAR(decision[begin + i], f[i], 1e-9);
          if (fit_intercept) CHECK_NEAR(balance_of(problem.y, own), 0.0, 1e-9);
          begin += size;
        }
      }
}

TEST(whole_problems, a_listener_hears_every_round_and_stops_a_problem_alone) {
  const SmallKernel<double> kernel(60, 3, 2);
  const SmallProblem stated(1.5, 60, 1, true);
  const std::vector<double> zeros(60, 0.0);
  const WholeProblem problem{{0}, 60, stated.rows(), {}, zeros.data()};
  std::vector<double> alpha(120), decision(120);
  std::vector<index_t> heard;
  TestRun test(2);
  const auto outcomes = solve_whole_problems(
      *kernel.points, {problem, problem}, goal_of(1.5, true, true),
      [&](index_t t, bool, const RoundRecord& record) {
        heard.push_back(t);
        return t == 0 && record.iteration == 1;
      },
      alpha.data(), decision.data(), test.run);
  CHECK(outcomes[0].stopped && !outcomes[0].solved);
  CHECK(outcomes[1].solved && outcomes[1].polished);
  CHECK_EQUAL(heard.size(), outcomes[0].history.size() + outcomes[1].history.size());
}

TEST(whole_problems, rows_may_share_a_kernel_row) {
  // Regression: two rows of opposite signs on each of 20 kernel rows.
  const SmallKernel<double> kernel(20, 2, 3);
  const auto values = numbers(20, -1.0, 1.0, 5);
  std::vector<double> y, target, cost(40, 2.0), zeros(40, 0.0);
  std::vector<index_t> place;
  for (int i = 0; i < 40; ++i) {
    y.push_back(i < 20 ? 1.0 : -1.0);
    target.push_back(values[static_cast<std::size_t>(i % 20)] - 0.1 * y.back());
    place.push_back(i % 20);
  }
  const WholeProblem problem{{0}, 40, {y.data(), target.data(), cost.data()}, place, zeros.data()};
  std::vector<double> alpha(40), decision(40);
  TestRun test(1);
  const auto outcomes = solve_whole_problems(*kernel.points, {problem}, goal_of(1.5, true, false),
                                             {}, alpha.data(), decision.data(), test.run);
  CHECK(outcomes[0].solved);
  CHECK(outcomes[0].gap <= 1e-6);
  for (std::size_t i = 0; i < 20; ++i) {
    double f = 0.0;
    for (std::size_t j = 0; j < 40; ++j)
      f += alpha[j] * y[j] * kernel.entry(static_cast<index_t>(i), place[j]);
    CHECK_NEAR(decision[i], f, 1e-9);
    CHECK_NEAR(decision[i + 20], f, 1e-9);
  }
}

TEST(whole_problems, an_indefinite_matrix_is_found_out) {
  // Minus the identity leads nowhere: alpha stays where it was.
  std::vector<double> matrix(100, 0.0);
  for (std::size_t i = 0; i < 10; ++i) matrix[11 * i] = -1.0;
  const auto kernel = matrix_rows<double>({matrix.data(), 10, 10, 10, 1}, {0, 10});
  const SmallProblem stated(2.0, 10, 1, true);
  const std::vector<double> zeros(10, 0.0);
  const WholeProblem problem{{0}, 10, stated.rows(), {}, zeros.data()};
  std::vector<double> alpha(10, 1.0), decision(10);
  TestRun test(1);
  WholeGoal goal = goal_of(2.0, true, true);
  goal.doubtful = true;
  const auto outcomes =
      solve_whole_problems(*kernel, {problem}, goal, {}, alpha.data(), decision.data(), test.run);
  CHECK(!outcomes[0].solved || outcomes[0].indefinite);
  CHECK(outcomes[0].indefinite);
}

TEST(whole_problems, of_the_two_rows_of_a_target_one_has_an_alpha) {
  // 30 targets on 20 kernel rows; with an epsilon and without one.
  const SmallKernel<double> kernel(20, 2, 3);
  const auto values = numbers(30, -1.0, 1.0, 5);
  for (const double p : {1.0, 1.5, 2.0, 3.0})
    for (const double epsilon : {0.1, 0.0})
      for (const bool fit_intercept : {true, false}) {
        std::vector<double> y, target, cost;
        std::vector<index_t> place;
        for (int i = 0; i < 60; ++i) {
          y.push_back(i % 2 ? -1.0 : 1.0);
          target.push_back(values[at(i / 2)] - epsilon * y.back());
          cost.push_back(y.back() > 0.0 ? 6.0 : 1.0);  // a quantile
          place.push_back(i / 2 % 20);
        }
        const std::vector<double> zeros(60, 0.0);
        const WholeProblem problem{
            {0}, 60, {y.data(), target.data(), cost.data()}, place, zeros.data()};
        std::vector<double> alpha(60), decision(60);
        TestRun test(1);
        const auto outcomes =
            solve_whole_problems(*kernel.points, {problem}, goal_of(p, fit_intercept, true), {},
                                 alpha.data(), decision.data(), test.run);
        CHECK(outcomes[0].solved && outcomes[0].polished);
        CHECK(outcomes[0].gap <= 1e-11);
        double lost = 0.0, norm = 0.0;
        for (std::size_t i = 0; i < 60; ++i) {
          double f = 0.0;
          for (std::size_t j = 0; j < 60; ++j)
            f += alpha[j] * y[j] * kernel.entry(place[i], place[j]);
          CHECK_NEAR(decision[i], f, 1e-9);
          norm += alpha[i] * y[i] * f;
          const double xi = y[i] * (target[i] - f - outcomes[0].intercept);
          lost += cost[i] * std::pow(std::max(xi, 0.0), p);
          if (i % 2) CHECK(alpha[i] == 0.0 || alpha[i - 1] == 0.0);
        }
        CHECK_NEAR(outcomes[0].primal, 0.5 * norm + lost, 1e-9 * outcomes[0].primal);
      }
}
