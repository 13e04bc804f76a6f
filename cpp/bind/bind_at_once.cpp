// All problems of a linear fit in one call: arrays in, arrays out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>

#include "bind/block_rows.hpp"
#include "linear/at_once.hpp"

using namespace nanobind::literals;

namespace psvm {
namespace {

template <class S>
using Rows2 = nb::ndarray<const S, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::size_t many(index_t n) { return static_cast<std::size_t>(n); }

// Makes the records of a history: their keys and names are made once, as records are many.
class Records {
 public:
  explicit Records(const std::tuple<std::string, std::string, std::string>& why)
      : why_{nb::str(std::get<0>(why).c_str()), nb::str(std::get<1>(why).c_str()),
             nb::str(std::get<2>(why).c_str())} {}

  nb::dict made_of(const ToldRecord& told) const {
    const RoundRecord& record = told.record;
    nb::dict d;
    d[iteration_] = record.iteration;
    d[seconds_] = record.seconds;
    d[gap_] = record.gap;
    d[primal_] = record.primal;
    d[dual_] = record.dual;
    d[changed_] = record.changed;
    d[solver_] = told.newton ? newton_ : descent_;
    if (told.why != Why::known) d[why_key_] = why_[static_cast<int>(told.why)];
    return d;
  }

 private:
  static nb::str interned(const char* name) {
    return nb::steal<nb::str>(PyUnicode_InternFromString(name));
  }
  nb::str why_[3];
  nb::str iteration_ = interned("iteration"), seconds_ = interned("seconds"),
          gap_ = interned("gap"), primal_ = interned("primal"), dual_ = interned("dual"),
          changed_ = interned("changed"), solver_ = interned("solver"), why_key_ = interned("why"),
          newton_ = interned("semismooth_newton"), descent_ = interned("coordinate_descent");
};

auto as_tuple(const PairCertificate& proof) {
  return nb::make_tuple(proof.primal, proof.dual, proof.measured, proof.gap, proof.stretch);
}

nb::dict solve(const BlockRows& block, const Vector<std::int32_t>& codes,
               const Vector<double>& cost, const Rows2<std::int8_t>& signs,
               std::optional<Vector<double>> target, std::optional<Vector<row_t>> feature_row,
               double p, bool fit_intercept, bool exact, std::pair<double, double> power_error,
               const Budget& budget, const std::tuple<std::string, std::string, std::string>& why,
               const nb::object& on_round, int threads, const NewtonStart* start) {
  const index_t d = block.rows->features();
  const index_t n = feature_row ? static_cast<index_t>(feature_row->shape(0)) : block.rows->size();
  if (codes.shape(0) != many(n) || cost.shape(0) != many(n) ||
      (target && target->shape(0) != many(n)))
    throw nb::value_error("every row needs a class, a cost and a target");
  if (feature_row) {
    const row_t *first = feature_row->data(), *last = first + n;
    if (n == 0 || !std::is_sorted(first, last) || *first < 0 || *(last - 1) >= block.rows->size())
      throw nb::value_error("every row needs features, and these in order");
  }
  for (std::size_t i = 0; i < many(n); ++i)
    if (codes.data()[i] < 0 || many(codes.data()[i]) >= signs.shape(1) ||
        !(cost.data()[i] >= 0.0) || std::isinf(cost.data()[i]))
      throw nb::value_error("classes must be known, and costs finite");
  const ProblemsAtOnce problems{{n, codes.data(), cost.data(), target ? target->data() : nullptr,
                                 feature_row ? feature_row->data() : nullptr},
                                signs.data(),
                                static_cast<index_t>(signs.shape(0)),
                                static_cast<index_t>(signs.shape(1)),
                                p,
                                fit_intercept,
                                exact,
                                {power_error.first, power_error.second}};
  if (start && (signs.shape(0) != 1 || start->w.size() != many(d)))
    throw nb::value_error("a start is for one problem, and has a coefficient for every feature");
  const Records records(why);
  Tell tell;
  if (!on_round.is_none())
    tell = [&](index_t t, const ToldRecord& record) {
      nb::gil_scoped_acquire lock;
      return nb::cast<bool>(on_round(t, records.made_of(record)));
    };
  std::vector<SolvedProblem> solved = without_lock(threads, nullptr, [&](RunControl& run) {
    return solve_at_once(block.features, *block.rows, problems, start, budget, tell, run);
  });
  const std::size_t count = solved.size();
  std::vector<double> w, alpha;
  std::vector<row_t> rows;
  std::vector<std::int64_t> starts{0};
  nb::list proofs, intercepts, statuses, iterations, histories;
  for (SolvedProblem& one : solved) {
    w.insert(w.end(), one.w.begin(), one.w.end());
    alpha.insert(alpha.end(), one.alpha.begin(), one.alpha.end());
    rows.insert(rows.end(), one.rows.begin(), one.rows.end());
    starts.push_back(static_cast<std::int64_t>(rows.size()));
    proofs.append(as_tuple(one.proof));
    intercepts.append(one.b);
    statuses.append(one.status);
    iterations.append(one.iterations);
    nb::list history;
    for (const ToldRecord& record : one.history) history.append(records.made_of(record));
    histories.append(history);
    one = {};
  }
  nb::dict out;
  out["w"] = to_numpy(std::move(w), {count, many(d)});
  const std::size_t stored = alpha.size();
  out["alpha"] = to_numpy(std::move(alpha), {stored});
  out["rows"] = to_numpy(std::move(rows), {stored});
  out["starts"] = to_numpy(std::move(starts), {count + 1});
  out["proof"] = proofs;
  out["b"] = intercepts;
  out["n_iter"] = iterations;
  out["status"] = statuses;
  out["history"] = histories;
  return out;
}

auto certify(const Vector<double>& w, const Vector<double>& image, const nb::dict& values,
             index_t count, bool balanced, bool hard, std::pair<double, double> power_error) {
  if (image.shape(0) != w.shape(0)) throw nb::value_error("every coefficient needs an image");
  const auto value = [&](const char* name) { return nb::cast<double>(values[name]); };
  PassSums sums;
  sums.dual.image[0].assign(w.shape(0), 0.0);
  sums.dual.image[1].assign(image.data(), image.data() + image.shape(0));
  sums.dual.alpha[0] = value("alpha_minus");
  sums.dual.alpha[1] = value("alpha_plus");
  sums.dual.conjugate[1] = value("conjugate");
  sums.loss = value("loss");
  sums.terms = value("terms");
  sums.rounding = value("rounding");
  sums.reach = value("reach");
  sums.pull = value("pull");
  sums.margin_error = value("margin_error");
  sums.smallest_margin = value("smallest_margin");
  return as_tuple(certify_pair(sums, w.data(), static_cast<index_t>(w.shape(0)), count, balanced,
                               hard, {power_error.first, power_error.second}));
}

}  // namespace

void bind_at_once(nb::module_& m) {
  nb::class_<NewtonStart>(m, "NewtonStart")
      .def(
          "__init__",
          [](NewtonStart* start, const Vector<double>& w, double b, double sigma) {
            new (start) NewtonStart{.w = {w.data(), w.data() + w.shape(0)},
                                    .b = b,
                                    .centre = sigma > 0.0 ? Centre::slack : Centre::zero,
                                    .sigma = sigma};
          },
          "w"_a, "b"_a, "sigma"_a);
  m.def("solve_at_once", &solve, "rows"_a, "codes"_a, "cost"_a, "signs"_a, "target"_a.none(),
        "feature_row"_a.none(), "p"_a, "fit_intercept"_a, "exact"_a, "power_error"_a, "budget"_a,
        "why"_a, "on_round"_a.none(), "threads"_a, "start"_a.none() = nb::none());
  m.def("certify_pair", &certify, "w"_a, "image"_a, "values"_a, "count"_a, "balanced"_a, "hard"_a,
        "power_error"_a);
}

}  // namespace psvm
