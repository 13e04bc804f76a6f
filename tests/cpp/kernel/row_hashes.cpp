#include "kernel/row_hashes.hpp"

#include <set>

#include "kernel/plain_kernels.hpp"

namespace psvm {
namespace {

TEST(row_hashes, equal_rows_of_a_class_and_no_others) {
  check::TestRun test(2);
  for (index_t d : {1, 3, 4, 9}) {
    const index_t n = 600;
    std::vector<double> x(static_cast<std::size_t>(n * d));
    for (index_t i = 0; i < n; ++i)  // row i equals row i + 300, but for the sign of its zeros
      for (index_t k = 0; k < d; ++k)
        x[static_cast<std::size_t>(i * d + k)] =
            k == 0 ? static_cast<double>(i % 300) : (i < 300 ? 0.0 : -0.0);
    std::vector<std::int32_t> codes(static_cast<std::size_t>(n), 0);
    codes[0] = 1;
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(n));
    hash_rows(DenseArray<double>{x.data(), n, d, d, 1}, codes.data(), hashes.data(), test.run);
    CHECK_EQUAL((std::set<std::uint64_t>(hashes.begin(), hashes.end()).size()), std::size_t{301});
    for (std::size_t i = 1; i < 300; ++i) CHECK_EQUAL(hashes[i], hashes[i + 300]);
  }
}

TEST(row_hashes, strides_do_not_matter) {
  check::TestRun test(1);
  const std::vector<float> x = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
  const std::vector<float> turned = {1.0f, 4.0f, 2.0f, 5.0f, 3.0f, 6.0f};
  const std::vector<std::int32_t> codes = {0, 1};
  std::uint64_t a[2], b[2];
  hash_rows(DenseArray<float>{x.data(), 2, 3, 3, 1}, codes.data(), a, test.run);
  hash_rows(DenseArray<float>{turned.data(), 2, 3, 1, 2}, codes.data(), b, test.run);
  CHECK_EQUAL(a[0], b[0]);
  CHECK_EQUAL(a[1], b[1]);
  CHECK(a[0] != a[1]);
}

TEST(row_hashes, sparse_rows_are_equal_whatever_zeros_they_store) {
  check::TestRun test(1);
  // (1, 0, 2), the same with a zero stored, with a negative one, (2, 0, 1), (0, 1, 2), none, none.
  const std::vector<double> data = {1.0, 2.0, 1.0, 0.0, 2.0, 1.0, -0.0, 2.0, 2.0, 1.0, 1.0, 2.0};
  const std::vector<std::int32_t> indices = {0, 2, 0, 1, 2, 0, 1, 2, 0, 2, 1, 2};
  const std::vector<std::int32_t> indptr = {0, 2, 5, 8, 10, 12, 12, 12};
  const SparseArray<double, std::int32_t> rows{data.data(), indices.data(), indptr.data(), 7, 3};
  std::vector<std::uint64_t> hashes(7);
  std::vector<std::int32_t> codes(7, 0);
  hash_rows(rows, codes.data(), hashes.data(), test.run);
  CHECK_EQUAL(hashes[1], hashes[0]);
  CHECK_EQUAL(hashes[2], hashes[0]);
  CHECK_EQUAL(hashes[6], hashes[5]);
  CHECK_EQUAL((std::set<std::uint64_t>(hashes.begin(), hashes.end()).size()), std::size_t{4});
  codes[6] = 1;
  hash_rows(rows, codes.data(), hashes.data(), test.run);
  CHECK(hashes[6] != hashes[5]);
}

TEST(row_hashes, groups_are_numbered_by_their_first_members) {
  const std::vector<std::uint64_t> hashes = {7, 0, 7, 3, 0, 0, 9};
  std::vector<index_t> group(hashes.size());
  const auto first = group_equal(hashes.data(), 7, group.data());
  CHECK((first == std::vector<index_t>{0, 1, 3, 6}));
  CHECK((group == std::vector<index_t>{0, 1, 0, 2, 1, 1, 3}));
  CHECK(group_equal(hashes.data(), 0, group.data()).empty());
}

TEST(row_hashes, hashes_that_share_their_places_are_told_apart) {
  // Multiples of 2^48, and as many of 1, each twice: their high bits, or low ones, are few.
  std::vector<std::uint64_t> hashes;
  for (int twice = 0; twice < 2; ++twice)
    for (std::uint64_t i = 0; i < 3000; ++i) hashes.push_back(i % 2 ? i << 48 : i);
  std::vector<index_t> group(hashes.size());
  const auto first = group_equal(hashes.data(), 6000, group.data());
  CHECK_EQUAL(first.size(), std::size_t{3000});
  for (std::size_t i = 0; i < 6000; ++i) CHECK_EQUAL(group[i], static_cast<index_t>(i % 3000));
}

}  // namespace
}  // namespace psvm
