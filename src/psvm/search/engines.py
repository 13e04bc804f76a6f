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

from dataclasses import dataclass
from typing import Any

import numpy as np

from psvm.rows.dense_or_sparse import stored_for_kernel
from psvm.rows.sizes import FEW_STEPS, RESCUE, SMALL
from psvm.search.board import Engine
from psvm.search.folds import Rows, row_order
from psvm.search.gram import GramSource, MemoryPlan
from psvm.search.gram_search import Effort, GramSearch
from psvm.search.matrix_first import MatrixFirst
from psvm.search.problem import PreparedRows, SearchProblem
from psvm.search.row_search import RowSearch

# Rounds beyond the goal on small sets; every one divides the violation by ten.
_MORE_ROUNDS = 4


@dataclass(frozen=True)
class Engines:
    """What solves every cell, and what solves the chosen one."""

    search: Engine
    final: Engine


def choose_engines(
    problem: SearchProblem, model: Any, *, tol: float, cache_bytes: float, threads: int
) -> Engines:
    """The engines for this kernel and number of rows; ``model`` makes whole fits."""
    n, grid, linear = problem.size, problem.grid, problem.kernel.facts.is_product
    whole_fits = RowSearch(problem, model)
    if linear and n > RESCUE:
        return Engines(whole_fits, whole_fits)
    plan = _plan(problem, cache_bytes, threads)
    orders = [row_order(problem.codes[own.rows], own.test) for own in problem.prepared]
    sources = [
        GramSource(
            problem.kernel,
            _rows_in_order(problem, own, order, threads),
            tol=tol,
            dtype=np.float32 if n > SMALL else np.float64,
            centred=problem.fit_intercept,
            has_room=plan is not None,
            keep_distances=plan is not None and plan.distances > 0,
            single=max(len(own) for own in problem.problems) == 1,
        )
        for own, order in zip(problem.prepared, orders, strict=True)
    ]
    if plan is None and any(source.stores(gamma) for source in sources for gamma in grid.gammas):
        return Engines(whole_fits, whole_fits)
    solutions = sum(one.rows.size for own in problem.problems for one in own)
    left = cache_bytes - (0.0 if plan is None else plan.bytes(_largest(problem)))
    effort = Effort(
        buffers=0 if plan is None else plan.buffers,
        more_rounds=0 if n > SMALL else _MORE_ROUNDS,
        steps_per_row=FEW_STEPS if linear else -1,
        # Solutions to start from take what the matrices leave (2 to 18 % less time: svmguide1,
        # satimage, spambase).
        remembers=n > SMALL and 8.0 * grid.size * solutions <= left,
        threads=threads,
    )
    search = GramSearch(problem, sources, orders, effort)
    if linear:
        return Engines(MatrixFirst(search, whole_fits), whole_fits)
    return Engines(search, search if search.exact else whole_fits)


def _plan(problem: SearchProblem, cache_bytes: float, threads: int) -> MemoryPlan | None:
    """How many matrices there is room and use for."""
    n_gammas, shares = len(problem.grid.gammas), len(problem.prepared)
    small = problem.size <= SMALL
    keep = not small and all(
        GramSource.worth_keeping_distances(problem.kernel, own.X, n_gammas)
        for own in problem.prepared
    )
    return MemoryPlan.within(
        0.5 * cache_bytes if small else cache_bytes,  # float64 entries
        _largest(problem),
        # As many as keep the threads busy. One more, for the time between widths, costs more to
        # touch than it saves (satimage 1.2 times, 20,000 rows 1.4 times slower).
        wanted=min(n_gammas * shares, -(-threads * shares // problem.fits_per_cell)),
        # Widths come one after the other, and every one needs the distances of all.
        distances=shares if keep else 0,
    )


def _largest(problem: SearchProblem) -> int:
    """Rows of the largest matrix."""
    return max(own.size for own in problem.prepared)


def _rows_in_order(problem: SearchProblem, own: PreparedRows, order: Rows, threads: int) -> Any:
    if problem.precomputed:
        return own.X[np.ix_(order, order)]
    return stored_for_kernel(own.X, problem.kernel.function, threads)[order]
