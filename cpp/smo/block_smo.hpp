// The small dual over one working set, solved by exact pair steps (the paper's pSMO) in cache.
#pragma once

#include <vector>

#include "base/aligned.hpp"
#include "kernel/kernel_rows.hpp"
#include "loss/loss.hpp"

namespace psvm {

// The variables of one working set. Everything outside stays fixed; it enters through `score`.
//
//   score_k = t_k - decision_k - y_k slack_of(alpha_k) - b
//
// (shifted by the intercept b, so that float keeps its digits near the optimum). Variable k may
// grow y_k alpha_k ("up") or shrink it ("low"); the block is optimal when no up-score exceeds a
// low-score. Without intercept, a phantom variable of score 0, whose kernel row is 0 and which may
// move either way for free, turns pair steps into single steps.
template <class T>
struct Block {
  index_t size = 0;    // variables, the phantom included
  index_t stride = 0;  // of the Gram matrix and length of every array: size rounded up to lanes
  AlignedMemory<T> gram;
  AlignedVector<T> diagonal, score;
  AlignedVector<T> curvature;  // K_kk + slope of slack_of at alpha_k
  AlignedVector<T> up, low;    // 0 where a step is allowed, -inf / +inf where not
  std::vector<double> y, alpha, cost, slack;
  bool phantom = false;  // whether the last variable is the phantom

  // The Gram matrix of the variables is the caller's to fill in.
  void resize(index_t variables, bool with_phantom);
};

struct BlockResult {
  index_t steps = 0;
  bool indefinite = false;  // met a clearly negative K_ii + K_jj - 2 K_ij
  bool unbounded = false;   // met a pair along which the dual grows for ever
  double gain = 0.0;        // of the dual, about
};

// When to leave a block: when the violation is `relative` times its first value, or `absolute`; after
// `max_steps`; when the dual has grown by `max_gain`, which only that of an indefinite kernel can.
struct BlockGoal {
  double relative, absolute;
  index_t max_steps;
  double max_gain;
};

// Runs pair steps, until the goal or until they change nothing any more.
template <class T>
BlockResult solve_block(Block<T>& block, const PNormHinge& loss, const BlockGoal& goal,
                        RunControl& run);

}  // namespace psvm
