// The rows of a block that take part in one problem, with their state.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "linear/linear_rows.hpp"

namespace psvm {

// The rows that problems have in a block.
struct BlockProblem {
  index_t size;
  const std::int32_t* codes;  // class of each row
  const double* cost;
  const double* target = nullptr;      // null: the sign, as in classification
  const row_t* feature_row = nullptr;  // of the block, ascending; null: each row has its own
};

// The rows of a block that take part in one problem, and their state, in the order of the rows.
struct Share {
  // `rows` lists the rows that take part, ascending; empty for all. `signs` is the sign of each
  // class in this problem.
  Share(std::vector<row_t> rows, const BlockProblem& block, std::vector<std::int8_t> signs);
  Share(const Share&) = delete;

  index_t count() const { return count_; }
  const std::vector<row_t>& rows() const { return rows_; }
  // First position whose row of features is at least `row`.
  index_t position_of(index_t row) const;
  row_t row(index_t position) const {
    return rows_.empty() ? static_cast<row_t>(position) : rows_[static_cast<std::size_t>(position)];
  }
  row_t feature_row(index_t position) const {
    return block.feature_row ? block.feature_row[row(position)] : row(position);
  }
  // Becomes `from` times the factor of the row's class: factor[0] of y = -1, factor[1] of y = +1.
  void keep_best(const double* from, const double* factor);

  // Keeps sign and cost of every row at hand, where passes are many and rows few.
  void gather();
  // Whether gathered rows 2 i and 2 i + 1 are the sides of a tube around the row of features i: signs +1
  // and -1, and the second target is not below the first.
  bool paired() const { return paired_; }
  // Gathered costs become those of the block times a factor.
  void tame(double factor);
  double tamed() const { return tamed_; }

  // A number for each row.
  using Column = double*;
  // Memory for a column that has none yet.
  double* make(Column Share::* column);

  const BlockProblem block;
  const std::vector<std::int8_t> signs;
  // Margin y (<w, x> + b), its change along the last direction, the centre of the envelope, alpha
  // and its slope W.
  Column margin = nullptr, change = nullptr, centre = nullptr, alpha = nullptr, weight = nullptr;
  // Alpha linearised along the last direction; the best dual variables so far: null before.
  Column linearised = nullptr, best = nullptr;
  // Sign and cost of each row, after `gather`; null before.
  Column y = nullptr, cost = nullptr;

 private:
  std::vector<row_t> rows_;
  index_t count_;
  double tamed_ = 1.0;
  bool paired_ = false;
  // Of the columns that all problems need, and of each of the others. No large pages, which would take
  // what is not used, too.
  std::vector<AlignedMemory<double>> memory_;
};

}  // namespace psvm
