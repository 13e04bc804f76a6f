"""Primal, dual and gap of a candidate solution, recomputed from its decision values.

For any feasible alpha, ``w(alpha)`` and any intercept b give ``P(w, b) >= P* >= D(alpha)``. The
intercept used here is the exact minimiser of the primal over b, so the gap is the tightest one
this alpha can prove. Nothing here trusts the solver that ran.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from psvm.mathematics.loss import PNormHinge

Array = npt.NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)


def _dot(a: Array, b: Array) -> float:
    """``a @ b`` without BLAS, whose threads would spin on a core that the next solve needs."""
    return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True)
class Certificate:
    """Objective values of one binary problem.

    Attributes
    ----------
    primal, dual : float
        ``P(w(alpha), intercept)`` and ``D(alpha)``.
    gap : float
        Relative duality gap ``(P - D) / P``; the fit is within this fraction of the optimum.
    intercept : float
        The minimiser of the primal over b.
    scale : float
        Factor by which ``w`` was multiplied; 1 unless the margin is hard (see :func:`certify`).
    """

    primal: float
    dual: float
    gap: float
    intercept: float
    scale: float = 1.0


def best_intercept(decision: Array, y: Array, cost: Array, loss: PNormHinge) -> float:
    """Minimise ``sum_i cost_i max(0, 1 - y_i (decision_i + b))^p`` over b, to machine precision.

    The derivative is increasing in b; its root is bracketed by the row-wise thresholds
    ``y_i - decision_i``. Where the minimisers form an interval (p = 1, or separable
    data), its midpoint is returned, so that the answer does not depend on the order of rows.
    """
    threshold = y - decision
    positive = y > 0
    if np.isinf(cost[0]):
        return 0.5 * float(threshold[positive].max() + threshold[~positive].min())
    if loss.p == 1.0:
        return _hinge_intercept(threshold, positive, cost)
    # A positive row costs for b below its threshold, a negative row for b above. All rows of one
    # class stop costing outside [min over negatives, max over positives].
    low, high = float(threshold[~positive].min()), float(threshold[positive].max())
    if low >= high:
        return 0.5 * (low + high)

    def slope(b: float) -> float:
        # Up to a positive factor, so that no power overflows.
        xi = np.maximum(y * (threshold - b), 0.0)
        return -_dot(y * cost, (xi / max(float(xi.max()), _TINY)) ** (loss.p - 1.0))

    if slope(low) >= 0.0:
        return low
    if slope(high) <= 0.0:
        return high
    # Brent's method, to the last bits; near p = 1 the slope is almost a step, and halving is safer.
    precision = _EPS * max(abs(low), abs(high))
    root, found = brentq(
        slope, low, high, xtol=precision, rtol=4.0 * _EPS, full_output=True, disp=False
    )
    if found.converged:
        return float(root)
    while high - low > precision and low < 0.5 * (low + high) < high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
    return 0.5 * (low + high)


def _hinge_intercept(threshold: Array, positive: npt.NDArray[np.bool_], cost: Array) -> float:
    """Midpoint of the minimisers at p = 1, where the derivative is a step function of b."""
    order = np.argsort(threshold, kind="stable")
    # Below every threshold each positive row pulls with its cost; passing any threshold, positive
    # or negative, raises the slope by the cost of its row.
    slope = -float(cost[positive].sum()) + np.cumsum(cost[order])
    flat = 1e-12 * float(cost.sum())
    first = int(np.searchsorted(slope, -flat, side="left"))  # slope >= 0 from here on
    last = int(np.searchsorted(slope, flat, side="right"))  # slope > 0 from here on
    first, last = min(first, threshold.size - 1), min(last, threshold.size - 1)
    return 0.5 * float(threshold[order[first]] + threshold[order[last]])


def certify(
    alpha: Array,
    decision: Array,
    y: Array,
    cost: Array,
    loss: PNormHinge,
    fit_intercept: bool = True,
) -> Certificate:
    """Certificate of ``alpha`` with decision values ``decision_i = sum_j alpha_j y_j K_ij``.

    ``P - D`` is summed as the non-negative Fenchel-Young terms
    ``alpha_i (margin_i - 1) + cost_i xi_i^p + conjugate_i(alpha_i)``, which keeps every digit
    where subtracting the two objectives would cancel.

    For a hard margin (infinite cost) w is scaled by ``1 / min margin`` to be primal feasible;
    with a margin that is not positive, the primal is infinite.
    """
    intercept = best_intercept(decision, y, cost, loss) if fit_intercept else 0.0
    margin = y * (decision + intercept)
    squared_norm = _dot(alpha, y * decision)
    if np.isinf(cost[0]):
        dual = float(alpha.sum()) - 0.5 * squared_norm
        worst = float(margin.min())
        if worst <= 0.0:
            return Certificate(np.inf, dual, np.inf, intercept)
        primal = 0.5 * squared_norm / worst**2
        gap = max(primal - dual, 0.0) / primal if primal > 0.0 else np.inf
        return Certificate(primal, dual, gap, intercept / worst, 1.0 / worst)
    xi = np.maximum(1.0 - margin, 0.0)
    lost = loss.value(xi, cost)
    conjugate = loss.conjugate(alpha, cost)
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # far from the optimum a large p may leave the range
        primal = 0.5 * squared_norm + float(lost.sum())
        difference = float(np.sum(alpha * (margin - 1.0) + lost + conjugate))
    # The terms are non-negative. A sum clearly below zero is rounding: it proves nothing. (Only an
    # indefinite kernel has a negative squared norm; then the gap is relative to the magnitudes.)
    magnitude = 0.5 * abs(squared_norm) + float(lost.sum())
    if not np.isfinite(difference) or difference < -1e-6 * magnitude:
        return Certificate(primal, -np.inf, np.inf, intercept)
    gap = max(difference, 0.0) / max(magnitude, _TINY)
    return Certificate(primal, primal - difference, gap, intercept)


def certify_pair(
    w: Array, intercept: float, image: Array, lost: float, terms: float
) -> Certificate:
    """Certificate of coefficients ``(w, b)`` and an alpha of their own, from sums over the rows.

    With ``image = sum_i alpha_i y_i x_i`` and a balanced alpha,

        P(w, b) - D(alpha) = 1/2 ||w - image||^2 + terms
        terms = sum_i alpha_i (margin_i - 1) + cost_i xi_i^p + conjugate_i(alpha_i)

    where no term is negative. ``lost`` is the sum of ``cost_i xi_i^p``, and infinite where a hard
    margin is violated.
    """
    off = w - image
    primal = 0.5 * float(w @ w) + lost
    difference = 0.5 * float(off @ off) + terms
    if not (np.isfinite(difference) and np.isfinite(primal)) or difference < -1e-6 * primal:
        return Certificate(primal, -np.inf, np.inf, intercept)
    gap = max(difference, 0.0) / max(primal, _TINY)
    return Certificate(primal, primal - difference, gap, intercept)
