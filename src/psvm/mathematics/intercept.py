"""The intercept at which a certificate takes the primal: whatever it is, the bound holds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psvm import _core

Array = npt.NDArray[np.float64]


def exact_intercept(
    y: Array,
    target: Array,
    decision: Array,
    cost: Array,
    p: float,
    *,
    balance: float = 0.0,
    near: float | None = None,
) -> float:
    """Minimise ``sum_i cost_i max(0, y_i (t_i - decision_i - b))^p + balance b`` over b.

    To machine precision, see ``cpp/loss/exact_intercept.hpp``. (In numpy it held the interpreter's
    lock for a fifth of the time of fits with hundreds of pairs of classes.)
    """
    return _core.best_intercept(
        y, target, np.ascontiguousarray(decision), cost, p=p, balance=balance, near=near
    )
