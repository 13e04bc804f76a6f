"""The linear solver for wide sparse rows: dual coordinate descent with a free intercept, in C++.

See ``cpp/linear/coordinate_descent.cpp``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.mathematics.problem import Budget, Status
from psvm.solvers.linear.passes import core_rows

Array = npt.NDArray[np.float64]


@dataclass
class CoordinateResult:
    """The best primal point, the best feasible dual variables, and the story of the solve.

    The last record of ``history`` has the primal at ``(w, b)`` and the dual at ``alpha``; ``w``
    need not be ``sum_i alpha_i y_i x_i``.
    """

    w: Array
    b: float
    alpha: Array
    status: Status
    n_iter: int
    history: list[dict[str, Any]] = field(default_factory=list)


def solve_coordinate_descent(
    rows: Any,
    problem: _core.CoordinateProblem,
    start_alpha: Array,
    budget: Budget,
    *,
    cancel: Any = None,
) -> CoordinateResult:
    """Minimise ``1/2 ||w||^2 + sum_i cost_i max(0, y_i (t_i - <w, x_i> - b))^p`` over w and b.

    ``rows`` is an array of contiguous rows or a canonical CSR matrix of float32 or float64; the
    signs of the problem are -1 or +1, its costs > 0, perhaps all infinite (hard margin).
    ``start_alpha`` lies within the bounds. An iteration of the budget is a pass over the rows that
    are not settled; there is a record for each check of the gap.
    """
    outcome = _core.solve_coordinate_descent(
        core_rows(rows),
        problem,
        np.ascontiguousarray(start_alpha, dtype=np.float64),
        _core.Budget(tol=budget.tol, max_iter=budget.max_iter, max_time=budget.max_time),
        on_round=budget.on_round,
        cancel=cancel,
    )
    return CoordinateResult(
        w=outcome["w"],
        b=outcome["b"],
        alpha=outcome["alpha"],
        status=Status[outcome["status"].upper()],
        n_iter=outcome["n_iter"],
        history=outcome["history"],
    )
