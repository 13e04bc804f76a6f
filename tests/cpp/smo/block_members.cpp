#include "smo/block_members.hpp"

#include "smo/small_problems.hpp"

using namespace psvm;
using namespace psvm::check;

namespace {
// The Gram matrix of the members, whatever happened before.
template <class T>
void check_gram(const BlockMembers<T>& members, const Block<T>& block,
                const SmallKernel<T>& kernel) {
  const index_t q = members.size();
  CHECK_EQUAL(block.size, q + (block.phantom ? 1 : 0));
  for (index_t a = 0; a < q; ++a) {
    const index_t i = members.rows()[at(a)];
    CHECK_NEAR(static_cast<double>(block.diagonal[at(a)]), kernel.entry(i, i), rounding<T>());
    for (index_t b = 0; b < block.stride; ++b) {
      const double expected = b < q ? kernel.entry(i, members.rows()[at(b)]) : 0.0;
      CHECK_NEAR(static_cast<double>(block.gram[at(a * block.stride + b)]), expected,
                 rounding<T>());
    }
  }
}

template <class T>
void check_exchanges(index_t features, bool phantom, int threads) {
  const index_t n = 400;
  const SmallKernel<T> kernel(n, features, 1);
  TestRun test(threads);
  BlockMembers<T> members(*kernel.points);
  Block<T> block;
  std::vector<char> marks(at(n), 0);
  index_t computed = 0;
  const auto same = [](index_t row) { return row; };
  const auto between = [&](Rows rows, Rows columns, T* out, index_t stride) {
    computed += static_cast<index_t>(rows.size());
    kernel.points->between(rows, columns, out, stride, test.run);
  };
  // Larger, exchanged in part, the same, exchanged by one, smaller.
  const auto some = [](index_t from, index_t to) {
    std::vector<index_t> rows;
    for (index_t i = from; i < to; ++i) rows.push_back(i);
    return rows;
  };
  for (const auto& chosen :
       {some(0, 50), some(10, 150), some(30, 170), some(30, 170), some(31, 171), some(200, 210)}) {
    const auto before = members.rows();
    members.choose(chosen, marks);
    CHECK(std::all_of(marks.begin(), marks.end(), [](char mark) { return mark == 0; }));
    auto sorted = members.rows();
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == chosen);
    computed = 0;
    members.update(block, phantom, same, between, test.run);
    check_gram(members, block, kernel);
    if (features > 64 && chosen.size() == before.size()) {
      // Those that stay keep their places, and only those that join are computed.
      CHECK_EQUAL(computed, static_cast<index_t>(members.joined().size()));
      CHECK(computed <= 20);
      for (std::size_t k = 0; k < chosen.size(); ++k)
        if (std::binary_search(chosen.begin(), chosen.end(), before[k]))
          CHECK_EQUAL(members.rows()[k], before[k]);
    }
  }
}
}  // namespace

TEST(block_members, where_entries_are_cheap) {
  check_exchanges<double>(3, false, 1);
  check_exchanges<float>(3, true, 2);
}

TEST(block_members, where_entries_are_dear) {
  check_exchanges<double>(70, true, 1);
  check_exchanges<float>(70, false, 2);
}

TEST(block_members, members_may_share_kernel_rows) {
  const SmallKernel<double> kernel(20, 3, 2);
  TestRun test(1);
  BlockMembers<double> members(*kernel.points);
  Block<double> block;
  std::vector<char> marks(40, 0);
  members.choose({3, 23, 7}, marks);
  members.update(
      block, false, [](index_t row) { return row % 20; },
      [&](Rows rows, Rows columns, double* out, index_t stride) {
        kernel.points->between(rows, columns, out, stride, test.run);
      },
      test.run);
  const index_t points[] = {3, 3, 7};
  for (index_t a = 0; a < 3; ++a)
    for (index_t b = 0; b < 3; ++b)
      CHECK_NEAR(block.gram[at(a * block.stride + b)], kernel.entry(points[a], points[b]), 1e-12);
}
