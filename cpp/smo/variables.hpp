// The variables of a dual problem: its rows, but for the two rows of a target, which are one.
//
// A regression compares a decision value with a target t by two rows, next to each other, on one kernel
// row: of sign +1 and target t - epsilon, and of sign -1 and target t + epsilon. At most one of the two
// has an alpha at the optimum, and it shrinks to 0 before the other grows. So one of them in a block is
// enough, whichever asks for a step, and what wants to pass 0 does so in the next round. (With no
// epsilon both would ask alike, and share what one of them can have: twice the variables, and no single
// solution.)
#pragma once

#include <algorithm>
#include <vector>

#include "smo/places.hpp"
#include "smo/row_states.hpp"

namespace psvm {

class Variables {
 public:
  // `kernel_row` of each row; empty: each of `n` rows has its own, in order.
  Variables(const DualRows& rows, Rows kernel_row, index_t n)
      : Variables(numbers(rows, kernel_row), kernel_row, n) {}

  index_t size() const { return rows_.size(); }
  // The rows of each; `sum` and `spread` go from rows to variables and back.
  Places& rows() { return rows_; }
  const Places& rows() const { return rows_; }
  // The place of its kernel row.
  index_t kernel_row(index_t v) const {
    return kernel_row_.empty() ? v : kernel_row_[static_cast<std::size_t>(v)];
  }
  // Whether they are the kernel rows, in order.
  bool are_kernel_rows(index_t kernel_rows) const {
    if (size() != kernel_rows) return false;
    for (index_t v = 0; v < size(); ++v)
      if (kernel_row(v) != v) return false;
    return true;
  }

  // The row that asks most for a step, by scores about the intercept b; of rows that ask as much, one
  // whose alpha is not 0.
  index_t asking(index_t v, const RowStates& states, double b) const {
    if (!rows_.shared()) return v;
    index_t asking = -1;
    double most = -infinity;
    rows_.for_rows_at(v, [&](index_t row) {
      const auto i = static_cast<std::size_t>(row);
      const double beyond = states.score(i) - b;
      const double asks = std::max(states.can_go_up(i) ? beyond : -infinity,
                                   states.can_go_low(i) ? -beyond : -infinity);
      if (asking >= 0 && !(asks > most) && !(asks == most && states.alpha(i) > 0.0)) return;
      asking = row;
      most = asks;
    });
    return asking;
  }

 private:
  Variables(const std::vector<index_t>& number, Rows kernel_row, index_t n)
      : rows_(number, number.empty() ? n : number.back() + 1) {
    for (std::size_t i = 0; i < number.size(); ++i)
      if (i == 0 || number[i] != number[i - 1]) kernel_row_.push_back(kernel_row[i]);
  }

  // The variable of each row.
  static std::vector<index_t> numbers(const DualRows& rows, Rows kernel_row) {
    const auto of_one_target = [&](std::size_t i, std::size_t j) {
      if (kernel_row[i] != kernel_row[j] || rows.y[i] * rows.y[j] > 0.0) return false;
      return rows.y[i] * (rows.target[j] - rows.target[i]) >= 0.0;
    };
    std::vector<index_t> number;
    index_t next = 0;
    for (std::size_t i = 0; i < kernel_row.size(); ++i) {
      const bool second = i > 0 && next_is_second(number) && of_one_target(i - 1, i);
      number.push_back(second ? next - 1 : next++);
    }
    return number;
  }
  // Whether the last row is the first of its variable.
  static bool next_is_second(const std::vector<index_t>& number) {
    return number.size() < 2 || number.back() != number[number.size() - 2];
  }

  Places rows_;
  std::vector<index_t> kernel_row_;
};

}  // namespace psvm
