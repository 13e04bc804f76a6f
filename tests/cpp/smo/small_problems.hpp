// Small dual problems, and their plain formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernel/plain_kernels.hpp"
#include "smo/row_states.hpp"

namespace psvm::check {

inline std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// Rows with targets of their own, balanced variables, some of them 0 and, at p = 1, some at the cost.
struct SmallProblem {
  double p;
  std::vector<double> y, target, cost, alpha;

  SmallProblem(double p, std::size_t n, unsigned seed, bool signs_as_targets = false) : p(p) {
    const auto u = numbers(4 * n, 0.0, 1.0, seed);
    double total[2] = {0.0, 0.0};
    for (std::size_t i = 0; i < n; ++i) {
      y.push_back(i < 2 ? (i ? 1.0 : -1.0) : u[4 * i] < 0.5 ? 1.0 : -1.0);
      target.push_back(signs_as_targets ? y[i] : 4.0 * u[4 * i + 1] - 2.0);
      cost.push_back(0.3 + u[4 * i + 2]);
      const double share = i < 2 ? 0.5 : std::clamp(2.0 * u[4 * i + 3] - 0.5, 0.0, 1.0);
      alpha.push_back(share * cost[i]);
      total[y[i] > 0.0] += alpha[i];
    }
    for (std::size_t i = 0; i < n; ++i)
      alpha[i] *= std::min(total[0], total[1]) / total[y[i] > 0.0];
  }

  DualRows rows() const { return {y.data(), target.data(), cost.data()}; }
  std::size_t size() const { return y.size(); }
  double slack_of(std::size_t i, double a) const {
    return p > 1.0 ? std::pow(a / (p * cost[i]), 1.0 / (p - 1.0)) : 0.0;
  }
  // sum_j alpha_j y_j K_ij
  std::vector<double> decision(const std::vector<double>& K, const std::vector<double>& a) const {
    std::vector<double> f(size(), 0.0);
    for (std::size_t i = 0; i < size(); ++i)
      for (std::size_t j = 0; j < size(); ++j) f[i] += a[j] * y[j] * K[i * size() + j];
    return f;
  }
  double squared_norm(const std::vector<double>& f, const std::vector<double>& a) const {
    double norm = 0.0;
    for (std::size_t i = 0; i < size(); ++i) norm += a[i] * y[i] * f[i];
    return norm;
  }
  double lost(const std::vector<double>& f, double b) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < size(); ++i)
      sum += cost[i] * std::pow(std::max(0.0, y[i] * (target[i] - f[i] - b)), p);
    return sum;
  }
  double dual(const std::vector<double>& f, const std::vector<double>& a) const {
    double sum = -0.5 * squared_norm(f, a);
    for (std::size_t i = 0; i < size(); ++i)
      sum += a[i] * (y[i] * target[i] - slack_of(i, a[i]) * (p - 1.0) / p);
    return sum;
  }
  bool can_grow(std::size_t i, double a) const { return p > 1.0 || a < cost[i]; }
  // By how much the largest score that may go up exceeds the smallest that may go low; at most 0 at
  // the optimum. Without an intercept both are compared with 0.
  double violation(const std::vector<double>& f, const std::vector<double>& a,
                   bool fit_intercept) const {
    double most = fit_intercept ? -infinity : 0.0, least = fit_intercept ? infinity : 0.0;
    for (std::size_t i = 0; i < size(); ++i) {
      const double score = target[i] - f[i] - y[i] * slack_of(i, a[i]);
      if (y[i] > 0.0 ? can_grow(i, a[i]) : a[i] > 0.0) most = std::max(most, score);
      if (y[i] < 0.0 ? can_grow(i, a[i]) : a[i] > 0.0) least = std::min(least, score);
    }
    return most - least;
  }
};

// The least sum of losses and balance b over b, by thirds of a convex function.
inline double best_lost(const SmallProblem& problem, const std::vector<double>& f,
                        double balance = 0.0) {
  const auto value = [&](double b) { return problem.lost(f, b) + balance * b; };
  double low = -10.0, high = 10.0;
  for (int step = 0; step < 100; ++step) {
    const double left = (2.0 * low + high) / 3.0, right = (low + 2.0 * high) / 3.0;
    const bool falls = value(left) > value(right);
    (falls ? low : high) = falls ? left : right;
  }
  return value(low);
}

inline double balance_of(const std::vector<double>& y, const std::vector<double>& alpha) {
  double sum = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * alpha[i];
  return sum;
}

// Points with `features` features and their kernel matrix.
template <class T>
struct SmallKernel {
  PlainPoints plain;
  std::vector<double> K;
  std::vector<float> x;
  std::unique_ptr<Points<T>> points;

  SmallKernel(index_t n, index_t features, unsigned seed, std::vector<index_t> starts = {},
              const std::string& name = "rbf")
      : plain(n, features, seed), x(plain.x.begin(), plain.x.end()) {
    KernelSpec spec = spec_of(name);
    spec.gamma = 2.0 / static_cast<double>(features);
    K = plain.matrix(spec, plain);
    if (starts.empty()) starts = {0, n};
    points = dense_points<T, float>({x.data(), n, features, features, 1}, nullptr, spec, starts);
  }
  double entry(index_t i, index_t j) const { return K[at(i * plain.size + j)]; }
};

}  // namespace psvm::check
