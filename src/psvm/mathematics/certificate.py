"""Primal, dual and gap of a candidate solution, recomputed from its decision values.

For any feasible alpha, ``w(alpha)`` and any intercept b give ``P(w, b) >= P* >= D(alpha)``. The
intercept used here is the exact minimiser of the primal over b, so the gap is the tightest one
this alpha can prove. Nothing here trusts the solver that ran.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psvm.mathematics.cached import cached_property
from psvm.mathematics.intercept import exact_intercept
from psvm.mathematics.loss import PNormHinge

Array = npt.NDArray[np.float64]

# Share of the data's radius below which a hard margin is taken for none: rounding makes some.
NARROWEST_MARGIN = 1e-6
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class DualRows:
    """The rows of one problem, whatever they stand for.

    Row i has a sign ``y_i``, a target ``t_i`` and a cost, and the slack
    ``xi_i = max(0, y_i (t_i - f_i - b))``; minimised over w and b is

        P = 1/2 ||w||^2 + sum_i cost_i xi_i^p + balance b,    f_i = <w, phi(x_i)>,

    and maximised over alpha >= 0 with ``sum_i alpha_i y_i = balance``

        D = sum_i alpha_i y_i t_i - 1/2 ||sum_i alpha_i y_i phi(x_i)||^2 - sum_i conjugate(alpha_i).

    Classification has ``t_i = y_i`` and a balance of 0.

    Attributes
    ----------
    y : ndarray of float
        Sign of every row, -1 or +1.
    target : ndarray of float
        What ``f_i + b`` is compared with.
    cost : ndarray of float
        ``C`` times class weight times sample weight, > 0, possibly infinite (hard margin).
    loss : PNormHinge
        The loss and its exponent.
    fit_intercept : bool
        Whether b is free (and the dual balanced) or fixed at 0.
    balance : float
        What ``sum_i alpha_i y_i`` must be.
    """

    y: Array
    target: Array
    cost: Array
    loss: PNormHinge
    fit_intercept: bool = True
    balance: float = 0.0

    @cached_property
    def hard_margin(self) -> bool:
        """Whether no row may have slack: costs are all infinite, or none is."""
        return bool(np.isinf(self.cost.max(initial=0.0)))

    @cached_property
    def hard_tube(self) -> bool:
        """Whether no row may have slack, and w cannot be scaled until none has: targets count."""
        return self.hard_margin and not np.array_equal(self.target, self.y)

    @cached_property
    def total_cost(self) -> float:
        """The sum of all costs."""
        return float(self.cost.sum())

    @cached_property
    def largest_target(self) -> float:
        """In magnitude; 1 in classification."""
        return 1.0 if self.target is self.y else float(np.abs(self.target).max(initial=0.0))

    def shortfall(self, values: Array) -> Array:
        """``y_i (t_i - values_i)``: its positive part is the slack at ``values = f + b``."""
        return self.y * (self.target - values)


def dot(a: Array, b: Array) -> float:
    """``a @ b`` without BLAS, whose threads would spin on a core that the next solve needs."""
    return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True)
class Certificate:
    """Objective values of one problem.

    Attributes
    ----------
    primal, dual : float
        ``P(w(alpha), intercept)`` and ``D(alpha)``.
    gap : float
        Relative duality gap ``(P - D) / P``; the fit is within this fraction of the optimum.
        (With a balance P may be anything: then relative to the sum of its parts' magnitudes.)
        With the bounds of ``rounding`` it is one in exact arithmetic.
    intercept : float
        The minimiser of the primal over b.
    scale : float
        Factor by which ``w`` was multiplied; 1 unless the margin is hard (see :func:`certify`).
    measured : float
        The gap as computed, without bounds for rounding. Solvers go by it.
    magnitude : float
        What the gap is relative to: ``|P|`` unless its parts may be negative.
    squared_norm : float
        ``||w||^2``, where alpha is all there is of w and the margin is not hard.
    """

    primal: float
    dual: float
    gap: float
    intercept: float
    scale: float = 1.0
    measured: float = np.nan
    magnitude: float = np.nan
    squared_norm: float = np.nan

    def __post_init__(self) -> None:
        # Not a number is not equal to itself: np.isnan takes ten times as long.
        if self.measured != self.measured:
            object.__setattr__(self, "measured", self.gap)
        if self.magnitude != self.magnitude:
            object.__setattr__(self, "magnitude", abs(self.primal))


def best_intercept(rows: DualRows, decision: Array, near: float | None = None) -> float:
    """Minimise ``sum_i cost_i max(0, y_i (t_i - decision_i - b))^p + balance b`` over b.

    To machine precision. Where the minimisers form an interval (p = 1, or separable data), its
    midpoint is returned, so that the answer does not depend on the order of rows. A guess ``near``
    the minimiser saves steps.
    """
    return exact_intercept(
        rows.y, rows.target, decision, rows.cost, rows.loss.p, balance=rows.balance, near=near
    )


def certify(
    rows: DualRows, alpha: Array, decision: Array, near: float | None = None
) -> Certificate:
    """Certificate of ``alpha`` with decision values ``decision_i = sum_j alpha_j y_j K_ij``.

    ``P - D`` is summed as the non-negative Fenchel-Young terms
    ``alpha_i y_i (f_i + b - t_i) + cost_i xi_i^p + conjugate_i(alpha_i)``, which keeps every digit
    where subtracting the two objectives would cancel. (``balance b`` is in the first of them.)

    For a hard margin (infinite cost) of classes w is scaled by ``1 / min margin`` to be primal
    feasible; with a margin that is not positive, or other targets and any slack, the primal is
    infinite. ``near`` is a guess of the intercept.
    """
    intercept = best_intercept(rows, decision, near) if rows.fit_intercept else 0.0
    short = rows.shortfall(decision + intercept)
    squared_norm = dot(alpha, rows.y * decision)
    drift = rows.balance * intercept if rows.balance else 0.0
    if rows.hard_margin:
        dual = float(np.sum(alpha * (rows.y * rows.target))) - 0.5 * squared_norm
        primal, scale = 0.5 * squared_norm + drift, 1.0
        if not rows.hard_tube:
            worst = float((rows.y * (decision + intercept)).min())
            if worst <= 0.0:
                return Certificate(np.inf, dual, np.inf, intercept)
            primal, scale = 0.5 * squared_norm / worst**2, 1.0 / worst
            intercept = intercept / worst
        elif short.max() > 0.0:
            return Certificate(np.inf, dual, np.inf, intercept)
        gap = max(primal - dual, 0.0) / primal if primal > 0.0 else np.inf
        return Certificate(primal, dual, gap, intercept, scale)
    return certify_values(rows, alpha, decision + intercept, squared_norm, intercept)


def certify_values(
    rows: DualRows, alpha: Array, values: Array, squared_norm: float, intercept: float
) -> Certificate:
    """The certificate of alpha with ``f + b`` as given; not for hard margins."""
    short = rows.shortfall(values)
    drift = rows.balance * intercept if rows.balance else 0.0
    lost = rows.loss.value(short, rows.cost)
    conjugate = rows.loss.conjugate(alpha, rows.cost)
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # far from the optimum a large p may leave the range
        total = float(lost.sum())
        primal = 0.5 * squared_norm + total + drift
        difference = float(np.sum(lost - alpha * short + conjugate))
    # The terms are non-negative. A sum clearly below zero is rounding: it proves nothing. (Only an
    # indefinite kernel has a negative squared norm; then the gap is relative to the magnitudes.)
    magnitude = 0.5 * abs(squared_norm) + total + abs(drift)
    if not np.isfinite(difference) or difference < -1e-6 * magnitude:
        return Certificate(primal, -np.inf, np.inf, intercept)
    return Certificate(
        primal,
        primal - difference,
        max(difference, 0.0) / max(magnitude, _TINY),
        intercept,
        magnitude=magnitude,
        squared_norm=squared_norm,
    )


def may_be_separable(squared_norm: float, gain: float, largest: float) -> bool:
    """Whether a dual point leaves room for a hard margin of a millionth of the data's radius.

    Without slack every w has ``||w|| >= gain / ||w(alpha)||``, for every alpha with
    ``sum_i alpha_i y_i = 0``.

    Parameters
    ----------
    squared_norm : float
        ``||w(alpha)||^2``.
    gain : float
        ``sum_i alpha_i y_i t_i``; of classes ``sum_i alpha_i``.
    largest : float
        The largest squared norm of a row.
    """
    # Of roots: the square of a gain may leave the range of float64.
    narrowest = NARROWEST_MARGIN * np.sqrt(largest) * gain
    return gain <= 0.0 or bool(np.sqrt(squared_norm) > narrowest)
