// Vectors whose first entry starts a cache line: a vector register that straddles two lines costs
// two loads (pair steps of small blocks took 1.2 to 1.7 times as long, of the largest 1.04 times).
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

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
// threads that fill it share the cost of its first touch.
template <class T>
class AlignedMemory {
 public:
  // What was there is lost.
  void make_room_for(std::size_t count) {
    if (count <= capacity_) return;
    memory_.reset();
    memory_.reset(LineAllocator<T>().allocate(count));
    capacity_ = count;
  }
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  T& operator[](std::size_t k) { return memory_[k]; }
  const T& operator[](std::size_t k) const { return memory_[k]; }

 private:
  struct Free {
    void operator()(T* memory) const { LineAllocator<T>().deallocate(memory, 0); }
  };
  std::unique_ptr<T[], Free> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace psvm
