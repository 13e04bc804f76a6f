// What the solvers cost in nanoseconds, as measured on 80 to 50,000 rows of 5 to 784 features, and when
// coordinate descent is no longer worth its passes beside Newton's method.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/budget.hpp"
#include "linear/linear_rows.hpp"

namespace psvm {

struct Prices {
  double visit;       // of a row, in coordinate descent
  double pass;        // of coordinate descent: what it does for all rows, visited or not
  double whole_pass;  // with a visit of every row
  double usual;       // all of Newton's method, from a cold start

  Prices(double n, double entries, double d, double p, bool sparse) : p_(p) {
    const double entry = sparse ? 0.4 : 0.12;
    visit = 20.0 + 2.0 * entry * entries;
    // Rows in random order, of which caches hold few, are waited for (a9a: 90 ns instead of 31).
    if (n * entries * (sparse ? 12.0 : 8.0) > cached_bytes) visit += 60.0;
    pass = 5.0 * n;
    whole_pass = pass + n * visit;
    product_ = (sparse ? 0.24 : 0.02) * entries * entries;
    fixed_ = n * (12.0 + 2.0 * entry * entries) + 70.0 * d + 0.01 * d * d * d / 3.0;
    // About a third of the rows enter the Gram matrix.
    usual = usual_steps() * newton_step(n / 3.0);
  }

  // With so many rows in the Gram matrix.
  double newton_step(double active) const { return fixed_ + product_ * active; }

  // Steps of Newton's method, and where its first steps prove nothing, as of classes that are separable.
  double usual_steps() const { return p_ == 1.0 ? 20.0 : p_ < 2.0 ? 12.0 : 7.0; }
  static constexpr double many_steps = 15.0;

 private:
  static constexpr double cached_bytes = 0x1p21;

  double p_, fixed_, product_;
};

// Follows a coordinate descent, and says when Newton should take over.
class Descent {
 public:
  // `share` is that part of Newton which a descent to the end would save.
  Descent(const Prices& prices, double share, double tol)
      : prices_(prices), share_(share), tol_(tol) {}

  bool is_hopeless(const RoundRecord& now) {
    const RoundRecord before = history_.empty() ? RoundRecord{} : history_.back();
    history_.push_back(now);
    if (now.iteration < fewest_passes) return false;
    const auto passes = static_cast<double>(now.iteration - before.iteration);
    const auto visits = static_cast<double>(now.visits - before.visits);
    const double cost = passes * prices_.pass + visits * prices_.visit;
    spent_ += cost;
    // A gap near 1 says nothing of the passes to come, but that Newton will take longer, too. The rows
    // that are visited are about those that will enter its Gram matrix.
    const bool far = now.gap > 0.5;
    const double steps = far ? Prices::many_steps : prices_.usual_steps();
    const double newton = share_ * steps * prices_.newton_step(visits / passes);
    const double rate = std::log(before.gap / now.gap) / cost;
    // What follows a gap near 1 is faster than the rest, and tells nothing of it.
    const double rest = before.gap > 0.5 ? 0.0 : std::log(now.gap / tol_) / rate;
    return spent_ > newton || !(rest >= 0.0 && rest <= newton) || (far && is_endless());
  }

 private:
  // Whether the dual rises almost in proportion to the passes. (2,000 images of raw pixels, even
  // against odd digits: so for thousands of passes; one digit against the others: never.)
  bool is_endless() const {
    const RoundRecord& now = history_.back();
    if (now.iteration < 80) return false;
    for (auto then = history_.rbegin(); then != history_.rend(); ++then)
      if (2 * then->iteration <= now.iteration)
        return std::log(now.dual / then->dual) >
               0.75 * std::log(static_cast<double>(now.iteration) /
                               static_cast<double>(then->iteration));
    return false;
  }

  // Before which nothing can be said.
  static constexpr index_t fewest_passes = 10;

  const Prices prices_;
  const double share_, tol_;
  double spent_ = 0.0;
  std::vector<RoundRecord> history_;
};

}  // namespace psvm
