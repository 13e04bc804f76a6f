// Kernel entries as textbooks write them, in double: what the fast loops are checked against.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "check.hpp"
#include "kernel/kernel_rows.hpp"

namespace psvm::check {

inline const std::string by_differences = "rbf by differences";
inline const std::vector<std::string> kernel_names = {
    "linear", "rbf", by_differences, "poly", "sigmoid", "laplacian", "exponential"};

inline KernelSpec spec_of(const std::string& name) {
  if (name == by_differences) return {"rbf", 0.3, 0.25, 3, true};
  return {name, 0.3, 0.25, 3};
}

inline double plain_entry(const KernelSpec& spec, const double* x, const double* z, index_t d) {
  double dot = 0.0, squared = 0.0, absolute = 0.0;
  for (index_t k = 0; k < d; ++k) {
    dot += x[k] * z[k];
    squared += (x[k] - z[k]) * (x[k] - z[k]);
    absolute += std::abs(x[k] - z[k]);
  }
  if (spec.name == "linear") return dot;
  if (spec.name == "rbf") return std::exp(-spec.gamma * squared);
  if (spec.name == "poly") return std::pow(spec.gamma * dot + spec.coef0, spec.degree);
  if (spec.name == "sigmoid") return std::tanh(spec.gamma * dot + spec.coef0);
  if (spec.name == "laplacian") return std::exp(-spec.gamma * absolute);
  return std::exp(-spec.gamma * std::sqrt(squared));
}

// Points of small multiples of 1/16, exact in float, about a third of them 0.
struct PlainPoints {
  index_t size, features;
  std::vector<double> x;

  PlainPoints(index_t size, index_t features, unsigned seed)
      : size(size),
        features(features),
        x(numbers(static_cast<std::size_t>(size * features), -1.5, 1.5, seed)) {
    for (double& value : x) value = std::abs(value) < 0.5 ? 0.0 : std::round(16.0 * value) / 16.0;
  }
  const double* row(index_t i) const { return x.data() + i * features; }
  std::vector<double> matrix(const KernelSpec& spec, const PlainPoints& others) const {
    std::vector<double> entries;
    for (index_t i = 0; i < size; ++i)
      for (index_t j = 0; j < others.size; ++j)
        entries.push_back(plain_entry(spec, row(i), others.row(j), features));
    return entries;
  }
};

// Points far from the origin and from each other's cluster, with the same differences in each; the
// first two are equal, and of those after them many features are 0.
inline PlainPoints far_points(index_t size, double distance) {
  PlainPoints plain(size, 9, 5);
  for (index_t i = 0; i < size; ++i)
    for (index_t k = 0; k < 9; ++k) {
      double& value = plain.x[static_cast<std::size_t>(9 * i + k)];
      if (i < size / 2 || k % 3 == 0) value += i % 2 ? distance : -distance;
    }
  std::copy(plain.x.begin(), plain.x.begin() + 9, plain.x.begin() + 9);
  return plain;
}

struct TestRun {
  std::atomic<bool> cancel{false};
  RunControl run;
  explicit TestRun(int threads) : run(threads, {}, &cancel) {}
};

inline std::vector<index_t> all_of(index_t n) {
  std::vector<index_t> every(static_cast<std::size_t>(n));
  std::iota(every.begin(), every.end(), index_t(0));
  return every;
}

// About the rounding of an entry, and of distances that cancel, in T.
template <class T>
double rounding() {
  return sizeof(T) == 4 ? 2e-5 : 2e-12;
}

template <class T>
std::vector<T> coefficients(std::size_t count, unsigned seed) {
  std::vector<T> coef;
  for (double value : numbers(count, -1.0, 1.0, seed)) coef.push_back(static_cast<T>(value));
  return coef;
}

// Every way to ask for rows of a kernel, against its matrix `K`; `scale` bounds its entries.
template <class T>
void check_rows(const KernelRows<T>& kernel, const std::vector<double>& K, RunControl& run) {
  const index_t n = kernel.size();
  double scale = 1.0;
  for (double entry : K) scale = std::max(scale, std::abs(entry));
  const double error = rounding<T>() * scale;
  const auto entry = [&](index_t i, index_t j) { return K[static_cast<std::size_t>(i * n + j)]; };
  for (index_t i = 0; i < n; ++i)
    CHECK_NEAR(kernel.diagonal()[static_cast<std::size_t>(i)], entry(i, i), error);

  // All rows, one row, and some in an order of their own, with room after every row.
  std::vector<std::vector<index_t>> choices = {all_of(n), {n / 2}, {}};
  for (index_t k = 0; k < std::min<index_t>(n, 17); ++k)
    choices[2].push_back((n - 1 - 3 * k + 9 * n) % n);
  for (const auto& rows : choices) {
    const auto coef = coefficients<T>(rows.size(), 5);
    for (int s = 0; s < kernel.segments(); ++s) {
      const index_t length = kernel.length(s), stride = length + 3;
      std::vector<T> out(rows.size() * static_cast<std::size_t>(stride), T(-77));
      kernel.store_rows(rows, s, out.data(), stride, run);
      std::vector<double> sums(static_cast<std::size_t>(length), 0.5);
      kernel.apply_rows(rows, coef.data(), s, sums.data(), run);
      for (index_t j = 0; j < stride; ++j) {
        double sum = 0.5;
        for (std::size_t r = 0; r < rows.size(); ++r) {
          const T found = out[r * static_cast<std::size_t>(stride) + static_cast<std::size_t>(j)];
          if (j >= length) {
            CHECK_EQUAL(found, T(-77));  // no entry goes beyond its row
            continue;
          }
          const double expected = entry(rows[r], kernel.begin(s) + j);
          CHECK_NEAR(static_cast<double>(found), expected, error);
          sum += static_cast<double>(coef[r]) * expected;
        }
        if (j < length)
          CHECK_NEAR(sums[static_cast<std::size_t>(j)], sum,
                     error * (1.0 + static_cast<double>(rows.size())));
      }
    }
    // The same rows and columns, and others.
    const std::vector<index_t> others = {0, n - 1, n / 3};
    for (const auto* columns : {&rows, &others}) {
      const auto stride = static_cast<index_t>(columns->size());
      std::vector<T> out(rows.size() * columns->size());
      kernel.between(rows, *columns, out.data(), stride, run);
      for (std::size_t a = 0; a < rows.size(); ++a)
        for (std::size_t b = 0; b < columns->size(); ++b)
          CHECK_NEAR(static_cast<double>(out[a * columns->size() + b]),
                     entry(rows[a], (*columns)[b]), error);
    }
  }
}

// What only points can do: rows of other points, several combinations, all rows at once, a choice.
template <class T>
void check_points(const Points<T>& points, const Points<T>& others, const std::vector<double>& K,
                  const std::vector<double>& cross, RunControl& run) {
  const index_t n = points.size(), m = others.size();
  double scale = 1.0;
  for (double entry : K) scale = std::max(scale, std::abs(entry));
  for (double entry : cross) scale = std::max(scale, std::abs(entry));
  const double error = rounding<T>() * scale * static_cast<double>(n + m);
  const auto from = all_of(m);
  for (index_t combinations : {1, 2, 5}) {
    const auto coef = coefficients<T>(static_cast<std::size_t>(combinations * m), 6);
    std::vector<double> out(static_cast<std::size_t>(combinations * n), 0.25);
    for (int s = 0; s < points.segments(); ++s)
      points.combine_cross(others, from, coef.data(), combinations, s, out.data() + points.begin(s),
                           n, run);
    for (index_t q = 0; q < combinations; ++q)
      for (index_t j = 0; j < n; ++j) {
        double sum = 0.25;
        for (index_t r = 0; r < m; ++r)
          sum += static_cast<double>(coef[static_cast<std::size_t>(q * m + r)]) *
                 cross[static_cast<std::size_t>(r * n + j)];
        CHECK_NEAR(out[static_cast<std::size_t>(q * n + j)], sum, error);
      }
  }

  std::vector<index_t> rows;
  for (index_t i = n - 1; i >= 0; i -= 2) rows.push_back(i);
  const auto chosen = points.pick(rows, run);
  CHECK_EQUAL(chosen->size(), static_cast<index_t>(rows.size()));
  CHECK_EQUAL(chosen->segments(), 1);
  std::vector<T> out(rows.size() * rows.size());
  const auto stride = static_cast<index_t>(rows.size());
  chosen->store_rows(all_of(stride), 0, out.data(), stride, run);
  const auto norms = points.half_squared_norms(), chosen_norms = chosen->half_squared_norms();
  for (std::size_t a = 0; a < rows.size(); ++a) {
    CHECK_EQUAL(chosen_norms[a], norms[static_cast<std::size_t>(rows[a])]);
    for (std::size_t b = 0; b < rows.size(); ++b)
      CHECK_NEAR(static_cast<double>(out[a * rows.size() + b]),
                 K[static_cast<std::size_t>(rows[a] * n + rows[b])], error);
  }

  if (points.segments() > 1) return;
  const auto coef = coefficients<T>(static_cast<std::size_t>(n), 7);
  std::vector<double> sums(static_cast<std::size_t>(n), 0.5);
  points.apply_all(coef.data(), sums.data(), run);
  for (index_t j = 0; j < n; ++j) {
    double sum = 0.5;
    for (index_t i = 0; i < n; ++i)
      sum += static_cast<double>(coef[static_cast<std::size_t>(i)]) *
             K[static_cast<std::size_t>(i * n + j)];
    CHECK_NEAR(sums[static_cast<std::size_t>(j)], sum, error);
  }
}

// Sizes and segments: whole and broken tiles, an empty segment, squares of apply_all.
struct Shape {
  index_t features;
  std::vector<index_t> starts;
};
inline const std::vector<Shape> shapes = {
    {1, {0, 1}}, {7, {0, 13}}, {33, {0, 5, 5, 40, 71}}, {2, {0, 16, 48}}, {3, {0, 403}}};

}  // namespace psvm::check
