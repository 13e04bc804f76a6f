// Many problems of few rows in one call, and the bounds of their certificates. No logic.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>

#include "bind/bind.hpp"
#include "loss/exact_intercept.hpp"
#include "smo/whole_problems.hpp"

using namespace nanobind::literals;
using namespace psvm;

namespace {

auto rounding(std::size_t count, double cost, double alpha, double excess, double largest_target,
              const nb::tuple& certificate, double p, bool fit_intercept, double balance,
              std::pair<double, double> power_error, double error, double largest) {
  const auto value = [&](std::size_t at) { return nb::cast<double>(certificate[at]); };
  const CertifiedSums sums{static_cast<double>(count),
                           cost,
                           alpha,
                           excess,
                           largest_target,
                           value(0),
                           value(1),
                           value(2),
                           value(3),
                           value(4),
                           value(5)};
  const Rounding found = rounding_of_sums(sums, p, fit_intercept, balance,
                                          {power_error.first, power_error.second}, error, largest);
  return nb::make_tuple(found.difference, found.primal);
}

double best_intercept(const Vector<double>& y, const Vector<double>& target,
                      const Vector<double>& decision, const Vector<double>& cost, double p,
                      double balance, std::optional<double> near) {
  const std::size_t n = y.shape(0);
  if (target.shape(0) != n || decision.shape(0) != n || cost.shape(0) != n)
    throw nb::value_error("y, target, decision and cost must have one value per row");
  nb::gil_scoped_release release;
  std::vector<ThresholdRow> rows;
  rows.reserve(n);
  for (std::size_t i = 0; i < n; ++i)
    rows.push_back({target.data()[i] - decision.data()[i], cost.data()[i], y.data()[i]});
  return exact_intercept(PNormHinge(p), std::move(rows), balance, near);
}

// One array of a member of all outcomes.
template <class Member>
auto column(const std::vector<WholeOutcome>& outcomes, Member WholeOutcome::* member) {
  using Stored = std::conditional_t<std::is_same_v<Member, bool>, std::uint8_t, Member>;
  std::vector<Stored> values;
  for (const WholeOutcome& one : outcomes) values.push_back(static_cast<Stored>(one.*member));
  return to_numpy(std::move(values), {outcomes.size()});
}

nb::dict solve(const Kernel<double>& kernel, const Matrix<std::int64_t>& segments,
               const Vector<double>& y, const Vector<double>& target, const Vector<double>& cost,
               const Vector<double>& alpha, const std::optional<Indices>& kernel_row,
               const Indices& sizes, double p, bool fit_intercept, double tol, bool polish,
               bool doubtful, index_t max_steps, index_t max_iter, std::optional<double> max_effort,
               std::optional<double> max_time, std::pair<double, double> power_error,
               double error_of_unit, double largest_entry, const nb::object& on_round, int threads,
               Cancel* cancel) {
  const std::size_t n = y.shape(0);
  if (target.shape(0) != n || cost.shape(0) != n || alpha.shape(0) != n ||
      sizes.shape(0) != segments.shape(0) || segments.shape(1) < 1 || segments.shape(1) > 2 ||
      (kernel_row && kernel_row->shape(0) != n))
    throw nb::value_error("y, target, cost and alpha must have one value per row");
  check_costs(cost);
  if (n > 0 && std::isinf(cost.data()[0])) throw nb::value_error("costs must be finite");
  const KernelRows<double>& rows = *kernel.rows;
  std::vector<WholeProblem> problems;
  std::size_t begin = 0;
  for (std::size_t t = 0; t < segments.shape(0); ++t) {
    WholeProblem problem{{}, static_cast<index_t>(sizes.data()[t]), {}, {}, alpha.data() + begin};
    index_t columns = 0;
    for (std::size_t k = 0; k < segments.shape(1); ++k) {
      const auto s = static_cast<index_t>(segments(t, k));
      if (s < 0 || s >= rows.segments()) throw nb::index_error("segment out of range");
      problem.segments.push_back(static_cast<int>(s));
      columns += rows.length(static_cast<int>(s));
    }
    const auto size = static_cast<std::size_t>(problem.size);
    if (problem.size < 1 || size > n - begin || (!kernel_row && problem.size != columns))
      throw nb::value_error("problems must have the rows that they say");
    problem.rows = {y.data() + begin, target.data() + begin, cost.data() + begin};
    if (kernel_row) {
      problem.kernel_row = Rows(reinterpret_cast<const index_t*>(kernel_row->data()) + begin, size);
      for (const index_t row : problem.kernel_row)
        if (row < 0 || row >= columns) throw nb::index_error("row out of range");
    }
    problems.push_back(std::move(problem));
    begin += size;
  }
  if (begin != n) throw nb::value_error("problems must have the rows that they say");
  const WholeGoal goal{p,
                       fit_intercept,
                       tol,
                       polish,
                       doubtful,
                       max_steps,
                       max_iter,
                       max_effort.value_or(infinity),
                       max_time.value_or(infinity),
                       {power_error.first, power_error.second},
                       error_of_unit,
                       largest_entry};
  OnWholeRound report;
  if (!on_round.is_none())
    report = [&](index_t t, bool last_digits, const RoundRecord& record) {
      nb::gil_scoped_acquire lock;
      return nb::cast<bool>(on_round(t, last_digits, as_dict(record)));
    };
  std::vector<double> out(n), decision(n);
  const auto outcomes = without_lock(threads, cancel, [&](RunControl& run) {
    return solve_whole_problems(rows, problems, goal, report, out.data(), decision.data(), run);
  });
  nb::dict found;
  found["alpha"] = to_numpy(std::move(out), {n});
  found["decision"] = to_numpy(std::move(decision), {n});
  found["solved"] = column(outcomes, &WholeOutcome::solved);
  found["stopped"] = column(outcomes, &WholeOutcome::stopped);
  found["polished"] = column(outcomes, &WholeOutcome::polished);
  found["indefinite"] = column(outcomes, &WholeOutcome::indefinite);
  found["primal"] = column(outcomes, &WholeOutcome::primal);
  found["dual"] = column(outcomes, &WholeOutcome::dual);
  found["gap"] = column(outcomes, &WholeOutcome::gap);
  found["magnitude"] = column(outcomes, &WholeOutcome::magnitude);
  found["squared_norm"] = column(outcomes, &WholeOutcome::squared_norm);
  found["intercept"] = column(outcomes, &WholeOutcome::intercept);
  found["true_gap"] = column(outcomes, &WholeOutcome::true_gap);
  found["rounds"] = column(outcomes, &WholeOutcome::rounds);
  nb::list histories;
  for (const WholeOutcome& one : outcomes) histories.append(as_list(one.history));
  found["histories"] = histories;
  return found;
}

}  // namespace

namespace psvm {

void bind_whole_problems(nb::module_& m) {
  m.def("rounding_of_sums", &rounding, nb::kw_only(), "count"_a, "cost"_a, "alpha"_a, "excess"_a,
        "largest_target"_a, "certificate"_a, "p"_a, "fit_intercept"_a, "balance"_a, "power_error"_a,
        "error"_a, "largest"_a);
  m.def("best_intercept", &best_intercept, "y"_a, "target"_a, "decision"_a, "cost"_a, nb::kw_only(),
        "p"_a, "balance"_a = 0.0, "near"_a.none() = nb::none());
  m.def("solve_whole_problems", &solve, "kernel"_a, "segments"_a, nb::kw_only(), "y"_a, "target"_a,
        "cost"_a, "alpha"_a, "kernel_row"_a.none(), "sizes"_a, "p"_a, "fit_intercept"_a, "tol"_a,
        "polish"_a, "doubtful"_a, "max_steps"_a = -1, "max_iter"_a = -1,
        "max_effort"_a.none() = nb::none(), "max_time"_a.none() = nb::none(), "power_error"_a,
        "error_of_unit"_a, "largest_entry"_a, "on_round"_a.none() = nb::none(), "threads"_a = 1,
        "cancel"_a.none() = nb::none());
}

}  // namespace psvm
