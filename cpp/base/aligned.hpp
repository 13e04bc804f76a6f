// Vectors whose first entry starts a cache line: a vector register that straddles two lines costs
// two loads (pair steps of small blocks took 1.2 to 1.7 times as long, of the largest 1.04 times).
#pragma once

#include <cstddef>
#include <memory>
#include <new>
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
    const std::size_t bytes = count * sizeof(T);
    if (bytes >= 2 * page) {
      const std::size_t whole = (bytes + page - 1) / page * page;
      memory_ = {static_cast<T*>(::operator new(whole, std::align_val_t{page})), Free{true}};
#if defined(__linux__)
      madvise(memory_.get(), whole, MADV_HUGEPAGE);
#endif
    } else {
      memory_ = {LineAllocator<T>().allocate(count), Free{false}};
    }
    capacity_ = count;
  }
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  T& operator[](std::size_t k) { return memory_[k]; }
  const T& operator[](std::size_t k) const { return memory_[k]; }

 private:
  static constexpr std::size_t page = std::size_t{1} << 21;

  struct Free {
    bool large = false;
    void operator()(T* memory) const {
      if (large)
        ::operator delete(memory, std::align_val_t{page});
      else
        LineAllocator<T>().deallocate(memory, 0);
    }
  };
  std::unique_ptr<T[], Free> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace psvm
