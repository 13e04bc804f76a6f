#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "bind/block_rows.hpp"
#include "linear/coordinate_descent.hpp"

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
  check_costs(cost);
  new (self)
      BoundProblem{{static_cast<index_t>(n), y.data(), target ? target->data() : nullptr,
                    cost.data(), feature_row ? feature_row->data() : nullptr, p, fit_intercept},
                   nb::make_tuple(y, cost, target, feature_row)};
}

nb::dict solve(const BlockRows& block, const BoundProblem& bound, const Vector<double>& alpha,
               const Budget& budget, const nb::object& on_round, Cancel* cancel) {
  const CoordinateProblem& problem = bound.problem;
  const auto n = static_cast<std::size_t>(problem.size);
  if (alpha.shape(0) != n || (!problem.place && block.rows->size() != problem.size))
    throw nb::value_error("every row needs features and an alpha");
  const std::vector<double> start(alpha.data(), alpha.data() + n);
  const OnRound report = as_on_round(on_round);
  CoordinateResult result = without_lock(1, cancel, [&](RunControl& run) {
    return solve_coordinate_descent(block.features, problem, start, budget, report, run);
  });
  nb::dict out;
  out["w"] = to_numpy(std::move(result.w), {static_cast<std::size_t>(block.rows->features())});
  out["b"] = result.intercept;
  out["alpha"] = to_numpy(std::move(result.alpha), {n});
  out["status"] = result.status;
  out["n_iter"] = result.iterations;
  out["history"] = as_list(result.history);
  return out;
}

}  // namespace

void bind_coordinate_descent(nb::module_& m) {
  nb::class_<BoundProblem>(m, "CoordinateProblem")
      .def("__init__", &make_problem, "y"_a, "cost"_a, "p"_a, "fit_intercept"_a,
           "target"_a.none() = nb::none(), "feature_row"_a.none() = nb::none());
  m.def("solve_coordinate_descent", &solve, "rows"_a, "problem"_a, "alpha"_a, "budget"_a,
        nb::kw_only(), "on_round"_a.none() = nb::none(), "cancel"_a.none() = nb::none());
}

}  // namespace psvm
