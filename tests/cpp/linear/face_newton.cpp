#include "linear/face_newton.hpp"

#include <algorithm>

#include "linear/small_rows.hpp"

using namespace psvm;
using namespace psvm::check;

// The direction solves its equations, whose matrix is written out here.
TEST(face_newton, solves_the_equations_of_the_face) {
  const index_t n = 14, d = 6;
  for (const double p : {1.0, 1.5, 2.0, 3.0})
    for (const bool free : {false, true})
      for_every_storage(n, d, 3, [&](const auto& small, const auto& array) {
        const PNormHinge loss(p);
        const auto draws = numbers(static_cast<std::size_t>(2 * n), 0.0, 1.0, 7);
        std::vector<Variable> all;
        std::vector<double> gradient;
        const CoordinateRows<std::remove_cvref_t<decltype(array)>> rows{array, n, nullptr};
        for (index_t i = 0; i < n; ++i) {
          // At p = 1 no more free rows than features, lest the matrix be singular.
          const bool at_bound = p == 1.0 ? i % 3 != 0 : i % 3 == 0;
          const double alpha = at_bound ? (i % 2 && p == 1.0 ? 1.0 : 0.0)
                                        : 0.1 + 0.8 * draws[static_cast<std::size_t>(i)];
          const double y = i % 2 ? 1.0 : -1.0;
          all.push_back(
              {alpha, loss.slack_of(alpha, 1.0), 1.0, rows.squared_norm(i), y, 1.0, 0.0, 0.0});
          gradient.push_back(draws[static_cast<std::size_t>(n + i)] - 0.5);
        }
        std::atomic<bool> never{false};
        RunControl control(1, nullptr, &never);
        const FaceStep step =
            FaceNewton(rows, all, loss, free, control).solve(gradient, 1e-12, 200, infinity);
        double along = 0.0;
        std::vector<double> dw(static_cast<std::size_t>(d), 0.0);
        for (std::size_t k = 0; k < step.face.size(); ++k) {
          const Variable& v = all[static_cast<std::size_t>(step.face[k])];
          CHECK(v.alpha > 0.0 && (p > 1.0 || v.alpha < v.cost));
          along += v.y * step.beta[k];
          rows.add(step.face[k], v.y * step.beta[k], dw.data());
        }
        const auto inside = [&](const Variable& v) {
          return v.alpha > 0.0 && (p > 1.0 || v.alpha < v.cost);
        };
        CHECK_EQUAL(static_cast<std::ptrdiff_t>(step.face.size()),
                    std::count_if(all.begin(), all.end(), inside));
        if (free) CHECK_NEAR(along, 0.0, 1e-10);
        if (!free) CHECK_EQUAL(step.db, 0.0);
        for (index_t j = 0; j < d; ++j)
          CHECK_NEAR(step.dw[static_cast<std::size_t>(j)], dw[static_cast<std::size_t>(j)], 1e-10);
        for (std::size_t k = 0; k < step.face.size(); ++k) {
          const auto i = static_cast<std::size_t>(step.face[k]);
          const Variable& v = all[i];
          double image = v.y * step.db + loss.slack_slope(v.alpha, v.slack) * step.beta[k];
          for (index_t j = 0; j < d; ++j)
            image += v.y * small.at(step.face[k], j) * dw[static_cast<std::size_t>(j)];
          CHECK_NEAR(image, gradient[i], 1e-8);
        }
      });
}

TEST(face_newton, stops_at_its_limit) {
  const SmallRows<double> small(10, 6, 3);
  const CoordinateRows<DenseArray<double>> rows{small.dense(), 10, nullptr};
  const PNormHinge loss(1.5);
  std::vector<Variable> all;
  for (index_t i = 0; i < 10; ++i)
    all.push_back({0.5, loss.slack_of(0.5, 1.0), 1.0, rows.squared_norm(i), i % 2 ? 1.0 : -1.0, 1.0,
                   0.0, 0.0});
  std::atomic<bool> never{false};
  RunControl run(1, nullptr, &never);
  const auto gradient = numbers(10, -1.0, 1.0, 9);
  CHECK_EQUAL(FaceNewton(rows, all, loss, true, run).solve(gradient, 0.0, 3, infinity).iterations,
              3);
  CHECK_EQUAL(FaceNewton(rows, all, loss, true, run).solve(gradient, 0.0, 3, 0.0).iterations, 0);
}
