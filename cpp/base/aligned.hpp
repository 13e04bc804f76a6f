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
// of 0.7 ms). At most four, of at most 4 MB each.
class SparePieces {
 public:
  static constexpr std::size_t least = std::size_t{1} << 16, most = std::size_t{1} << 22;

  // The smallest one of at least so many bytes, or none; with its size.
  static void* take(std::size_t bytes, std::size_t* size) {
    Piece* best = nullptr;
    for (Piece& piece : here().pieces)
      if (piece.memory && piece.size >= bytes && (!best || piece.size < best->size)) best = &piece;
    if (!best) return nullptr;
    *size = best->size;
    return std::exchange(best->memory, nullptr);
  }

  // Keeps a piece, or frees it where larger ones are kept.
  static void give(void* memory, std::size_t size) {
    Piece* smallest = nullptr;
    for (Piece& piece : here().pieces)
      if (!smallest || (piece.memory ? piece.size : 0) < (smallest->memory ? smallest->size : 0))
        smallest = &piece;
    if (smallest->memory && smallest->size >= size)
      return LineAllocator<char>().deallocate(static_cast<char*>(memory), size);
    if (smallest->memory) LineAllocator<char>().deallocate(static_cast<char*>(smallest->memory), 0);
    *smallest = {memory, size};
  }

 private:
  struct Piece {
    void* memory = nullptr;
    std::size_t size = 0;
  };
  struct Kept {
    Piece pieces[4];
    ~Kept() {
      for (Piece& piece : pieces)
        if (piece.memory) LineAllocator<char>().deallocate(static_cast<char*>(piece.memory), 0);
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
  // What was there is lost.
  void make_room_for(std::size_t count) {
    if (count <= capacity_) return;
    memory_.reset();
    std::size_t bytes = count * sizeof(T);
    if (bytes > SparePieces::most) {
      bytes = (bytes + page - 1) / page * page;
      memory_ = {static_cast<T*>(::operator new(bytes, std::align_val_t{page})), Free{bytes}};
#if defined(__linux__)
      madvise(memory_.get(), bytes, MADV_HUGEPAGE);
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
