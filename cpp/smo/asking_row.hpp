// Which of the rows that share a kernel row takes part in a block.
#pragma once

#include <algorithm>

#include "smo/places.hpp"
#include "smo/row_states.hpp"

namespace psvm {

// The row of a place that asks most for a step, by scores about the intercept b; of rows that ask as
// much, one whose alpha is not 0. Of the two rows of a regression at most one has an alpha, and it
// shrinks to 0 before the other grows: one of them in a block is enough, blocks need each kernel row
// once, and what wants to pass 0 does so in the next round. (With no epsilon both ask alike, and would
// share what one of them can have: twice the variables, and no single solution.)
inline index_t asking_row(const Places& places, const RowStates& rows, index_t place, double b) {
  index_t asking = -1;
  double most = -infinity;
  places.for_rows_at(place, [&](index_t row) {
    const auto i = static_cast<std::size_t>(row);
    const double beyond = rows.score(i) - b;
    const double asks = std::max(rows.can_go_up(i) ? beyond : -infinity,
                                 rows.can_go_low(i) ? -beyond : -infinity);
    if (asking >= 0 && !(asks > most) && !(asks == most && rows.alpha(i) > 0.0)) return;
    asking = row;
    most = asks;
  });
  return asking;
}

}  // namespace psvm
