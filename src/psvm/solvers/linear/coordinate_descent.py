"""The linear solver for wide sparse rows: dual coordinate descent with a free intercept, in C++.

See ``cpp/coordinate_descent.cpp``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from psvm import _core
from psvm.mathematics.loss import PNormHinge
from psvm.solvers.ledger import Stage, Status
from psvm.solvers.linear.best_pair import BestPair

Array = npt.NDArray[np.float64]


def solve_coordinate_descent(
    rows: Any,
    y: Array,
    cost: Array,
    loss: PNormHinge,
    fit_intercept: bool,
    start_alpha: Array,
    stage: Stage,
) -> BestPair:
    """Minimise ``1/2 ||w||^2 + sum_i cost_i max(0, 1 - y_i (<w, x_i> + b))^p`` over w and b.

    ``rows`` is a C-contiguous array or a canonical CSR matrix of float32 or float64, ``y`` is -1 or
    +1, ``cost > 0`` may be infinite (hard margin, for all rows). ``start_alpha`` lies within the
    bounds. A round of the stage is a pass over the rows that are not settled; there is a
    record for each check of the gap. ``w`` need not be ``sum_i alpha_i y_i x_i``.
    """
    solve: Callable[..., dict[str, Any]] = _core.solve_coordinate_descent
    features: tuple[Any, ...] = (rows,)
    if sparse.issparse(rows):
        solve = _core.solve_coordinate_descent_csr
        indptr = rows.indptr.astype(rows.indices.dtype, copy=False)
        features = (rows.data, rows.indices, indptr, rows.shape[1])
    outcome = solve(
        *features,
        y,
        cost,
        loss.p,
        fit_intercept,
        np.ascontiguousarray(start_alpha, dtype=np.float64),
        stage.tol,
        stage.max_iter,
        stage.max_time,
        stage.listener,
        stage.ledger.cancel,
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
