// Rows that follow each other on the same features, as the two sides of a row of a regression: they
// are visited together, for one product with w.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernel/kernel_rows.hpp"

namespace psvm {

class RowGroups {
 public:
  // `place` is the row of features of each row; null: each row has its own.
  RowGroups(const std::int64_t* place, index_t rows) : count_(rows) {
    if (!place) return;
    for (index_t i = 0; i < rows; ++i)
      if (i == 0 || place[i] != place[i - 1]) starts_.push_back(i);
    starts_.push_back(rows);
    count_ = static_cast<index_t>(starts_.size()) - 1;
    // Of the same size mostly: then the starts need not be looked up, in random order.
    each_ = count_ > 0 ? rows / count_ : 1;
    for (index_t g = 0; g <= count_; ++g)
      if (starts_[static_cast<std::size_t>(g)] != g * each_) each_ = 0;
    if (each_ > 0) starts_.clear();
  }

  index_t count() const { return count_; }
  // The first row of a group, and of the number of groups the number of rows.
  index_t first(index_t group) const {
    return each_ > 0 ? group * each_ : starts_[static_cast<std::size_t>(group)];
  }

 private:
  index_t count_, each_ = 1;
  std::vector<index_t> starts_;
};

}  // namespace psvm
