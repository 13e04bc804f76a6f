#include "kernel/votes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace psvm {
namespace {

// Calls visit(t, i, j) for every pair.
template <class Visit>
void for_pairs(index_t classes, const Visit& visit) {
  index_t t = 0;
  for (index_t i = 0; i < classes; ++i)
    for (index_t j = i + 1; j < classes; ++j) visit(t++, i, j);
}

// What is no number, the difference of infinite ones, says nothing.
double squeezed(double confidence) {
  if (std::isnan(confidence)) return 0.0;
  const double size = std::abs(confidence);
  if (size > 1e300) return std::copysign(1.0 / 3.0, confidence);
  return confidence / (3.0 * (size + 1.0));
}

}  // namespace

void votes_of_pairs(const double* decisions, index_t rows, index_t classes, double* scores) {
  std::vector<double> confidence(static_cast<std::size_t>(classes));
  for (index_t r = 0; r < rows; ++r) {
    const double* values = decisions + r * pairs_of(classes);
    double* votes = scores + r * classes;
    std::fill(votes, votes + classes, 0.0);
    std::fill(confidence.begin(), confidence.end(), 0.0);
    for (index_t i = 0; i < classes; ++i) {
      const index_t others = classes - i - 1;
      double *later = confidence.data() + i + 1, *their_votes = votes + i + 1;
      for (index_t j = 0; j < others; ++j) later[j] -= values[j];
      for (index_t j = 0; j < others; ++j) their_votes[j] += values[j] < 0.0 ? 1.0 : 0.0;
      double own = confidence[static_cast<std::size_t>(i)];
      index_t won = others;
      for (index_t j = 0; j < others; ++j) own += values[j];
      for (index_t j = 0; j < others; ++j) won -= values[j] < 0.0;
      confidence[static_cast<std::size_t>(i)] = own;
      votes[i] += static_cast<double>(won);
      values += others;
    }
    for (index_t c = 0; c < classes; ++c)
      votes[c] += squeezed(confidence[static_cast<std::size_t>(c)]);
  }
}

void certain_class(const double* values, const double* bound, index_t columns, index_t classes,
                   std::int64_t* codes, bool* sure) {
  const auto n = static_cast<std::size_t>(columns);
  std::vector<std::int32_t> certain(static_cast<std::size_t>(classes) * n, 0), possible = certain;
  for_pairs(classes, [&](index_t t, index_t i, index_t j) {
    const double *value = values + t * columns, *error = bound + t * columns;
    std::int32_t *sure_i = certain.data() + i * columns, *sure_j = certain.data() + j * columns;
    std::int32_t *may_i = possible.data() + i * columns, *may_j = possible.data() + j * columns;
    for (index_t c = 0; c < columns; ++c) {
      const std::int32_t first = value[c] > error[c], second = value[c] < -error[c];
      sure_i[c] += first;
      sure_j[c] += second;
      may_i[c] += 1 - second;
      may_j[c] += 1 - first;
    }
  });
  for (index_t c = 0; c < columns; ++c) {
    index_t best = 0;
    for (index_t k = 1; k < classes; ++k)
      if (certain[static_cast<std::size_t>(k * columns + c)] >
          certain[static_cast<std::size_t>(best * columns + c)])
        best = k;
    std::int32_t most = -1;
    for (index_t k = 0; k < classes; ++k)
      if (k != best) most = std::max(most, possible[static_cast<std::size_t>(k * columns + c)]);
    codes[c] = best;
    sure[c] = certain[static_cast<std::size_t>(best * columns + c)] > most;
  }
}

}  // namespace psvm
