#include "smo/variables.hpp"

#include "check.hpp"
#include "kernel/plain_kernels.hpp"

using namespace psvm;
using psvm::check::TestRun;

namespace {
struct Stated {
  std::vector<double> y, target, cost;
  std::vector<index_t> kernel_row;

  DualRows rows() const { return {y.data(), target.data(), cost.data()}; }
};

// Two targets on kernel row 1, one on kernel row 0; epsilon 0.1, the rows of the last the other way.
Stated three_targets() {
  return {{1, -1, 1, -1, -1, 1},
          {0.9, 1.1, 1.9, 2.1, -0.9, -1.1},
          {1, 2, 1, 2, 2, 1},
          {1, 1, 1, 1, 0, 0}};
}
}  // namespace

TEST(variables, are_the_rows_where_each_has_a_kernel_row) {
  TestRun test(1);
  const Stated stated{{1, -1, 1}, {1, -1, 1}, {1, 1, 1}, {}};
  const Variables variables(stated.rows(), stated.kernel_row, 3);
  CHECK_EQUAL(variables.size(), 3);
  CHECK(variables.are_kernel_rows(3));
  const RowStates states(PNormHinge(1.0), stated.rows(), {0.0, 0.0, 0.0}, test.run);
  for (index_t v = 0; v < 3; ++v) {
    CHECK_EQUAL(variables.kernel_row(v), v);
    CHECK_EQUAL(variables.rows().of(v), v);
    CHECK_EQUAL(variables.asking(v, states, 0.0), v);
  }
}

TEST(variables, the_two_rows_of_a_target_are_one) {
  const Stated stated = three_targets();
  const Variables variables(stated.rows(), stated.kernel_row, 2);
  CHECK_EQUAL(variables.size(), 3);
  for (index_t i = 0; i < 6; ++i) CHECK_EQUAL(variables.rows().of(i), i / 2);
  CHECK_EQUAL(variables.kernel_row(0), 1);
  CHECK_EQUAL(variables.kernel_row(1), 1);
  CHECK_EQUAL(variables.kernel_row(2), 0);
  CHECK(!variables.are_kernel_rows(2) && !variables.are_kernel_rows(3));
}

TEST(variables, other_rows_are_on_their_own) {
  // Of one sign; of another kernel row; with targets that let both have an alpha; and, of three rows
  // that would fit, the third.
  const Stated stated{{1, 1, -1, 1, -1, 1, -1, 1},
                      {0, 0, 0, 1, -1, 0, 0, 0},
                      {1, 1, 1, 1, 1, 1, 1, 1},
                      {0, 0, 1, 2, 2, 3, 3, 3}};
  const Variables variables(stated.rows(), stated.kernel_row, 4);
  const std::vector<index_t> expected = {0, 1, 2, 3, 4, 5, 5, 6};
  for (std::size_t i = 0; i < 8; ++i)
    CHECK_EQUAL(variables.rows().of(static_cast<index_t>(i)), expected[i]);
  CHECK_EQUAL(variables.size(), 7);
}

TEST(variables, the_row_that_asks_takes_the_step) {
  TestRun test(1);
  const Stated stated = three_targets();
  const Variables variables(stated.rows(), stated.kernel_row, 2);
  const PNormHinge loss(1.0);
  // Decision values 3 on kernel row 1, above both targets, -3 on kernel row 0, below its own.
  const std::vector<double> decision = {3, 3, 3, 3, -3, -3};
  RowStates states(loss, stated.rows(), std::vector<double>(6, 0.0), test.run);
  states.extremes(decision.data());
  CHECK_EQUAL(variables.asking(0, states, 0.0), 1);
  CHECK_EQUAL(variables.asking(1, states, 0.0), 3);
  CHECK_EQUAL(variables.asking(2, states, 0.0), 5);
  CHECK_EQUAL(variables.asking(0, states, -5.0), 0);  // as if the values were -2
  // An alpha on the wrong side goes first.
  RowStates wrong(loss, stated.rows(), {0.5, 0.0, 0.0, 0.0, 0.5, 0.0}, test.run);
  wrong.extremes(decision.data());
  CHECK_EQUAL(variables.asking(0, wrong, 0.0), 0);
  CHECK_EQUAL(variables.asking(2, wrong, 0.0), 4);
}

TEST(variables, of_two_that_ask_alike_the_one_with_an_alpha) {
  TestRun test(1);
  // No epsilon: the scores of both are the same.
  const Stated stated{{1, -1, 1, -1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 1, 1}};
  const Variables variables(stated.rows(), stated.kernel_row, 2);
  const PNormHinge loss(1.0);
  const std::vector<double> high = {3, 3, 3, 3}, low = {-3, -3, -3, -3};
  for (const auto& decision : {high, low}) {
    RowStates states(loss, stated.rows(), {0.5, 0.0, 0.0, 0.5}, test.run);
    states.extremes(decision.data());
    CHECK_EQUAL(variables.asking(0, states, 0.0), 0);
    CHECK_EQUAL(variables.asking(1, states, 0.0), 3);
  }
}
