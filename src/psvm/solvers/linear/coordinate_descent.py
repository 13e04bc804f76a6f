"""The linear solver for wide sparse rows: dual coordinate descent with a free intercept, in C++.

See ``cpp/linear/coordinate_descent.cpp``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.solvers.ledger import Stage, Status
from psvm.solvers.linear.best_pair import BestPair
from psvm.solvers.linear.passes import core_rows

Array = npt.NDArray[np.float64]


def solve_coordinate_descent(
    rows: Any,
    problem: _core.CoordinateProblem,
    start_alpha: Array,
    stage: Stage,
) -> BestPair:
    """Minimise ``1/2 ||w||^2 + sum_i cost_i max(0, y_i (t_i - <w, x_i> - b))^p`` over w and b.

    ``rows`` is an array of contiguous rows or a canonical CSR matrix of float32 or float64; the
    signs of the problem are -1 or +1, its costs > 0, perhaps all infinite (hard margin).
    ``start_alpha`` lies within the bounds. A round of the stage is a pass over the rows that are
    not settled; there is a record for each check of the gap. ``w`` need not be
    ``sum_i alpha_i y_i x_i``.
    """
    outcome = _core.solve_coordinate_descent(
        core_rows(rows),
        problem,
        np.ascontiguousarray(start_alpha, dtype=np.float64),
        _core.Budget(
            tol=stage.tol,
            max_iter=stage.max_iter,
            max_time=stage.max_time,
            max_effort=stage.max_effort,
        ),
        on_round=stage.listener,
        cancel=stage.ledger.cancel,
    )
    stage.take(outcome["history"])
    last = outcome["history"][-1]
    return BestPair(
        w=outcome["w"],
        b=outcome["b"],
        primal=last["primal"],
        dual=last["dual"],
        status=Status[outcome["status"].upper()],
        n_iter=outcome["n_iter"],
        alpha=outcome["alpha"],
    )
