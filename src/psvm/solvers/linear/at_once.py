"""All problems of a fit in one call of C++: where rows and features are few.

The method is that of the other solvers, coordinate descent where few passes of it are thought to
do, else ``newton`` (see ``cpp/linear/at_once.cpp``); only nothing of it is done in Python, whose
orders and answers take longer than the passes over a few thousand rows (300 rows of 20 features:
7 ms beside 0.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm import _core
from psvm.mathematics.certificate import Certificate, dot
from psvm.mathematics.problem import LinearProblems
from psvm.mathematics.rounding import power_error
from psvm.rows.blocks import ArrayBlocks
from psvm.rows.sizes import SMALL
from psvm.solvers.ledger import Budget, Solution, Status, proved_status
from psvm.solvers.linear.passes import core_rows
from psvm.solvers.linear.sample_and_sift import (
    SAMPLE_TOL,
    sample_of,
    sample_pays,
    trust_in_sample,
)
from psvm.solvers.linear.systems import MAX_FACTORED

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int32]

_NOTHING = np.empty(0)

# The solvers aim just below tol, so that the gap recomputed is at most tol.
AIM = 0.95


def worth_solving_at_once(rows: Sequence[Any], problems: LinearProblems) -> TypeGuard[ArrayBlocks]:
    """Whether the rows lie in memory, in one block, of features that a system can be factored of.

    Of several problems a sample must not pay: these take turns in passes over many rows.
    """
    if not isinstance(rows, ArrayBlocks) or not rows.in_memory or len(rows) != 1:
        return False
    if rows.X.shape[1] > MAX_FACTORED or problems.hard_margin:
        return False
    alone = len(problems.signs) == 1 and problems.loss.p > 1.0
    return alone or not many_rows(rows.X, problems)


def many_rows(X: Any, problems: LinearProblems) -> bool:
    """Whether a sample of the rows X pays."""
    n, d = X.shape
    return sample_pays(problems, n, d, X.nnz / n if sp.issparse(X) else float(d))


def solve_many_rows(
    X: Any,
    problems: LinearProblems,
    budget: Budget,
    on_round: Callable[[int, dict[str, Any]], bool] | None,
    *,
    threads: int,
) -> list[Solution]:
    """The same for one problem, p > 1, from the solution of a sample, of which nobody is told."""
    some, places = sample_of(problems, *X.shape)
    rows = X[places]
    aside = replace(budget, tol=max(SAMPLE_TOL, budget.tol))
    (end,) = solve_at_once(rows, some, aside, None, threads=threads)
    w, b = end.w, end.certificate.intercept
    sigma = 0.0 if problems.loss.p >= 2.0 else trust_in_sample(some, 0, rows, w, b)[1]
    start = _core.NewtonStart(w, b, sigma)
    return solve_at_once(X, problems, budget, on_round, threads=threads, start=start)


def solve_at_once(
    X: Any,
    problems: LinearProblems,
    budget: Budget,
    on_round: Callable[[int, dict[str, Any]], bool] | None,
    *,
    threads: int,
    start: Any = None,
) -> list[Solution]:
    """Solve every problem over the rows X to the relative gap ``budget.tol``.

    ``on_round`` is that of ``solve_linear``. From a ``start`` (``_core.NewtonStart``), of a single
    problem, ``newton`` goes on alone.
    """
    n, d = X.shape
    exact = n <= SMALL
    limited = budget.over_rows(n)
    left = None if limited.max_time is None else max(limited.max_time - limited.seconds, 0.0)
    shape = f"{n} rows of {d} features"
    solved = _core.solve_at_once(
        core_rows(X),
        problems.codes,
        problems.cost,
        np.ascontiguousarray(problems.signs),
        problems.target,
        None if problems.feature_row is None else problems.feature_row.astype(np.int32),
        problems.loss.p,
        problems.fit_intercept,
        exact,
        power_error(problems.loss.p),
        _core.Budget(
            tol=AIM * budget.tol,
            max_iter=limited.max_iter,
            max_time=left,
            max_effort=limited.max_effort,
        ),
        # Why each solver got its part, for its first record.
        (
            f"a few passes may do ({shape})",
            f"many rows for the size of a Newton system ({shape})",
            "small set: to the last digits" if exact else "coordinates would take too long",
        ),
        on_round,
        threads,
        start,
    )
    solutions, starts = [], solved["starts"].tolist()
    everything = zip(
        *(solved[name] for name in ("w", "proof", "b", "status", "n_iter", "history")), strict=True
    )
    for t, (w, proof, b, ended, n_iter, history) in enumerate(everything):
        certificate = pair_certificate(proof, w, b)
        status = proved_status(Status[ended], certificate, budget.tol)
        own = slice(starts[t], starts[t + 1])
        rows, alpha = solved["rows"][own], solved["alpha"][own]
        solutions.append(
            Solution(
                partial(_everywhere, rows, alpha, problems.codes.size),
                certificate,
                status,
                max(n_iter, 1),
                history,
                _NOTHING,
                w,
                partial(_positive, rows, alpha),
            )
        )
    return solutions


def pair_certificate(
    proof: tuple[float, float, float, float, float], w: Array, b: float
) -> Certificate:
    """What C++ has proved of coefficients and an alpha of their own, as a certificate."""
    primal, dual, measured, gap, stretch = proof
    squared_norm = dot(w, w) * stretch**2
    return Certificate(primal, dual, gap, b * stretch, stretch, measured, squared_norm=squared_norm)


def _everywhere(rows: Rows, alpha: Array, n: int) -> Array:
    """Dual variables of some rows as those of all n."""
    if rows.size == n:
        return alpha
    values = np.zeros(n)
    values[rows] = alpha
    return values


def _positive(rows: Rows, alpha: Array) -> Rows:
    """The rows whose dual variable is positive."""
    return rows[alpha > 0.0]
