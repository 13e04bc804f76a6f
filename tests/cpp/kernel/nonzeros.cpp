#include "kernel/nonzeros.hpp"

#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

template <class S>
void check_nonzeros(index_t n, index_t d, index_t stride) {
  check::TestRun test(2);
  std::vector<S> x(static_cast<std::size_t>(n * stride), S(99));
  const check::PlainPoints plain(n, d, 1);
  for (index_t i = 0; i < n; ++i)
    for (index_t k = 0; k < d; ++k)
      x[static_cast<std::size_t>(i * stride + k)] = static_cast<S>(plain.row(i)[k]);
  const auto found = nonzeros_of<S>({x.data(), n, d, stride, 1}, test.run);
  CHECK_EQUAL(found.indptr.size(), static_cast<std::size_t>(n + 1));
  CHECK_EQUAL(found.indices.size(), found.data.size());
  std::size_t at = 0;
  for (index_t i = 0; i < n; ++i) {
    CHECK_EQUAL(static_cast<std::size_t>(found.indptr[static_cast<std::size_t>(i)]), at);
    for (index_t k = 0; k < d; ++k) {
      if (plain.row(i)[k] == 0.0) continue;
      CHECK_EQUAL(static_cast<double>(found.data.at(at)), plain.row(i)[k]);
      CHECK_EQUAL(found.indices.at(at), k);
      ++at;
    }
  }
  CHECK_EQUAL(static_cast<std::size_t>(found.indptr.back()), at);
  CHECK_EQUAL(found.data.size(), at);
}

// Fewer and more rows than a task takes (256), rows apart from each other, none at all.
TEST(nonzeros, are_those_of_the_rows) {
  for (index_t n : {0, 1, 40, 256, 700}) {
    check_nonzeros<float>(n, 5, 5);
    check_nonzeros<double>(n, 13, 20);
  }
}

TEST(nonzeros, a_negative_zero_is_none_and_not_a_number_is_one) {
  check::TestRun test(1);
  const std::vector<double> x = {-0.0, std::nan(""), 0.0, 1e-310};
  const auto found = nonzeros_of<double>({x.data(), 1, 4, 4, 1}, test.run);
  CHECK_EQUAL(found.indices.size(), 2u);
  CHECK_EQUAL(found.indices.at(0), 1);
  CHECK_EQUAL(found.indices.at(1), 3);
}

}  // namespace
}  // namespace psvm
