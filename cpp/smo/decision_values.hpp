// Decision values sum_j coef_j K(x_i, x_j) of all kernel rows of a problem, kept up to date as
// coefficients change.
//
// Rows that cannot matter for a while may be left behind ("stale") and brought up to date later:
// a change is then computed for the other rows only.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "kernel/kernel_rows.hpp"
#include "kernel/row_cache.hpp"
#include "smo/sizes.hpp"

namespace psvm {

template <class T>
class DecisionValues {
 public:
  // The rows are the columns of the given segments of the kernel, in order; coefficients are 0.
  DecisionValues(const KernelRows<T>& kernel, RowCache<T>* cache, std::vector<int> segments)
      : kernel_(kernel), cache_(kernel.stored() ? nullptr : cache), segments_(std::move(segments)) {
    for (const int s : segments_) {
      offsets_.push_back(size());
      for (index_t i = kernel.begin(s); i < kernel.begin(s + 1); ++i) rows_.push_back(i);
    }
    values_.assign(rows_.size(), 0.0);
    coef_.assign(rows_.size(), 0.0);
    if (is_cheap(kernel.work_per_entry())) cache_ = nullptr;
  }

  index_t size() const { return static_cast<index_t>(rows_.size()); }
  double operator[](std::size_t i) const { return values_[i]; }
  const std::vector<double>& values() const { return values_; }
  const std::vector<double>& coef() const { return coef_; }
  // Number in the kernel matrix of kernel row i of the problem.
  index_t kernel_row(index_t i) const { return rows_[at(i)]; }
  // coef' K coef, from the changes: exact as long as no stale row changes.
  double squared_norm() const { return squared_norm_; }

  // Starts from values that belong to given coefficients.
  void start_at(std::vector<double> coef, std::vector<double> values) {
    coef_ = std::move(coef);
    values_ = std::move(values);
    sum_norm();
  }

  // Moves the coefficients of some rows, none of them stale, to `target[row]`.
  void change(const std::vector<index_t>& rows, const std::vector<double>& target,
              RunControl& run) {
    Changes changes;
    std::vector<index_t> changed;
    for (const index_t i : rows) {
      // Rounded to T here, so that coefficients and values agree.
      const T by = static_cast<T>(target[at(i)] - coef_[at(i)]);
      if (by == T(0)) continue;
      coef_[at(i)] += static_cast<double>(by);
      squared_norm_ += static_cast<double>(by) * values_[at(i)];
      changed.push_back(i);
      changes.rows.push_back(rows_[at(i)]);
      changes.by.push_back(by);
    }
    apply(changes, run);
    for (std::size_t k = 0; k < changed.size(); ++k)
      squared_norm_ += static_cast<double>(changes.by[k]) * values_[at(changed[k])];
  }

  // As `change`, for every row.
  void change_all(const std::vector<double>& target, RunControl& run) {
    std::vector<index_t> every(rows_.size());
    std::iota(every.begin(), every.end(), index_t(0));
    change(every, target, run);
  }

  // Takes over new coefficients of some current rows together with their values, and tells the
  // other current rows.
  void adopt(const std::vector<index_t>& members, const std::vector<double>& coef,
             const std::vector<double>& values, RunControl& run) {
    Changes changes;
    for (std::size_t k = 0; k < members.size(); ++k) {
      const std::size_t i = at(members[k]);
      const double by = coef[k] - coef_[i];
      squared_norm_ += by * (values_[i] + values[k]);
      coef_[i] = coef[k];
      if (static_cast<T>(by) == T(0)) continue;
      changes.rows.push_back(rows_[i]);
      changes.by.push_back(static_cast<T>(by));
    }
    if (cache_) {
      apply(changes, run);  // whole rows are at hand
    } else {
      if (members != members_) set_members(members, run);
      apply_to(*other_columns_, others_, changes, run);
    }
    for (std::size_t k = 0; k < members.size(); ++k) values_[at(members[k])] = values[k];
  }

  // Whether so many rows can be kept in memory, where changes of their coefficients will find them.
  bool can_keep(index_t count) const {
    if (!cache_) return false;
    for (const int s : segments_)
      if (cache_->rows_that_fit(s) < 4 * count) return false;
    return true;
  }
  // out[a * stride + b] = K(rows[a], columns[b]), numbers of the kernel, by way of whole rows that are
  // kept.
  void between(Rows rows, Rows columns, T* out, index_t stride, RunControl& run) {
    for (const int s : segments_) {
      std::vector<std::size_t> which;
      std::vector<index_t> offset;
      for (std::size_t b = 0; b < columns.size(); ++b)
        if (columns[b] >= kernel_.begin(s) && columns[b] < kernel_.begin(s + 1)) {
          which.push_back(b);
          offset.push_back(columns[b] - kernel_.begin(s));
        }
      for_cached(rows, s, run, [&](std::size_t first, const std::vector<const T*>& from) {
        for (std::size_t a = 0; a < from.size(); ++a)
          for (std::size_t k = 0; k < which.size(); ++k)
            out[static_cast<index_t>(first + a) * stride + static_cast<index_t>(which[k])] =
                from[a][offset[k]];
      });
    }
  }

  // Whether rows that are left behind would save anything, that is entries are computed each time.
  bool can_leave_rows() const { return kernel_.points() && !cache_; }
  bool has_stale_rows() const { return !stale_.empty(); }
  bool is_stale(std::size_t i) const { return columns_ && !is_current_[i]; }
  // Rows that a change is computed for.
  index_t current_rows() const { return columns_ ? static_cast<index_t>(current_.size()) : size(); }
  template <class Visit>
  void for_current(const Visit& visit) const {
    for (index_t k = 0; k < current_rows(); ++k) visit(columns_ ? current_[at(k)] : k);
  }

  // Leaves behind all current rows but `keep`.
  void leave_all_but(std::vector<index_t> keep, RunControl& run) {
    is_current_.assign(rows_.size(), 0);
    for (const index_t i : keep) is_current_[at(i)] = 1;
    Stale left{{}, coef_};
    for_current([&](index_t i) {
      if (!is_current_[at(i)]) left.rows.push_back(i);
    });
    stale_.push_back(std::move(left));
    current_ = std::move(keep);
    columns_ = pick(current_, run);
    members_.clear();
  }

  // Back to coefficients of 0, from any state, even one that an exception left half changed.
  void start_over() {
    std::fill(coef_.begin(), coef_.end(), 0.0);
    std::fill(values_.begin(), values_.end(), 0.0);
    squared_norm_ = 0.0;
    forget_stale_rows();
  }

  // Brings every row up to date.
  void complete(RunControl& run) {
    for (const Stale& left : stale_) {
      Changes changes;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        const T by = static_cast<T>(coef_[i] - left.coef[i]);
        if (by == T(0)) continue;
        changes.rows.push_back(rows_[i]);
        changes.by.push_back(by);
      }
      apply_to(*pick(left.rows, run), left.rows, changes, run);
    }
    forget_stale_rows();
    sum_norm();
  }

 private:
  struct Changes {
    std::vector<index_t> rows;  // of the kernel matrix
    std::vector<T> by;
  };
  // Rows left behind together, and the coefficients that their values belong to.
  struct Stale {
    std::vector<index_t> rows;
    std::vector<double> coef;
  };

  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  std::unique_ptr<Points<T>> pick(const std::vector<index_t>& some, RunControl& run) const {
    std::vector<index_t> points;
    for (const index_t i : some) points.push_back(rows_[at(i)]);
    return kernel_.points()->pick(points, run);
  }

  void set_members(const std::vector<index_t>& members, RunControl& run) {
    members_ = members;
    std::vector<char> is_member(rows_.size(), 0);
    for (const index_t i : members) is_member[at(i)] = 1;
    others_.clear();
    for_current([&](index_t i) {
      if (!is_member[at(i)]) others_.push_back(i);
    });
    other_columns_ = pick(others_, run);
  }

  void forget_stale_rows() {
    stale_.clear();
    current_.clear();
    columns_.reset();
    members_.clear();
  }

  void sum_norm() {
    squared_norm_ = 0.0;
    for (std::size_t i = 0; i < rows_.size(); ++i) squared_norm_ += coef_[i] * values_[i];
  }

  void apply(const Changes& changes, RunControl& run) {
    if (columns_) return apply_to(*columns_, current_, changes, run);
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      double* out = values_.data() + offsets_[s];
      if (cache_)
        apply_cached(changes, segments_[s], out, run);
      else
        kernel_.apply_rows(changes.rows, changes.by.data(), segments_[s], out, run);
    }
  }

  void apply_to(const Points<T>& columns, const std::vector<index_t>& rows, const Changes& changes,
                RunControl& run) {
    if (rows.empty()) return;
    std::vector<double> sums(rows.size(), 0.0);
    columns.apply_cross(*kernel_.points(), changes.rows, changes.by.data(), 0, sums.data(), run);
    for (std::size_t k = 0; k < rows.size(); ++k) values_[at(rows[k])] += sums[k];
  }

  void apply_cached(const Changes& changes, int segment, double* out, RunControl& run) {
    for_cached(
        changes.rows, segment, run, [&](std::size_t first, const std::vector<const T*>& rows) {
          apply_stored<T>(rows, changes.by.data() + first, kernel_.length(segment), out, run);
        });
  }

  // Calls use(first, pointers) for batches of kernel rows, from rows[first] on, over a segment.
  template <class Use>
  void for_cached(Rows rows, int segment, RunControl& run, const Use& use) {
    const auto batch =
        static_cast<std::size_t>(std::min<index_t>(256, cache_->rows_that_fit(segment)));
    for (std::size_t first = 0; first < rows.size(); first += batch) {
      const std::size_t count = std::min(batch, rows.size() - first);
      const auto kept = cache_->fetch(rows.subspan(first, count), segment, scratch_, run);
      std::vector<const T*> pointers;
      for (const auto& row : kept) pointers.push_back(row.get());
      use(first, pointers);
    }
  }

  const KernelRows<T>& kernel_;
  RowCache<T>* cache_;
  std::vector<int> segments_;
  std::vector<index_t> rows_, offsets_;
  std::vector<double> values_, coef_;
  double squared_norm_ = 0.0;
  std::vector<index_t> members_, others_;  // others_: current rows that are not members_
  std::unique_ptr<Points<T>> other_columns_;
  std::vector<index_t> current_;  // rows of columns_
  std::vector<char> is_current_;
  std::unique_ptr<Points<T>> columns_;
  std::vector<Stale> stale_;
  std::vector<T> scratch_;
};

}  // namespace psvm
