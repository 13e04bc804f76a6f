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

// Sums over the rows above their tubes ([1], sign +1) and below ([0]).
struct SideSums {
  double alpha[2] = {0.0, 0.0}, linear[2] = {0.0, 0.0}, conjugate[2] = {0.0, 0.0};
};

// A chunk of tubes in the scratch: their two targets, costs and dual variables apart, padded by copies
// of the last row that cost nothing and have no alpha.
struct Tubes {
  Scratch& s;
  double *value = s.margin, *change = s.change;
  double* target[2] = {s.centre, s.goal};
  double* cost[2] = {s.cost, s.y};
  double* alpha[2] = {s.before, s.alpha};
  double* weight[2] = {s.linearised, s.weight};
  double *error = s.loss, *squared_norm = s.conjugate;

  // From state of two entries a row.
  static void apart(const double* both, index_t count, double* const (&out)[2]) {
    for (index_t r = 0; r < count; ++r) {
      out[1][r] = both[2 * r];
      out[0][r] = both[2 * r + 1];
    }
  }
  static void together(const double* const (&of)[2], index_t count, double* out) {
    for (index_t r = 0; r < count; ++r) {
      out[2 * r] = of[1][r];
      out[2 * r + 1] = of[0][r];
    }
  }
  void pad(index_t count) {
    for (double* last : {value, change, target[0], target[1], error, squared_norm})
      std::fill_n(last + count, lanes<double>, last[count - 1]);
    for (double* none : {cost[0], cost[1], alpha[0], alpha[1]})
      std::fill_n(none + count, lanes<double>, 0.0);
  }
};

// The positive part; what is no number stays none.
template <class V>
PSVM_INLINE V positive_part(V x) {
  return choose<V>(greater<V>(V{}, x), V{}, x);
}

// alpha, W and sums at values.
struct TubeLoop {
  struct Sums {
    SideSums sides;
    double loss, slope, curvature, active, furthest;
  };

  template <class Arch>
  PSVM_INLINE static void run(const Tubes* t, index_t count, Sums* sums) {
    using V = Vec<double, Arch>;
    V alpha[2] = {}, linear[2] = {}, lost[2] = {}, slope{}, curvature{}, active{};
    V furthest = broadcast<V>(-infinity);
    for (index_t r = 0; r < count; r += width<V>) {
      const V value = load<V>(t->value + r), change = load<V>(t->change + r);
      V weight{};
      for (const int side : {0, 1}) {
        const V target = load<V>(t->target[side] + r), cost = load<V>(t->cost[side] + r);
        const V beyond = side ? target - value : value - target, xi = positive_part<V>(beyond);
        const V a = 2.0 * cost * xi, w = choose<V>(greater<V>(beyond, V{}), 2.0 * cost, V{});
        store<V>(t->alpha[side] + r, a);
        store<V>(t->weight[side] + r, w);
        alpha[side] += a;
        linear[side] += side ? a * target : a * -target;
        lost[side] += cost * xi * xi;
        slope += side ? a * change : a * -change;
        weight += w;
        furthest = vmax<V>(furthest, beyond);
      }
      curvature += weight;
      active += choose<V>(greater<V>(weight, V{}), broadcast<V>(1.0), V{});
    }
    for (const int side : {0, 1}) {
      sums->sides.alpha[side] = sum_of<V>(alpha[side]);
      sums->sides.linear[side] = sum_of<V>(linear[side]);
      sums->sides.conjugate[side] = sum_of<V>(lost[side]);  // alpha^2 / (4 cost)
    }
    sums->loss = sums->sides.conjugate[0] + sums->sides.conjugate[1];
    sums->slope = sum_of<V>(slope);
    sums->curvature = sum_of<V>(curvature);
    sums->active = sum_of<V>(active);
    sums->furthest = largest_of<V>(furthest);
  }
};

// The sums of a certificate of alpha, whose values may be off by errors.
struct TubeProofLoop {
  struct Sums {
    SideSums sides;
    double loss, terms, rounding, reach, pull, furthest, largest_error;
  };

  template <class Arch>
  PSVM_INLINE static void run(const Tubes* t, index_t count, double b, Sums* sums) {
    using V = Vec<double, Arch>;
    V alphas[2] = {}, linear[2] = {}, conjugates[2] = {};
    V loss{}, terms{}, rounding{}, reach{}, pull{}, largest_error{};
    V furthest = broadcast<V>(-infinity);
    const V size_of_b = broadcast<V>(std::abs(b));
    for (index_t r = 0; r < count; r += width<V>) {
      const V value = load<V>(t->value + r), norm = vsqrt<V>(load<V>(t->squared_norm + r));
      for (const int side : {0, 1}) {
        const V target = load<V>(t->target[side] + r), cost = load<V>(t->cost[side] + r);
        const V alpha = load<V>(t->alpha[side] + r);
        const V shortfall = side ? target - value : value - target;
        const V error = load<V>(t->error + r) +
                        4.0 * unit_roundoff * (vabs<V>(value) + size_of_b + vabs<V>(target));
        const V xi = positive_part<V>(shortfall), most = positive_part<V>(shortfall + error);
        const V own = cost * (xi * xi);
        const V conjugate =
            choose<V>(greater<V>(alpha, V{}), alpha * (alpha / (2.0 * cost)) * 0.5, V{});
        alphas[side] += alpha;
        linear[side] += side ? alpha * target : alpha * -target;
        conjugates[side] += conjugate;
        loss += own;
        terms += alpha * -shortfall + own + conjugate;
        rounding += (cost * (most * most) - own) + alpha * error;
        reach += alpha * norm;
        pull += alpha * vabs<V>(shortfall);
        furthest = vmax<V>(furthest, shortfall);
        largest_error = vmax<V>(largest_error, error);
      }
    }
    for (const int side : {0, 1}) {
      sums->sides.alpha[side] = sum_of<V>(alphas[side]);
      sums->sides.linear[side] = sum_of<V>(linear[side]);
      sums->sides.conjugate[side] = sum_of<V>(conjugates[side]);
    }
    sums->loss = sum_of<V>(loss);
    sums->terms = sum_of<V>(terms);
    sums->rounding = sum_of<V>(rounding);
    sums->reach = sum_of<V>(reach);
    sums->pull = sum_of<V>(pull);
    sums->furthest = largest_of<V>(furthest);
    sums->largest_error = largest_of<V>(largest_error);
  }
};

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
  // The image of dual variables that are apart, and their sums.
  void add(const SideSums& sides, const double* const (&alpha)[2], DualSums& sums) {
    for (int c = 0; c < 2; ++c) {
      sums.alpha[c] += sides.alpha[c];
      sums.linear[c] += sides.linear[c];
      sums.conjugate[c] += sides.conjugate[c];
      index_t chosen = 0;
      for (index_t r = 0; r < count_; ++r) {
        s_.chosen[c][chosen] = s_.rows[r];
        s_.coef[c][chosen] = alpha[c][r];
        chosen += alpha[c][r] != 0.0;
      }
      rows_.add(s_.chosen[c], chosen, s_.coef[c], sums.image[c].data());
    }
  }

  void products(const PassOrder& order, double* out) {
    rows_.dots(s_.rows, count_, order.direction.data(), out);
    for (index_t r = 0; r < count_; ++r) out[r] += order.b;
  }

  // Values at which the sides are taken, and their change along the direction, to the scratch.
  void take_values(const PassOrder& order) {
    double* value = order.share->margin + begin_ / 2;
    double* change = order.share->change + begin_ / 2;
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
    const double* alpha = share.alpha + begin_;
    double slope = 0.0;
    for (index_t r = 0; r < count_; ++r) slope += (alpha[2 * r] - alpha[2 * r + 1]) * s_.change[r];
    sums.slope_before += slope;
    if (!order.linearise) return;
    const double *weight = share.weight + begin_, *cost = share.cost + begin_;
    const double* target = share.block.target + begin_;
    double* linearised = share.linearised + begin_;
    SideSums sides;
    for (index_t k = 0; k < 2 * count_; ++k) {
      const int side = k % 2 == 0;
      const double y = side ? 1.0 : -1.0;
      const double own = std::max(alpha[k] - weight[k] * (y * s_.change[k / 2]), 0.0);
      linearised[k] = own;
      tubes_.alpha[side][k / 2] = own;
      sides.alpha[side] += own;
      sides.linear[side] += own * (y * target[k]);
      sides.conjugate[side] += own * own / (4.0 * cost[k]);
    }
    add(sides, tubes_.alpha, sums.linearised);
  }

  void load_rows(const Share& share) {
    Tubes::apart(share.block.target + begin_, count_, tubes_.target);
    Tubes::apart(share.cost + begin_, count_, tubes_.cost);
  }

  // alpha, W and the sums at the new values.
  void take_sides(const PassOrder& order, PassSums& sums) {
    const Share& share = *order.share;
    load_rows(share);
    tubes_.pad(count_);
    TubeLoop::Sums found;
    on_this_cpu<TubeLoop, const Tubes*, index_t, TubeLoop::Sums*>(&tubes_, count_, &found);
    sums.loss += found.loss;
    sums.slope += found.slope;
    sums.weight += found.curvature;
    sums.active += static_cast<index_t>(found.active);
    sums.smallest_margin = std::min(sums.smallest_margin, 1.0 - found.furthest);
    if (order.kind == PassKind::probe) return;
    Tubes::together(tubes_.alpha, count_, share.alpha + begin_);
    Tubes::together(tubes_.weight, count_, share.weight + begin_);
    add(found.sides, tubes_.alpha, sums.dual);
  }

  void certify(const PassOrder& order, PassSums& sums) {
    const Share& share = *order.share;
    products(order, tubes_.value);
    rows_.dot_errors(s_.rows, count_, order.direction.data(), tubes_.error, tubes_.squared_norm);
    load_rows(share);
    Tubes::apart(share.best + begin_, count_, tubes_.alpha);
    tubes_.pad(count_);
    TubeProofLoop::Sums found;
    on_this_cpu<TubeProofLoop, const Tubes*, index_t, double, TubeProofLoop::Sums*>(
        &tubes_, count_, order.b, &found);
    sums.loss += found.loss;
    sums.terms += found.terms;
    sums.rounding += found.rounding;
    sums.reach += found.reach;
    sums.pull += found.pull;
    sums.smallest_margin = std::min(sums.smallest_margin, 1.0 - found.furthest);
    sums.margin_error = std::max(sums.margin_error, found.largest_error);
    add(found.sides, tubes_.alpha, sums.dual);
  }

  const LinearRows& rows_;
  Scratch& s_;
  Tubes tubes_{s_};
  index_t begin_ = 0, count_ = 0;
};

}  // namespace psvm
