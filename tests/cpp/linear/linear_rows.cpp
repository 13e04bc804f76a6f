#include "linear/linear_rows.hpp"

#include "linear/small_rows.hpp"

using namespace psvm;
using namespace psvm::check;

// Widths around those of vectors and tiles, with rows named out of order and twice.
const index_t widths[] = {1, 3, 8, 9, 17, 40};
const std::vector<row_t> chosen = {0, 2, 3, 3, 7, 11, 1};
const auto count = static_cast<index_t>(chosen.size());

TEST_PER_CPU(linear_rows, dots) {
  for (const index_t d : widths)
    for_every_storage(12, d, 1, [&](const auto& small, const auto& array) {
      const auto w = numbers(static_cast<std::size_t>(d), -1.0, 1.0, 2);
      std::vector<double> out(chosen.size());
      linear_rows(array)->dots(chosen.data(), count, w.data(), out.data());
      for (std::size_t r = 0; r < chosen.size(); ++r) {
        double sum = 0.0;
        for (index_t j = 0; j < d; ++j)
          sum += small.at(chosen[r], j) * w[static_cast<std::size_t>(j)];
        CHECK_NEAR(out[r], sum, 1e-14 * static_cast<double>(d));
      }
    });
}

// Unit roundoff times the terms and their magnitude, and squared norms.
TEST_PER_CPU(linear_rows, dot_errors) {
  for (const index_t d : widths)
    for_every_storage(12, d, 1, [&](const auto& small, const auto& array) {
      const auto w = numbers(static_cast<std::size_t>(d), -1.0, 1.0, 2);
      std::vector<double> errors(chosen.size()), squares(chosen.size());
      const auto rows = linear_rows(array);
      rows->dot_errors(chosen.data(), count, w.data(), errors.data(), squares.data());
      for (std::size_t r = 0; r < chosen.size(); ++r) {
        double size = 0.0, squared = 0.0;
        for (index_t j = 0; j < d; ++j) {
          const double x = small.at(chosen[r], j);
          size += std::abs(x * w[static_cast<std::size_t>(j)]);
          squared += x * x;
        }
        CHECK_NEAR(squares[r], squared, 1e-12);
        CHECK(errors[r] >= 4.0 * unit_roundoff * size * (1.0 - 1e-12));
        CHECK(errors[r] <= static_cast<double>(d + 4) * unit_roundoff * size * (1.0 + 1e-12));
      }
    });
}

TEST_PER_CPU(linear_rows, add_and_add_squares) {
  const auto coef = numbers(chosen.size(), -1.0, 1.0, 3);
  for (const index_t d : widths)
    for_every_storage(12, d, 1, [&](const auto& small, const auto& array) {
      std::vector<double> sum(static_cast<std::size_t>(d), 0.5), squares(sum);
      const auto rows = linear_rows(array);
      rows->add(chosen.data(), count, coef.data(), sum.data());
      rows->add_squares(chosen.data(), count, coef.data(), squares.data());
      for (index_t j = 0; j < d; ++j) {
        double first = 0.5, second = 0.5;
        for (std::size_t r = 0; r < chosen.size(); ++r) {
          first += coef[r] * small.at(chosen[r], j);
          second += coef[r] * small.at(chosen[r], j) * small.at(chosen[r], j);
        }
        CHECK_NEAR(sum[static_cast<std::size_t>(j)], first, 1e-14);
        CHECK_NEAR(squares[static_cast<std::size_t>(j)], second, 1e-14);
      }
    });
}

TEST_PER_CPU(linear_rows, add_gram) {
  const auto weight = numbers(chosen.size(), 0.1, 2.0, 4);
  for (const index_t d : widths)
    for_every_storage(12, d, 1, [&](const auto& small, const auto& array) {
      const auto rows = linear_rows(array);
      const bool dense = rows->entries() == static_cast<double>(d);
      auto shift = numbers(static_cast<std::size_t>(d), -1.0, 1.0, 5);
      const index_t stride = gram_stride(d);
      for (const bool shifted : {false, true}) {
        if (shifted && !dense) continue;  // sparse rows are not shifted
        std::vector<double> gram(static_cast<std::size_t>((d + 1) * stride), 0.0);
        for (int twice = 0; twice < 2; ++twice)
          rows->add_gram(chosen.data(), count, weight.data(), shifted ? shift.data() : nullptr,
                         gram.data(), stride);
        const auto z = [&](row_t row, index_t j) {
          if (j == d) return 1.0;
          return small.at(row, j) - (shifted ? shift[static_cast<std::size_t>(j)] : 0.0);
        };
        for (index_t i = 0; i <= d; ++i)
          for (index_t j = 0; j <= i; ++j) {
            double sum = 0.0;
            for (std::size_t r = 0; r < chosen.size(); ++r)
              sum += 2.0 * weight[r] * z(chosen[r], i) * z(chosen[r], j);
            CHECK_NEAR(gram[static_cast<std::size_t>(i * stride + j)], sum, 1e-13);
          }
      }
    });
}

TEST(linear_rows, entries_are_those_stored) {
  const SmallRows<double> small(12, 9, 1);
  CHECK_EQUAL(linear_rows(small.dense())->entries(), 9.0);
  CHECK_EQUAL(linear_rows(small.sparse())->entries(),
              static_cast<double>(small.data.size()) / 12.0);
  CHECK(small.data.size() < 12 * 9);
}
