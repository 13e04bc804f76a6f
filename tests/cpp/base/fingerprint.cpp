#include "base/fingerprint.hpp"

#include <set>

#include "check.hpp"

namespace psvm {
namespace {

std::uint64_t print_of(const std::vector<unsigned char>& bytes) {
  Fingerprint print;
  print.add(bytes.data(), bytes.size());
  return print.value();
}

TEST(fingerprint, every_change_of_a_bit_shows) {
  std::set<std::uint64_t> seen;
  std::size_t tried = 0;
  for (std::size_t size : {1, 7, 8, 63, 64, 65, 200}) {
    std::vector<unsigned char> bytes(size, 17);
    seen.insert(print_of(bytes));
    ++tried;
    CHECK_EQUAL(print_of(bytes), print_of(std::vector<unsigned char>(size, 17)));
    for (std::size_t k = 0; k < size; ++k)
      for (int bit = 0; bit < 8; ++bit) {
        bytes[k] ^= static_cast<unsigned char>(1 << bit);
        seen.insert(print_of(bytes));
        ++tried;
        bytes[k] ^= static_cast<unsigned char>(1 << bit);
      }
  }
  CHECK_EQUAL(seen.size(), tried);
}

TEST(fingerprint, the_order_of_words_counts) {
  std::set<std::uint64_t> seen;
  for (std::size_t place = 0; place < 200; ++place) {
    std::vector<unsigned char> bytes(1600, 0);
    bytes[8 * place + 3] = 1;
    seen.insert(print_of(bytes));
  }
  CHECK_EQUAL(seen.size(), std::size_t{200});
}

}  // namespace
}  // namespace psvm
