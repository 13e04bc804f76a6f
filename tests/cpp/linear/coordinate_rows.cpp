#include "linear/coordinate_rows.hpp"

#include "linear/small_rows.hpp"

using namespace psvm;
using namespace psvm::check;

TEST_PER_CPU(coordinate_rows, one_row_at_a_time) {
  const std::vector<std::int64_t> place = {0, 0, 2, 4, 4};
  for (const index_t d : {1, 3, 4, 8, 9, 30})
    for_every_storage(5, d, 1, [&](const auto& small, const auto& array) {
      const auto w = numbers(static_cast<std::size_t>(d), -1.0, 1.0, 2);
      for (const bool shared : {false, true}) {
        const CoordinateRows<std::remove_cvref_t<decltype(array)>> rows{
            array, 5, shared ? place.data() : nullptr};
        CHECK_EQUAL(rows.features(), d);
        for (index_t i = 0; i < rows.size; ++i) {
          const index_t row = shared ? place[static_cast<std::size_t>(i)] : i;
          double product = 0.0, square = 0.0;
          std::vector<double> sum(w);
          rows.add(i, -0.7, sum.data());
          for (index_t j = 0; j < d; ++j) {
            const double x = small.at(row, j);
            product += x * w[static_cast<std::size_t>(j)];
            square += x * x;
            CHECK_NEAR(sum[static_cast<std::size_t>(j)], w[static_cast<std::size_t>(j)] - 0.7 * x,
                       1e-15);
          }
          CHECK_NEAR(rows.dot(i, w.data()), product, 1e-14 * static_cast<double>(d));
          CHECK_NEAR(rows.squared_norm(i), square, 1e-14 * static_cast<double>(d));
        }
      }
    });
}
