#include "smo/whole_matrix.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

TEST(whole_matrix, decision_values_are_those_of_rows) {
  constexpr index_t n = 20;
  const SmallKernel<double> kernel(n, 3, 2);
  Block<double> block;
  block.resize(n, true);
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) block.gram[at(i * block.stride + j)] = kernel.entry(i, j);
    block.diagonal[at(i)] = kernel.entry(i, i);
  }
  // Every row has its own kernel row, or two share the first.
  std::vector<index_t> place;
  for (index_t i = 0; i <= n; ++i) place.push_back(std::max<index_t>(i - 1, 0));
  TestRun test(1);
  for (const bool shared : {false, true}) {
    Places places(shared ? Rows(place) : Rows(), n);
    WholeMatrix matrix(block, places);
    CHECK(matrix.rows() == (shared ? n + 1 : n));
    const auto coef = numbers(at(matrix.rows()), -1.0, 1.0, 3);
    std::vector<double> decision;
    matrix.decide(coef, decision, test.run);
    CHECK(decision.size() == coef.size());
    for (index_t i = 0; i < matrix.rows(); ++i) {
      double sum = 0.0;
      for (index_t j = 0; j < matrix.rows(); ++j) {
        CHECK(matrix.entries(i)[matrix.place(j)] == kernel.entry(matrix.place(i), matrix.place(j)));
        sum += coef[at(j)] * kernel.entry(matrix.place(i), matrix.place(j));
      }
      CHECK_NEAR(decision[at(i)], sum, 1e-12);
      CHECK(matrix.diagonal(i) == kernel.entry(matrix.place(i), matrix.place(i)));
    }
  }
}
