// One pass over a block of rows for one or several binary problems: margins, the prox of every row,
// and the sums that the linear solver lives on. Rows are visited in chunks that stay in the cache,
// so that all problems and all steps of a pass read them from memory once.
#pragma once

#include <vector>

#include "base/run_control.hpp"
#include "linear/share.hpp"
#include "loss/prox.hpp"

namespace psvm {

enum class PassKind {
  begin,    // margin = y (<direction, x> + b)
  move,     // change = y (<direction, x> + b), margin += change
  settle,   // margin += step * change
  probe,    // at margin + step * change, but nothing is kept
  certify,  // at margin y (<direction, x> + b) with the best alpha; nothing is kept
  curve,    // sum of W r <r, direction>, r = y [x, 1]; nothing is kept
};
// How the centre is set; with `band` (p = 1) there is no prox, but alpha goes from 0 to the cost as the
// margin goes from 1 / sigma above the goal to as much below it, and W = 1 inside.
enum class Centre { keep, alpha, half_cost, slack, zero, band };

struct PassOrder {
  Share* share = nullptr;
  PassKind kind = PassKind::begin;
  Centre centre = Centre::keep;  // how the centre is set before the prox
  Envelope envelope{1.0, 1.0, false};
  std::vector<double> direction;  // empty where the kind needs none
  double b = 0.0, step = 0.0;
  bool linearise = false;  // also sum alpha - W change, clipped (kind move)
  bool delta = false;      // images of the change of alpha only
};

// Per class: [0] for y = -1, [1] for y = +1. Images are sums of alpha x. `linear` is the linear term
// of the dual, the sum of alpha y t: in classification that of alpha.
struct DualSums {
  std::vector<double> image[2];
  double alpha[2] = {0.0, 0.0}, linear[2] = {0.0, 0.0}, conjugate[2] = {0.0, 0.0};
};

struct PassSums {
  DualSums dual, linearised;
  double loss = 0.0;          // sum of cost xi^p
  double moved = 0.0;         // sum of (alpha - centre)^2 / (2 sigma)
  double slope_before = 0.0;  // sum of alpha * change, before and after the step
  double slope = 0.0;
  double weight = 0.0;  // sum of W
  double terms = 0.0;   // certify: sum of alpha (m - y t) + loss + conjugate, each >= 0
  // certify: what the rounding of margins may add to `terms`; sums of alpha |x| and of alpha |m - y t|.
  double rounding = 0.0, reach = 0.0, pull = 0.0;
  double margin_error = 0.0;          // certify: the largest that rounding may add to a margin
  double smallest_margin = infinity;  // of m + 1 - y t: where it is 1 no row has slack
  index_t active = 0;                 // rows with W > 0
};

// Answers every order in one pass over the rows.
std::vector<PassSums> run_pass(const LinearRows& rows, const std::vector<PassOrder>& orders,
                               RunControl& run);

// The lower triangle of sum W z z', z = [x - shift, 1], rows gram_stride apart.
std::vector<double> weighted_gram(const LinearRows& rows, const Share& share, const double* shift,
                                  RunControl& run);

// sum W x^2, feature by feature.
std::vector<double> weighted_squares(const LinearRows& rows, const Share& share, RunControl& run);

}  // namespace psvm
