"""The dual value of an alpha, made feasible."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psvm.solvers.linear.passes import DualSums

Array = npt.NDArray[np.float64]
Factors = tuple[float, float]


def balanced_dual(
    dual: DualSums, p: float, fixed: Array, fixed_total: float, fit_intercept: bool
) -> tuple[float, Factors]:
    """D of alpha with the heavier class scaled down to balance, and the factors of that.

    ``fixed`` is the image of the rows that do not take part, not centred.
    """
    factors = [1.0, 1.0]
    if fit_intercept:
        excess = float(dual.alpha[1] - dual.alpha[0] + fixed[-1])
        heavier = int(excess > 0.0)
        if abs(excess) > 1e-15 * float(dual.alpha.sum()):
            total = float(dual.alpha[heavier])
            if total < abs(excess):
                return -np.inf, (1.0, 1.0)
            factors[heavier] = 1.0 - abs(excess) / total
    scale = np.array(factors)
    w = fixed[:-1] + np.array([-factors[0], factors[1]]) @ dual.image
    value = fixed_total + float(scale @ dual.linear) - 0.5 * float(w @ w)
    if p > 1.0:
        value -= float(scale ** (p / (p - 1.0)) @ dual.conjugate)
    return value, (factors[0], factors[1])
