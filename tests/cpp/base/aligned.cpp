#include "base/aligned.hpp"

#include <cstdint>

#include "check.hpp"

namespace psvm {
namespace {

bool starts_a_line(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % 64 == 0;
}

TEST(aligned, vectors_start_a_cache_line) {
  for (std::size_t size : {1, 2, 3, 7, 15, 100, 1001}) {
    AlignedVector<float> floats(size, 2.0f);
    AlignedVector<double> doubles(size, 3.0);
    CHECK(starts_a_line(floats.data()));
    CHECK(starts_a_line(doubles.data()));
    for (std::size_t k = 0; k < 100; ++k) doubles.push_back(1.0 * k);
    CHECK(starts_a_line(doubles.data()));
    CHECK_EQUAL(doubles[size - 1], 3.0);
    CHECK_EQUAL(doubles.back(), 99.0);
  }
}

TEST(aligned, memory_grows_and_never_shrinks) {
  AlignedMemory<double> memory;
  CHECK(memory.data() == nullptr);
  memory.make_room_for(10);
  CHECK(starts_a_line(memory.data()));
  for (std::size_t k = 0; k < 10; ++k) memory[k] = 0.5 * static_cast<double>(k);
  const double* before = memory.data();
  memory.make_room_for(4);
  CHECK(memory.data() == before);
  const auto& same = memory;
  for (std::size_t k = 0; k < 10; ++k) CHECK_EQUAL(same[k], 0.5 * static_cast<double>(k));
  memory.make_room_for(5000);
  CHECK(starts_a_line(memory.data()));
  for (std::size_t k = 0; k < 5000; ++k) memory[k] = 1.0;
  CHECK_EQUAL(memory[4999], 1.0);
}

TEST(aligned, medium_pieces_are_used_again_by_their_thread) {
  const void* first = nullptr;
  {
    AlignedMemory<double> memory;
    memory.make_room_for(100000);
    first = memory.data();
    AlignedMemory<double> other;
    other.make_room_for(100000);
    CHECK(other.data() != first);
  }
  AlignedMemory<float> again, more;
  again.make_room_for(150000);
  more.make_room_for(150000);
  CHECK(again.data() == first || more.data() == first);
  for (std::size_t k = 0; k < 150000; ++k) again[k] = more[k] = 1.0f;
  // Small and large ones are not kept, and no more than a few.
  for (const std::size_t count : {10, 2000000}) {
    std::vector<AlignedMemory<double>> many(10);
    for (auto& one : many) {
      one.make_room_for(count);
      one[count - 1] = 2.0;
    }
  }
}

}  // namespace
}  // namespace psvm
