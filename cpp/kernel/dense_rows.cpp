// Kernel rows of dense features. Columns are packed in panels of d x lanes, rows on demand in panels of
// d x tile_rows; register tiles (dense_tiles.hpp) do the rest.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>

#include "base/aligned.hpp"
#include "base/wide_vectors.hpp"
#include "kernel/dense_tiles.hpp"
#include "kernel/entry_count.hpp"
#include "kernel/kernel_rows.hpp"

namespace psvm {

Cpu this_cpu() {
  static const Cpu best = [] {
#ifdef PSVM_X86
    const char* wish = std::getenv("PSVM_CPU");
    const std::string_view limit = wish ? wish : "";
    if (limit == "baseline") return Cpu::baseline;
    const WideVectors wide = wide_vectors();
    if (wide.avx512 && limit != "avx2") return Cpu::avx512;
    if (wide.avx2) return Cpu::avx2;
#endif
    return Cpu::baseline;
  }();
  return best;
}

bool has_byte_products() {
#ifdef PSVM_X86
  static const bool has = this_cpu() == Cpu::avx512 && wide_vectors().bytes;
  return has;
#else
  return false;
#endif
}

namespace {

int tile_rows_here() {
  switch (this_cpu()) {
    case Cpu::avx512: return Avx512::tile_rows;
    case Cpu::avx2: return Avx2::tile_rows;
    default: return Baseline::tile_rows;
  }
}

}  // namespace

template <class T>
class DensePoints final : public Points<T> {
  static constexpr int L = lanes<T>;

 public:
  DensePoints(index_t features, const KernelSpec& spec, std::vector<index_t> starts)
      : Points<T>(std::move(starts)), features_(features), spec_(spec) {
    index_t panel = 0;
    for (int s = 0; s < this->segments(); ++s) {
      first_panel_.push_back(panel);
      panel += (this->length(s) + L - 1) / L;
    }
    panels_.assign(static_cast<std::size_t>(panel * L * features_), T(0));
    norms_.assign(static_cast<std::size_t>(panel * L), T(0));
    this->diagonal_.resize(static_cast<std::size_t>(this->size()));
  }

  double work_per_entry() const override { return static_cast<double>(features_); }

  // Packs all points: value(i, k) gives the k-th scaled feature of point i in double. A panel at a
  // time, feature by feature: point by point every write would go to another cache line.
  template <class Value>
  void set_points(const Value& value) {
    for (int s = 0; s < this->segments(); ++s)
      for (index_t i0 = this->begin(s); i0 < this->begin(s + 1); i0 += L) {
        const index_t count = std::min<index_t>(L, this->begin(s + 1) - i0);
        T* panel = panels_.data() + slot(i0, s) * features_;
        double squared[L] = {};
        for (index_t k = 0; k < features_; ++k)
          for (index_t j = 0; j < count; ++j) {
            const T x = static_cast<T>(value(i0 + j, k));
            panel[k * L + j] = x;
            squared[j] += static_cast<double>(x) * static_cast<double>(x);
          }
        T* norms = norms_.data() + slot(i0, s);
        if constexpr (!norms_first<T>)
          on_this_cpu<NormLoop<T>, const T*, index_t, T*>(panel, features_, norms);
        for (index_t j = 0; j < count; ++j) {
          if constexpr (norms_first<T>) norms[j] = static_cast<T>(0.5 * squared[j]);
          this->diagonal_[static_cast<std::size_t>(i0 + j)] =
              with_kernel(spec_, [&](auto kernel) { return diagonal_entry(kernel, squared[j]); });
        }
      }
  }

  // Packs points of bytes that lie side by side, four to a word: features_ are words. What norms are to others are whole numbers
  // here, kept bit by bit: |x|^2 of a column, |x|^2 + 256 sum x of a row, of bytes less 128.
  void set_bytes(DenseArray<std::uint8_t> x, double step)
    requires(sizeof(T) == 4)
  {
    bytes_.emplace(spec_.gamma, step);
    row_norms_.assign(norms_.size(), T(0));
    for (int s = 0; s < this->segments(); ++s)
      for (index_t i0 = this->begin(s); i0 < this->begin(s + 1); i0 += L) {
        const index_t count = std::min<index_t>(L, this->begin(s + 1) - i0), at = slot(i0, s);
        const std::uint8_t* first = x.data + i0 * x.row_stride;
        T* panel = panels_.data() + at * features_;
        const index_t whole = x.columns / 4;
        for (index_t word = 0; word < features_; ++word)
          for (index_t j = 0; j < count; ++j) {
            const std::uint8_t* from = first + j * x.row_stride + 4 * word;
            std::uint32_t own = 0x80808080u;
            if (word < whole)
              std::memcpy(&own, from, sizeof own);
            else
              std::memcpy(&own, from, static_cast<std::size_t>(x.columns - 4 * whole));
            own ^= 0x80808080u;
            std::memcpy(panel + word * L + j, &own, sizeof own);
          }
        for (index_t j = 0; j < count; ++j) {
          std::int32_t squared = 0, sum = 0;
          for (index_t k = 0; k < x.columns; ++k) {
            const std::int32_t value = first[j * x.row_stride + k] - 128;
            squared += value * value;
            sum += value;
          }
          const std::int32_t of_row = squared + 256 * sum;
          std::memcpy(norms_.data() + at + j, &squared, sizeof squared);
          std::memcpy(row_norms_.data() + at + j, &of_row, sizeof of_row);
          this->diagonal_[static_cast<std::size_t>(i0 + j)] = 1.0;
        }
      }
  }

  void store_cross(const Points<T>& from, Rows rows, int segment, T* out, index_t stride,
                   RunControl& run) const override {
    tiles(dense(from).pack(rows, &run), {.stored = out, .stride = stride}, segment, run);
  }
  void apply_cross(const Points<T>& from, Rows rows, const T* coef, int segment, double* out,
                   RunControl& run) const override {
    tiles(dense(from).pack(rows, &run, coef), {.out = out}, segment, run);
  }
  void combine_cross(const Points<T>& from, Rows rows, const T* coef, index_t combinations,
                     int segment, double* out, index_t stride, RunControl& run) const override {
    if (combinations == 0) return;
    tiles(dense(from).pack(rows, &run, coef, combinations), {.stride = stride, .out = out}, segment,
          run);
  }
  std::unique_ptr<PreparedRows<T>> prepare(Rows rows, const T* coef,
                                           index_t combinations) const override {
    return std::make_unique<PackedRows>(pack(rows, nullptr, coef, combinations));
  }
  void combine_prepared(const PreparedRows<T>& prepared, int segment, double* out, index_t stride,
                        RunControl& run) const override {
    tiles(dynamic_cast<const PackedRows&>(prepared), {.stride = stride, .out = out}, segment, run);
  }
  // Half of the entries are computed: squares of the matrix on and above the diagonal, a few lines of
  // them at a time. Every thread has sums of its own.
  void apply_all(const T* coef, double* out, RunControl& run) const override {
    const index_t n = this->size(), side = 192;  // a multiple of all tile_rows and lanes
    std::vector<index_t> every(static_cast<std::size_t>(n));
    std::iota(every.begin(), every.end(), index_t(0));
    const PackedRows packed = pack(every, &run);
    count_entries(n, (n + 1) / 2);
    std::vector<T> padded((packed.norms.size() + L - 1) / L * L, T(0));
    std::copy(coef, coef + n, padded.begin());
    const index_t squares = (n + side - 1) / side, threads = run.threads(), lines = 4 * threads;
    std::vector<std::vector<double>> sums(static_cast<std::size_t>(threads));
    for (auto& own : sums) own.assign(static_cast<std::size_t>(n), 0.0);
    for (index_t first = 0; first < squares; first += lines)
      run.parallel_for(threads, [&](index_t task) {
        double* own = sums[static_cast<std::size_t>(task)].data();
        for (index_t i = first + task; i < std::min(first + lines, squares); i += threads)
          for (index_t j = i; j < squares; ++j) {
            TileJob<T> job{};
            job.row_panels = packed.panels.data() + i * side * features_;
            job.row_norms = packed.norms.data() + i * side;
            job.coef = padded.data() + i * side;
            job.rows = std::min(side, n - i * side);
            job.col_panels = panels_.data() + j * side * features_;
            job.col_norms = norms_.data() + j * side;
            job.columns = std::min(side, n - j * side);
            job.features = features_;
            job.applied = own + j * side;
            job.col_coef = padded.data() + j * side;
            job.row_applied = own + i * side;
            run_job(job, i != j);
          }
      });
    for (const auto& own : sums)
      for (std::size_t k = 0; k < own.size(); ++k) out[k] += own[k];
  }
  std::vector<double> half_squared_norms() const override {
    std::vector<double> norms;
    for (int s = 0; s < this->segments(); ++s) {
      const T* first = norms_.data() + first_panel_[static_cast<std::size_t>(s)] * L;
      for (index_t i = 0; i < this->length(s); ++i) {
        std::int32_t squared;
        if (bytes_) std::memcpy(&squared, first + i, sizeof squared);
        norms.push_back(bytes_ ? -static_cast<double>(bytes_->factor) * squared : first[i]);
      }
    }
    return norms;
  }

  double cancellation() const override {
    if (bytes_) return 0.0;
    double largest = 0.0;
    for (const double norm : norms_)
      largest =
          std::isnan(norm) ? std::numeric_limits<double>::infinity() : std::max(largest, norm);
    return largest * static_cast<double>(features_ + 2);
  }
  bool by_differences() const override { return spec_.by_differences.value_or(false); }

  std::unique_ptr<Points<T>> pick(Rows rows, RunControl& run) const override {
    const auto count = static_cast<index_t>(rows.size());
    auto chosen = std::make_unique<DensePoints>(features_, spec_, std::vector<index_t>{0, count});
    chosen->bytes_ = bytes_;
    chosen->row_norms_.assign(bytes_ ? chosen->norms_.size() : 0, T(0));
    gather(count, &run, [&](index_t begin, index_t end) {
      for (index_t a = begin; a < end; ++a) {
        const auto i = static_cast<std::size_t>(rows[static_cast<std::size_t>(a)]);
        const index_t from = slot(rows[static_cast<std::size_t>(a)]);
        const T* source = panels_.data() + from / L * L * features_ + from % L;
        T* target = chosen->panels_.data() + a / L * L * features_ + a % L;
        for (index_t k = 0; k < features_; ++k) target[k * L] = source[k * L];
        chosen->norms_[static_cast<std::size_t>(a)] = norms_[static_cast<std::size_t>(from)];
        if (bytes_)
          chosen->row_norms_[static_cast<std::size_t>(a)] =
              row_norms_[static_cast<std::size_t>(from)];
        chosen->diagonal_[static_cast<std::size_t>(a)] = this->diagonal_[i];
      }
    });
    return chosen;
  }

 private:
  // Position of point i among the padded panels.
  index_t slot(index_t i, int segment) const {
    return first_panel_[static_cast<std::size_t>(segment)] * L + i - this->begin(segment);
  }
  index_t slot(index_t i) const {
    const auto after = std::upper_bound(this->starts_.begin(), this->starts_.end() - 1, i);
    return slot(i, static_cast<int>(after - this->starts_.begin()) - 1);
  }

  // Calls copy(begin, end) for stretches of `count` points that may lie anywhere, a cache line per
  // feature: on all threads of a run where that takes longer than to hand it out.
  template <class Copy>
  void gather(index_t count, RunControl* run, const Copy& copy) const {
    constexpr index_t stretch = 48;  // whole panels of rows and of columns
    if (!run || count * features_ < 4096) return copy(0, count);
    run->parallel_for((count + stretch - 1) / stretch, [&](index_t task) {
      copy(task * stretch, std::min((task + 1) * stretch, count));
    });
  }

  // Where the entries go: stored, or combinations of them added to out.
  struct Epilogue {
    T* stored = nullptr;
    index_t stride = 0;
    double* out = nullptr;
  };

  // Row panels whose combinations are summed in T before they are added in double: few for the sake
  // of rounding, enough to add in no time.
  static constexpr index_t panels_in_sum = 8;

  // Some points as the rows of tiles: panels of features x tile_rows, half squared norms and, in panels
  // of combinations x tile_rows, coefficients, all padded.
  struct PackedRows final : PreparedRows<T> {
    std::vector<T> panels, norms, coef;
    index_t count = 0;
    index_t combinations = 0;  // 0: one, by way of double after every tile
  };

  static const DensePoints& dense(const Points<T>& points) {
    return dynamic_cast<const DensePoints&>(points);
  }

  PackedRows pack(Rows rows, RunControl* run, const T* coef = nullptr,
                  index_t combinations = 0) const {
    const int R = tile_rows_here();
    const auto count = static_cast<index_t>(rows.size());
    const index_t padded = (count + R - 1) / R * R;
    PackedRows packed;
    packed.count = count;
    packed.combinations = combinations;
    packed.panels.assign(static_cast<std::size_t>(padded * features_), T(0));
    packed.norms.assign(static_cast<std::size_t>(padded), T(0));
    const index_t coefs = coef ? std::max<index_t>(combinations, 1) : 0;
    packed.coef.assign(static_cast<std::size_t>(coefs * padded), T(0));
    for (index_t q = 0; q < coefs; ++q)
      for (index_t r = 0; r < count; ++r)
        packed.coef[static_cast<std::size_t>((r / R * coefs + q) * R + r % R)] =
            coef[q * count + r];
    gather(count, run, [&](index_t begin, index_t end) {
      for (index_t r0 = begin; r0 < end; r0 += R) {
        const index_t used = std::min<index_t>(R, end - r0);
        const T* points[Avx512::tile_rows];
        for (index_t r = 0; r < used; ++r) {
          const index_t at = slot(rows[static_cast<std::size_t>(r0 + r)]);
          points[r] = panels_.data() + at / L * L * features_ + at % L;
          packed.norms[static_cast<std::size_t>(r0 + r)] =
              (bytes_ ? row_norms_ : norms_)[static_cast<std::size_t>(at)];
        }
        T* target = packed.panels.data() + r0 * features_;
        for (index_t k = 0; k < features_; ++k)
          for (index_t r = 0; r < used; ++r) target[k * R + r] = points[r][k * L];
      }
    });
    return packed;
  }

  void tiles(const PackedRows& packed, const Epilogue& to, int segment, RunControl& run) const {
    const index_t count = packed.count;
    // Column chunks of about 128 kB of panels stay in the second-level cache while all rows pass.
    const index_t chunk_panels =
        std::clamp<index_t>(128 * 1024 / (64 * std::max<index_t>(features_, 1)), 1, 32);
    const index_t columns = this->length(segment);
    count_entries(count, columns);
    // Below a few million operations, a thread wakes up later than the work ends.
    const bool brief = count * columns * (features_ + 16) < 4'000'000;
    // Twice as many shares as threads, lest one waits long for another.
    const index_t shares = L * (run.threads() > 1 ? 2 * run.threads() : 1);
    const index_t share = (columns + shares - 1) / shares;
    const index_t chunk = brief ? std::max<index_t>(columns, 1) : std::min(chunk_panels, share) * L;
    const index_t first = first_panel_[static_cast<std::size_t>(segment)] * L;
    run.parallel_for((columns + chunk - 1) / chunk, [&](index_t task) {
      const index_t col0 = task * chunk;
      TileJob<T> job{};
      job.row_panels = packed.panels.data();
      job.row_norms = packed.norms.data();
      job.coef = packed.coef.empty() ? nullptr : packed.coef.data();
      job.rows = count;
      job.col_panels = panels_.data() + (first + col0) * features_;
      job.col_norms = norms_.data() + first + col0;
      job.columns = std::min(chunk, columns - col0);
      job.features = features_;
      job.stored = to.stored ? to.stored + col0 : nullptr;
      job.stride = to.stride;
      job.applied = to.out ? to.out + col0 : nullptr;
      job.combinations = packed.combinations;
      if (packed.combinations > 0)
        add_combinations(job, to.stride);
      else
        run_job(job);
    });
  }

  void run_job(const TileJob<T>& job, bool mirrored = false) const {
    const auto loop = [&](auto kernel) {
      using Kernel = decltype(kernel);
      if (mirrored)
        on_this_cpu<MirroredTileLoop<T, Kernel>, const TileJob<T>*, const Kernel*>(&job, &kernel);
      else
        on_this_cpu<TileLoop<T, Kernel>, const TileJob<T>*, const Kernel*>(&job, &kernel);
    };
    if constexpr (sizeof(T) == 4)
      if (bytes_) return loop(*bytes_);
    with_kernel(spec_, loop);
  }

  void add_combinations(const TileJob<T>& whole, index_t stride) const {
    const index_t rows_in_sum = panels_in_sum * tile_rows_here();
    const index_t count = whole.combinations, panels = (whole.columns + L - 1) / L;
    std::vector<T> sums(static_cast<std::size_t>(panels * count * L));
    for (index_t row0 = 0; row0 < whole.rows; row0 += rows_in_sum) {
      TileJob<T> job = whole;
      job.rows = std::min(rows_in_sum, whole.rows - row0);
      job.row_panels += row0 * whole.features;
      job.row_norms += row0;
      job.coef += row0 * count;
      job.combined = sums.data();
      std::fill(sums.begin(), sums.end(), T(0));
      run_job(job);
      for (index_t panel = 0; panel < panels; ++panel)
        for (index_t q = 0; q < count; ++q) {
          const T* from = sums.data() + (panel * count + q) * L;
          double* out = whole.applied + q * stride + panel * L;
          const index_t used = std::min<index_t>(L, whole.columns - panel * L);
          for (index_t j = 0; j < used; ++j) out[j] += static_cast<double>(from[j]);
        }
    }
  }

  index_t features_;
  KernelSpec spec_;
  std::vector<index_t> first_panel_;
  AlignedVector<T> panels_, norms_;
  std::optional<RbfOfBytes> bytes_;  // of points of bytes, with the norms of their rows
  AlignedVector<T> row_norms_;
};

std::unique_ptr<Points<float>> byte_points(DenseArray<std::uint8_t> x, double step, double gamma,
                                           std::vector<index_t> starts) {
  auto points = std::make_unique<DensePoints<float>>(
      (x.columns + 3) / 4, KernelSpec{.name = "rbf", .gamma = gamma}, std::move(starts));
  points->set_bytes(x, step);
  return points;
}

template <class T, class S>
std::unique_ptr<Points<T>> dense_points(DenseArray<S> x, const double* shift,
                                        const KernelSpec& spec, std::vector<index_t> starts) {
  return packed_well<T>(
      spec, most_cancelled, [&](const KernelSpec& chosen) -> std::unique_ptr<Points<T>> {
        auto points = std::make_unique<DensePoints<T>>(x.columns, chosen, starts);
        with_kernel(chosen, [&](auto kernel) {
          const double scale = kernel.feature_scale(chosen);
          const bool shifted = shift && (sizeof(T) < sizeof(double) ||
                                         decltype(kernel)::accumulate == Accumulate::dot);
          points->set_points([&](index_t i, index_t k) {
            const auto value = static_cast<double>(x.data[i * x.row_stride + k * x.column_stride]);
            return scale * (shifted ? value - shift[k] : value);
          });
        });
        return points;
      });
}

#define PSVM_DENSE(T, S)                                                               \
  template std::unique_ptr<Points<T>> dense_points<T, S>(DenseArray<S>, const double*, \
                                                         const KernelSpec&, std::vector<index_t>);
PSVM_DENSE(float, float)
PSVM_DENSE(float, double)
PSVM_DENSE(double, float)
PSVM_DENSE(double, double)

}  // namespace psvm
