// Gram matrices in memory of the caller, and the paths of cross-validation over them. No logic.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/bind.hpp"
#include "kernel/gram_matrix.hpp"
#include "smo/fold_path.hpp"

using namespace nanobind::literals;
using namespace psvm;

namespace {

template <class T>
using Gram = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
using Starts = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Ranges = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

template <class T>
Square<T> view(const Gram<T>& gram) {
  if (gram.shape(0) != gram.shape(1)) throw nb::value_error("the Gram matrix must be square");
  if (gram.shape(0) > 1 && (gram.stride(1) != 1 || gram.stride(0) < gram.stride(1)))
    throw nb::value_error("the rows of the Gram matrix must be contiguous");
  return {gram.data(), static_cast<index_t>(gram.shape(0)), gram.stride(0)};
}

std::vector<ColumnRange> as_ranges(const Ranges& ranges, index_t columns) {
  std::vector<ColumnRange> out;
  for (std::size_t r = 0; r < ranges.shape(0); ++r) {
    const ColumnRange range{ranges(r, 0), ranges(r, 1)};
    if (range.begin < 0 || range.begin >= range.end || range.end > columns)
      throw nb::index_error("column range out of order");
    out.push_back(range);
  }
  return out;
}

// The rows, which must lie inside the ranges.
FoldRows as_fold_rows(const Indices& indices, const Ranges& ranges, index_t columns) {
  FoldRows fold{Rows(reinterpret_cast<const index_t*>(indices.data()), indices.shape(0)),
                as_ranges(ranges, columns)};
  for (const index_t i : fold.rows) {
    bool covered = false;
    for (const ColumnRange& range : fold.columns) covered |= range.begin <= i && i < range.end;
    if (!covered) throw nb::index_error("a row is outside the column ranges");
  }
  return fold;
}

// What Python states as a FoldProblem, with its arrays.
struct StatedFold {
  Indices train;
  Vector<double> y, cost;
  Indices held_out;
  Ranges train_columns, held_out_columns;
  bool fit_intercept;
  std::optional<Vector<double>> target;
  std::optional<Indices> place;

  // As the solver sees it, for a kernel with so many rows.
  template <class T>
  FoldProblem<T> over(const FoldKernel<T>& kernel, index_t rows) const {
    const std::size_t m = train.shape(0), n = place ? place->shape(0) : m;
    if (y.shape(0) != n || cost.shape(0) != n || (target && target->shape(0) != n) || m == 0 ||
        n == 0)
      throw nb::value_error("y, target and cost must have one value per training row or place");
    if (place) check_rows(*place, static_cast<index_t>(m));
    return {kernel,
            as_fold_rows(train, train_columns, rows),
            {y.data(), target ? target->data() : y.data(), cost.data()},
            place ? as_rows(*place) : Rows{},
            as_fold_rows(held_out, held_out_columns, rows),
            fit_intercept};
  }
};

template <class T>
nb::dict fold_path(const FoldProblem<T>& problem, const Vector<double>& ps,
                   const Vector<double>& Cs, const Precision& precision,
                   const std::optional<Vector<double>>& epsilons,
                   const std::optional<Starts>& starts, const nb::object& on_cells,
                   Cancel* cancel) {
  const std::size_t m = problem.train.rows.size();
  const std::size_t n = problem.place.empty() ? m : problem.place.size();
  if (ps.shape(0) != Cs.shape(0) || (epsilons && epsilons->shape(0) != ps.shape(0)))
    throw nb::value_error("ps, Cs and epsilons differ in length");
  if (starts && (starts->shape(0) != ps.shape(0) || starts->shape(1) != n))
    throw nb::value_error("starts must have one row per cell and one column per dual row");
  std::vector<PathCell> cells;
  for (std::size_t c = 0; c < ps.shape(0); ++c)
    cells.push_back(
        {ps(c), Cs(c), epsilons ? (*epsilons)(c) : 0.0, starts ? starts->data() + c * n : nullptr});
  std::function<void(index_t)> tell;
  if (!on_cells.is_none())
    tell = [&](index_t count) {
      nb::gil_scoped_acquire lock;
      on_cells(count);
    };
  FoldPathResult result = without_lock(1, cancel, [&](RunControl& run) {
    return solve_fold_path(problem, cells, precision, tell, run);
  });
  const std::size_t done = result.cells.size();
  std::vector<double> gap, seconds;
  for (const CellOutcome& cell : result.cells) {
    gap.push_back(cell.gap);
    seconds.push_back(cell.seconds);
  }
  nb::dict out;
  out["decision"] = to_numpy(std::move(result.decision), {done, problem.held_out.rows.size()});
  out["supports"] = to_numpy(std::move(result.supports), {done, m});
  if (precision.keep_alpha) out["alpha"] = to_numpy(std::move(result.alpha), {done, n});
  out["gap"] = to_numpy(std::move(gap), {done});
  out["seconds"] = to_numpy(std::move(seconds), {done});
  return out;
}

}  // namespace

namespace psvm {

void bind_fold_path(nb::module_& m) {
  m.def(
      "fill_gram",
      [](const Kernel<float>& kernel, const Gram<float>& out, int threads, Cancel* cancel) {
        const Square<float> matrix = view(out);
        if (matrix.size != kernel.rows->size() || kernel.rows->segments() != 1)
          throw nb::value_error("out must have one row per row of a kernel of one segment");
        without_lock(threads, cancel,
                     [&](RunControl& run) { fill_gram(*kernel.rows, matrix, run); });
      },
      "kernel"_a, "out"_a, "threads"_a, "cancel"_a.none());
  m.def(
      "distances_of_products",
      [](const Gram<float>& gram, int threads, Cancel* cancel) {
        const Square<float> matrix = view(gram);
        without_lock(threads, cancel, [&](RunControl& run) { distances_of_products(matrix, run); });
      },
      "gram"_a, "threads"_a, "cancel"_a.none());
  m.def(
      "rbf_of_distances",
      [](const Gram<const float>& distances, double gamma, const Gram<float>& out, int threads,
         Cancel* cancel) {
        const Square<const float> from = view(distances);
        const Square<float> to = view(out);
        if (from.size != to.size) throw nb::value_error("the matrices differ in size");
        without_lock(threads, cancel,
                     [&](RunControl& run) { rbf_of_distances(from, gamma, to, run); });
      },
      "distances"_a, "gamma"_a, "out"_a, "threads"_a, "cancel"_a.none());
  m.attr("OUTSIDE_MARGIN") = outside_margin;
  nb::class_<StatedFold>(m, "FoldProblem")
      .def(nb::init<Indices, Vector<double>, Vector<double>, Indices, Ranges, Ranges, bool,
                    std::optional<Vector<double>>, std::optional<Indices>>(),
           nb::kw_only(), "train"_a, "y"_a, "cost"_a, "held_out"_a, "train_columns"_a,
           "held_out_columns"_a, "fit_intercept"_a, "target"_a.none() = nb::none(),
           "place"_a.none() = nb::none());
  nb::class_<Precision>(m, "Precision")
      .def(nb::init<double, index_t, index_t, bool>(), nb::kw_only(), "tol"_a, "more_rounds"_a = 0,
           "max_steps"_a = -1, "keep_alpha"_a = false);
  // On a Gram matrix, or on points that its entries are computed from.
  const auto bind_path = [&]<class T>(T) {
    const auto on_matrix =
        [](const Gram<const T>& kernel, const StatedFold& fold, const Vector<double>& ps,
           const Vector<double>& Cs, const Precision& precision,
           const std::optional<Vector<double>>& epsilons, const std::optional<Starts>& starts,
           const nb::object& on_cells, Cancel* cancel) {
          const Square<const T> gram = view(kernel);
          return fold_path(fold.over<T>({gram.data, gram.stride, nullptr}, gram.size), ps, Cs,
                           precision, epsilons, starts, on_cells, cancel);
        };
    const auto on_points =
        [](const Kernel<T>& kernel, const StatedFold& fold, const Vector<double>& ps,
           const Vector<double>& Cs, const Precision& precision,
           const std::optional<Vector<double>>& epsilons, const std::optional<Starts>& starts,
           const nb::object& on_cells, Cancel* cancel) {
          return fold_path(fold.over<T>({nullptr, 0, &as_points(kernel)}, kernel.rows->size()), ps,
                           Cs, precision, epsilons, starts, on_cells, cancel);
        };
    const auto bind = [&](const auto& function) {
      m.def("solve_fold_path", function, "kernel"_a.noconvert(), "problem"_a, "ps"_a, "Cs"_a,
            "precision"_a, nb::kw_only(), "epsilons"_a.none() = nb::none(),
            "starts"_a.none() = nb::none(), "on_cells"_a.none() = nb::none(),
            "cancel"_a.none() = nb::none());
    };
    bind(on_matrix);
    bind(on_points);
  };
  bind_path(float{});
  bind_path(double{});
}

}  // namespace psvm
