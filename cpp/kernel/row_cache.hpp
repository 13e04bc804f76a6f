// Recently used kernel rows, shared by all binary problems of one fit and bounded in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel/kernel_rows.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace psvm {

// Thread-safe: a row handed out stays alive until its last user lets go, evicted or not.
template <class T>
class RowCache {
 public:
  using Row = std::shared_ptr<T[]>;

  RowCache(const KernelRows<T>& kernel, double capacity_bytes)
      : kernel_(kernel), capacity_(capacity_bytes) {}

  // How many rows of a segment fit at once; a batch should not ask for more.
  index_t rows_that_fit(int segment) const {
    const double row = bytes_of(std::max<index_t>(kernel_.length(segment), 1));
    return std::max<index_t>(static_cast<index_t>(capacity_ / row), 1);
  }

  // Sets memory aside for other kernel values, at most `bytes` and at most half of what is free of
  // reservations; returns how much. To be returned by `give_back`.
  double reserve(double bytes) {
    const std::lock_guard lock(mutex_);
    const double granted = std::min(bytes, 0.5 * (capacity_ - reserved_));
    reserved_ += granted;
    const double before = used_;
    evict(0.0);
    if (before - used_ > 0.1 * capacity_) return_free_memory();
    return granted;
  }
  void give_back(double bytes) {
    const std::lock_guard lock(mutex_);
    reserved_ -= bytes;
  }

  // The rows over one segment, computing those that are missing in one batch. `scratch` should live
  // on between calls: memory that is new to the process costs as much as the entries in it.
  std::vector<Row> fetch(Rows rows, int segment, std::vector<T>& scratch, RunControl& run) {
    std::vector<Row> found(rows.size());
    std::vector<index_t> missing;
    std::vector<std::size_t> missing_at;
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const auto entry = entries_.find(key(rows[r], segment));
        if (entry != entries_.end()) {
          recent_.splice(recent_.begin(), recent_, entry->second.position);
          found[r] = entry->second.row;
        } else {
          missing.push_back(rows[r]);
          missing_at.push_back(r);
        }
      }
    }
    if (missing.empty()) return found;
    const index_t length = kernel_.length(segment);
    scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(length) * missing.size()));
    kernel_.store_rows(missing, segment, scratch.data(), length, run);
    std::vector<Place> places = places_for(missing.size(), length);
    // On all threads: the first touch of new memory costs more than the copy.
    run.parallel_for(static_cast<index_t>(missing.size()), [&](index_t m) {
      const T* from = scratch.data() + m * length;
      std::copy(from, from + length, places[static_cast<std::size_t>(m)].row.get());
    });
    const std::lock_guard lock(mutex_);
    for (std::size_t m = 0; m < missing.size(); ++m) {
      if (places[m].kept) keep(key(missing[m], segment), places[m].row, length);
      found[missing_at[m]] = std::move(places[m].row);
    }
    return found;
  }

 private:
  struct Entry {
    Row row;
    index_t length;
    typename std::list<std::int64_t>::iterator position;
  };

  std::int64_t key(index_t row, int segment) const {
    return static_cast<std::int64_t>(row) * kernel_.segments() + segment;
  }

  // Memory for a row, and whether it counts as used: a row is kept if it fits.
  struct Place {
    Row row;
    bool kept;
  };
  std::vector<Place> places_for(std::size_t count, index_t length) {
    const std::lock_guard lock(mutex_);
    const double bytes = bytes_of(length);
    std::vector<Place> places;
    for (std::size_t k = 0; k < count; ++k) {
      const bool fits = bytes <= capacity_ - reserved_;
      Row row = fits ? evict(bytes, length) : nullptr;
      if (!row) row = Row(new T[static_cast<std::size_t>(length)]);
      places.push_back({std::move(row), fits});
      if (fits) used_ += bytes;
    }
    return places;
  }

  // Enters a row in its place, unless another thread has entered the same meanwhile.
  void keep(std::int64_t at, const Row& row, index_t length) {
    if (entries_.count(at)) {
      used_ -= bytes_of(length);
      return;
    }
    recent_.push_front(at);
    entries_.emplace(at, Entry{row, length, recent_.begin()});
  }

  static double bytes_of(index_t length) { return static_cast<double>(length) * sizeof(T); }

  // Rows that are dropped leave holes that only rows fill again: other memory would be taken from the
  // system in addition.
  static void return_free_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
  }

  // Drops the rows not used for longest until `bytes` more fit. Returns one of the given length, if
  // nobody else has it: memory that is given to the system and taken anew ends up in pieces.
  Row evict(double bytes, index_t length = 0) {
    Row again;
    while (used_ + bytes > capacity_ - reserved_ && !recent_.empty()) {
      const auto oldest = entries_.find(recent_.back());
      Entry& entry = oldest->second;
      used_ -= bytes_of(entry.length);
      if (entry.length == length && entry.row.use_count() == 1) again = std::move(entry.row);
      entries_.erase(oldest);
      recent_.pop_back();
    }
    return again;
  }

  const KernelRows<T>& kernel_;
  const double capacity_;
  double used_ = 0.0, reserved_ = 0.0;
  std::mutex mutex_;
  std::list<std::int64_t> recent_;
  std::unordered_map<std::int64_t, Entry> entries_;
};

// Memory set aside in a cache for as long as this lives.
template <class T>
class Reservation {
 public:
  Reservation() = default;
  Reservation(RowCache<T>& cache, double bytes) : cache_(&cache), bytes_(cache.reserve(bytes)) {}
  Reservation(Reservation&& other) noexcept { *this = std::move(other); }
  Reservation& operator=(Reservation&& other) noexcept {
    std::swap(cache_, other.cache_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Reservation() {
    if (cache_) cache_->give_back(bytes_);
  }
  double bytes() const { return bytes_; }

 private:
  RowCache<T>* cache_ = nullptr;
  double bytes_ = 0.0;
};

}  // namespace psvm
