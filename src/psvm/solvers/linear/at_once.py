"""All problems of a fit in one call of C++: where rows and features are few.

The method is that of the other solvers, coordinate descent where few passes of it are thought to
do, else ``newton`` (see ``cpp/linear/at_once.cpp``); only nothing of it is done in Python, whose
orders and answers take longer than the passes over a few thousand rows (300 rows of 20 features:
7 ms beside 0.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.mathematics.certificate import certify_pairs
from psvm.mathematics.problem import LinearProblems
from psvm.mathematics.rounding import PairSums, rounding_of_pairs, with_rounding
from psvm.rows.blocks import ArrayBlocks
from psvm.rows.sizes import SMALL
from psvm.solvers.ledger import Budget, Solution, Status, proved_status
from psvm.solvers.linear.passes import core_rows
from psvm.solvers.linear.sample_and_sift import sample_pays
from psvm.solvers.linear.summary import RowSummary
from psvm.solvers.linear.systems import MAX_FACTORED

Array = npt.NDArray[np.float64]

# The solver aims just below tol, so that the gap recomputed is at most tol.
AIM = 0.95


def worth_solving_at_once(
    rows: Sequence[Any], problems: LinearProblems, summary: RowSummary
) -> bool:
    """Whether the rows lie in memory and are too few for a sample of them to pay."""
    if not isinstance(rows, ArrayBlocks) or not rows.in_memory or len(rows) != 1:
        return False
    plain = problems.feature_row is None and not problems.hard_margin
    return plain and summary.features <= MAX_FACTORED and not sample_pays(problems, summary)


def solve_at_once(
    X: Any, problems: LinearProblems, summary: RowSummary, budget: Budget, threads: int
) -> list[Solution]:
    """Solve every problem over the rows X to the relative gap ``budget.tol``."""
    exact = summary.rows <= SMALL
    limited = budget.over_rows(summary.rows)
    began = limited.seconds
    solved = _core.solve_at_once(
        core_rows(X),
        problems.codes,
        problems.cost,
        np.ascontiguousarray(problems.signs),
        problems.target,
        problems.loss.p,
        problems.fit_intercept,
        summary.shift,
        summary.largest,
        exact,
        _core.Budget(
            tol=AIM * budget.tol,
            max_iter=limited.max_iter,
            max_time=None if limited.max_time is None else limited.max_time - began,
            max_effort=limited.max_effort,
        ),
        threads,
    )
    w, image = solved["w"], solved["image"]
    b, lost, terms, conjugate, rounding, alpha, excess, reach, pull, count, _ = solved["sums"].T
    sums = PairSums(lost, conjugate, rounding, alpha, excess, reach, pull, count)
    certificates = certify_pairs(w, b, image, lost, terms)
    roundings = rounding_of_pairs(w, image, sums, problems.loss.p, problems.fit_intercept)
    shape = f"{summary.rows} rows of {summary.features} features"
    solutions = []
    for t, history in enumerate(solved["history"]):
        _explain(history, shape, exact=exact)
        certificate = with_rounding(certificates[t], roundings[t])
        status = proved_status(Status[solved["status"][t].upper()], certificate, budget.tol)
        rounds = max(int(solved["n_iter"][t]), 1)
        gather = partial(_alpha, solved, t, problems.codes.size)
        solutions.append(Solution(gather, certificate, status, rounds, history, w=w[t]))
    return solutions


def _explain(history: list[dict[str, Any]], shape: str, *, exact: bool) -> None:
    """Why each solver got its part stands in its first record."""
    solver = history[0]["solver"]
    by_coordinates = solver == "coordinate_descent"
    why = "a few passes may do" if by_coordinates else "many rows for the size of a Newton system"
    history[0]["why"] = f"{why} ({shape})"
    if by_coordinates and history[-1]["solver"] != solver:
        first = next(record for record in history if record["solver"] != solver)
        first["why"] = "small set: to the last digits" if exact else "coordinates take too long"


def _alpha(solved: dict[str, Any], t: int, rows: int) -> Array:
    """The dual variables of a problem, over all rows of the training set."""
    alpha = np.zeros(rows)
    own = slice(*solved["starts"][t : t + 2])
    alpha[solved["rows"][own]] = solved["alpha"][own]
    return alpha
