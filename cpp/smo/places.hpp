// Which rows of a problem share a kernel row. The kernel rows of a problem are numbered in order: a
// row's number among them is its place.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernel/kernel_rows.hpp"

namespace psvm {

class Places {
 public:
  // `place` of each row; empty: each row has its own, in order.
  Places(Rows place, index_t places) : place_(place.begin(), place.end()), places_(places) {
    if (place_.empty()) return;
    first_.assign(at(places) + 1, 0);
    for (const index_t p : place_) ++first_[at(p) + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    rows_.resize(place_.size());
    std::vector<index_t> next = first_;
    for (std::size_t i = 0; i < place_.size(); ++i)
      rows_[at(next[at(place_[i])]++)] = static_cast<index_t>(i);
  }

  bool shared() const { return !place_.empty(); }
  // Kernel rows, and rows.
  index_t size() const { return places_; }
  index_t rows() const { return shared() ? static_cast<index_t>(place_.size()) : places_; }
  index_t of(index_t row) const { return shared() ? place_[at(row)] : row; }

  template <class Visit>
  void for_rows_at(index_t place, const Visit& visit) const {
    if (!shared()) return visit(place);
    for (index_t k = first_[at(place)]; k < first_[at(place) + 1]; ++k) visit(rows_[at(k)]);
  }

  // The places of some rows, each once.
  std::vector<index_t> of(std::vector<index_t> rows) const {
    if (!shared()) return rows;
    for (index_t& row : rows) row = of(row);
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
  }

  // Values by place, as values by row.
  const std::vector<double>& spread(const std::vector<double>& by_place) {
    if (!shared()) return by_place;
    spread_.resize(place_.size());
    for (std::size_t i = 0; i < place_.size(); ++i) spread_[i] = by_place[at(place_[i])];
    return spread_;
  }

  // Values by row, added up by place.
  const std::vector<double>& sum(const std::vector<double>& by_row) {
    if (!shared()) return by_row;
    sum_.assign(at(places_), 0.0);
    for (std::size_t i = 0; i < place_.size(); ++i) sum_[at(place_[i])] += by_row[i];
    return sum_;
  }

 private:
  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  const std::vector<index_t> place_;
  const index_t places_;
  std::vector<index_t> first_, rows_;  // the rows by place, and where those of a place begin
  std::vector<double> spread_, sum_;
};

}  // namespace psvm
