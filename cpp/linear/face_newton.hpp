// Newton's direction for the dual among the variables strictly between their bounds (the face), by
// conjugate gradients: the solution (beta, db) of
//
//   (Y X X' Y + H) beta + y db = residual,   y' beta = 0  (with an intercept; else db = 0)
//
// where X are the rows of the face, Y = diag(y) and H the slopes of slack_of. The preconditioner is
// the diagonal, made to respect the constraint.
#pragma once

#include <vector>

#include "base/run_control.hpp"
#include "linear/coordinate_rows.hpp"
#include "linear/coordinate_step.hpp"

namespace psvm {

struct FaceStep {
  std::vector<index_t> face;
  std::vector<double> beta, dw;  // dw = sum_k beta_k y_k x_k
  double db = 0.0;
  index_t iterations = 0;  // products with the rows
};

template <class Rows>
class FaceNewton {
 public:
  FaceNewton(const Rows& rows, const std::vector<Variable>& variables, const PNormHinge& loss,
             bool fit_intercept, RunControl& run)
      : rows_(rows), fit_intercept_(fit_intercept), run_(run) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const Variable& v = variables[i];
      if (v.at_lower_bound() || (loss.bounded() && v.at_upper_bound())) continue;
      step_.face.push_back(static_cast<index_t>(i));
      slope_.push_back(loss.slack_slope(v.alpha, v.slack));
      y_.push_back(v.y);
      // A row without features at p = 1 has no curvature, and 0 for a residual.
      inverse_.push_back(1.0 / std::max(v.norm + slope_.back(), 1e-300));
      y_inverse_y_ += inverse_.back();
    }
  }

  // `gradient` is that of the dual, for every row. Stops when the residual has fallen by
  // `precision`, after `limit` products, or when the clock of the run passes `max_time`.
  FaceStep solve(const std::vector<double>& gradient, double precision, index_t limit,
                 double max_time) {
    const std::size_t m = step_.face.size();
    step_.beta.assign(m, 0.0);
    step_.dw.assign(static_cast<std::size_t>(rows_.features()), 0.0);
    std::vector<double> residual(m), scaled(m), direction(m, 0.0), image(m);
    for (std::size_t k = 0; k < m; ++k)
      residual[k] = gradient[static_cast<std::size_t>(step_.face[k])];
    double error = precondition(residual, scaled), last = infinity;
    const double goal = precision * precision * error;
    while (error > goal && step_.iterations < limit && run_.seconds() < max_time) {
      const double keep = error / last;
      for (std::size_t k = 0; k < m; ++k) direction[k] = scaled[k] + keep * direction[k];
      multiply(direction, image);
      double curvature = 0.0;
      for (std::size_t k = 0; k < m; ++k) curvature += direction[k] * image[k];
      if (!(curvature > 0.0)) break;
      const double length = error / curvature;
      for (std::size_t k = 0; k < m; ++k) {
        step_.beta[k] += length * direction[k];
        residual[k] -= length * image[k];
      }
      for (std::size_t j = 0; j < dw_.size(); ++j) step_.dw[j] += length * dw_[j];
      ++step_.iterations;
      last = error;
      error = precondition(residual, scaled);
    }
    return std::move(step_);
  }

 private:
  // scaled = the residual without its part along y, over the diagonal; returns residual' scaled.
  double precondition(std::vector<double>& residual, std::vector<double>& scaled) {
    double along = 0.0, error = 0.0;
    if (fit_intercept_) {
      for (std::size_t k = 0; k < y_.size(); ++k) along += y_[k] * inverse_[k] * residual[k];
      along /= y_inverse_y_;
    }
    step_.db += along;
    for (std::size_t k = 0; k < y_.size(); ++k) {
      residual[k] -= along * y_[k];
      scaled[k] = inverse_[k] * residual[k];
      error += residual[k] * scaled[k];
    }
    return error;
  }

  // image = (Y X X' Y + H) direction, and dw_ = X' Y direction.
  void multiply(const std::vector<double>& direction, std::vector<double>& image) {
    dw_.assign(static_cast<std::size_t>(rows_.features()), 0.0);
    for (std::size_t k = 0; k < y_.size(); ++k) {
      if (k % 256 == 0) run_.check();
      rows_.add(step_.face[k], direction[k] * y_[k], dw_.data());
    }
    for (std::size_t k = 0; k < y_.size(); ++k) {
      if (k % 256 == 0) run_.check();
      image[k] = y_[k] * rows_.dot(step_.face[k], dw_.data()) + slope_[k] * direction[k];
    }
  }

  const Rows& rows_;
  const bool fit_intercept_;
  RunControl& run_;
  FaceStep step_;
  std::vector<double> slope_, y_, inverse_, dw_;
  double y_inverse_y_ = 0.0;
};

}  // namespace psvm
