#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "bind/bind.hpp"
#include "linear/coordinate_descent.hpp"
#include "loss/loss.hpp"

using namespace nanobind::literals;

namespace psvm {
namespace {

// A problem with the Python arrays it refers to.
struct BoundProblem {
  CoordinateProblem problem;
  nb::object keep_alive;
};

void make_problem(BoundProblem* self, const Vector<double>& y, const Vector<double>& cost, double p,
                  bool fit_intercept, std::optional<Vector<double>> target,
                  std::optional<Indices> feature_row) {
  const std::size_t n = y.shape(0);
  if (n == 0 || cost.shape(0) != n || (target && target->shape(0) != n) ||
      (feature_row && feature_row->shape(0) != n))
    throw nb::value_error("every row needs a sign, a cost, a target and a row of features");
  new (self)
      BoundProblem{{static_cast<index_t>(n), y.data(), target ? target->data() : nullptr,
                    cost.data(), feature_row ? feature_row->data() : nullptr, p, fit_intercept},
                   nb::make_tuple(y, cost, target, feature_row)};
}

template <class Rows>
nb::dict solve(const Rows& rows, const BoundProblem& bound, const Vector<double>& alpha, double tol,
               index_t max_iter, std::optional<double> max_time, const nb::object& on_round,
               Cancel* cancel) {
  const auto n = static_cast<std::size_t>(bound.problem.size);
  if (alpha.shape(0) != n || (!bound.problem.place && rows.rows != bound.problem.size))
    throw nb::value_error("every row needs features and an alpha");
  const Budget budget{tol, max_iter, max_time.value_or(infinity), false};
  const OnRound report = as_on_round(on_round);
  CoordinateResult result = without_lock(1, cancel, [&](RunControl& run) {
    return solve_coordinate_descent(rows, bound.problem,
                                    std::vector<double>(alpha.data(), alpha.data() + n), budget,
                                    report, run);
  });
  nb::dict out;
  out["w"] = to_numpy(std::move(result.w), {static_cast<std::size_t>(rows.columns)});
  out["b"] = result.intercept;
  out["alpha"] = to_numpy(std::move(result.alpha), {n});
  out["status"] = result.status;
  out["n_iter"] = result.iterations;
  out["history"] = as_list(result.history);
  return out;
}

// Features are never converted: where another argument needs a conversion, nanobind would take the
// first overload, and with it single precision.
template <class S>
void bind_dense(nb::module_& m) {
  m.def(
      "solve_coordinate_descent",
      [](const nb::ndarray<const S, nb::ndim<2>, nb::c_contig, nb::device::cpu>& x,
         const BoundProblem& problem, const Vector<double>& alpha, double tol, index_t max_iter,
         std::optional<double> max_time, const nb::object& on_round, Cancel* cancel) {
        const auto columns = static_cast<index_t>(x.shape(1));
        const DenseArray<S> rows{x.data(), static_cast<index_t>(x.shape(0)), columns, columns, 1};
        return solve(rows, problem, alpha, tol, max_iter, max_time, on_round, cancel);
      },
      "rows"_a.noconvert(), "problem"_a, "alpha"_a, "tol"_a, "max_iter"_a, "max_time"_a.none(),
      "on_round"_a.none(), "cancel"_a.none());
}

template <class S, class I>
void bind_sparse(nb::module_& m) {
  m.def(
      "solve_coordinate_descent_csr",
      [](const Vector<S>& data, const Vector<I>& indices, const Vector<I>& indptr, index_t features,
         const BoundProblem& problem, const Vector<double>& alpha, double tol, index_t max_iter,
         std::optional<double> max_time, const nb::object& on_round, Cancel* cancel) {
        const SparseArray<S, I> rows{data.data(), indices.data(), indptr.data(),
                                     static_cast<index_t>(indptr.shape(0)) - 1, features};
        return solve(rows, problem, alpha, tol, max_iter, max_time, on_round, cancel);
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "features"_a,
      "problem"_a, "alpha"_a, "tol"_a, "max_iter"_a, "max_time"_a.none(), "on_round"_a.none(),
      "cancel"_a.none());
}

}  // namespace

void bind_coordinate_descent(nb::module_& m) {
  nb::class_<BoundProblem>(m, "CoordinateProblem")
      .def("__init__", &make_problem, "y"_a, "cost"_a, "p"_a, "fit_intercept"_a,
           "target"_a.none() = nb::none(), "feature_row"_a.none() = nb::none());
  bind_dense<float>(m);
  bind_dense<double>(m);
  bind_sparse<float, std::int32_t>(m);
  bind_sparse<float, std::int64_t>(m);
  bind_sparse<double, std::int32_t>(m);
  bind_sparse<double, std::int64_t>(m);
}

}  // namespace psvm
