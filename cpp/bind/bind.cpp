// Arrays in, structs out, the interpreter's lock released. No logic.
#include "bind/bind.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "bind/callback_rows.hpp"
#include "kernel/entry_count.hpp"
#include "kernel/kernel_rows.hpp"
#include "smo/working_set.hpp"

using namespace nanobind::literals;
using namespace psvm;

namespace {

// Segments follow each other from the first row to the last.
void check_starts(const std::vector<index_t>& starts, std::size_t rows) {
  if (starts.size() < 2 || starts.front() != 0 || !std::is_sorted(starts.begin(), starts.end()) ||
      starts.back() != static_cast<index_t>(rows))
    throw nb::value_error("segments must cover the rows");
}

template <class T>
void check_source(const Kernel<T>& kernel, const Kernel<T>* source) {
  if (source && source->features != kernel.features)
    throw nb::value_error("rows and columns must have the same features");
}

template <class T>
struct Cache {
  RowCache<T> rows;
  Cache(const Kernel<T>& kernel, double bytes) : rows(*kernel.rows, bytes) {}
};

// Calls visit(segment, first output column) for the asked segments, all if none are; returns how
// many columns they have.
template <class T, class Visit>
index_t for_segments(const KernelRows<T>& rows, const std::optional<std::vector<int>>& asked,
                     const Visit& visit) {
  index_t column = 0;
  const auto one = [&](int s) {
    if (s < 0 || s >= rows.segments()) throw nb::index_error("segment out of range");
    visit(s, column);
    column += rows.length(s);
  };
  if (asked)
    for (const int s : *asked) one(s);
  else
    for (int s = 0; s < rows.segments(); ++s) one(s);
  return column;
}

// sum_r coef[r] K(rows[r], columns) over the segments; rows come from `source` if given.
template <class T>
auto apply(const Kernel<T>& kernel, const Indices& rows, const Vector<T>& coef, int threads,
           const Kernel<T>* source, const std::optional<std::vector<int>>& segments) {
  check_source(kernel, source);
  check_rows(rows, source ? source->rows->size() : kernel.rows->size());
  if (rows.shape(0) != coef.shape(0)) throw nb::value_error("rows and coef differ in length");
  const auto n =
      static_cast<std::size_t>(for_segments(*kernel.rows, segments, [](int, index_t) {}));
  std::vector<double> out(n, 0.0);
  without_lock(threads, nullptr, [&](RunControl& run) {
    for_segments(*kernel.rows, segments, [&](int s, index_t column) {
      if (source)
        as_points(kernel).apply_cross(as_points(*source), as_rows(rows), coef.data(), s,
                                      out.data() + column, run);
      else
        kernel.rows->apply_rows(as_rows(rows), coef.data(), s, out.data() + column, run);
    });
  });
  return to_numpy(std::move(out), {n});
}

// sum_r coef[q][r] K(rows[r], columns) for rows of `source`, one row of the result per q.
template <class T>
auto combine(const Kernel<T>& kernel, const Indices& rows,
             const nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>& coef,
             int threads, const Kernel<T>& source) {
  check_source(kernel, &source);
  check_rows(rows, source.rows->size());
  if (rows.shape(0) != coef.shape(1)) throw nb::value_error("rows and coef differ in length");
  const auto n = static_cast<std::size_t>(kernel.rows->size());
  const std::size_t combinations = coef.shape(0);
  std::vector<double> out(combinations * n, 0.0);
  without_lock(threads, nullptr, [&](RunControl& run) {
    for_segments(*kernel.rows, std::nullopt, [&](int s, index_t column) {
      as_points(kernel).combine_cross(as_points(source), as_rows(rows), coef.data(),
                                      static_cast<index_t>(combinations), s, out.data() + column,
                                      static_cast<index_t>(n), run);
    });
  });
  return to_numpy(std::move(out), {combinations, n});
}

template <class T>
auto rows_of(const Kernel<T>& kernel, const Indices& rows, int threads, const Kernel<T>* source,
             const std::optional<std::vector<int>>& segments) {
  check_source(kernel, source);
  check_rows(rows, source ? source->rows->size() : kernel.rows->size());
  const index_t n = for_segments(*kernel.rows, segments, [](int, index_t) {});
  std::vector<T> out(static_cast<std::size_t>(n) * rows.shape(0));
  without_lock(threads, nullptr, [&](RunControl& run) {
    for_segments(*kernel.rows, segments, [&](int s, index_t column) {
      if (source)
        as_points(kernel).store_cross(as_points(*source), as_rows(rows), s, out.data() + column, n,
                                      run);
      else
        kernel.rows->store_rows(as_rows(rows), s, out.data() + column, n, run);
    });
  });
  return to_numpy(std::move(out), {rows.shape(0), static_cast<std::size_t>(n)});
}

// What Python states as a KernelProblem, with its arrays.
struct StatedProblem {
  std::vector<int> segments;
  Vector<double> y, target, cost;
  double p;
  bool fit_intercept;
  std::optional<Indices> kernel_row;
  double balance;

  // As the solver sees it, for a kernel with so many kernel rows in the segments.
  KernelProblem over(index_t kernel_rows) const {
    const std::size_t n = kernel_row ? kernel_row->shape(0) : static_cast<std::size_t>(kernel_rows);
    if (n == 0 || y.shape(0) != n || target.shape(0) != n || cost.shape(0) != n)
      throw nb::value_error("y, target and cost must have one value per row");
    check_costs(cost);
    KernelProblem problem{segments, {y.data(), target.data(), cost.data()}, p, fit_intercept};
    problem.balance = balance;
    if (!kernel_row) return problem;
    check_rows(*kernel_row, kernel_rows);
    problem.kernel_row = as_rows(*kernel_row);
    return problem;
  }
};

template <class T>
nb::dict solve(const Kernel<T>& kernel, Cache<T>* cache, const StatedProblem& stated,
               const Vector<double>& alpha, const Budget& budget,
               const std::optional<Vector<double>>& decision, const nb::object& on_round,
               int threads, Cancel* cancel) {
  const auto kernel_rows =
      static_cast<std::size_t>(for_segments(*kernel.rows, stated.segments, [](int, index_t) {}));
  const KernelProblem problem = stated.over(static_cast<index_t>(kernel_rows));
  const std::size_t n = stated.y.shape(0);
  if (alpha.shape(0) != n || (decision && decision->shape(0) != kernel_rows))
    throw nb::value_error("alpha needs one value per row, decision one per kernel row");
  WorkingSetStart start{{alpha.data(), alpha.data() + n}, {}, {}};
  if (decision) start.decision.assign(decision->data(), decision->data() + kernel_rows);
  const OnRound report = as_on_round(on_round);
  WorkingSetResult result = without_lock(threads, cancel, [&](RunControl& run) {
    return solve_working_set<T>(*kernel.rows, cache ? &cache->rows : nullptr, problem,
                                std::move(start), budget, report, run);
  });
  nb::dict out;
  out["alpha"] = to_numpy(std::move(result.alpha), {n});
  out["decision"] = to_numpy(std::move(result.decision), {kernel_rows});
  out["status"] = result.status;
  out["n_iter"] = result.iterations;
  out["history"] = as_list(result.history);
  nb::dict phases;
  for (std::size_t k = 0; k < phase_names.size(); ++k) phases[phase_names[k]] = result.phases[k];
  out["phases"] = phases;
  return out;
}

// `dense` and `csr` for features stored as S.
template <class T, class S, class Class>
void bind_features(Class& cls) {
  cls.def_static(
      "dense",
      [](const Matrix<S>& x, std::optional<Vector<double>> shift, std::string name, double gamma,
         double coef0, int degree, std::vector<index_t> starts,
         std::optional<bool> by_differences) {
        check_starts(starts, x.shape(0));
        if (shift && shift->shape(0) != x.shape(1))
          throw nb::value_error("shift has the wrong length");
        return Kernel<T>{dense_points<T, S>(dense_array(x), shift ? shift->data() : nullptr,
                                            {std::move(name), gamma, coef0, degree, by_differences},
                                            std::move(starts)),
                         nb::none(), static_cast<index_t>(x.shape(1))};
      },
      "x"_a.noconvert(),  // converted, rows would lose digits to the first overload
      "shift"_a.none(), "name"_a, "gamma"_a, "coef0"_a, "degree"_a, "starts"_a,
      "by_differences"_a.none() = nb::none());
  const auto csr = [&]<class I>(I) {
    cls.def_static(
        "csr",
        [](const Vector<S>& data, const Vector<I>& indices, const Vector<I>& indptr,
           index_t features, std::string name, double gamma, double coef0, int degree,
           std::vector<index_t> starts, std::optional<bool> by_differences) {
          check_csr(data, indices, indptr);
          check_starts(starts, indptr.shape(0) - 1);
          const SparseArray<S, I> x{data.data(), indices.data(), indptr.data(),
                                    static_cast<index_t>(indptr.shape(0)) - 1, features};
          return Kernel<T>{
              sparse_points<T, S, I>(x, {std::move(name), gamma, coef0, degree, by_differences},
                                     std::move(starts)),
              nb::none(), features};
        },
        "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "features"_a,
        "name"_a, "gamma"_a, "coef0"_a, "degree"_a, "starts"_a,
        "by_differences"_a.none() = nb::none());
  };
  csr(std::int32_t{});
  csr(std::int64_t{});
}

// `bytes`, for float entries of rbf.
void bind_bytes(nb::class_<Kernel<float>>& cls) {
  using Rectangle = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  cls.def_static(
      "bytes",
      [](const Rectangle& x, double step, double gamma, std::vector<index_t> starts) {
        check_starts(starts, x.shape(0));
        const auto features = static_cast<index_t>(x.shape(1));
        if (features > most_byte_features) throw nb::value_error("too many features of bytes");
        const DenseArray<std::uint8_t> rows{x.data(), static_cast<index_t>(x.shape(0)), features,
                                            features, 1};
        return Kernel<float>{byte_points(rows, step, gamma, std::move(starts)), nb::none(),
                             features};
      },
      "x"_a.noconvert(), "step"_a, "gamma"_a, "starts"_a);
}

template <class T>
void bind_precision(nb::module_& m, const char* kernel_name, const char* cache_name) {
  nb::class_<Kernel<T>> cls(m, kernel_name);
  bind_features<T, float>(cls);
  bind_features<T, double>(cls);
  if constexpr (sizeof(T) == 4) bind_bytes(cls);
  cls.def_static(
      "matrix",
      // Rows may be apart, as those of the matrices of a search are: nothing is copied.
      [](const nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>& values,
         std::vector<index_t> starts) {
        check_starts(starts, values.shape(1));
        if (values.stride(1) != 1)
          throw std::invalid_argument("the entries of each row must lie side by side");
        const DenseArray<T> array{values.data(), static_cast<index_t>(values.shape(0)),
                                  static_cast<index_t>(values.shape(1)), values.stride(0), 1};
        return Kernel<T>{matrix_rows<T>(array, std::move(starts)), nb::cast(values)};
      },
      "values"_a, "starts"_a);
  cls.def_static(
      "callback",
      [](nb::callable function, std::vector<double> diagonal, std::vector<index_t> starts) {
        check_starts(starts, diagonal.size());
        return Kernel<T>{std::make_unique<CallbackRows<T>>(std::move(function), std::move(diagonal),
                                                           std::move(starts)),
                         nb::none()};
      },
      "function"_a, "diagonal"_a, "starts"_a);
  cls.def_prop_ro("size", [](const Kernel<T>& kernel) { return kernel.rows->size(); });
  cls.def("diagonal", [](const Kernel<T>& kernel) {
    std::vector<double> copy = kernel.rows->diagonal();
    const std::size_t n = copy.size();
    return to_numpy(std::move(copy), {n});
  });
  cls.def("rows", &rows_of<T>, "rows"_a, "threads"_a = 1, "source"_a.none() = nb::none(),
          "segments"_a.none() = nb::none());
  cls.def("apply", &apply<T>, "rows"_a, "coef"_a, "threads"_a = 1, "source"_a.none() = nb::none(),
          "segments"_a.none() = nb::none());
  cls.def(
      "apply_all",
      [](const Kernel<T>& kernel, const Vector<T>& coef, int threads) {
        const Points<T>& points = as_points(kernel);
        const std::size_t n = coef.shape(0);
        if (points.segments() != 1 || points.size() != static_cast<index_t>(n))
          throw nb::value_error("coef must have one value per point of a single segment");
        std::vector<double> out(n, 0.0);
        without_lock(threads, nullptr,
                     [&](RunControl& run) { points.apply_all(coef.data(), out.data(), run); });
        return to_numpy(std::move(out), {n});
      },
      "coef"_a, "threads"_a);
  cls.def("combine", &combine<T>, "rows"_a, "coef"_a, "threads"_a, "source"_a);
  cls.def_prop_ro("cancellation",
                  [](const Kernel<T>& kernel) { return as_points(kernel).cancellation(); });
  cls.def_prop_ro("by_differences",
                  [](const Kernel<T>& kernel) { return as_points(kernel).by_differences(); });
  cls.def("half_squared_norms", [](const Kernel<T>& kernel) {
    std::vector<double> norms = as_points(kernel).half_squared_norms();
    const std::size_t n = norms.size();
    return to_numpy(std::move(norms), {n});
  });
  nb::class_<Cache<T>>(m, cache_name)
      .def(nb::init<const Kernel<T>&, double>(), "kernel"_a, "bytes"_a, nb::keep_alive<1, 2>());
  m.def("solve_working_set", &solve<T>, "kernel"_a, "cache"_a.none(), "problem"_a, "alpha"_a,
        "budget"_a, nb::kw_only(), "decision"_a.none() = nb::none(),
        "on_round"_a.none() = nb::none(), "threads"_a = 1, "cancel"_a.none() = nb::none());
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The loops of psvm that must be C++.";
  nb::class_<Budget>(m, "Budget")
      .def(
          "__init__",
          [](Budget* budget, double tol, index_t max_iter, std::optional<double> max_time,
             std::optional<double> max_effort, bool impatient, index_t max_steps,
             double certificate) {
            new (budget) Budget{tol,        max_iter,  max_time.value_or(infinity),
                                impatient,  max_steps, max_effort.value_or(infinity),
                                certificate};
          },
          nb::kw_only(), "tol"_a, "max_iter"_a = -1, "max_time"_a.none() = nb::none(),
          "max_effort"_a.none() = nb::none(), "impatient"_a = false, "max_steps"_a = -1,
          "certificate"_a = 0.0);
  nb::class_<StatedProblem>(m, "KernelProblem")
      .def(nb::init<std::vector<int>, Vector<double>, Vector<double>, Vector<double>, double, bool,
                    std::optional<Indices>, double>(),
           nb::kw_only(), "segments"_a, "y"_a, "target"_a, "cost"_a, "p"_a, "fit_intercept"_a,
           "kernel_row"_a.none() = nb::none(), "balance"_a = 0.0);
  nb::class_<Cancel>(m, "Cancel")
      .def(nb::init<>())
      .def("set", [](Cancel& c) { c.flag = true; })
      .def("is_set", [](const Cancel& c) { return c.flag.load(); });
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Cancelled& e) {
      PyErr_SetString(PyExc_InterruptedError, e.what());
    }
  });
  m.def("cpu", [] {
    constexpr const char* names[] = {"baseline", "avx2", "avx512"};
    return names[static_cast<int>(this_cpu())];
  });
  m.def("has_byte_products", &has_byte_products);
  m.attr("MOST_BYTE_FEATURES") = most_byte_features;
  m.def("entries_computed", [] { return entries_computed.load(); });
  m.attr("MOST_CANCELLED") = most_cancelled;
  m.attr("MOST_CANCELLED_SPARSE") = most_cancelled_sparse;
  bind_at_once(m);
  bind_linear_rows(m);
  bind_coordinate_descent(m);
  bind_fold_path(m);
  bind_given_matrix(m);
  bind_precision<float>(m, "Kernel32", "Cache32");
  bind_precision<double>(m, "Kernel64", "Cache64");
  bind_whole_problems(m);
  bind_prediction(m);
}
