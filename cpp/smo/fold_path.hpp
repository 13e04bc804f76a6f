// One problem of one cross-validation split, solved for many (p, C, epsilon) on a shared kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "smo/fold_values.hpp"
#include "smo/row_states.hpp"

namespace psvm {

template <class T>
struct FoldProblem {
  FoldKernel<T> kernel;
  FoldRows train;  // rows with dual variables: their decision values follow every round
  DualRows
      dual;  // one per training row, or see `place`; targets are those at epsilon = 0, costs at C = 1
  Rows place;  // which training row each dual row belongs to; empty: each to its own, in order
  FoldRows held_out;  // rows whose decision values are wanted at the end of every cell
  bool fit_intercept;
};

struct PathCell {
  double p, C;
  double epsilon = 0.0;           // targets are moved against their sign by it: t - y epsilon
  const double* start = nullptr;  // alpha to start from, of the dual rows; null: the last cell's
};

// When a cell is solved: at the relative gap `tol`, after so many rounds more; and whether its alpha is
// wanted.
struct Precision {
  double tol;
  index_t more_rounds;
  index_t max_steps;  // of pairs per cell, which is then left as it is; negative for no limit
  bool keep_alpha;
};

struct CellOutcome {
  double gap, seconds;
};

// How far outside the margin a row is no support vector. At a gap of 1e-4 this counts within 2 % of
// those of the exact solution (magic04, satimage, p = 1 and 1.5, C = 1 and 100); 1e-4 misses up to
// 17 %, 1e-2 counts up to 5 % too many.
inline constexpr double outside_margin = 1e-3;

struct FoldPathResult {
  std::vector<CellOutcome> cells;      // fewer than asked for if the run was cancelled
  std::vector<double> decision;        // cells x held_out, the intercept included
  std::vector<std::uint8_t> supports;  // cells x train: 1 for a support vector
  std::vector<double> alpha;           // cells x dual rows, if wanted
};

// Solves the cells in their order, each from its start or from the solution of the one before. Cells of
// one p should stand together, C rising, and begin at the same C and epsilon. `on_cells` hears of finished cells, how many, at most every
// 50 ms and at the end: in Python each call waits for the interpreter.
template <class T>
FoldPathResult solve_fold_path(const FoldProblem<T>& problem, const std::vector<PathCell>& cells,
                               const Precision& precision,
                               const std::function<void(index_t)>& on_cells, RunControl& run);

}  // namespace psvm
