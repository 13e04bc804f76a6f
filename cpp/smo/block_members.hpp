// The variables of a working set and their Gram matrix.
//
// Where entries are dear, members keep their places from one working set to the next, and only the
// entries of those that join are computed and mirrored.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernel/kernel_rows.hpp"
#include "smo/block_smo.hpp"
#include "smo/sizes.hpp"

namespace psvm {

// Brings a block's Gram matrix up to date with the members that joined at `places`; `all` are the
// kernel's numbers of all members. `between(rows, columns, out, stride)` gives entries; `entries` is
// working memory.
template <class T, class Between>
void join(const KernelRows<T>& kernel, const Between& between, Rows all, Rows places,
          std::vector<T>& entries, Block<T>& block, RunControl& run) {
  const auto q = static_cast<index_t>(all.size()), count = static_cast<index_t>(places.size());
  const index_t stride = block.stride;
  if (count == q) {
    between(all, all, block.gram.data(), stride);
  } else {
    // An odd number of cache lines: entries a power of two apart would share a cache set.
    const index_t width = ((q + lanes<T> - 1) / lanes<T> | 1) * lanes<T>;
    std::vector<index_t> joined;
    for (const index_t place : places) joined.push_back(all[static_cast<std::size_t>(place)]);
    entries.resize(joined.size() * static_cast<std::size_t>(width));
    between(joined, all, entries.data(), width);
    // Mirrored in squares that stay in cache, a line of `lanes` entries on each side.
    run.parallel_for((q + 8 * lanes<T> - 1) / (8 * lanes<T>), [&](index_t task) {
      const index_t begin = task * 8 * lanes<T>, end = std::min(begin + 8 * lanes<T>, q);
      for (index_t j = 0; j < count; ++j)
        std::copy(entries.data() + j * width + begin, entries.data() + j * width + end,
                  block.gram.data() + places[static_cast<std::size_t>(j)] * stride + begin);
      for (index_t k0 = begin; k0 < end; k0 += lanes<T>)
        for (index_t j0 = 0; j0 < count; j0 += lanes<T>)
          for (index_t k = k0; k < std::min(k0 + lanes<T>, end); ++k)
            for (index_t j = j0; j < std::min(j0 + lanes<T>, count); ++j)
              block.gram[static_cast<std::size_t>(k * stride +
                                                  places[static_cast<std::size_t>(j)])] =
                  entries[static_cast<std::size_t>(j * width + k)];
    });
  }
  for (std::size_t k = 0; k < all.size(); ++k) {
    const T own = static_cast<T>(kernel.diagonal()[static_cast<std::size_t>(all[k])]);
    block.gram[k * static_cast<std::size_t>(stride) + k] = own;
    block.diagonal[k] = own;
  }
}

template <class T>
class BlockMembers {
 public:
  explicit BlockMembers(const KernelRows<T>& kernel)
      : kernel_(kernel), keeps_places_(!is_cheap(kernel.work_per_entry())) {}

  // Rows of the problem by place.
  const std::vector<index_t>& rows() const { return rows_; }
  index_t size() const { return static_cast<index_t>(rows_.size()); }

  // Makes members of `chosen` and of no others. `marks` has a zero for every row, then as now.
  void choose(const std::vector<index_t>& chosen, std::vector<char>& marks) {
    const auto mark = [&](index_t row) -> char& { return marks[static_cast<std::size_t>(row)]; };
    if (!keeps_places_ || chosen.size() != rows_.size()) {
      if (chosen == rows_) return joined_.clear();
      rows_ = chosen;
      up_to_date_ = false;
      joined_.resize(rows_.size());
      std::iota(joined_.begin(), joined_.end(), index_t(0));
      return;
    }
    joined_.clear();
    up_to_date_ = false;
    for (const index_t row : chosen) mark(row) = 1;
    for (index_t place = 0; place < size(); ++place) {
      char& stays = mark(rows_[static_cast<std::size_t>(place)]);
      if (!stays) joined_.push_back(place);
      stays = 0;
    }
    std::size_t next = 0;
    for (const index_t row : chosen)
      if (mark(row)) rows_[static_cast<std::size_t>(joined_[next++])] = row;
    for (const index_t row : chosen) mark(row) = 0;
  }

  // Places of the members that have joined since the last `choose`; all of them if that is many.
  const std::vector<index_t>& joined() const { return joined_; }

  // Brings the block's Gram matrix up to date; `kernel_row(row)` is a row's number in the kernel.
  template <class KernelRow, class Between>
  void update(Block<T>& block, bool phantom, const KernelRow& kernel_row, const Between& between,
              RunControl& run) {
    if (up_to_date_) return;
    block.resize(size(), phantom);
    std::vector<index_t> all;
    for (const index_t row : rows_) all.push_back(kernel_row(row));
    join<T>(kernel_, between, all, joined_, entries_, block, run);
    up_to_date_ = true;
  }

 private:
  const KernelRows<T>& kernel_;
  const bool keeps_places_;
  std::vector<index_t> rows_, joined_;
  bool up_to_date_ = true;
  std::vector<T> entries_;
};

}  // namespace psvm
