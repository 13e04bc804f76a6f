#include "kernel/given_matrix.hpp"

#include <nanobind/stl/pair.h>

#include "bind/bind.hpp"
#include "kernel/largest_entry.hpp"
#include "kernel/row_hashes.hpp"

using namespace nanobind::literals;

namespace psvm {
namespace {

// Entries below which a thread wakes up later than the work ends.
constexpr std::size_t few_entries = 1'000'000;

template <class S>
void check_square(const Matrix<S>& values) {
  if (values.shape(0) != values.shape(1)) throw nb::value_error("the matrix must be square");
}

template <class S>
void bind_type(nb::module_& m) {
  m.def(
      "symmetry_of",
      [](const Matrix<S>& values, int threads) {
        check_square(values);
        const DenseArray<S> matrix = dense_array(values);
        const int used = values.size() < few_entries ? 1 : threads;
        const Symmetry found =
            without_lock(used, nullptr, [&](RunControl& run) { return symmetry_of(matrix, run); });
        return std::pair(found.largest, found.difference);
      },
      "values"_a.noconvert(), "threads"_a);
  m.def(
      "submatrix_of",
      [](const Matrix<S>& values, const Indices& rows,
         const nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& out, int threads) {
        check_square(values);
        check_rows(rows, static_cast<index_t>(values.shape(0)));
        const std::size_t count = rows.shape(0);
        if (out.shape(0) != count || out.shape(1) != count)
          throw nb::value_error("out must have one row and column for each of the rows");
        const DenseArray<S> matrix = dense_array(values);
        double* to = out.data();
        without_lock(out.size() < few_entries ? 1 : threads, nullptr,
                     [&](RunControl& run) { submatrix_of(matrix, as_rows(rows), to, run); });
      },
      "values"_a.noconvert(), "rows"_a, "out"_a.noconvert(), "threads"_a);
  m.def(
      "hash_rows",
      [](const Matrix<S>& x, const Vector<std::int32_t>& codes, int threads) {
        if (codes.shape(0) != x.shape(0)) throw nb::value_error("there must be a code per row");
        const DenseArray<S> rows = dense_array(x);
        std::vector<std::uint64_t> hashes(x.shape(0));
        without_lock(x.size() < few_entries ? 1 : threads, nullptr,
                     [&](RunControl& run) { hash_rows(rows, codes.data(), hashes.data(), run); });
        return to_numpy(std::move(hashes), {x.shape(0)});
      },
      "x"_a.noconvert(), "codes"_a, "threads"_a);
  const auto sparse = [&]<class I>(I) {
    m.def(
        "hash_sparse_rows",
        [](const Vector<S>& data, const Vector<I>& indices, const Vector<I>& indptr,
           const Vector<std::int32_t>& codes, int threads) {
          check_csr(data, indices, indptr);
          const std::size_t count = indptr.shape(0) - 1;
          if (codes.shape(0) != count) throw nb::value_error("there must be a code per row");
          const SparseArray<S, I> rows{data.data(), indices.data(), indptr.data(),
                                       static_cast<index_t>(count), 0};
          std::vector<std::uint64_t> hashes(count);
          without_lock(data.shape(0) < few_entries ? 1 : threads, nullptr,
                       [&](RunControl& run) { hash_rows(rows, codes.data(), hashes.data(), run); });
          return to_numpy(std::move(hashes), {count});
        },
        "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "codes"_a,
        "threads"_a);
  };
  sparse(std::int32_t{});
  sparse(std::int64_t{});
  m.def(
      "largest_entry",
      [](const Matrix<S>& values, int threads) {
        const DenseArray<S> array = dense_array(values);
        return without_lock(values.size() < few_entries ? 1 : threads, nullptr,
                            [&](RunControl& run) { return largest_entry(array, run); });
      },
      "values"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_given_matrix(nb::module_& m) {
  m.def(
      "group_equal",
      [](const Vector<std::uint64_t>& hashes) {
        std::vector<index_t> group(hashes.shape(0));
        const auto size = static_cast<index_t>(group.size());
        std::vector<index_t> first = group_equal(hashes.data(), size, group.data());
        const std::size_t groups = first.size();
        return nb::make_tuple(to_numpy(std::move(first), {groups}),
                              to_numpy(std::move(group), {hashes.shape(0)}));
      },
      "hashes"_a);
  bind_type<float>(m);
  bind_type<double>(m);
}

}  // namespace psvm
