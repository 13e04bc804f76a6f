// What the bindings share: array types, cancellation, and calls without the interpreter's lock.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "base/budget.hpp"
#include "base/run_control.hpp"
#include "kernel/kernel_rows.hpp"

namespace psvm {

namespace nb = nanobind;

template <class S>
using Vector = nb::ndarray<const S, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class S>
using Matrix = nb::ndarray<const S, nb::ndim<2>, nb::device::cpu>;
using Indices = Vector<std::int64_t>;

inline Rows as_rows(const Indices& indices) {
  static_assert(sizeof(index_t) == sizeof(std::int64_t));
  return Rows(reinterpret_cast<const index_t*>(indices.data()), indices.shape(0));
}

inline void check_rows(const Indices& indices, index_t size) {
  for (const index_t i : as_rows(indices))
    if (i < 0 || i >= size) throw nb::index_error("row out of range");
}

template <class S>
DenseArray<S> dense_array(const Matrix<S>& x) {
  return {x.data(), static_cast<index_t>(x.shape(0)), static_cast<index_t>(x.shape(1)), x.stride(0),
          x.stride(1)};
}

// A flag that stops every run it was given to, from any thread.
struct Cancel {
  std::atomic<bool> flag{false};
};

// Runs `work(control)` without the lock, answering signals; an interrupt becomes the exception
// that the signal handler set.
template <class Work>
auto without_lock(int threads, Cancel* shared, const Work& work) {
  Cancel own;
  RunControl control(
      threads,
      [] {
        nb::gil_scoped_acquire lock;
        return PyErr_CheckSignals() != 0;
      },
      shared ? &shared->flag : &own.flag);
  try {
    nb::gil_scoped_release release;
    return work(control);
  } catch (const Cancelled&) {
    if (PyErr_Occurred()) throw nb::python_error();
    throw;
  }
}

template <class S>
nb::ndarray<nb::numpy, S> to_numpy(std::vector<S> values,
                                   std::initializer_list<std::size_t> shape) {
  auto* held = new std::vector<S>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<S>*>(p); });
  return nb::ndarray<nb::numpy, S>(held->data(), shape, owner);
}

inline nb::dict as_dict(const RoundRecord& record) {
  nb::dict d;
  d["iteration"] = record.iteration;
  d["seconds"] = record.seconds;
  d["gap"] = record.gap;
  d["primal"] = record.primal;
  d["dual"] = record.dual;
  d["changed"] = record.changed;
  if (record.current) {
    d["current"] = record.current;
    d["part"] = record.part;
  }
  return d;
}

inline nb::list as_list(const std::vector<RoundRecord>& history) {
  nb::list records;
  for (const RoundRecord& record : history) records.append(as_dict(record));
  return records;
}

// A Python function of a record, or None.
inline OnRound as_on_round(const nb::object& function) {
  if (function.is_none()) return {};
  return [&function](const RoundRecord& record) {
    nb::gil_scoped_acquire lock;
    return nb::cast<bool>(function(as_dict(record)));
  };
}

// A kernel and whatever Python objects it refers to.
template <class T>
struct Kernel {
  std::unique_ptr<KernelRows<T>> rows;
  nb::object keep_alive;
  index_t features = 0;  // of its points, if it has any
};

// Whether the arrays of a CSR matrix are as long as they say. (Python has looked at every index.)
template <class S, class I>
void check_csr(const Vector<S>& data, const Vector<I>& indices, const Vector<I>& indptr) {
  const std::size_t ends = indptr.shape(0);
  const std::size_t stored = std::min(data.shape(0), indices.shape(0));
  if (ends == 0 || indptr.data()[0] < 0 || indptr.data()[ends - 1] < 0 ||
      static_cast<std::size_t>(indptr.data()[ends - 1]) > stored)
    throw nb::value_error("data and indices must be as long as indptr says");
}

// Costs are positive; for a hard margin all of them are infinite, otherwise none.
inline void check_costs(const Vector<double>& cost) {
  const double* values = cost.data();
  for (std::size_t i = 0; i < cost.shape(0); ++i)
    if (!(values[i] > 0.0) || std::isinf(values[i]) != std::isinf(values[0]))
      throw nb::value_error("costs must be positive, and all of them infinite or none");
}

template <class T>
const Points<T>& as_points(const Kernel<T>& kernel) {
  const auto* points = dynamic_cast<const Points<T>*>(kernel.rows.get());
  if (!points) throw nb::type_error("a kernel of features is needed here");
  return *points;
}

// The parts of the module, one per file.
void bind_at_once(nb::module_& m);
void bind_linear_rows(nb::module_& m);
void bind_coordinate_descent(nb::module_& m);
void bind_fold_path(nb::module_& m);
void bind_whole_problems(nb::module_& m);
void bind_given_matrix(nb::module_& m);
void bind_prediction(nb::module_& m);

}  // namespace psvm
