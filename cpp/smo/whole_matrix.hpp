// The kernel matrix of a problem that is one block, by the rows of the problem.
#pragma once

#include <vector>

#include "smo/block_smo.hpp"
#include "smo/places.hpp"

namespace psvm {

class WholeMatrix {
 public:
  // The block's Gram matrix is that of all places of rows, in order.
  WholeMatrix(const Block<double>& block, Places& places) : block_(block), places_(places) {}

  Places& places() const { return places_; }
  index_t rows() const { return places_.rows(); }
  // Of row i, its place among the entries of others, these entries, and that with itself.
  index_t place(index_t i) const { return places_.of(i); }
  const double* entries(index_t i) const {
    return block_.gram.data() + places_.of(i) * block_.stride;
  }
  double diagonal(index_t i) const {
    return block_.diagonal[static_cast<std::size_t>(places_.of(i))];
  }

  // decision = K coef, by rows.
  void decide(const std::vector<double>& coef, std::vector<double>& decision, RunControl& run) {
    const std::vector<double>& sums = places_.sum(coef);
    const index_t n = places_.size();
    vectors_.clear();
    factors_.clear();
    for (index_t k = 0; k < n; ++k)
      if (sums[static_cast<std::size_t>(k)] != 0.0) {
        vectors_.push_back(block_.gram.data() + k * block_.stride);
        factors_.push_back(sums[static_cast<std::size_t>(k)]);
      }
    decision.assign(static_cast<std::size_t>(n), 0.0);
    apply_stored<double>(vectors_, factors_.data(), n, decision.data(), run);
    if (places_.shared()) decision = places_.spread(decision);
  }

 private:
  const Block<double>& block_;
  Places& places_;
  std::vector<const double*> vectors_;  // working memory of `decide`
  std::vector<double> factors_;
};

}  // namespace psvm
