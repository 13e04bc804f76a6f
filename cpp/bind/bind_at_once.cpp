// All problems of a linear fit in one call: arrays in, arrays out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "bind/block_rows.hpp"
#include "linear/at_once.hpp"

using namespace nanobind::literals;

namespace psvm {
namespace {

template <class S>
using Rows2 = nb::ndarray<const S, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::size_t many(index_t n) { return static_cast<std::size_t>(n); }

// The records of a solver, numbered through all solvers of a problem.
void append(nb::list& out, const std::vector<RoundRecord>& history, index_t before, double began,
            const char* solver) {
  for (const RoundRecord& record : history) {
    nb::dict d = as_dict(record);
    d["iteration"] = record.iteration + before;
    d["seconds"] = record.seconds + began;
    d["solver"] = solver;
    out.append(d);
  }
}

nb::dict solve(const BlockRows& block, const Vector<std::int32_t>& codes,
               const Vector<double>& cost, const Rows2<std::int8_t>& signs,
               std::optional<Vector<double>> target, double p, bool fit_intercept,
               std::optional<Vector<double>> shift, double largest, bool exact,
               const Budget& budget, int threads, Cancel* cancel) {
  const index_t n = block.rows->size(), d = block.rows->features();
  if (codes.shape(0) != many(n) || cost.shape(0) != many(n) ||
      (target && target->shape(0) != many(n)) || (shift && shift->shape(0) != many(d)))
    throw nb::value_error("every row needs a class, a cost and a target, every feature a shift");
  for (std::size_t i = 0; i < many(n); ++i)
    if (codes.data()[i] < 0 || many(codes.data()[i]) >= signs.shape(1) ||
        !(cost.data()[i] >= 0.0) || std::isinf(cost.data()[i]))
      throw nb::value_error("classes must be known, and costs finite");
  const ProblemsAtOnce problems{{n, codes.data(), cost.data(), target ? target->data() : nullptr},
                                signs.data(),
                                static_cast<index_t>(signs.shape(0)),
                                static_cast<index_t>(signs.shape(1)),
                                p,
                                fit_intercept,
                                shift ? shift->data() : nullptr,
                                largest,
                                exact};
  std::vector<SolvedProblem> solved = without_lock(threads, cancel, [&](RunControl& run) {
    return solve_at_once(block.features, *block.rows, problems, budget, run);
  });
  const std::size_t count = solved.size();
  // Of each problem, in this order; see psvm.solvers.linear.at_once.
  constexpr std::size_t columns = 11;
  std::vector<double> w, image, sums, alpha;
  std::vector<row_t> rows;
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> iterations;
  nb::list statuses, histories;
  for (SolvedProblem& one : solved) {
    const DualSums& dual = one.sums.dual;
    w.insert(w.end(), one.w.begin(), one.w.end());
    for (std::size_t j = 0; j < many(d); ++j) image.push_back(dual.image[1][j] - dual.image[0][j]);
    const double values[columns] = {one.b,
                                    one.sums.loss,
                                    one.sums.terms,
                                    dual.conjugate[0] + dual.conjugate[1],
                                    one.sums.rounding,
                                    dual.alpha[0] + dual.alpha[1],
                                    dual.alpha[1] - dual.alpha[0],
                                    one.sums.reach,
                                    one.sums.pull,
                                    static_cast<double>(one.rows.size()),
                                    one.began};
    sums.insert(sums.end(), values, values + columns);
    alpha.insert(alpha.end(), one.alpha.begin(), one.alpha.end());
    rows.insert(rows.end(), one.rows.begin(), one.rows.end());
    starts.push_back(static_cast<std::int64_t>(rows.size()));
    iterations.push_back(static_cast<std::int32_t>(one.descent_passes + one.newton_steps));
    statuses.append(one.status);
    nb::list history;
    append(history, one.descent, 0, one.began, "coordinate_descent");
    append(history, one.newton, one.descent_passes, one.began, "semismooth_newton");
    histories.append(history);
    one = {};
  }
  nb::dict out;
  out["w"] = to_numpy(std::move(w), {count, many(d)});
  out["image"] = to_numpy(std::move(image), {count, many(d)});
  out["sums"] = to_numpy(std::move(sums), {count, columns});
  const std::size_t stored = alpha.size();
  out["alpha"] = to_numpy(std::move(alpha), {stored});
  out["rows"] = to_numpy(std::move(rows), {stored});
  out["starts"] = to_numpy(std::move(starts), {count + 1});
  out["n_iter"] = to_numpy(std::move(iterations), {count});
  out["status"] = statuses;
  out["history"] = histories;
  return out;
}

}  // namespace

void bind_at_once(nb::module_& m) {
  m.def("solve_at_once", &solve, "rows"_a, "codes"_a, "cost"_a, "signs"_a, "target"_a.none(), "p"_a,
        "fit_intercept"_a, "shift"_a.none(), "largest"_a, "exact"_a, "budget"_a, "threads"_a,
        "cancel"_a.none() = nb::none());
}

}  // namespace psvm
