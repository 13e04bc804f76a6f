// The rows that violate optimality most.
#pragma once

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "base/run_control.hpp"
#include "smo/row_states.hpp"

namespace psvm {

class Violators {
 public:
  struct Violator {
    double by;
    index_t row;
  };

  // The `count` rows whose scores are farthest beyond the middle on one side, in no order; ties go to
  // the smaller number. Not among those to choose from are hidden rows and those `taken(row)`.
  template <class Taken>
  std::span<const Violator> worst(const RowStates& rows, double middle, bool up, std::size_t count,
                                  const Taken& taken) {
    // From one round to the next violations fall little: only rows that violate by nearly as much as
    // the last ones chosen are looked at first. (0.5 and 0.95 instead of 0.8 measured equal; without
    // it fits take as long, and a search of spambase 6 % longer.)
    Side& side = sides_[up ? 1 : 0];
    find(rows, middle, up, side.cutoff, taken);
    if (side.cutoff > 0.0 && side.found.size() < count) find(rows, middle, up, 0.0, taken);
    side.cutoff = 0.0;
    if (count >= side.found.size()) return side.found;
    std::nth_element(side.found.begin(), side.found.begin() + static_cast<index_t>(count),
                     side.found.end(), [](const Violator& a, const Violator& b) {
                       return a.by != b.by ? a.by > b.by : a.row < b.row;
                     });
    side.cutoff = 0.8 * side.found[count].by;
    return std::span<const Violator>(side.found).first(count);
  }

  struct BothSides {
    std::span<const Violator> up, low;
  };

  // Of `count` rows half on each side, or more that may go low where fewer may go up; a side each for two
  // threads.
  template <class Taken>
  BothSides worst_of_both(const RowStates& rows, double middle, std::size_t count,
                          const Taken& taken, RunControl& run) {
    BothSides both;
    const auto look = [&](index_t side) {
      if (side == 0)
        both.up = worst(rows, middle, true, count / 2, taken);
      else
        both.low = worst(rows, middle, false, count - count / 2, taken);
    };
    if (rows.size() >= many_rows) {
      run.parallel_for(2, look);
    } else {
      look(0);
      look(1);
    }
    if (both.up.size() < count / 2)
      both.low = worst(rows, middle, false, count - both.up.size(), taken);
    return both;
  }

  // `count` of the rows that violate, at random: where all tie, a sample stands for the data.
  template <class Taken>
  std::span<const Violator> some(const RowStates& rows, double middle, bool up, std::size_t count,
                                 const Taken& taken) {
    find(rows, middle, up, 0.0, taken);
    std::vector<Violator>& found = sides_[up ? 1 : 0].found;
    std::shuffle(found.begin(), found.end(), random_);
    return std::span<const Violator>(found).first(std::min(count, found.size()));
  }

 private:
  struct Side {
    std::vector<Violator> found;
    std::vector<index_t> beyond;
    double cutoff = 0.0;
  };

  template <class Taken>
  void find(const RowStates& rows, double middle, bool up, double beyond, const Taken& taken) {
    Side& side = sides_[up ? 1 : 0];
    side.found.clear();
    rows.for_violators(up, middle, beyond, side.beyond, [&](index_t row, double by) {
      if (!taken(row)) side.found.push_back({by, row});
    });
  }

  // Rows from which on it takes some 10 us to look at a side.
  static constexpr index_t many_rows = 8192;

  Side sides_[2];  // rows that may go low, and up
  std::mt19937 random_{0};
};

}  // namespace psvm
