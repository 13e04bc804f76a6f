#include "kernel/votes.hpp"

#include <limits>

#include "check.hpp"

namespace psvm {
namespace {

TEST(votes, votes_and_confidence_of_three_classes) {
  const std::vector<double> decisions = {0.5, -1.0, 2.0};  // 0 beats 1, 2 beats 0, 1 beats 2
  std::vector<double> scores(3);
  votes_of_pairs(decisions.data(), 1, 3, scores.data());
  const double confidence[] = {-0.5, 1.5, -1.0};
  for (std::size_t c = 0; c < 3; ++c)
    CHECK_NEAR(scores[c], 1.0 + confidence[c] / (3.0 * (std::abs(confidence[c]) + 1.0)), 1e-15);
}

TEST(votes, a_score_is_a_number) {
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<double> decisions = {infinite, infinite, infinite};
  std::vector<double> scores(3);
  votes_of_pairs(decisions.data(), 1, 3, scores.data());
  CHECK_NEAR(scores[0], 2.0 + 1.0 / 3.0, 1e-15);
  CHECK_EQUAL(scores[1], 1.0);  // won by as much as lost
  CHECK_NEAR(scores[2], -1.0 / 3.0, 1e-15);
}

TEST(votes, what_is_within_its_bound_is_not_sure) {
  // Columns: 0 wins both; the pair (0, 1) is open; class 1 wins both.
  const std::vector<double> values = {1.0, 0.1, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
  const std::vector<double> bound(9, 0.5);
  std::vector<std::int64_t> codes(3);
  bool sure[3];
  certain_class(values.data(), bound.data(), 3, 3, codes.data(), sure);
  CHECK_EQUAL(codes[0], 0);
  CHECK(sure[0]);
  CHECK(!sure[1]);
  CHECK_EQUAL(codes[2], 1);
  CHECK(sure[2]);
}

}  // namespace
}  // namespace psvm
