#include "smo/block_smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace psvm {

template <class T>
void Block<T>::resize(index_t variables, bool with_phantom) {
  phantom = with_phantom;
  size = variables + (phantom ? 1 : 0);
  // An odd number of cache lines: rows a power of two apart would share a cache set.
  stride = ((size + lanes<T> - 1) / lanes<T> | 1) * lanes<T>;
  const auto n = static_cast<std::size_t>(stride);
  gram.make_room_for(static_cast<std::size_t>(size) * n);
  // The phantom's row and column and the padding.
  for (index_t k = 0; k < size; ++k)
    std::fill(gram.data() + k * stride + (k < variables ? variables : 0),
              gram.data() + (k + 1) * stride, T(0));
  diagonal.assign(n, T(0));
  score.assign(n, T(0));
  curvature.assign(n, T(0));
  up.assign(n, -std::numeric_limits<T>::infinity());
  low.assign(n, std::numeric_limits<T>::infinity());
  y.assign(n, 1.0);
  alpha.assign(n, 0.0);
  cost.assign(n, infinity);
  slack.assign(n, 0.0);
}

namespace {

// The largest of many values and where it is. One chain of comparisons per vector of a panel: a
// single one would wait for itself (measured: half of the time of a pair step).
template <class T, class Arch>
struct Largest {
  using V = Vec<T, Arch>;
  using Int = VecInt<T, Arch>;
  static constexpr int W = width<V>, N = lanes<T> / W;
  V best[N];
  Int where[N];

  PSVM_INLINE explicit Largest(T least) {
    for (int v = 0; v < N; ++v) {
      best[v] = broadcast<V>(least);
      where[v] = Int{};
    }
  }
  PSVM_INLINE void see(int v, V value, Int index) {
    where[v] = choose<V>(greater<V>(value, best[v]), index, where[v]);
    best[v] = vmax<V>(value, best[v]);
  }
  // Ties go to the smaller index, whatever the width of the vectors.
  PSVM_INLINE void get(T* value, index_t* index) const {
    V most = best[0];
    for (int v = 1; v < N; ++v) most = vmax<V>(best[v], most);
    *value = largest_of<V>(most);
    const Int none = Int{} + std::numeric_limits<Scalar<Int>>::max();
    Scalar<Int> first = none[0];
    for (int v = 0; v < N; ++v) {
      const auto less = greater<V>(broadcast<V>(*value), best[v]);
      first = std::min(first, smallest_of<Int>(choose<V>(less, none, where[v])));
    }
    *index = static_cast<index_t>(first);
  }
};

// The places of the first vector of a panel.
template <class Int>
PSVM_INLINE Int first_places() {
  Int index{};
  for (int k = 0; k < width<Int>; ++k) index[k] = k;
  return index;
}

template <class T>
constexpr index_t ahead = 16 * lanes<T>;

template <class T>
struct Extremes {
  T max_up, min_low;
  index_t argmax_up;
};

// score -= t (K_i - K_j) in one pass that also finds the extreme scores.
template <class T>
struct UpdatePass {
  template <class Arch>
  static PSVM_INLINE void run(Block<T>* block, const T* row_i, const T* row_j, T t,
                              Extremes<T>* found) {
    using V = Vec<T, Arch>;
    using Int = VecInt<T, Arch>;
    constexpr int L = lanes<T>, W = width<V>, N = L / W;
    T* score = block->score.data();
    const T *up = block->up.data(), *low = block->low.data();
    const V step = broadcast<V>(t);
    Largest<T, Arch> best_up(-std::numeric_limits<T>::infinity());
    V best_low[N];
    for (int v = 0; v < N; ++v) best_low[v] = broadcast<V>(std::numeric_limits<T>::infinity());
    Int index = first_places<Int>();
    for (index_t k0 = 0; k0 < block->stride; k0 += L) {
      __builtin_prefetch(row_j + k0 + ahead<T>);
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v, index += W) {
        const index_t k = k0 + v * W;
        const V s = load<V>(score + k) - step * (load<V>(row_i + k) - load<V>(row_j + k));
        store<V>(score + k, s);
        best_up.see(v, s + load<V>(up + k), index);
        best_low[v] = vmin<V>(s + load<V>(low + k), best_low[v]);
      }
    }
    best_up.get(&found->max_up, &found->argmax_up);
    V least = best_low[0];
    for (int v = 1; v < N; ++v) least = vmin<V>(best_low[v], least);
    found->min_low = smallest_of<V>(least);
  }
};

// The partner of i with the largest second-order gain (s_i - s_j)^2 / (eta_ij + h_i + h_j).
template <class T>
struct PartnerPass {
  template <class Arch>
  static PSVM_INLINE void run(const Block<T>* block, index_t i, index_t* partner) {
    using V = Vec<T, Arch>;
    using Int = VecInt<T, Arch>;
    constexpr int L = lanes<T>, W = width<V>, N = L / W;
    const T *score = block->score.data(), *low = block->low.data();
    const T *curvature = block->curvature.data(), *row = block->gram.data() + i * block->stride;
    const T own = curvature[i];
    const V own_score = broadcast<V>(score[i]);
    const V tiny = broadcast<V>(std::max(own, T(1)) * std::numeric_limits<T>::epsilon());
    Largest<T, Arch> best(T(0));
    Int index = first_places<Int>();
    for (index_t k0 = 0; k0 < block->stride; k0 += L) {
      __builtin_prefetch(row + k0 + ahead<T>);
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v, index += W) {
        const index_t k = k0 + v * W;
        const V difference = own_score - (load<V>(score + k) + load<V>(low + k));
        const V along = own + load<V>(curvature + k) - T(2) * load<V>(row + k);
        // Negative where the score is not below that of i.
        const V gain = difference * vabs<V>(difference) * about_inverse<V>(vmax<V>(along, tiny));
        best.see(v, gain, index);
      }
    }
    T gain = T(0);
    best.get(&gain, partner);
    if (!(gain > T(0))) *partner = -1;
  }
};

template <class T>
class BlockSolver {
 public:
  BlockSolver(Block<T>& block, const PNormHinge& loss) : block_(block), loss_(loss) {}

  // (The whole loop compiled per CPU, its passes inlined, measured a tenth slower.)
  BlockResult run(const BlockGoal& goal, RunControl& control) {
    for (index_t k = 0; k < block_.size; ++k) mark(k);
    const T* first_row = block_.gram.data();
    Extremes<T> found{};
    const auto update = [&](index_t i, index_t j, T t) {
      on_this_cpu<UpdatePass<T>, Block<T>*, const T*, const T*, T, Extremes<T>*>(
          &block_, first_row + i * block_.stride, first_row + j * block_.stride, t, &found);
    };
    update(0, 0, T(0));
    double violation = static_cast<double>(found.max_up) - static_cast<double>(found.min_low);
    const double target = std::max(goal.relative * violation, goal.absolute);
    double refreshed_at = refresh_curvatures(violation);
    while (violation > target && result_.steps < goal.max_steps && void_steps_ < most_void_steps) {
      const index_t i = found.argmax_up;
      index_t j = -1;
      on_this_cpu<PartnerPass<T>, const Block<T>*, index_t, index_t*>(&block_, i, &j);
      if (j < 0) break;
      const double t = step(i, j);
      if (!(t > 0.0) || std::isinf(t)) break;
      if (!(result_.gain < goal.max_gain)) {
        result_.indefinite = result_.unbounded = true;
        break;
      }
      update(i, j, static_cast<T>(t));
      ++result_.steps;
      violation = static_cast<double>(found.max_up) - static_cast<double>(found.min_low);
      if (violation < 0.5 * refreshed_at) refreshed_at = refresh_curvatures(violation);
      if ((result_.steps & 1023) == 0) control.check();
    }
    return result_;
  }

 private:
  bool is_phantom(index_t k) const { return block_.phantom && k == block_.size - 1; }

  // Where variable k may move.
  void mark(index_t k) {
    const auto at = static_cast<std::size_t>(k);
    const double alpha = block_.alpha[at];
    const bool can_grow = !loss_.bounded() || alpha < block_.cost[at];
    const bool can_shrink = alpha > 0.0 || is_phantom(k);
    const bool positive = block_.y[at] > 0.0;
    block_.up[at] = (positive ? can_grow : can_shrink) ? T(0) : -std::numeric_limits<T>::infinity();
    block_.low[at] = (positive ? can_shrink : can_grow) ? T(0) : std::numeric_limits<T>::infinity();
  }

  // Curvature along one variable. For p > 2 that of the conjugate is infinite at alpha = 0, and the
  // choice of a partner would go blind: it is taken at the alpha of a slack of a tenth of the
  // violation or more.
  void set_curvature(index_t k, double floor_slack) {
    const auto at = static_cast<std::size_t>(k);
    block_.curvature[at] = block_.diagonal[at];
    if (loss_.bounded() || std::isinf(block_.cost[at])) return;
    double alpha = block_.alpha[at], slack = block_.slack[at];
    if (loss_.p > 2.0 && slack < floor_slack) {
      slack = floor_slack;
      alpha = loss_.alpha_of(floor_slack, block_.cost[at]);
    }
    double slope = 0.0;
    if (loss_.p == 2.0)
      slope = 0.5 / block_.cost[at];
    else if (alpha > 0.0)
      slope = loss_.slack_slope(alpha, slack);
    block_.curvature[at] += static_cast<T>(std::min(slope, 1e30));
  }

  double refresh_curvatures(double violation) {
    floor_slack_ = 0.1 * violation;
    for (index_t k = 0; k < block_.size; ++k) set_curvature(k, floor_slack_);
    return violation;
  }

  // Whether that changed the variable.
  bool move(index_t k, double delta) {
    if (is_phantom(k)) return false;
    const auto at = static_cast<std::size_t>(k);
    double alpha = block_.alpha[at] + delta;
    // A step to a bound lands on it exactly.
    const double cost = block_.cost[at];
    if (alpha < 1e-14 * std::abs(delta)) alpha = 0.0;
    if (loss_.bounded() && alpha > cost * (1.0 - 1e-14)) alpha = cost;
    const bool changed = alpha != block_.alpha[at];
    block_.alpha[at] = alpha;
    const double slack = loss_.slack_of(alpha, cost);
    block_.score[at] -= static_cast<T>(block_.y[at] * (slack - block_.slack[at]));
    block_.slack[at] = slack;
    set_curvature(k, floor_slack_);
    mark(k);
    return changed;
  }

  // The exact step along the pair (i, j), taken in alpha, slack and their own scores.
  double step(index_t i, index_t j) {
    const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
    const double sum =
        static_cast<double>(block_.diagonal[a]) + static_cast<double>(block_.diagonal[b]);
    const double eta =
        sum -
        2.0 * static_cast<double>(block_.gram[a * static_cast<std::size_t>(block_.stride) + b]);
    if (eta < -1e-5 * std::abs(sum)) result_.indefinite = true;
    PairSide side_i{block_.alpha[a], block_.cost[a], block_.slack[a], block_.y[a]};
    PairSide side_j{block_.alpha[b], block_.cost[b], block_.slack[b], -block_.y[b]};
    // The phantom moves for free: as a growing side of infinite cost it sets no limit.
    if (is_phantom(i)) side_i = {0.0, infinity, 0.0, 1.0};
    if (is_phantom(j)) side_j = {0.0, infinity, 0.0, 1.0};
    const double violation =
        static_cast<double>(block_.score[a]) - static_cast<double>(block_.score[b]);
    const double t = pair_step(loss_, side_i, side_j, violation, eta);
    if (std::isinf(t)) {
      result_.unbounded = true;
      return t;
    }
    if (t > 0.0) {
      const bool i_changed = move(i, block_.y[a] * t), j_changed = move(j, -block_.y[b] * t);
      void_steps_ = i_changed || j_changed ? 0 : void_steps_ + 1;
      result_.gain += 0.5 * violation * t;
    }
    return t;
  }

  // Steps below the last digit of their variables, one after the other: then rounding is all that is
  // left (near p = 1 some come before others that are not).
  static constexpr index_t most_void_steps = 100;

  Block<T>& block_;
  const PNormHinge& loss_;
  BlockResult result_;
  index_t void_steps_ = 0;
  double floor_slack_ = 0.0;
};

}  // namespace

template <class T>
BlockResult solve_block(Block<T>& block, const PNormHinge& loss, const BlockGoal& goal,
                        RunControl& run) {
  return BlockSolver<T>(block, loss).run(goal, run);
}

template struct Block<float>;
template struct Block<double>;
template BlockResult solve_block<float>(Block<float>&, const PNormHinge&, const BlockGoal&,
                                        RunControl&);
template BlockResult solve_block<double>(Block<double>&, const PNormHinge&, const BlockGoal&,
                                         RunControl&);

}  // namespace psvm
