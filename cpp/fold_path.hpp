// One binary problem of one cross-validation split, solved for many (p, C) on a shared Gram matrix.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernel_rows.hpp"

namespace psvm {

// Columns [begin, end) of the Gram matrix.
struct ColumnRange {
  index_t begin, end;
};

// Rows are numbers of rows of the Gram matrix, which is symmetric and holds every row of the data.
template <class T>
struct FoldProblem {
  const T* gram;
  index_t stride;
  Rows train;          // rows with a dual variable
  const double* y;     // their labels, -1 or +1
  const double* cost;  // their cost at C = 1, > 0
  Rows held_out;       // rows whose decision values are wanted
  // Columns that cover `train`: their decision values follow every round. Columns that cover
  // `held_out`: theirs are brought up to date at the end of every cell.
  std::vector<ColumnRange> train_columns, held_out_columns;
  bool fit_intercept;
};

struct PathCell {
  double p, C;
};

// When a cell is solved: at the relative gap `tol`, after so many rounds more.
struct Precision {
  double tol;
  index_t more_rounds;
};

struct CellOutcome {
  double gap, seconds;
  index_t rounds;
};

struct FoldPathResult {
  std::vector<CellOutcome> cells;      // fewer than asked for if the run was cancelled
  std::vector<double> decision;        // cells x held_out, the intercept included
  std::vector<std::uint8_t> supports;  // cells x train: 1 for a support vector
};

// Solves the cells in their order, each from the solution of the one before. Cells of one p should
// stand together, C rising. `on_cell` hears of every finished cell.
template <class T>
FoldPathResult solve_fold_path(const FoldProblem<T>& problem, const std::vector<PathCell>& cells,
                               const Precision& precision, const std::function<void()>& on_cell,
                               RunControl& run);

}  // namespace psvm
