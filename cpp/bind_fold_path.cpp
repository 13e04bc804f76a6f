// Gram matrices in memory of the caller, and the paths of cross-validation over them. No logic.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind.hpp"
#include "fold_path.hpp"
#include "gram_matrix.hpp"

using namespace nanobind::literals;
using namespace psvm;

namespace {

using Gram = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using ConstGram = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Starts = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Ranges = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

template <class AnyGram>
index_t side(const AnyGram& gram) {
  if (gram.shape(0) != gram.shape(1)) throw nb::value_error("the Gram matrix must be square");
  return static_cast<index_t>(gram.shape(0));
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

template <class T>
nb::dict fold_path(const std::optional<ConstGram<T>>& gram, const Kernel<T>* kernel,
                   const Indices& train, const Vector<double>& y, const Vector<double>& cost,
                   const Indices& held_out, const Ranges& train_columns,
                   const Ranges& held_out_columns, bool fit_intercept, const Vector<double>& ps,
                   const Vector<double>& Cs, const std::optional<Starts>& starts, double tol,
                   index_t more_rounds, bool keep_alpha, const nb::object& on_cells,
                   Cancel* cancel) {
  if (gram.has_value() == (kernel != nullptr))
    throw nb::value_error("either a Gram matrix or a kernel is needed");
  const index_t n = gram ? side(*gram) : kernel->rows->size();
  FoldProblem<T> problem{};
  problem.kernel = {gram ? gram->data() : nullptr, n, kernel ? &as_points(*kernel) : nullptr};
  problem.train = as_fold_rows(train, train_columns, n);
  problem.held_out = as_fold_rows(held_out, held_out_columns, n);
  problem.y = y.data();
  problem.cost = cost.data();
  problem.fit_intercept = fit_intercept;
  const std::size_t m = train.shape(0);
  if (y.shape(0) != m || cost.shape(0) != m || m == 0)
    throw nb::value_error("y and cost must have one value per training row");
  if (ps.shape(0) != Cs.shape(0)) throw nb::value_error("ps and Cs differ in length");
  if (starts && (starts->shape(0) != ps.shape(0) || starts->shape(1) != m))
    throw nb::value_error("starts must have one row per cell and one column per training row");
  std::vector<PathCell> cells;
  for (std::size_t c = 0; c < ps.shape(0); ++c)
    cells.push_back({ps(c), Cs(c), starts ? starts->data() + c * m : nullptr});
  std::function<void(index_t)> tell;
  if (!on_cells.is_none())
    tell = [&](index_t count) {
      nb::gil_scoped_acquire lock;
      on_cells(count);
    };
  const Precision precision{tol, more_rounds, keep_alpha};
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
  if (keep_alpha) out["alpha"] = to_numpy(std::move(result.alpha), {done, m});
  out["gap"] = to_numpy(std::move(gap), {done});
  out["seconds"] = to_numpy(std::move(seconds), {done});
  return out;
}

}  // namespace

namespace psvm {

void bind_fold_path(nb::module_& m) {
  m.def(
      "fill_gram",
      [](const Kernel<float>& kernel, Gram out, int threads, Cancel* cancel) {
        if (side(out) != kernel.rows->size() || kernel.rows->segments() != 1)
          throw nb::value_error("out must have one row per row of a kernel of one segment");
        without_lock(threads, cancel,
                     [&](RunControl& run) { fill_gram(*kernel.rows, out.data(), run); });
      },
      "kernel"_a, "out"_a, "threads"_a, "cancel"_a.none());
  m.def(
      "distances_of_products",
      [](Gram gram, int threads, Cancel* cancel) {
        const index_t n = side(gram);
        without_lock(threads, cancel,
                     [&](RunControl& run) { distances_of_products(gram.data(), n, run); });
      },
      "gram"_a, "threads"_a, "cancel"_a.none());
  m.def(
      "rbf_of_distances",
      [](const ConstGram<float>& distances, double gamma, Gram out, int threads, Cancel* cancel) {
        const index_t n = side(out);
        if (side(distances) != n) throw nb::value_error("the matrices differ in size");
        without_lock(threads, cancel, [&](RunControl& run) {
          rbf_of_distances(distances.data(), n, gamma, out.data(), run);
        });
      },
      "distances"_a, "gamma"_a, "out"_a, "threads"_a, "cancel"_a.none());
  const auto bind_path = [&]<class T>(T) {
    m.def("solve_fold_path", &fold_path<T>, "gram"_a.noconvert().none(), "kernel"_a.none(),
          "train"_a, "y"_a, "cost"_a, "held_out"_a, "train_columns"_a, "held_out_columns"_a,
          "fit_intercept"_a, "ps"_a, "Cs"_a, "starts"_a.none(), "tol"_a, "more_rounds"_a,
          "keep_alpha"_a, "on_cells"_a.none(), "cancel"_a.none());
  };
  bind_path(float{});
  bind_path(double{});
}

}  // namespace psvm
