"""What is solved: rows with a sign, a target, a cost and a kernel row or features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.mathematics.loss import PNormHinge

Array = npt.NDArray[np.float64]


class Status(Enum):
    """How a solve ended. The value is the message a user reads."""

    CONVERGED = "the relative duality gap is within tol"
    MAX_ITER = "stopped after max_iter outer iterations"
    MAX_TIME = "stopped after max_time seconds"
    STOPPED = "stopped on request of a callback"
    STALLED = "the working precision allows no further progress"
    STATIONARY = (
        "the kernel is not positive semidefinite: the point is stationary, and the gap measures "
        "the violation of the optimality conditions, not the distance to a global optimum"
    )
    UNBOUNDED = "the dual is unbounded"

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Budget:
    """When to stop: at the relative gap ``tol``, or after ``max_iter`` rounds or ``max_time`` s.

    ``on_round`` is called with the record of every outer iteration; a true answer stops the solve.
    """

    tol: float = 1e-4
    max_iter: int = -1
    max_time: float | None = None
    on_round: Callable[[dict[str, Any]], bool] | None = None

    def spent(self, iteration: int, seconds: float) -> Status | None:
        """The limit that is reached, if any."""
        if self.max_time is not None and seconds >= self.max_time:
            return Status.MAX_TIME
        return Status.MAX_ITER if 0 <= self.max_iter <= iteration else None


@dataclass(frozen=True)
class KernelProblem:
    """One problem in the span of kernel rows, whatever its rows stand for.

    Row i has a sign ``y_i``, a target ``t_i``, a cost and a kernel row, and the slack
    ``xi_i = max(0, y_i (t_i - f_i - b))``; minimised over w and b is

        1/2 ||w||^2 + sum_i cost_i xi_i^p + balance b,    f_i = <w, phi(x_i)>,

    so that in the dual ``sum_i alpha_i y_i = balance``. Classification has ``t_i = y_i`` and a
    balance of 0.

    Attributes
    ----------
    segments : list of int
        The segments of the training kernel whose rows take part, in this order (one segment for
        all rows, or one per class).
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
    kernel_row : ndarray of int or None
        The place among the rows of the segments of the kernel row of each row; rows may share
        one. None: each has its own, in order.
    balance : float
        What ``sum_i alpha_i y_i`` must be.
    """

    segments: list[int]
    y: Array
    target: Array
    cost: Array
    loss: PNormHinge
    fit_intercept: bool = True
    kernel_row: npt.NDArray[np.intp] | None = None
    balance: float = 0.0

    @classmethod
    def classification(
        cls,
        segments: list[int],
        y: Array,
        cost: Array,
        loss: PNormHinge,
        fit_intercept: bool = True,
    ) -> KernelProblem:
        """Rows with labels: the slack is ``max(0, 1 - y_i (f_i + b))``."""
        return cls(segments, y, y, cost, loss, fit_intercept)

    @property
    def hard_margin(self) -> bool:
        """Whether no row may have slack."""
        return bool(np.isinf(self.cost[0]))


@dataclass(frozen=True)
class LinearProblems:
    """Problems without a kernel, all over the same rows; the rows as in :class:`KernelProblem`.

    Problem t is ``min 1/2 ||w||^2 + sum_i cost_i max(0, y_i (t_i - <w, x_i> - b))^p`` over w and
    b, where ``y_i = signs[t, codes[i]]``, and rows with ``y_i = 0`` are absent.

    Attributes
    ----------
    signs : ndarray of int8, shape (n_problems, n_classes)
        +1, -1 or 0: the sign of each class in each problem.
    codes : ndarray of int32, shape (n,)
        Class number of each row.
    cost : ndarray of float64, shape (n,)
        ``C`` times class weight times sample weight, >= 0 (0: absent), infinite for a hard margin.
    loss : PNormHinge
        The loss and its exponent.
    fit_intercept : bool
        Whether b is free or fixed at 0.
    target : ndarray of float64, shape (n,), or None
        What ``<w, x_i> + b`` is compared with; None: the sign, as in classification.
    """

    signs: npt.NDArray[np.int8]
    codes: npt.NDArray[np.int32]
    cost: Array
    loss: PNormHinge
    fit_intercept: bool = True
    target: Array | None = None

    @property
    def hard_margin(self) -> bool:
        """Whether no row may have slack."""
        return bool(np.isinf(self.cost.max()))


@dataclass(frozen=True)
class LinearStart:
    """Where a linear solve begins: coefficients, and the dual variables that belong to them.

    ``alpha`` has one value per row of the training set, or is None where it is not known.
    """

    w: Array
    b: float
    alpha: Array | None = None


@dataclass
class SolveResult:
    """Dual variables, their decision values without intercept, and the story of the solve."""

    alpha: Array
    decision: Array
    status: Status
    n_iter: int
    history: list[dict[str, Any]] = field(default_factory=list)


def feasible(alpha: Array, y: Array, cost: Array, loss: PNormHinge, fit_intercept: bool) -> Array:
    """The dual variables cut to their bounds, the heavier class scaled to ``sum alpha_i y_i = 0``.

    Imbalances at the level of rounding are left alone, so that bounds stay exact.
    """
    alpha = np.maximum(alpha, 0.0)
    if loss.p == 1.0:
        alpha = np.minimum(alpha, cost)
    if not fit_intercept:
        return alpha
    positive = y > 0
    plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
    if abs(plus - minus) <= 1e-15 * (plus + minus):
        return alpha
    lighter = min(plus, minus)
    factor = np.where(positive, lighter / max(plus, 1e-300), lighter / max(minus, 1e-300))
    return np.asarray(alpha * factor)
