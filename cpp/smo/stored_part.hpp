// The kernel matrix among some of the points, kept in memory and extended as points join.
//
// Where variables change many times (p > 1, large C), applying a change to the points that change
// with it is all that matters in between: among them it costs one read of a stored row. That pays
// where entries are dear.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "kernel/kernel_rows.hpp"
#include "kernel/row_cache.hpp"
#include "smo/sizes.hpp"

namespace psvm {

template <class T>
class StoredPart {
 public:
  // As large as the memory of the cache allows; none if that is less than `least` rows.
  static std::unique_ptr<StoredPart> within(RowCache<T>& cache, const Points<T>& points,
                                            index_t rows, index_t least) {
    const auto side = static_cast<double>(std::min(part_size, rows) + lanes<T>);
    Reservation<T> memory(cache, side * side * sizeof(T));
    const auto capacity =
        std::min(rows, static_cast<index_t>(std::sqrt(memory.bytes() / sizeof(T))) - lanes<T>);
    if (capacity < least) return nullptr;
    auto part = std::make_unique<StoredPart>(points, rows, capacity);
    part->memory_ = std::move(memory);
    return part;
  }

  // Of a problem with `rows` rows at most `capacity`. Memory is taken as members join.
  StoredPart(const Points<T>& points, index_t rows, index_t capacity)
      : points_(points),
        capacity_(capacity),
        // An odd number of cache lines: rows a power of two apart would share a cache set.
        stride_(((capacity + lanes<T> - 1) / lanes<T> | 1) * lanes<T>),
        entries_(new T[static_cast<std::size_t>(capacity * stride_)]),
        place_of_(static_cast<std::size_t>(rows), -1) {}

  index_t capacity() const { return capacity_; }
  // Rows of the problem: rows and columns of the stored matrix, in this order.
  const std::vector<index_t>& members() const { return members_; }
  bool has(index_t row) const { return place_of_[static_cast<std::size_t>(row)] >= 0; }

  // The matrix among the members, valid until the next `include`.
  std::unique_ptr<KernelRows<T>> matrix() const {
    const auto m = static_cast<index_t>(members_.size());
    return matrix_rows<T>({entries_.get(), m, m, stride_, 1}, {0, m});
  }

  // Makes members of all `wanted` rows, at most `capacity`; `point_of(row)` is the row's point.
  // Once the part is full they take the places of members that are not wanted.
  template <class PointOf>
  void include(const std::vector<index_t>& wanted, const PointOf& point_of, RunControl& run) {
    std::vector<char> is_wanted(place_of_.size(), 0);
    for (const index_t row : wanted) is_wanted[static_cast<std::size_t>(row)] = 1;
    std::vector<index_t> unwanted, points, places;
    for (std::size_t place = 0; place < members_.size(); ++place)
      if (!is_wanted[static_cast<std::size_t>(members_[place])])
        unwanted.push_back(static_cast<index_t>(place));
    for (const index_t row : wanted) {
      if (has(row)) continue;
      auto place = static_cast<index_t>(members_.size());
      if (place < capacity_) {
        members_.push_back(row);
        points_of_.push_back(point_of(row));
      } else {
        place = unwanted.back();
        unwanted.pop_back();
        place_of_[static_cast<std::size_t>(members_[static_cast<std::size_t>(place)])] = -1;
        members_[static_cast<std::size_t>(place)] = row;
        points_of_[static_cast<std::size_t>(place)] = point_of(row);
      }
      place_of_[static_cast<std::size_t>(row)] = place;
      places.push_back(place);
      points.push_back(point_of(row));
    }
    if (!places.empty()) admit(points, places, run);
  }

 private:
  // Computes the entries of the points that took `places`.
  void admit(Rows points, Rows places, RunControl& run) {
    std::vector<char> is_new(members_.size(), 0);
    for (const index_t place : places) is_new[static_cast<std::size_t>(place)] = 1;
    // Places whose entries among each other are known. A batch of new rows is computed over these
    // and itself, and mirrored: half of the matrix is computed in all.
    std::vector<index_t> known, known_points;
    for (std::size_t place = 0; place < is_new.size(); ++place) {
      if (is_new[place]) continue;
      known.push_back(static_cast<index_t>(place));
      known_points.push_back(points_of_[place]);
    }
    for (std::size_t first = 0; first < points.size(); first += batch_) {
      const std::size_t count = std::min(batch_, points.size() - first);
      known.insert(known.end(), places.begin() + static_cast<index_t>(first),
                   places.begin() + static_cast<index_t>(first + count));
      known_points.insert(known_points.end(), points.begin() + static_cast<index_t>(first),
                          points.begin() + static_cast<index_t>(first + count));
      compute(points.subspan(first, count), places.subspan(first, count), known, known_points, run);
    }
  }

  static constexpr std::size_t batch_ = 256;

  // Entries of some new members with all known ones, written to both sides of the diagonal.
  void compute(Rows points, Rows places, const std::vector<index_t>& known, Rows known_points,
               RunControl& run) {
    const auto width = static_cast<index_t>(known.size());
    rows_.resize(points.size() * known.size());
    points_.pick(known_points, run)->store_cross(points_, points, 0, rows_.data(), width, run);
    const auto at = [](index_t i) { return static_cast<std::size_t>(i); };
    constexpr index_t chunk = 256;  // entries of a new row that stay in cache until mirrored
    run.parallel_for((width + chunk - 1) / chunk, [&](index_t task) {
      const index_t begin = task * chunk, end = std::min(begin + chunk, width);
      for (std::size_t k = 0; k < places.size(); ++k) {
        const T* from = rows_.data() + k * known.size();
        T* row = entries_.get() + places[k] * stride_;
        for (index_t c = begin; c < end; ++c) row[known[at(c)]] = from[c];
      }
      for (index_t c = begin; c < end; ++c) {
        T* row = entries_.get() + known[at(c)] * stride_;
        for (std::size_t k = 0; k < places.size(); ++k)
          row[places[k]] = rows_[k * known.size() + at(c)];
      }
    });
    for (std::size_t k = 0; k < places.size(); ++k)
      entries_[static_cast<std::size_t>(places[k] * stride_ + places[k])] =
          static_cast<T>(points_.diagonal()[static_cast<std::size_t>(points[k])]);
  }

  const Points<T>& points_;
  Reservation<T> memory_;
  const index_t capacity_, stride_;
  std::unique_ptr<T[]> entries_;
  std::vector<index_t> members_, points_of_;  // by place
  std::vector<index_t> place_of_;             // by row of the problem; -1: no member
  std::vector<T> rows_;
};

}  // namespace psvm
