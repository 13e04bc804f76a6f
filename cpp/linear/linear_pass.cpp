#include "linear/linear_pass.hpp"

#include <algorithm>

#include "linear/chunk_loops.hpp"
#include "linear/squared_tube.hpp"

namespace psvm {

namespace {

// Entries of the rows of a chunk: few enough that these and their state stay in the second-level cache,
// many enough to pay for the calls.
constexpr index_t cache_entries = 24 * 1024;
// Work, in entries of X, below which a thread costs more than it brings.
constexpr double entries_per_thread = 300'000.0;

class Chunk {
 public:
  Chunk(const LinearRows& rows, Scratch& scratch) : rows_(rows), s_(scratch) {}

  // The rows at positions [begin, end) of the order's share.
  void run(const PassOrder& order, index_t begin, index_t end, PassSums& sums) {
    load_rows(*order.share, begin, end);
    switch (order.kind) {
      case PassKind::certify: return certify(order, sums);
      case PassKind::curve: return curve(order, sums);
      default: break;
    }
    take_margins(order);
    if (order.kind != PassKind::begin) compare(order, sums);
    set_centre(order);
    pad();
    if (order.centre == Centre::band)
      cross_band(order.envelope);
    else
      on_this_cpu<ProxLoop, Scratch*, index_t, const Envelope*>(&s_, count_, &order.envelope);
    sum_up(order, sums);
    if (order.kind == PassKind::probe) return;
    Share& share = *order.share;
    std::copy_n(s_.alpha, count_, share.alpha + begin_);
    std::copy_n(s_.weight, count_, share.weight + begin_);
    add_dual(s_.alpha, order.delta ? s_.before : nullptr, s_.conjugate, sums.dual);
  }

 private:
  void load_rows(const Share& share, index_t begin, index_t end) {
    const BlockProblem& block = share.block;
    begin_ = begin;
    count_ = end - begin;
    for (index_t r = 0; r < count_; ++r) s_.rows[r] = share.row(begin + r);
    if (share.y) {
      std::copy_n(share.y + begin, count_, s_.y);
      std::copy_n(share.cost + begin, count_, s_.cost);
    } else {
      for (index_t r = 0; r < count_; ++r) {
        const row_t row = s_.rows[r];
        s_.y[r] = share.signs[static_cast<std::size_t>(block.codes[row])];
        s_.cost[r] = block.cost[row];
      }
    }
    s_.goals = block.target ? s_.goal : ones.data();
    if (block.target)
      for (index_t r = 0; r < count_; ++r) s_.goal[r] = s_.y[r] * block.target[s_.rows[r]];
    shares_features_ = block.feature_row != nullptr;
    if (!shares_features_) return;
    distinct_ = 0;
    for (index_t r = 0; r < count_; ++r) {
      const row_t own = block.feature_row[s_.rows[r]];
      // They are ascending.
      if (r == 0 || own != s_.rows[r - 1]) s_.distinct[distinct_++] = own;
      s_.rows[r] = own;
      s_.place[r] = static_cast<row_t>(distinct_ - 1);
    }
  }

  // Rows beyond the chunk, up to a whole vector, are outside the margin.
  void pad() {
    for (index_t r = count_; r < count_ + lanes<double>; ++r) {
      s_.margin[r] = infinity;
      s_.centre[r] = s_.change[r] = 0.0;
      s_.goal[r] = s_.cost[r] = 1.0;
    }
  }

  void products(const PassOrder& order, double* out) {
    const double* w = order.direction.data();
    if (shares_features_) {
      rows_.dots(s_.distinct, distinct_, w, s_.shared[0]);
      spread(s_.shared[0], out);
    } else {
      rows_.dots(s_.rows, count_, w, out);
    }
    for (index_t r = 0; r < count_; ++r) out[r] = s_.y[r] * (out[r] + order.b);
  }

  void product_errors(const PassOrder& order, double* errors, double* squared_norms) {
    const double* w = order.direction.data();
    if (!shares_features_) return rows_.dot_errors(s_.rows, count_, w, errors, squared_norms);
    rows_.dot_errors(s_.distinct, distinct_, w, s_.shared[0], s_.shared[1]);
    spread(s_.shared[0], errors);
    spread(s_.shared[1], squared_norms);
  }

  // Values of the distinct features as those of the rows.
  void spread(const double* values, double* out) const {
    for (index_t r = 0; r < count_; ++r) out[r] = values[s_.place[r]];
  }

  // Margins at which the prox is taken, and the change along the direction.
  void take_margins(const PassOrder& order) {
    Share& share = *order.share;
    double* margin = share.margin + begin_;
    double* change = share.change + begin_;
    if (order.kind == PassKind::begin) {
      products(order, margin);
      std::fill_n(change, count_, 0.0);
      std::copy_n(margin, count_, s_.margin);
    } else {
      if (order.kind == PassKind::move) products(order, change);
      const double step = order.kind == PassKind::move ? 1.0 : order.step;
      for (index_t r = 0; r < count_; ++r) s_.margin[r] = margin[r] + step * change[r];
      if (order.kind != PassKind::probe) std::copy_n(s_.margin, count_, margin);
    }
    std::copy_n(change, count_, s_.change);
  }

  // Sums at the old alpha along the change.
  void compare(const PassOrder& order, PassSums& sums) {
    Share& share = *order.share;
    std::copy_n(share.alpha + begin_, count_, s_.before);
    for (index_t r = 0; r < count_; ++r) sums.slope_before += s_.before[r] * s_.change[r];
    if (!order.linearise) return;
    const double* weight = share.weight + begin_;
    const double bound = order.envelope.p == 1.0 ? 1.0 : infinity;
    for (index_t r = 0; r < count_; ++r)
      s_.linearised[r] =
          std::clamp(s_.before[r] - weight[r] * s_.change[r], 0.0, bound * s_.cost[r]);
    std::copy_n(s_.linearised, count_, share.linearised + begin_);
    conjugates(order, s_.linearised);
    add_dual(s_.linearised, nullptr, s_.conjugate, sums.linearised);
  }

  void conjugates(const PassOrder& order, double* alpha) {
    if (order.envelope.p == 1.0) {
      std::fill_n(s_.conjugate, count_, 0.0);
      return;
    }
    pad();
    std::fill_n(alpha + count_, lanes<double>, 0.0);
    on_this_cpu<ConjugateLoop, const double*, const double*, index_t, double, double*>(
        alpha, s_.cost, count_, order.envelope.p, s_.conjugate);
  }

  void set_centre(const PassOrder& order) {
    Share& share = *order.share;
    double* centre = share.centre + begin_;
    switch (order.centre) {
      case Centre::keep: std::copy_n(centre, count_, s_.centre); return;
      case Centre::alpha: std::copy_n(share.alpha + begin_, count_, s_.centre); break;
      case Centre::zero: std::fill_n(s_.centre, count_, 0.0); break;
      case Centre::band:
      case Centre::half_cost:
        for (index_t r = 0; r < count_; ++r) s_.centre[r] = 0.5 * s_.cost[r];
        break;
      case Centre::slack:
        pad();
        on_this_cpu<SlackAlphaLoop, Scratch*, index_t, double>(&s_, count_, order.envelope.p);
        break;
    }
    std::copy_n(s_.centre, count_, centre);
  }

  // In place of the prox: the same band for rows of any cost.
  void cross_band(const Envelope& envelope) {
    for (index_t r = 0; r < count_ + lanes<double>; ++r) {
      const double short_of = s_.goals[r] - s_.margin[r];
      const double part = std::clamp(0.5 + 0.5 * envelope.sigma * short_of, 0.0, 1.0);
      s_.alpha[r] = part * s_.cost[r];
      s_.weight[r] = part > 0.0 && part < 1.0 ? 1.0 : 0.0;
      s_.loss[r] = short_of > 0.0 ? s_.cost[r] * short_of : 0.0;
      s_.conjugate[r] = 0.0;
    }
  }

  void sum_up(const PassOrder& order, PassSums& sums) {
    ChunkSums chunk;
    on_this_cpu<SumLoop, const Scratch*, index_t, ChunkSums*>(&s_, count_, &chunk);
    sums.loss += chunk.loss;
    if (!std::isinf(order.envelope.sigma)) sums.moved += chunk.moved / (2.0 * order.envelope.sigma);
    sums.slope += chunk.slope;
    sums.weight += chunk.weight;
    sums.active += static_cast<index_t>(chunk.active);
    meet(chunk.smallest_margin, sums);
  }

  static void meet(double margin, PassSums& sums) {
    sums.smallest_margin = std::min(sums.smallest_margin, margin);
  }

  // Per class: sums of alpha and conjugate, the linear term, and the image of alpha, or of
  // alpha - before.
  void add_dual(const double* alpha, const double* before, const double* conjugate,
                DualSums& sums) {
    index_t chosen[2] = {0, 0};
    for (index_t r = 0; r < count_; ++r) {
      const int c = s_.y[r] > 0.0;
      const double coef = before ? alpha[r] - before[r] : alpha[r];
      s_.chosen[c][chosen[c]] = s_.rows[r];
      s_.coef[c][chosen[c]] = coef;
      chosen[c] += coef != 0.0;
    }
    // Sums in registers: in memory, each addition would wait for the store of the last.
    double of_plus = 0.0, of_minus = 0.0, plus = 0.0, minus = 0.0;
    for (index_t r = 0; r < count_; ++r) {
      const bool positive = s_.y[r] > 0.0;
      of_plus += positive ? alpha[r] : 0.0;
      of_minus += positive ? 0.0 : alpha[r];
      plus += positive ? conjugate[r] : 0.0;
      minus += positive ? 0.0 : conjugate[r];
    }
    sums.alpha[0] += of_minus;
    sums.alpha[1] += of_plus;
    sums.conjugate[0] += minus;
    sums.conjugate[1] += plus;
    if (s_.goals == s_.goal) {
      double linear_plus = 0.0, linear_minus = 0.0;
      for (index_t r = 0; r < count_; ++r) {
        const double term = alpha[r] * s_.goal[r];
        const bool positive = s_.y[r] > 0.0;
        linear_plus += positive ? term : 0.0;
        linear_minus += positive ? 0.0 : term;
      }
      sums.linear[0] += linear_minus;
      sums.linear[1] += linear_plus;
    }
    for (int c = 0; c < 2; ++c)
      rows_.add(s_.chosen[c], chosen[c], s_.coef[c], sums.image[c].data());
  }

  void certify(const PassOrder& order, PassSums& sums) {
    const double p = order.envelope.p;
    products(order, s_.margin);
    std::copy_n(order.share->best + begin_, count_, s_.alpha);
    conjugates(order, s_.alpha);
    product_errors(order, s_.before, s_.weight);
    const PNormHinge hinge(p);
    // Sums of their own: fewer additions one after the other round less.
    double loss = 0.0, terms = 0.0, rounding = 0.0, reach = 0.0, pull = 0.0;
    for (index_t r = 0; r < count_; ++r) {
      const double shortfall = s_.goals[r] - s_.margin[r], alpha = s_.alpha[r];
      const double error =
          s_.before[r] + 4.0 * unit_roundoff *
                             (std::abs(s_.margin[r]) + std::abs(order.b) + std::abs(s_.goals[r]));
      double own = 0.0;
      if (!order.envelope.hard && shortfall + error > 0.0) {
        own = hinge.value(shortfall, s_.cost[r]);
        rounding += hinge.value(shortfall + error, s_.cost[r]) - own;
      }
      loss += own;
      terms += alpha * -shortfall + own + s_.conjugate[r];
      rounding += alpha * error;
      reach += alpha * std::sqrt(s_.weight[r]);
      pull += alpha * std::abs(shortfall);
      meet(s_.margin[r] + (1.0 - s_.goals[r]), sums);
      sums.margin_error = std::max(sums.margin_error, error);
    }
    sums.loss += loss;
    sums.terms += terms;
    sums.rounding += rounding;
    sums.reach += reach;
    sums.pull += pull;
    add_dual(s_.alpha, nullptr, s_.conjugate, sums.dual);
  }

  // dual.image[1] and dual.alpha[1] become sum W y <r, v> [x, 1].
  void curve(const PassOrder& order, PassSums& sums) {
    products(order, s_.change);
    const double* weight = order.share->weight + begin_;
    index_t chosen = 0;
    for (index_t r = 0; r < count_; ++r) {
      const double coef = weight[r] * s_.change[r];
      s_.chosen[1][chosen] = s_.rows[r];
      s_.coef[1][chosen] = s_.y[r] * coef;
      sums.dual.alpha[1] += s_.coef[1][chosen];
      sums.slope += coef * s_.change[r];
      chosen += coef != 0.0;
    }
    rows_.add(s_.chosen[1], chosen, s_.coef[1], sums.dual.image[1].data());
  }

  const LinearRows& rows_;
  Scratch& s_;
  index_t begin_ = 0, count_ = 0, distinct_ = 0;
  bool shares_features_ = false;
};

index_t chunk_rows(const LinearRows& rows) {
  const double fit = static_cast<double>(cache_entries) / std::max(rows.entries(), 1.0);
  return std::clamp(static_cast<index_t>(fit) / 2 * 2, index_t{32}, max_chunk);  // whole tubes
}

// Calls body(part, begin, end) with the rows of the block in as many parts as threads are worth it.
// Parts are fixed by the number of threads, so that sums do not depend on their timing.
template <class Body>
index_t in_parts(const LinearRows& rows, double work, RunControl& run, const Body& body) {
  const auto wanted = static_cast<index_t>(work / entries_per_thread) + 1;
  const index_t parts = std::clamp<index_t>(wanted, 1, run.threads());
  run.parallel_for(parts, [&](std::ptrdiff_t part) {
    body(part, rows.size() * part / parts, rows.size() * (part + 1) / parts);
  });
  return parts;
}

void add_to(std::vector<double>& sum, const std::vector<double>& part) {
  for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += part[j];
}

void add_to(DualSums& sum, const DualSums& part) {
  for (int c = 0; c < 2; ++c) {
    add_to(sum.image[c], part.image[c]);
    sum.alpha[c] += part.alpha[c];
    sum.linear[c] += part.linear[c];
    sum.conjugate[c] += part.conjugate[c];
  }
}

void add_to(PassSums& sum, const PassSums& part) {
  add_to(sum.dual, part.dual);
  add_to(sum.linearised, part.linearised);
  sum.loss += part.loss;
  sum.moved += part.moved;
  sum.slope_before += part.slope_before;
  sum.slope += part.slope;
  sum.weight += part.weight;
  sum.terms += part.terms;
  sum.rounding += part.rounding;
  sum.reach += part.reach;
  sum.pull += part.pull;
  sum.margin_error = std::max(sum.margin_error, part.margin_error);
  sum.smallest_margin = std::min(sum.smallest_margin, part.smallest_margin);
  sum.active += part.active;
}

std::vector<PassSums> empty_sums(const std::vector<PassOrder>& orders, index_t features) {
  std::vector<PassSums> sums(orders.size());
  for (std::size_t k = 0; k < orders.size(); ++k)
    for (int c = 0; c < 2; ++c) {
      const auto d = static_cast<std::size_t>(features);
      if (orders[k].kind != PassKind::probe) sums[k].dual.image[c].assign(d, 0.0);
      if (orders[k].linearise) sums[k].linearised.image[c].assign(d, 0.0);
    }
  return sums;
}

// Calls body(rows of the chunk, their weights, count) for the rows with W > 0 in [begin, end).
template <class Body>
void for_active(const Share& share, index_t begin, index_t end, index_t chunk, const Body& body) {
  std::vector<row_t> rows(static_cast<std::size_t>(chunk) + 1);
  std::vector<double> weights(rows.size());
  const index_t last = share.position_of(end);
  std::size_t count = 0;
  for (index_t k = share.position_of(begin); k < last; ++k) {
    const double weight = share.weight[static_cast<std::size_t>(k)];
    const row_t row = share.feature_row(k);
    if (count > 0 && rows[count - 1] == row) {  // two rows on the same features are one
      weights[count - 1] += weight;
      continue;
    }
    // No branch: which rows have a weight is hard to foresee.
    rows[count] = row;
    weights[count] = weight;
    count += !(weight <= 0.0);
    if (static_cast<index_t>(count) > chunk) {
      body(rows.data(), weights.data(), chunk);
      rows[0] = rows[count - 1];
      weights[0] = weights[count - 1];
      count = 1;
    }
  }
  if (count > 0) body(rows.data(), weights.data(), static_cast<index_t>(count));
}

}  // namespace

std::vector<PassSums> run_pass(const LinearRows& rows, const std::vector<PassOrder>& orders,
                               RunControl& run) {
  for (const PassOrder& order : orders)
    if (order.linearise) order.share->make(&Share::linearised);
  const index_t chunk = chunk_rows(rows);
  double work = 0.0;
  for (const PassOrder& order : orders) {
    const index_t count = order.share->count();  // rows may share features
    work += static_cast<double>(std::min(count, rows.size())) * rows.entries() +
            static_cast<double>(count) * 8.0;
  }
  std::vector<std::vector<PassSums>> partial(static_cast<std::size_t>(run.threads()));
  const index_t parts = in_parts(rows, work, run, [&](index_t part, index_t begin, index_t end) {
    auto& sums = partial[static_cast<std::size_t>(part)];
    sums = empty_sums(orders, rows.features());
    Chunk worker(rows, scratch_of_this_thread());
    SquaredTube tube(rows, scratch_of_this_thread());
    for (index_t first = begin; first < end && !run.cancelled(); first += chunk) {
      const index_t last = std::min(first + chunk, end);
      for (std::size_t k = 0; k < orders.size(); ++k) {
        const Share& share = *orders[k].share;
        const index_t to = share.position_of(last);
        // Where rows share features there may be more of them than fit into the scratch.
        for (index_t from = share.position_of(first); from < to; from += chunk) {
          const index_t end = std::min(from + chunk, to);
          if (SquaredTube::serves(orders[k]))
            tube.run(orders[k], from, end, sums[k]);
          else
            worker.run(orders[k], from, end, sums[k]);
        }
      }
    }
  });
  std::vector<PassSums> sums = std::move(partial[0]);
  for (index_t part = 1; part < parts; ++part)
    for (std::size_t k = 0; k < sums.size(); ++k)
      add_to(sums[k], partial[static_cast<std::size_t>(part)][k]);
  for (std::size_t k = 0; k < sums.size(); ++k)
    if (!orders[k].share->block.target)
      for (DualSums* dual : {&sums[k].dual, &sums[k].linearised})
        std::copy_n(dual->alpha, 2, dual->linear);
  return sums;
}

std::vector<double> weighted_gram(const LinearRows& rows, const Share& share, const double* shift,
                                  RunControl& run) {
  const index_t stride = gram_stride(rows.features());
  const auto size = static_cast<std::size_t>((rows.features() + 1) * stride);
  std::vector<std::vector<double>> partial(static_cast<std::size_t>(run.threads()));
  // A product in a tile of dense rows takes an eighth of the time of an entry in a pass.
  const bool tiles = rows.entries() == static_cast<double>(rows.features());
  const double* weight = share.weight;
  const auto active = share.count() - std::count(weight, weight + share.count(), 0.0);
  const double products = static_cast<double>(active) * rows.entries() * rows.entries();
  const double work = tiles ? products / 8.0 : products;
  const index_t parts = in_parts(rows, work, run, [&](index_t part, index_t begin, index_t end) {
    auto& sum = partial[static_cast<std::size_t>(part)];
    sum.assign(size, 0.0);
    // As many rows as add_gram packs at once.
    for_active(share, begin, end, 256,
               [&](const row_t* chosen, const double* weights, index_t count) {
                 if (run.cancelled()) return;
                 rows.add_gram(chosen, count, weights, shift, sum.data(), stride);
               });
  });
  for (index_t part = 1; part < parts; ++part)
    add_to(partial[0], partial[static_cast<std::size_t>(part)]);
  return std::move(partial[0]);
}

std::vector<double> weighted_squares(const LinearRows& rows, const Share& share, RunControl& run) {
  std::vector<double> sum(static_cast<std::size_t>(rows.features()), 0.0);
  for_active(share, 0, rows.size(), max_chunk,
             [&](const row_t* chosen, const double* weights, index_t count) {
               run.check();
               rows.add_squares(chosen, count, weights, sum.data());
             });
  return sum;
}

}  // namespace psvm
