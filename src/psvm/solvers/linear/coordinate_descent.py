"""The linear solver for wide sparse rows: dual coordinate descent with a free intercept, in C++.

See ``cpp/coordinate_descent.cpp``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from psvm import _core
from psvm.mathematics.problem import Budget, Status

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

    ``rows`` is a C-contiguous array or a canonical CSR matrix of float32 or float64, ``y`` is -1 or
    +1, ``cost > 0`` may be infinite (hard margin, for all rows). ``start_alpha`` lies within the
    bounds. An iteration of the budget is a pass over the rows that are not settled; there is a
    record for each check of the gap.
    """
    solve: Callable[..., dict[str, Any]] = _core.solve_coordinate_descent
    features: tuple[Any, ...] = (rows,)
    if sparse.issparse(rows):
        solve = _core.solve_coordinate_descent_csr
        indptr = rows.indptr.astype(rows.indices.dtype, copy=False)
        features = (rows.data, rows.indices, indptr, rows.shape[1])
    outcome = solve(
        *features,
        problem,
        np.ascontiguousarray(start_alpha, dtype=np.float64),
        budget.tol,
        budget.max_iter,
        budget.max_time,
        budget.on_round,
        cancel,
    )
    return CoordinateResult(
        w=outcome["w"],
        b=outcome["b"],
        alpha=outcome["alpha"],
        status=Status[outcome["status"].upper()],
        n_iter=outcome["n_iter"],
        history=outcome["history"],
    )
