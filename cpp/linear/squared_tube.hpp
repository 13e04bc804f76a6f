// A pass at p = 2 over rows with targets, both sides of their tubes at once: a residual is beyond one
// side at most, and so a row takes a third of the time of two rows of the dual. Orders, sums and state
// are those of linear_pass.hpp, but margins and changes are kept once for every row of features: its
// value <w, x> + b, and the change of that.
#pragma once

#include <algorithm>
#include <cmath>

#include "linear/chunk_loops.hpp"
#include "linear/linear_pass.hpp"

namespace psvm {

class SquaredTube {
 public:
  SquaredTube(const LinearRows& rows, Scratch& scratch) : rows_(rows), s_(scratch) {}

  // The state must be of one kind from the first pass of a share on: this asks for nothing that changes
  // between them.
  static bool serves(const PassOrder& order) {
    const Envelope& envelope = order.envelope;
    return order.share->paired() && envelope.p == 2.0 && std::isinf(envelope.sigma);
  }

  // The rows at positions [begin, end) of the order's share, both even.
  void run(const PassOrder& order, index_t begin, index_t end, PassSums& sums) {
    begin_ = begin;
    count_ = (end - begin) / 2;
    for (index_t r = 0; r < count_; ++r) s_.rows[r] = static_cast<row_t>(begin / 2 + r);
    if (order.kind == PassKind::certify) return certify(order, sums);
    take_values(order);
    if (order.kind != PassKind::begin) compare(order, sums);
    take_sides(order, sums);
  }

 private:
  // Sums over the rows above their tubes ([1], sign +1) and below ([0]), and which rows these are.
  struct Sides {
    index_t count[2] = {0, 0};
    double alpha[2] = {0.0, 0.0}, linear[2] = {0.0, 0.0}, conjugate[2] = {0.0, 0.0};
  };

  // A dual variable of row r on a side with this y t: its conjugate is alpha^2 / (4 cost).
  void put(Sides& sides, index_t r, int side, double alpha, double goal, double conjugate) {
    sides.alpha[side] += alpha;
    sides.linear[side] += alpha * goal;
    sides.conjugate[side] += conjugate;
    s_.chosen[side][sides.count[side]] = s_.rows[r];
    s_.coef[side][sides.count[side]] = alpha;
    sides.count[side] += alpha != 0.0;
  }

  void add(const Sides& sides, DualSums& sums) {
    for (int c = 0; c < 2; ++c) {
      sums.alpha[c] += sides.alpha[c];
      sums.linear[c] += sides.linear[c];
      sums.conjugate[c] += sides.conjugate[c];
      rows_.add(s_.chosen[c], sides.count[c], s_.coef[c], sums.image[c].data());
    }
  }

  void products(const PassOrder& order, double* out) {
    rows_.dots(s_.rows, count_, order.direction.data(), out);
    for (index_t r = 0; r < count_; ++r) out[r] += order.b;
  }

  // Values at which the sides are taken, and their change along the direction, to the scratch.
  void take_values(const PassOrder& order) {
    double* value = order.share->margin.get() + begin_ / 2;
    double* change = order.share->change.get() + begin_ / 2;
    if (order.kind == PassKind::begin) {
      products(order, value);
      std::fill_n(change, count_, 0.0);
      std::copy_n(value, count_, s_.margin);
    } else {
      if (order.kind == PassKind::move) products(order, change);
      const double step = order.kind == PassKind::move ? 1.0 : order.step;
      for (index_t r = 0; r < count_; ++r) s_.margin[r] = value[r] + step * change[r];
      if (order.kind != PassKind::probe) std::copy_n(s_.margin, count_, value);
    }
    std::copy_n(change, count_, s_.change);
  }

  // Sums at the old alpha along the change.
  void compare(const PassOrder& order, PassSums& sums) {
    const Share& share = *order.share;
    const double* alpha = share.alpha.get() + begin_;
    double slope = 0.0;
    for (index_t r = 0; r < count_; ++r) slope += (alpha[2 * r] - alpha[2 * r + 1]) * s_.change[r];
    sums.slope_before += slope;
    if (!order.linearise) return;
    const double *weight = share.weight.get() + begin_, *cost = share.cost.get() + begin_;
    const double* target = share.block.target + begin_;
    double* linearised = share.linearised.get() + begin_;
    Sides sides;
    for (index_t k = 0; k < 2 * count_; ++k) {
      const double y = k % 2 ? -1.0 : 1.0, change = y * s_.change[k / 2];
      linearised[k] = std::max(alpha[k] - weight[k] * change, 0.0);
      put(sides, k / 2, k % 2 == 0, linearised[k], y * target[k],
          linearised[k] * linearised[k] / (4.0 * cost[k]));
    }
    add(sides, sums.linearised);
  }

  // alpha, W and the sums at the new values.
  void take_sides(const PassOrder& order, PassSums& sums) {
    const Share& share = *order.share;
    const double *cost = share.cost.get() + begin_, *target = share.block.target + begin_;
    const bool kept = order.kind != PassKind::probe;
    double *alpha = share.alpha.get() + begin_, *weight = share.weight.get() + begin_;
    double loss = 0.0, slope = 0.0, curvature = 0.0, furthest = -infinity;
    index_t active = 0;
    Sides sides;
    for (index_t r = 0; r < count_; ++r) {
      const double up = target[2 * r] - s_.margin[r], down = s_.margin[r] - target[2 * r + 1];
      const bool above = up > 0.0;
      const double beyond = above ? up : down, xi = beyond <= 0.0 ? 0.0 : beyond;
      const double own = cost[2 * r + !above];
      const double w = beyond > 0.0 ? 2.0 * own : 0.0;
      const double a = 2.0 * own * xi, lost = own * xi * xi;
      loss += lost;
      slope += (above ? a : -a) * s_.change[r];
      curvature += w;
      active += beyond > 0.0;
      furthest = std::max(furthest, std::max(up, down));
      if (!kept) continue;
      alpha[2 * r] = above ? a : 0.0;
      alpha[2 * r + 1] = above ? 0.0 : a;
      weight[2 * r] = above ? w : 0.0;
      weight[2 * r + 1] = above ? 0.0 : w;
      put(sides, r, above, a, above ? target[2 * r] : -target[2 * r + 1], lost);
    }
    sums.loss += loss;
    sums.slope += slope;
    sums.weight += curvature;
    sums.active += active;
    sums.smallest_margin = std::min(sums.smallest_margin, 1.0 - furthest);
    if (kept) add(sides, sums.dual);
  }

  void certify(const PassOrder& order, PassSums& sums) {
    const Share& share = *order.share;
    const double *cost = share.cost.get() + begin_, *target = share.block.target + begin_;
    const double* best = share.best.get() + begin_;
    products(order, s_.margin);
    rows_.dot_errors(s_.rows, count_, order.direction.data(), s_.before, s_.weight);
    double loss = 0.0, terms = 0.0, rounding = 0.0, reach = 0.0, pull = 0.0;
    double furthest = -infinity, largest = 0.0;
    Sides sides;
    for (index_t k = 0; k < 2 * count_; ++k) {
      const index_t r = k / 2;
      const double y = k % 2 ? -1.0 : 1.0, goal = y * target[k], margin = y * s_.margin[r];
      const double shortfall = goal - margin, alpha = best[k];
      const double error =
          s_.before[r] +
          4.0 * unit_roundoff * (std::abs(margin) + std::abs(order.b) + std::abs(goal));
      furthest = std::max(furthest, shortfall);
      largest = std::max(largest, error);
      double own = 0.0;
      if (shortfall + error > 0.0) {
        const double xi = std::max(shortfall, 0.0), most = shortfall + error;
        own = cost[k] * (xi * xi);
        rounding += cost[k] * (most * most) - own;
      }
      const double conjugate = alpha * (alpha / (2.0 * cost[k])) * 0.5;
      loss += own;
      terms += alpha * -shortfall + own + conjugate;
      rounding += alpha * error;
      reach += alpha * std::sqrt(s_.weight[r]);
      pull += alpha * std::abs(shortfall);
      put(sides, r, k % 2 == 0, alpha, goal, conjugate);
    }
    sums.loss += loss;
    sums.terms += terms;
    sums.rounding += rounding;
    sums.reach += reach;
    sums.pull += pull;
    sums.smallest_margin = std::min(sums.smallest_margin, 1.0 - furthest);
    sums.margin_error = std::max(sums.margin_error, largest);
    add(sides, sums.dual);
  }

  const LinearRows& rows_;
  Scratch& s_;
  index_t begin_ = 0, count_ = 0;
};

}  // namespace psvm
