// Vectors whose first entry starts a cache line: a vector register that straddles two lines costs
// two loads (pair steps of small blocks took 1.2 to 1.7 times as long, of the largest 1.04 times).
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace psvm {

template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) noexcept {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), line));
  }
  void deallocate(T* memory, std::size_t) noexcept { ::operator delete(memory, line); }

  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};

template <class T>
using AlignedVector = std::vector<T, LineAllocator<T>>;

// Pieces of memory of medium size that a thread keeps for its next small fit: their pages are the
// process's already, while those of new ones cost more than a fit of some hundred rows (300 rows: 0.2
// of 0.7 ms; LinearPSVC, 20,000 rows: 1 of 4). At most six, of at most 4 MB each and 16 MB in all.
class SparePieces {
 public:
  static constexpr std::size_t least = std::size_t{1} << 16, most = std::size_t{1} << 22,
                               most_in_all = std::size_t{1} << 24;

  // The smallest one of at least so many bytes, or none; with its size.
  static void* take(std::size_t bytes, std::size_t* size) {
    Piece* best = nullptr;
    for (Piece& piece : here().pieces)
      if (piece.memory && piece.size >= bytes && (!best || piece.size < best->size)) best = &piece;
    if (!best) return nullptr;
    *size = best->size;
    return std::exchange(*best, Piece{}).memory;
  }

  // Keeps a piece, or frees it where there is no room beside larger ones.
  static void give(void* memory, std::size_t size) {
    Piece given{memory, size};
    std::size_t total = 0;
    for (Piece& piece : here().pieces) {
      if (piece.size < given.size) std::swap(piece, given);
      if (total + piece.size > most_in_all) free(std::exchange(piece, Piece{}));
      total += piece.size;
    }
    free(given);
  }

 private:
  struct Piece {
    void* memory = nullptr;
    std::size_t size = 0;
  };
  static void free(const Piece& piece) {
    if (piece.memory)
      LineAllocator<char>().deallocate(static_cast<char*>(piece.memory), piece.size);
  }
  struct Kept {
    Piece pieces[6];
    ~Kept() {
      for (const Piece& piece : pieces) free(piece);
    }
  };
  static Kept& here() {
    thread_local Kept kept;
    return kept;
  }
};

// Memory for numbers that are written before they are read: none is set to zero first, so that the
// threads that fill it share the cost of its first touch. Large pieces ask the system for large pages,
// where it has such (a matrix of 1000 rows: 0.7 instead of 3 ms for its pages).
template <class T>
class AlignedMemory {
 public:
  // What was there is lost. Not all of it may be used where large pages are not wanted.
  void make_room_for(std::size_t count, [[maybe_unused]] bool large_pages = true) {
    if (count <= capacity_) return;
    memory_.reset();
    std::size_t bytes = count * sizeof(T);
    if (bytes > SparePieces::most) {
      bytes = (bytes + page - 1) / page * page;
      memory_ = {static_cast<T*>(::operator new(bytes, std::align_val_t{page})), Free{bytes}};
#if defined(__linux__)
      if (large_pages) madvise(memory_.get(), bytes, MADV_HUGEPAGE);
#endif
    } else {
      void* spare = bytes >= SparePieces::least ? SparePieces::take(bytes, &bytes) : nullptr;
      if (!spare) spare = LineAllocator<char>().allocate(bytes);
      memory_ = {static_cast<T*>(spare), Free{bytes}};
    }
    capacity_ = bytes / sizeof(T);
  }
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  T& operator[](std::size_t k) { return memory_[k]; }
  const T& operator[](std::size_t k) const { return memory_[k]; }

 private:
  static constexpr std::size_t page = std::size_t{1} << 21;

  struct Free {
    std::size_t bytes = 0;
    void operator()(T* memory) const {
      if (bytes > SparePieces::most)
        ::operator delete(memory, std::align_val_t{page});
      else if (bytes >= SparePieces::least)
        SparePieces::give(memory, bytes);
      else
        LineAllocator<char>().deallocate(reinterpret_cast<char*>(memory), bytes);
    }
  };
  std::unique_ptr<T[], Free> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace psvm
