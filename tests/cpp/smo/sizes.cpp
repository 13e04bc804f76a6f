#include "smo/sizes.hpp"

#include "check.hpp"

using namespace psvm;

TEST(sizes, blocks_are_the_larger_the_cheaper_the_entries) {
  CHECK_EQUAL(largest_block(10.0, 100000), 2048);
  CHECK_EQUAL(largest_block(64.0, 100000), 2048);
  CHECK_EQUAL(largest_block(65.0, 100000), 1024);
  CHECK_EQUAL(largest_block(1000.0, 100000), 512);
}

TEST(sizes, no_block_has_more_variables_than_rows) {
  for (const double work : {1.0, 100.0, 1000.0})
    for (const double p : {1.0, 1.5, 2.0, 3.0})
      for (index_t n = 1; n < 5000; n += 37) {
        CHECK(largest_block(work, n) <= n);
        CHECK(usual_block(work, n, p) >= 1);
        CHECK(usual_block(work, n, p) <= largest_block(work, n));
      }
}

TEST(sizes, few_support_vectors_need_a_small_share) {
  CHECK_EQUAL(usual_block(10.0, 512, 1.0), 512);
  CHECK_EQUAL(usual_block(10.0, 600, 1.0), 128);
  CHECK_EQUAL(usual_block(10.0, 2000, 1.0), 300);
  CHECK_EQUAL(usual_block(10.0, 2000, 1.5), 500);
  CHECK_EQUAL(usual_block(10.0, 2000, 3.0), 2000);
  CHECK(is_cheap(64.0) && !is_cheap(65.0));
}

TEST(sizes, all_rows_are_one_block_where_blocks_cannot_hold_the_free_ones) {
  CHECK_EQUAL(crowded_block(1000.0, 1500, 384), 512);
  CHECK_EQUAL(crowded_block(1000.0, 1500, 385), 1500);
  CHECK_EQUAL(crowded_block(1000.0, 5000, 5000), 5000);
  CHECK_EQUAL(crowded_block(1000.0, 5001, 5001), 512);
}
