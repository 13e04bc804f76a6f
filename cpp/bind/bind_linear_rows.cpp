// The passes of the linear solver: arrays in, sums out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>

#include "bind/block_rows.hpp"
#include "kernel/nonzeros.hpp"
#include "linear/linear_pass.hpp"

namespace psvm {

namespace {

using namespace nanobind::literals;

// The share of a problem in a block of rows, with the Python arrays it refers to.
struct BlockShare {
  Share share;
  nb::object keep_alive, feature_row;
};

template <class S>
nb::ndarray<nb::numpy, S> view_of(S* data, index_t count, nb::handle owner) {
  return nb::ndarray<nb::numpy, S>(data, {static_cast<std::size_t>(count)}, owner);
}

// Without targets the linear term is the sum of alpha, the same array.
auto as_arrays(DualSums&& sums, bool targets) {
  nb::dict d;
  const std::size_t features = sums.image[0].size();
  std::vector<double> both(std::move(sums.image[0]));
  both.insert(both.end(), sums.image[1].begin(), sums.image[1].end());
  d["image"] = to_numpy(std::move(both), {std::size_t{2}, features});
  const auto pair = [](const double* of) {
    return to_numpy(std::vector<double>(of, of + 2), {std::size_t{2}});
  };
  d["alpha"] = pair(sums.alpha);
  d["linear"] = d["alpha"];
  if (targets) d["linear"] = pair(sums.linear);
  d["conjugate"] = pair(sums.conjugate);
  return d;
}

template <class E>
E named(const std::string& name, std::initializer_list<const char*> names) {
  int k = 0;
  for (const char* candidate : names) {
    if (name == candidate) return static_cast<E>(k);
    ++k;
  }
  throw nb::value_error(("unknown name " + name).c_str());
}

// What a share remembers of its rows from one pass to the next.
constexpr std::pair<const char*, Share::Column Share::*> remembered[] = {
    {"margin", &Share::margin},         {"change", &Share::change}, {"centre", &Share::centre},
    {"alpha", &Share::alpha},           {"weight", &Share::weight}, {"best", &Share::best},
    {"linearised", &Share::linearised},
};

nb::dict state_of(const BlockShare& s) {
  const auto count = static_cast<std::size_t>(s.share.count());
  nb::dict columns;
  for (const auto& [name, which] : remembered)
    if (const double* column = s.share.*which)
      columns[name] = to_numpy(std::vector<double>(column, column + count), {count});
  return columns;
}

void set_state(BlockShare& s, const nb::dict& columns) {
  const auto count = static_cast<std::size_t>(s.share.count());
  for (const auto& [name, which] : remembered) {
    if (!columns.contains(name)) continue;
    const auto values = nb::cast<Vector<double>>(columns[name]);
    if (values.shape(0) != count)
      throw nb::value_error("a column needs one value per row of the share");
    std::copy_n(values.data(), count, s.share.make(which));
  }
}

nb::list pass(const BlockRows& block, const std::vector<PassOrder*>& orders, int threads,
              Cancel* cancel) {
  std::vector<PassOrder> all;
  for (const PassOrder* order : orders) {
    const auto wanted = static_cast<std::size_t>(block.rows->features());
    if (!order->direction.empty() && order->direction.size() != wanted)
      throw nb::value_error("a direction needs one value per feature");
    all.push_back(*order);
  }
  std::vector<PassSums> sums = without_lock(
      threads, cancel, [&](RunControl& run) { return run_pass(*block.rows, all, run); });
  nb::list out;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    PassSums& one = sums[k];
    const bool targets = all[k].share->block.target != nullptr;
    nb::dict d;
    d["dual"] = as_arrays(std::move(one.dual), targets);
    d["linearised"] = as_arrays(std::move(one.linearised), targets);
    d["loss"] = one.loss;
    d["moved"] = one.moved;
    d["slope_before"] = one.slope_before;
    d["slope"] = one.slope;
    d["weight"] = one.weight;
    d["terms"] = one.terms;
    d["rounding"] = one.rounding;
    d["reach"] = one.reach;
    d["pull"] = one.pull;
    d["margin_error"] = one.margin_error;
    d["smallest_margin"] = one.smallest_margin;
    d["active"] = one.active;
    out.append(d);
  }
  return out;
}

auto gram(const BlockRows& block, const BlockShare& share, std::optional<Vector<double>> shift,
          int threads, Cancel* cancel) {
  const auto features = static_cast<std::size_t>(block.rows->features());
  if (shift && shift->shape(0) != features) throw nb::value_error("shift has the wrong length");
  auto values = without_lock(threads, cancel, [&](RunControl& run) {
    return weighted_gram(*block.rows, share.share, shift ? shift->data() : nullptr, run);
  });
  const auto stride = static_cast<std::size_t>(gram_stride(block.rows->features()));
  return to_numpy(std::move(values), {features + 1, stride});
}

template <class S>
DenseArray<S> contiguous_rows(const Matrix<S>& x) {
  if (x.shape(1) > 1 && x.stride(1) != 1) throw nb::value_error("rows must be contiguous");
  return {x.data(), static_cast<index_t>(x.shape(0)), static_cast<index_t>(x.shape(1)), x.stride(0),
          1};
}

template <class S>
void bind_features(nb::module_& m, nb::class_<BlockRows>& cls) {
  cls.def_static(
      "dense", [](const Matrix<S>& x) { return BlockRows(contiguous_rows<S>(x), nb::cast(x)); },
      "x"_a.noconvert());  // converted, rows would lose digits to the first overload
  m.def(
      "nonzeros_of",
      [](const Matrix<S>& x, int threads) {
        const auto rows = contiguous_rows<S>(x);
        auto found = without_lock(threads, nullptr,
                                  [&](RunControl& run) { return nonzeros_of<S>(rows, run); });
        const std::size_t count = found.data.size(), ends = found.indptr.size();
        return nb::make_tuple(to_numpy(std::move(found.data), {count}),
                              to_numpy(std::move(found.indices), {count}),
                              to_numpy(std::move(found.indptr), {ends}));
      },
      "x"_a.noconvert(), "threads"_a);
  const auto csr = [&]<class I>(I) {
    cls.def_static(
        "csr",
        [](const Vector<S>& data, const Vector<I>& indices, const Vector<I>& indptr,
           index_t features) {
          check_csr(data, indices, indptr);
          const auto rows = static_cast<index_t>(indptr.shape(0)) - 1;
          return BlockRows(
              SparseArray<S, I>{data.data(), indices.data(), indptr.data(), rows, features},
              nb::make_tuple(data, indices, indptr));
        },
        "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "features"_a);
  };
  csr(std::int32_t{});
  csr(std::int64_t{});
}

}  // namespace

void bind_linear_rows(nb::module_& m) {
  nb::class_<BlockRows> rows(m, "BlockRows");
  bind_features<float>(m, rows);
  bind_features<double>(m, rows);
  rows.def("run", &pass, "orders"_a, "threads"_a, "cancel"_a.none() = nb::none());
  rows.def("gram", &gram, "share"_a, "shift"_a.none(), "threads"_a, "cancel"_a.none() = nb::none());
  rows.def(
      "squares",
      [](const BlockRows& block, const BlockShare& share) {
        auto values = without_lock(1, nullptr, [&](RunControl& run) {
          return weighted_squares(*block.rows, share.share, run);
        });
        const std::size_t n = values.size();
        return to_numpy(std::move(values), {n});
      },
      "share"_a);

  nb::class_<BlockShare> share(m, "BlockShare");
  share.def(
      "__init__",
      [](BlockShare* self, std::optional<Vector<row_t>> rows, const Vector<std::int32_t>& codes,
         const Vector<double>& cost, const Vector<std::int8_t>& signs,
         std::optional<Vector<double>> target, std::optional<Vector<row_t>> feature_row) {
        const std::size_t n = codes.shape(0);
        if (cost.shape(0) != n || (target && target->shape(0) != n) ||
            (feature_row && feature_row->shape(0) != n))
          throw nb::value_error("every row needs a cost, a target and a row of features");
        std::vector<row_t> chosen;
        if (rows) chosen.assign(rows->data(), rows->data() + rows->shape(0));
        const BlockProblem block{static_cast<index_t>(n), codes.data(), cost.data(),
                                 target ? target->data() : nullptr,
                                 feature_row ? feature_row->data() : nullptr};
        new (self) BlockShare{
            Share(std::move(chosen), block, {signs.data(), signs.data() + signs.shape(0)}),
            nb::make_tuple(codes, cost, target), nb::cast(feature_row)};
      },
      "rows"_a.none(), "codes"_a, "cost"_a, "signs"_a, "target"_a.none() = nb::none(),
      "feature_row"_a.none() = nb::none());
  share.def_prop_ro("count", [](const BlockShare& s) { return s.share.count(); });
  share.def_prop_ro("rows", [](nb::handle self) -> nb::object {
    const std::vector<row_t>& rows = nb::cast<BlockShare&>(self).share.rows();
    if (rows.empty()) return nb::none();
    return nb::cast(view_of(rows.data(), static_cast<index_t>(rows.size()), self));
  });
  share.def_prop_ro("feature_row", [](const BlockShare& s) { return s.feature_row; });
  const auto column = [&](const char* name, Share::Column Share::* which) {
    share.def_prop_ro(name, [which](nb::handle self) {
      Share& s = nb::cast<BlockShare&>(self).share;
      return view_of(s.*which, s.count(), self);
    });
  };
  column("centre", &Share::centre);
  column("alpha", &Share::alpha);
  column("weight", &Share::weight);
  column("best", &Share::best);
  share.def(
      "set_best",
      [](BlockShare& s, const Vector<double>& alpha) {
        if (static_cast<index_t>(alpha.shape(0)) != s.share.count())
          throw nb::value_error("alpha needs one value per row of the share");
        const double factor[2] = {1.0, 1.0};
        s.share.keep_best(alpha.data(), factor);
      },
      "alpha"_a);
  share.def("state", &state_of);
  share.def("set_state", &set_state, "columns"_a);
  share.def(
      "keep_best",
      [](BlockShare& s, bool linearised, double minus, double plus) {
        const double factor[2] = {minus, plus};
        s.share.keep_best(linearised ? s.share.linearised : s.share.alpha, factor);
      },
      "linearised"_a, "minus"_a, "plus"_a);

  nb::class_<Envelope>(m, "Envelope")
      .def(nb::init<double, double, bool>(), "p"_a, "sigma"_a, "hard"_a = false);

  nb::class_<PassOrder>(m, "PassOrder")
      .def(
          "__init__",
          [](PassOrder* self, BlockShare& share, const std::string& kind, const Envelope& envelope,
             std::optional<Vector<double>> direction, double b, double step,
             const std::string& centre, bool linearise, bool delta) {
            new (self) PassOrder;
            self->share = &share.share;
            self->kind =
                named<PassKind>(kind, {"begin", "move", "settle", "probe", "certify", "curve"});
            self->centre =
                named<Centre>(centre, {"keep", "alpha", "half_cost", "slack", "zero", "band"});
            self->envelope = envelope;
            if (direction)
              self->direction.assign(direction->data(), direction->data() + direction->shape(0));
            self->b = b;
            self->step = step;
            self->linearise = linearise;
            self->delta = delta;
          },
          "share"_a, "kind"_a, "envelope"_a, nb::kw_only(), "direction"_a.none() = nb::none(),
          "b"_a = 0.0, "step"_a = 0.0, "centre"_a = "keep", "linearise"_a = false,
          "delta"_a = false, nb::keep_alive<1, 2>());
}

}  // namespace psvm
