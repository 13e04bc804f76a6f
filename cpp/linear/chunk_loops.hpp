// What a pass does with the numbers of a chunk of rows, in vectors: prox, conjugates, sums.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "linear/linear_rows.hpp"
#include "loss/prox.hpp"

namespace psvm {

// Rows of a chunk, at most.
inline constexpr index_t max_chunk = 1024;

// What the steps of one chunk share. Padded by a vector of rows that cost nothing.
struct Scratch {
  static constexpr index_t size = max_chunk + lanes<double>;
  row_t rows[size], chosen[2][size];  // of features
  // Where rows share features: those features once each, the place of each row among them, and their
  // products, errors and squared norms.
  row_t distinct[size], place[size];
  double shared[2][size];
  double y[size], goal[size], cost[size], margin[size], centre[size], change[size];
  double alpha[size], weight[size], loss[size], conjugate[size];
  double before[size], linearised[size], coef[2][size];
  const double* goals;  // y t of each row: `goal`, or `ones` in classification
};

// Kept, as passes over few rows would take less time than its memory.
inline Scratch& scratch_of_this_thread() {
  thread_local const auto scratch = std::make_unique_for_overwrite<Scratch>();
  return *scratch;
}

inline constexpr auto ones = [] {
  std::array<double, Scratch::size> values;
  values.fill(1.0);
  return values;
}();

struct ProxLoop {
  template <class Arch, Exponent kind>
  PSVM_INLINE static void loop(Scratch* s, index_t count, const Envelope* envelope) {
    using V = Vec<double, Arch>;
    for (index_t r = 0; r < count; r += width<V>) {
      const V shortfall = load<V>(s->goals + r) - load<V>(s->margin + r);
      const auto value =
          prox_of<kind, V>(shortfall, load<V>(s->centre + r), load<V>(s->cost + r), *envelope);
      store<V>(s->alpha + r, value.alpha);
      store<V>(s->weight + r, value.weight);
      store<V>(s->loss + r, value.loss);
      store<V>(s->conjugate + r, value.conjugate);
    }
  }
  template <class Arch>
  PSVM_INLINE static void run(Scratch* s, index_t count, const Envelope* envelope) {
    switch (exponent_of(envelope->p)) {
      case Exponent::one: return loop<Arch, Exponent::one>(s, count, envelope);
      case Exponent::one_and_a_half:
        return loop<Arch, Exponent::one_and_a_half>(s, count, envelope);
      case Exponent::below_two: return loop<Arch, Exponent::below_two>(s, count, envelope);
      case Exponent::two: return loop<Arch, Exponent::two>(s, count, envelope);
      case Exponent::three: return loop<Arch, Exponent::three>(s, count, envelope);
      case Exponent::above_two: return loop<Arch, Exponent::above_two>(s, count, envelope);
    }
  }
};

// out = p cost xi^(p-1) at the margins (p > 1), and conjugates of the given alpha.
struct SlackAlphaLoop {
  template <class Arch>
  PSVM_INLINE static void run(Scratch* s, index_t count, double p) {
    using V = Vec<double, Arch>;
    for (index_t r = 0; r < count; r += width<V>) {
      const V xi = vmax<V>(load<V>(s->goals + r) - load<V>(s->margin + r), V{});
      store<V>(s->centre + r, p * load<V>(s->cost + r) * power_of<V>(xi, p - 1.0));
    }
  }
};
struct ConjugateLoop {
  template <class Arch>
  PSVM_INLINE static void run(const double* alpha, const double* cost, index_t count, double p,
                              double* out) {
    using V = Vec<double, Arch>;
    for (index_t r = 0; r < count; r += width<V>) {
      const V a = load<V>(alpha + r);
      const V slack = power_of<V>(a / (p * load<V>(cost + r)), 1.0 / (p - 1.0));
      store<V>(out + r, a > 0.0 ? a * slack * ((p - 1.0) / p) : V{});
    }
  }
};

struct ChunkSums {
  double loss, moved, slope, weight, active, smallest_margin;  // the last one of m + 1 - y t
};
struct SumLoop {
  template <class Arch>
  PSVM_INLINE static void run(const Scratch* s, index_t count, ChunkSums* sums) {
    using V = Vec<double, Arch>;
    V loss{}, moved{}, slope{}, weight{}, active{}, smallest = broadcast<V>(infinity);
    for (index_t r = 0; r < count; r += width<V>) {
      const V alpha = load<V>(s->alpha + r), w = load<V>(s->weight + r);
      const V step = alpha - load<V>(s->centre + r);
      const V margin = load<V>(s->margin + r) + (1.0 - load<V>(s->goals + r));
      loss += load<V>(s->loss + r);
      moved += step * step;
      slope += alpha * load<V>(s->change + r);
      weight += w;
      active += choose<V>(greater<V>(w, V{}), broadcast<V>(1.0), V{});
      smallest = vmin<V>(margin, smallest);
    }
    *sums = {sum_of<V>(loss),   sum_of<V>(moved),  sum_of<V>(slope),
             sum_of<V>(weight), sum_of<V>(active), infinity};
    for (int k = 0; k < width<V>; ++k)
      sums->smallest_margin = std::min(sums->smallest_margin, smallest[k]);
  }
};

}  // namespace psvm
