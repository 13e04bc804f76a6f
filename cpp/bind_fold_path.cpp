// Gram matrices in memory of the caller, and the paths of cross-validation over them. No logic.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "bind.hpp"
#include "fold_path.hpp"
#include "gram_matrix.hpp"

using namespace nanobind::literals;
using namespace psvm;

namespace {

using Gram = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using ConstGram = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Ranges = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

template <class AnyGram>
index_t side(const AnyGram& gram) {
  if (gram.shape(0) != gram.shape(1)) throw nb::value_error("the Gram matrix must be square");
  return static_cast<index_t>(gram.shape(0));
}

template <class S>
DenseArray<S> view(const Matrix<S>& x) {
  return {x.data(), static_cast<index_t>(x.shape(0)), static_cast<index_t>(x.shape(1)), x.stride(0),
          x.stride(1)};
}

// The kernel of points, packed with the lock held, then its Gram matrix without.
template <class Make>
void fill(index_t rows, Gram& out, int threads, Cancel* cancel, const Make& make) {
  if (side(out) != rows) throw nb::value_error("out must have one row per row of x");
  without_lock(threads, cancel, [&](RunControl& run) {
    const auto kernel = make(std::vector<index_t>{0, rows});
    fill_gram(*kernel, out.data(), run);
  });
}

// `fill_gram` and `fill_gram_csr` for features stored as S.
template <class S>
void bind_fill(nb::module_& m) {
  m.def(
      "fill_gram",
      [](const Matrix<S>& x, std::optional<Vector<double>> shift, std::string name, double gamma,
         double coef0, int degree, Gram out, int threads, Cancel* cancel) {
        const KernelSpec spec{std::move(name), gamma, coef0, degree};
        fill(static_cast<index_t>(x.shape(0)), out, threads, cancel, [&](auto starts) {
          return dense_points<float, S>(view(x), shift ? shift->data() : nullptr, spec,
                                        std::move(starts));
        });
      },
      "x"_a.noconvert(), "shift"_a.none(), "name"_a, "gamma"_a, "coef0"_a, "degree"_a, "out"_a,
      "threads"_a, "cancel"_a.none());
  const auto bind_csr = [&]<class I>(I) {
    m.def(
        "fill_gram_csr",
        [](const Vector<S>& data, const Vector<I>& indices, const Vector<I>& indptr,
           index_t features, std::string name, double gamma, double coef0, int degree, Gram out,
           int threads, Cancel* cancel) {
          const KernelSpec spec{std::move(name), gamma, coef0, degree};
          const SparseArray<S, I> x{data.data(), indices.data(), indptr.data(),
                                    static_cast<index_t>(indptr.shape(0)) - 1, features};
          fill(x.rows, out, threads, cancel,
               [&](auto starts) { return sparse_points<float, S, I>(x, spec, std::move(starts)); });
        },
        "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "features"_a,
        "name"_a, "gamma"_a, "coef0"_a, "degree"_a, "out"_a, "threads"_a, "cancel"_a.none());
  };
  bind_csr(std::int32_t{});
  bind_csr(std::int64_t{});
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
Rows as_rows(const Indices& indices, const std::vector<ColumnRange>& ranges) {
  const Rows rows(reinterpret_cast<const index_t*>(indices.data()), indices.shape(0));
  for (const index_t i : rows) {
    bool covered = false;
    for (const ColumnRange& range : ranges) covered |= range.begin <= i && i < range.end;
    if (!covered) throw nb::index_error("a row is outside the column ranges");
  }
  return rows;
}

template <class T>
nb::dict fold_path(const ConstGram<T>& gram, const Indices& train, const Vector<double>& y,
                   const Vector<double>& cost, const Indices& held_out, const Ranges& train_columns,
                   const Ranges& held_out_columns, bool fit_intercept, const Vector<double>& ps,
                   const Vector<double>& Cs, double tol, index_t more_rounds,
                   const nb::object& on_cell, Cancel* cancel) {
  const index_t n = side(gram);
  FoldProblem<T> problem{};
  problem.gram = gram.data();
  problem.stride = n;
  problem.train_columns = as_ranges(train_columns, n);
  problem.held_out_columns = as_ranges(held_out_columns, n);
  problem.train = as_rows(train, problem.train_columns);
  problem.held_out = as_rows(held_out, problem.held_out_columns);
  problem.y = y.data();
  problem.cost = cost.data();
  problem.fit_intercept = fit_intercept;
  const std::size_t m = train.shape(0);
  if (y.shape(0) != m || cost.shape(0) != m || m == 0)
    throw nb::value_error("y and cost must have one value per training row");
  if (ps.shape(0) != Cs.shape(0)) throw nb::value_error("ps and Cs differ in length");
  std::vector<PathCell> cells;
  for (std::size_t c = 0; c < ps.shape(0); ++c) cells.push_back({ps(c), Cs(c)});
  std::function<void()> tell;
  if (!on_cell.is_none())
    tell = [&] {
      nb::gil_scoped_acquire lock;
      on_cell();
    };
  const Precision precision{tol, more_rounds};
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
  out["decision"] = to_numpy(std::move(result.decision), {done, problem.held_out.size()});
  out["supports"] = to_numpy(std::move(result.supports), {done, m});
  out["gap"] = to_numpy(std::move(gap), {done});
  out["seconds"] = to_numpy(std::move(seconds), {done});
  return out;
}

}  // namespace

namespace psvm {

void bind_fold_path(nb::module_& m) {
  bind_fill<float>(m);
  bind_fill<double>(m);
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
    m.def("solve_fold_path", &fold_path<T>, "gram"_a.noconvert(), "train"_a, "y"_a, "cost"_a,
          "held_out"_a, "train_columns"_a, "held_out_columns"_a, "fit_intercept"_a, "ps"_a, "Cs"_a,
          "tol"_a, "more_rounds"_a, "on_cell"_a.none(), "cancel"_a.none());
  };
  bind_path(float{});
  bind_path(double{});
}

}  // namespace psvm
