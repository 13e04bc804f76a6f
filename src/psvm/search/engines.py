"""Which engine solves the cells, and why.

1. Linear models are fitted split by split by the solvers of LinearPSVC: they need no kernel matrix.
   Of few rows the matrix is tried first (``matrix_first``).
2. Kernels share Gram matrices, as many as ``cache_size`` allows. Of few features, and where no
   matrix fits, entries are computed whenever they are needed (two to four times faster than whole
   fits: a9a 20,000 rows, usps 3,000, mnist 6,000). Up to ``SMALL`` rows entries are float64 and the
   solver goes on towards the last digits, so that scores that count single rows do not depend on
   rounding.
3. Where no matrix fits and entries must be float64 (callables, polynomials, rbf so narrow that
   float32 would cancel), PSVC is fitted split by split, with cached kernel rows.

The answers of the chosen cell, which make probabilities, come on small sets from whole fits too:
those are exact to machine precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.rows.dense_or_sparse import stored_for_kernel
from psvm.rows.kernel import Kernel
from psvm.search.folds import Fold, FoldProblem, row_order
from psvm.search.gram import GramSource, MemoryPlan
from psvm.search.gram_search import GramSearch
from psvm.search.grid import Grid
from psvm.search.matrix_first import MatrixFirst
from psvm.search.row_search import RowSearch
from psvm.solvers.sizes import SMALL, STEPS_PER_ROW

Array = npt.NDArray[np.float64]

# Rounds beyond the goal on small sets; every one divides the violation by ten.
_MORE_ROUNDS = 4
# Rows up to which a linear kernel is tried on its matrix.
_FEW_ROWS = 5000
# Share of what the matrices leave of ``cache_size`` that solutions to start from may take.
_SOLUTIONS = 0.125


@dataclass(frozen=True)
class Engines:
    """What solves every cell, and what solves the chosen one."""

    search: Any
    final: Any


def choose_engines(
    model: Any,
    kernel: Kernel,
    X: Any,
    codes: npt.NDArray[np.int32],
    weight: Array,
    grid: Grid,
    folds: Sequence[Fold],
    problems: Sequence[list[FoldProblem]],
    *,
    tol: float,
    cache_bytes: float,
    threads: int,
) -> Engines:
    """The engines for this kernel and number of rows; ``model`` makes whole fits."""
    n, n_gammas = codes.size, len(grid.gammas)
    whole_fits = RowSearch(model, X, codes, weight, grid, folds, problems)
    linear = kernel.function == "linear"
    if linear and n > _FEW_ROWS:
        return Engines(whole_fits, whole_fits)
    tasks = sum(len(own) for own in problems)
    plan = MemoryPlan.within(
        cache_bytes if n > SMALL else 0.5 * cache_bytes,  # float64 entries
        n,
        # As many as keep the threads busy. One more, for the time between widths, costs more to
        # touch than it saves (satimage 1.2 times, 20,000 rows 1.4 times slower).
        wanted=min(n_gammas, -(-threads // tasks)),
        distances=n > SMALL and GramSource.worth_keeping_distances(kernel, X, n_gammas),
    )
    order = row_order(codes, folds)
    if kernel.function == "precomputed":
        rows = X[np.ix_(order, order)]
    else:
        rows = stored_for_kernel(X, kernel.function, threads)[order]
    source = GramSource(
        kernel,
        rows,
        tol=tol,
        dtype=np.float32 if n > SMALL else np.float64,
        centred=model.fit_intercept,
        has_room=plan is not None,
        keep_distances=plan is not None and plan.distances,
        single=max(len(own) for own in problems) == 1,
    )
    if plan is None and any(source.stores(gamma) for gamma in grid.gammas):
        return Engines(whole_fits, whole_fits)
    solutions = sum(problem.rows.size for own in problems for problem in own)
    left = cache_bytes - (0.0 if plan is None else plan.bytes(n))
    search = GramSearch(
        source,
        order,
        grid,
        folds,
        problems,
        fit_intercept=bool(model.fit_intercept),
        buffers=0 if plan is None else plan.buffers,
        more_rounds=0 if n > SMALL else _MORE_ROUNDS,
        steps_per_row=STEPS_PER_ROW if linear else -1,
        remembers=n > SMALL and 8.0 * grid.size * solutions <= _SOLUTIONS * left,
        threads=threads,
    )
    if linear:
        return Engines(MatrixFirst(search, whole_fits), whole_fits)
    return Engines(search, search if n > SMALL else whole_fits)
