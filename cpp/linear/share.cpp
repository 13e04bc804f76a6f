#include "linear/share.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace psvm {

Share::Share(std::vector<row_t> rows, const BlockProblem& block, std::vector<std::int8_t> signs)
    : block(block), signs(std::move(signs)), rows_(std::move(rows)) {
  count_ = rows_.empty() ? block.size : static_cast<index_t>(rows_.size());
  // An odd number of cache lines: entries a power of two apart would share a cache set.
  const index_t stride = ((count_ + lanes<double> - 1) / lanes<double> | 1) * lanes<double>;
  Column* const needed[] = {&margin, &change, &centre, &alpha, &weight};
  // Not initialised: the first pass does, on the threads that will use it.
  memory_.emplace_back().make_room_for(static_cast<std::size_t>(stride) * std::size(needed), false);
  double* next = memory_.back().data();
  for (Column* column : needed) *column = std::exchange(next, next + stride);
}

double* Share::make(Column Share::* column) {
  if (!(this->*column)) {
    memory_.emplace_back().make_room_for(static_cast<std::size_t>(std::max<index_t>(count_, 1)),
                                         false);
    this->*column = memory_.back().data();
  }
  return this->*column;
}

index_t Share::position_of(index_t row) const {
  if (rows_.empty() && !block.feature_row) return std::min(row, count_);
  if (paired_) return std::min(2 * row, count_);
  // By hand: Clang 14 does not take the ranges of libstdc++ 12.
  index_t low = 0;
  for (index_t high = count_; low < high;) {
    const index_t middle = low + (high - low) / 2;
    if (feature_row(middle) < row)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void Share::gather() {
  const auto n = static_cast<std::size_t>(count_);
  make(&Share::y);
  make(&Share::cost);
  for (std::size_t k = 0; k < n; ++k) {
    const row_t own = row(static_cast<index_t>(k));
    y[k] = signs[static_cast<std::size_t>(block.codes[own])];
    cost[k] = block.cost[own];
  }
  paired_ = rows_.empty() && block.feature_row && block.target && n % 2 == 0;
  for (std::size_t k = 0; k < n && paired_; k += 2)
    paired_ = block.feature_row[k] == static_cast<row_t>(k / 2) &&
              block.feature_row[k + 1] == static_cast<row_t>(k / 2) && y[k] == 1.0 &&
              y[k + 1] == -1.0 && block.target[k] <= block.target[k + 1];
}

void Share::tame(double factor) {
  tamed_ = factor;
  for (index_t k = 0; k < count_; ++k)
    cost[static_cast<std::size_t>(k)] = block.cost[row(k)] * factor;
}

void Share::keep_best(const double* from, const double* factor) {
  make(&Share::best);
  for (index_t k = 0; k < count_; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const bool positive =
        y ? y[at] > 0.0 : signs[static_cast<std::size_t>(block.codes[row(k)])] > 0;
    best[at] = from[k] * factor[positive];
  }
}

}  // namespace psvm
