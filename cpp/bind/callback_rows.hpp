// Kernel rows that a Python function computes, where all of them do not fit into memory.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bind/bind.hpp"

namespace psvm {

// The function is called as function(rows, columns), rows an array of numbers and columns an array or
// a slice, and returns an array of len(rows) x len(columns).
template <class T>
class CallbackRows final : public KernelRows<T> {
 public:
  CallbackRows(nb::callable function, std::vector<double> diagonal, std::vector<index_t> starts)
      : KernelRows<T>(std::move(starts)), function_(std::move(function)) {
    this->diagonal_ = std::move(diagonal);
  }
  // Unknown, and each call has its own cost: always worth caching.
  double work_per_entry() const override { return 1000.0; }
  void store_rows(Rows rows, int segment, T* out, index_t stride, RunControl&) const override {
    const index_t begin = this->begin(segment), length = this->length(segment);
    call(
        rows, length,
        [&] { return nb::slice(nb::int_(begin), nb::int_(begin + length), nb::none()); },
        [&](const T* values) { copy_rows(values, rows, length, out, stride); });
  }
  void apply_rows(Rows rows, const T* coef, int segment, double* out,
                  RunControl& run) const override {
    const index_t length = this->length(segment);
    // 16 MB of float64, and some 20 ms of a kernel in NumPy: an interrupt is soon answered.
    constexpr index_t entries = index_t{1} << 21;
    const auto batch =
        static_cast<std::size_t>(std::max<index_t>(64, entries / std::max<index_t>(length, 1)));
    for (std::size_t first = 0; first < rows.size(); first += batch) {
      const Rows some = rows.subspan(first, std::min(batch, rows.size() - first));
      std::vector<T> values(some.size() * static_cast<std::size_t>(length));
      store_rows(some, segment, values.data(), length, run);
      std::vector<const T*> pointers;
      for (std::size_t r = 0; r < some.size(); ++r)
        pointers.push_back(values.data() + static_cast<index_t>(r) * length);
      apply_stored<T>(pointers, coef + first, length, out, run);
      run.check();
    }
  }
  void between(Rows rows, Rows columns, T* out, index_t stride, RunControl&) const override {
    const auto length = static_cast<index_t>(columns.size());
    call(
        rows, length, [&] { return as_array(columns); },
        [&](const T* values) { copy_rows(values, rows, length, out, stride); });
  }

 private:
  static nb::object as_array(Rows numbers) {
    std::vector<std::int64_t> copy(numbers.begin(), numbers.end());
    const std::size_t count = copy.size();
    return nb::cast(to_numpy(std::move(copy), {count}));
  }
  static void copy_rows(const T* values, Rows rows, index_t length, T* out, index_t stride) {
    for (index_t r = 0; r < static_cast<index_t>(rows.size()); ++r)
      std::copy(values + r * length, values + (r + 1) * length, out + r * stride);
  }
  template <class Columns, class Use>
  void call(Rows rows, index_t length, const Columns& columns, const Use& use) const {
    if (rows.empty() || length == 0) return;
    nb::gil_scoped_acquire lock;
    const nb::object answer = function_(as_array(rows), columns());
    using Block = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    const auto values = nb::cast<Block>(answer);
    if (values.shape(0) != rows.size() || values.shape(1) != static_cast<std::size_t>(length))
      throw nb::value_error("a kernel must have a value for each of the rows and columns");
    use(values.data());
  }
  nb::callable function_;
};

}  // namespace psvm
