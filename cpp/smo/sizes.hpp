// Sizes that the kernel solvers decide by, each with the measurement that chose it.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernel/kernel_rows.hpp"

namespace psvm {

// Up to so many features an entry is computed sooner than cached or mirrored (10, 22 and 54 measured).
inline bool is_cheap(double work_per_entry) { return work_per_entry <= 64; }

// Variables per block at most: large blocks where entries are cheap, since then re-applying rows is
// what costs (2048 measured best for d <= 64, up to 2.6 times faster than 512).
inline index_t largest_block(double work_per_entry, index_t n) {
  return std::min<index_t>(n, is_cheap(work_per_entry) ? 2048 : work_per_entry <= 200 ? 1024 : 512);
}

// Variables per block where the usual one cannot hold most of those that are free. If the largest
// cannot either, all of them, as long as their Gram matrix takes 200 MB at most (RESCUE of
// rows/sizes.py): blocks that take turns hardly converge then (2,559 rows, 2,401 of them free in the
// end, p = 1: 20 rounds of 1,024 gained nothing and Newton took 3.6 s; all in one block 0.8; 3,131 rows
// 7.5 to 0.4, 3,988 rows 13.7 to 0.8). mnist, 3,500 rows: C = 100 2.0 to 0.16 s at p = 1 and 0.18 to
// 0.14 at p = 1.5, where C = 1 loses, 0.12 to 0.20; so it does if twelve rounds are waited for, and
// 3,131 rows take 6.0.
constexpr index_t whole_matrix = 5000;
inline index_t crowded_block(double work_per_entry, index_t n, index_t free) {
  const index_t largest = largest_block(work_per_entry, n);
  return 4 * free > 3 * largest && n <= whole_matrix ? n : largest;
}

// Variables per block as long as the free ones fit. Of few rows a share is enough, the smaller the
// fewer support vectors there are to be expected: 0.15 at p = 1 made one-vs-one fits of satimage and
// letter 3 and 1.8 times faster than all rows in one block.
inline index_t usual_block(double work_per_entry, index_t n, double p) {
  const double share = n <= 512 || p > 2.0 ? 1.0 : p > 1.0 ? 0.25 : 0.15;
  const index_t some = std::max<index_t>(128, std::llround(share * static_cast<double>(n)));
  return std::min(some, largest_block(work_per_entry, n));
}

// Variables per block at first, as long as one step per variable settles a block (C = 1 and below):
// then larger ones save few rounds and waste most of their Gram matrices (512 against 2048: cod_rna,
// magic04 and their like 1.3 to 2 times faster, p > 1 as well).
constexpr index_t first_block = 512;

// Rows of a stored part: 1 GB of float. Twice as many gain nothing over what they cost.
constexpr index_t part_size = 16384;

// Fewer current rows than this are not worth leaving behind (1024 measured equal).
constexpr index_t few_rows = 4096;

}  // namespace psvm
