// Decision values and votes, and a number that tells whether arrays have changed. No logic.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "base/fingerprint.hpp"
#include "bind/bind.hpp"
#include "kernel/expansion.hpp"
#include "kernel/votes.hpp"

using namespace nanobind::literals;

namespace psvm {
namespace {

template <class T>
using Rectangle = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
ExpansionShape shape_of(const Rectangle<T>& coef, std::vector<index_t> counts, bool pairwise) {
  ExpansionShape shape{std::move(counts), static_cast<index_t>(coef.shape(0)), pairwise};
  index_t total = 0;
  for (const index_t count : shape.counts) {
    if (count < 0) throw nb::value_error("counts must not be negative");
    total += count;
  }
  if (total != static_cast<index_t>(coef.shape(1)))
    throw nb::value_error("counts and coef differ in length");
  if (pairwise && shape.rows + 1 != shape.classes())
    throw nb::value_error("pairs need a row of coef for every other class");
  return shape;
}

// One row per column of `sums`, with the intercepts.
auto by_row(const std::vector<double>& sums, const Vector<double>& intercept, index_t columns) {
  const std::size_t problems = intercept.shape(0), n = static_cast<std::size_t>(columns);
  std::vector<double> out(sums.size());
  add_intercepts(sums.data(), intercept.data(), static_cast<index_t>(problems), columns,
                 out.data());
  return to_numpy(std::move(out), {n, problems});
}

void check_problems(const ExpansionShape& shape, const Vector<double>& intercept) {
  if (static_cast<index_t>(intercept.shape(0)) != shape.problems())
    throw nb::value_error("there must be an intercept for each of the problems");
}

template <class T>
void bind_expansion(nb::module_& m, const char* name) {
  using Sums = Expansion<T>;
  nb::class_<Sums>(m, name)
      .def(
          "__init__",
          [](Sums* sums, const Kernel<T>& vectors, const Rectangle<T>& coef,
             std::vector<index_t> counts, bool pairwise) {
            ExpansionShape shape = shape_of(coef, std::move(counts), pairwise);
            if (vectors.rows->size() != static_cast<index_t>(coef.shape(1)))
              throw nb::value_error("vectors and coef differ in length");
            new (sums) Sums(as_points(vectors), coef.data(), std::move(shape));
          },
          "vectors"_a, "coef"_a, "counts"_a, "pairwise"_a, nb::keep_alive<1, 2>())
      .def(
          "decisions",
          [](const Sums& sums, const Kernel<T>& columns, const Vector<double>& intercept,
             int threads) {
            check_problems(sums.shape(), intercept);
            const index_t n = columns.rows->size();
            std::vector<double> out(intercept.shape(0) * static_cast<std::size_t>(n), 0.0);
            without_lock(threads, nullptr, [&](RunControl& run) {
              sums.add(as_points(columns), out.data(), nullptr, run);
            });
            return by_row(out, intercept, n);
          },
          "columns"_a, "intercept"_a, "threads"_a)
      .def(
          "sums_and_sizes",
          [](const Sums& sums, const Kernel<T>& columns, int threads) {
            const auto n = static_cast<std::size_t>(columns.rows->size());
            const auto problems = static_cast<std::size_t>(sums.shape().problems());
            std::vector<double> out(problems * n, 0.0), sizes = out;
            without_lock(threads, nullptr, [&](RunControl& run) {
              sums.add(as_points(columns), out.data(), sizes.data(), run);
            });
            return nb::make_tuple(to_numpy(std::move(out), {problems, n}),
                                  to_numpy(std::move(sizes), {problems, n}));
          },
          "columns"_a, "threads"_a);
}

}  // namespace

void bind_prediction(nb::module_& m) {
  bind_expansion<float>(m, "Expansion32");
  bind_expansion<double>(m, "Expansion64");
  m.def(
      "decisions_of_values",
      [](const Rectangle<double>& values, const Rectangle<double>& coef,
         std::vector<index_t> counts, bool pairwise, const Vector<double>& intercept, int threads) {
        const ExpansionShape shape = shape_of(coef, std::move(counts), pairwise);
        check_problems(shape, intercept);
        if (values.shape(0) != coef.shape(1))
          throw nb::value_error("values and coef differ in length");
        const auto n = static_cast<index_t>(values.shape(1));
        std::vector<double> out(intercept.shape(0) * values.shape(1), 0.0);
        without_lock(threads, nullptr, [&](RunControl& run) {
          add_values(shape, values.data(), coef.data(), static_cast<index_t>(coef.shape(1)), n,
                     out.data(), run);
        });
        return by_row(out, intercept, n);
      },
      "values"_a, "coef"_a, "counts"_a, "pairwise"_a, "intercept"_a, "threads"_a);
  m.def(
      "votes_of_pairs",
      [](const Rectangle<double>& decisions, index_t classes) {
        if (classes < 2 || static_cast<index_t>(decisions.shape(1)) != pairs_of(classes))
          throw nb::value_error("there must be one decision for every pair of classes");
        const std::size_t n = decisions.shape(0), k = static_cast<std::size_t>(classes);
        std::vector<double> scores(n * k);
        votes_of_pairs(decisions.data(), static_cast<index_t>(n), classes, scores.data());
        return to_numpy(std::move(scores), {n, k});
      },
      "decisions"_a, "classes"_a);
  m.def(
      "certain_class",
      [](const Rectangle<double>& decisions, const Rectangle<double>& bound, index_t classes) {
        const std::size_t n = decisions.shape(1);
        if (classes < 2 || static_cast<index_t>(decisions.shape(0)) != pairs_of(classes) ||
            bound.shape(0) != decisions.shape(0) || bound.shape(1) != n)
          throw nb::value_error("decisions and bound must have one row for every pair of classes");
        std::vector<std::int64_t> codes(n);
        auto sure = std::make_unique<bool[]>(n);
        certain_class(decisions.data(), bound.data(), static_cast<index_t>(n), classes,
                      codes.data(), sure.get());
        bool* held = sure.release();
        nb::capsule owner(held, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
        return nb::make_tuple(to_numpy(std::move(codes), {n}),
                              nb::ndarray<nb::numpy, bool>(held, {n}, owner));
      },
      "decisions"_a, "bound"_a, "classes"_a);
  m.def(
      "fingerprint",
      [](const std::vector<nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>>& arrays) {
        Fingerprint print;
        for (const auto& array : arrays) {
          for (std::size_t k = 0; k < array.ndim(); ++k)
            print.add(static_cast<std::uint64_t>(array.shape(k)));
          print.add(static_cast<std::uint64_t>(array.dtype().code) << 16 | array.dtype().bits);
          print.add(static_cast<const unsigned char*>(array.data()), array.nbytes());
        }
        return print.value();
      },
      "arrays"_a.noconvert());
}

}  // namespace psvm
