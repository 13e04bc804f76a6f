// Loaded before everything else (LD_PRELOAD): makes the n-th allocation of a module, or the n-th
// call that writes a file, fail.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

struct Countdown {
  std::atomic<bool> armed{false};
  std::atomic<long> left{0};
  std::atomic<long> seen{0};

  void arm(long nth) {
    seen = 0;
    left = nth;
    armed = nth >= 0;
  }
  // Whether this call is the one to fail; with nth = 0 none is, and all are counted.
  bool hits() {
    seen.fetch_add(1);
    return left.load() > 0 && left.fetch_sub(1) == 1;
  }
};

Countdown allocations, writes;
std::atomic<std::uintptr_t> module_begin{0}, module_end{0};
std::atomic<int> write_error{0};

// Smaller ones are nanobind's own, which ends the process where it has no memory for the frame of an
// array; and where memory is short it is the large ones that fail.
constexpr std::size_t least_size = 256;

void* allocate(std::size_t size, std::size_t alignment, void* caller) {
  if (size >= least_size && allocations.armed.load(std::memory_order_relaxed)) {
    const auto address = reinterpret_cast<std::uintptr_t>(caller);
    if (address >= module_begin && address < module_end && allocations.hits()) return nullptr;
  }
  if (alignment == 0) return std::malloc(size ? size : 1);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment, void* caller) {
  if (void* memory = allocate(size, alignment, caller)) return memory;
  throw std::bad_alloc();
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool write_fails() {
  if (!writes.armed.load(std::memory_order_relaxed) || !writes.hits()) return false;
  errno = write_error;
  return true;
}

}  // namespace

extern "C" {

void torture_fail_allocation(long nth, std::uintptr_t begin, std::uintptr_t end) {
  module_begin = begin;
  module_end = end;
  allocations.arm(nth);
}
long torture_allocations() { return allocations.seen; }

void torture_fail_write(long nth, int error) {
  write_error = error;
  writes.arm(nth);
}
long torture_writes() { return writes.seen; }

ssize_t write(int file, const void* data, std::size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  return write_fails() ? -1 : real(file, data, size);
}
int fsync(int file) {
  static const auto real = next<int (*)(int)>("fsync");
  return write_fails() ? -1 : real(file);
}
int rename(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return write_fails() ? -1 : real(from, to);
}

}  // extern "C"

#define CALLER __builtin_return_address(0)
void* operator new(std::size_t size) { return allocate_or_throw(size, 0, CALLER); }
void* operator new[](std::size_t size) { return allocate_or_throw(size, 0, CALLER); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment), CALLER);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment), CALLER);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 0, CALLER);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 0, CALLER);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
