"""What is solved: rows with a sign, a target, a cost and a kernel row or features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.mathematics.cached import cached_property
from psvm.mathematics.certificate import DualRows
from psvm.mathematics.loss import PNormHinge

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class KernelProblem(DualRows):
    """Rows of a problem in the span of kernel rows.

    Attributes
    ----------
    segments : sequence of int
        The segments of the training kernel whose rows take part, in this order (one segment for
        all rows, or one per class).
    kernel_row : ndarray of int or None
        The place among the rows of the segments of the kernel row of each row; rows may share
        one, and each has one at least. None: each has its own, in order.
    """

    segments: Sequence[int]
    kernel_row: npt.NDArray[np.intp] | None = None

    @cached_property
    def n_kernel_rows(self) -> int:
        """Number of kernel rows, which is what a problem costs, not that of rows."""
        return self.y.size if self.kernel_row is None else int(self.kernel_row.max()) + 1

    @classmethod
    def classification(
        cls,
        segments: Sequence[int],
        y: Array,
        cost: Array,
        loss: PNormHinge,
        fit_intercept: bool = True,
    ) -> KernelProblem:
        """Rows with labels: the slack is ``max(0, 1 - y_i (f_i + b))``."""
        return cls(y, y, cost, loss, fit_intercept, segments=segments)

    @property
    def n_variables(self) -> int:
        """Number of variables of a block that holds all of it: two rows of a target are one."""
        return max(self.n_kernel_rows, (self.y.size + 1) // 2)

    def in_order(self, order: npt.NDArray[np.intp]) -> KernelProblem:
        """The same with rows in another order."""
        place = np.arange(self.y.size) if self.kernel_row is None else self.kernel_row
        return replace(
            self,
            y=self.y[order],
            target=self.target[order],
            cost=self.cost[order],
            kernel_row=place[order],
        )

    def of_rows(self, values: Any) -> Any:
        """Values of the kernel rows as those of the rows."""
        return values if self.kernel_row is None else values[self.kernel_row]

    def summed(self, values: Array) -> Array:
        """Values of the rows added up by kernel row."""
        if self.kernel_row is None:
            return values
        return np.asarray(np.bincount(self.kernel_row, weights=values), dtype=np.float64)

    def sharing_with(self, rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """The rows whose kernel row is also that of one of some rows, these among them."""
        if self.kernel_row is None:
            return rows
        shared = np.zeros(self.n_kernel_rows, dtype=np.bool_)
        shared[self.kernel_row[rows]] = True
        return np.asarray(shared[self.kernel_row])

    def rounded_in_sums(self, alpha: Array) -> float:
        """What :meth:`summed` may lose of ``y alpha`` in all kernel rows, over the unit roundoff.

        Of the two rows of a target the difference itself is meant, and rounded once: nothing.
        """
        if self.kernel_row is None:
            return 0.0
        count = np.bincount(self.kernel_row)
        sums = np.bincount(self.kernel_row, weights=alpha)
        return float(np.sum((count * sums)[count > 2]))

    def of_kernel_rows(self, values: Array) -> Array:
        """Values that rows of one kernel row share as those of the kernel rows."""
        if self.kernel_row is None:
            return values
        shared = np.zeros(self.n_kernel_rows)
        shared[self.kernel_row] = values
        return shared


@dataclass(frozen=True)
class Terms:
    """What all problems of a fit have in common, whatever their rows."""

    loss: PNormHinge
    fit_intercept: bool
    hard_margin: bool

    @property
    def p(self) -> float:
        """The exponent; the hard margin is p = 1 without an upper bound."""
        return 1.0 if self.hard_margin else self.loss.p


@dataclass(frozen=True)
class LinearProblems:
    """Problems without a kernel, all over the same rows; the rows as in ``DualRows``.

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
    feature_row : ndarray of int64, shape (n,), or None
        The row of features ``x_i`` of each row, ascending; rows may share one. None: each has its
        own, in order.
    """

    signs: npt.NDArray[np.int8]
    codes: npt.NDArray[np.int32]
    cost: Array
    loss: PNormHinge
    fit_intercept: bool = True
    target: Array | None = None
    feature_row: npt.NDArray[np.int64] | None = None

    @cached_property
    def hard_margin(self) -> bool:
        """Whether no row may have slack."""
        return bool(np.isinf(self.cost.max()))

    @property
    def terms(self) -> Terms:
        """What these problems have in common."""
        return Terms(self.loss, self.fit_intercept, self.hard_margin)

    def rows_of(self, t: int, chosen: Any = slice(None)) -> DualRows:
        """The rows of problem t, or the chosen ones; the sign of a row that is absent is 0."""
        y = self.signs[t][self.codes[chosen]].astype(np.float64)
        target = y if self.target is None else self.target[chosen]
        return DualRows(y, target, self.cost[chosen], self.loss, self.fit_intercept)

    def goals(self, t: int) -> Array | float:
        """``y_i t_i`` of problem t: the margin from which on a row has no slack."""
        return 1.0 if self.target is None else self.signs[t][self.codes] * self.target

    def features_of(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """The rows of features of some rows."""
        return rows if self.feature_row is None else self.feature_row[rows]

    def of_rows(self, values: Any) -> Any:
        """Values of the rows of features as those of the rows."""
        return values if self.feature_row is None else values[self.feature_row]

    def summed(self, values: Array, features: int) -> Array:
        """Values of the rows added up by row of features, of which there are so many."""
        if self.feature_row is None:
            return values
        return np.asarray(np.bincount(self.feature_row, values, features), dtype=np.float64)

    def among(self, rows: npt.NDArray[np.intp]) -> tuple[LinearProblems, npt.NDArray[np.intp]]:
        """The problems over some of the rows, and the rows of features that these have."""
        target = None if self.target is None else self.target[rows]
        place = self.features_of(rows)
        feature_row = None
        if self.feature_row is not None:
            first = np.diff(place, prepend=-1) != 0
            place, feature_row = place[first], np.cumsum(first) - 1
        codes, cost = self.codes[rows], self.cost[rows]
        some = replace(self, codes=codes, cost=cost, target=target, feature_row=feature_row)
        return some, place


@dataclass(frozen=True)
class LinearStart:
    """Where a linear solve begins: coefficients, and the dual variables that belong to them.

    ``alpha`` has one value per row of the training set, or is None where it is not known.
    """

    w: Array
    b: float
    alpha: Array | None = None


def feasible(rows: DualRows, alpha: Array) -> Array:
    """The dual variables cut to their bounds, and brought to ``sum_i alpha_i y_i = balance``.

    The sign that is too heavy is scaled down; where all of a sign is too light for the balance, it
    is filled up. Imbalances at the level of rounding are left alone, so that bounds stay exact.
    """
    y, balance = rows.y, rows.balance
    alpha = np.maximum(alpha, 0.0)
    if rows.loss.p == 1.0:
        alpha = np.minimum(alpha, rows.cost)
    if not rows.fit_intercept:
        return alpha
    positive = y > 0
    plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
    if abs(plus - minus - balance) <= 1e-15 * (plus + minus):
        return alpha
    # What each sign is to sum up to.
    lighter = min(plus - max(balance, 0.0), minus - max(-balance, 0.0))
    if lighter < 0.0:
        lighter, alpha = 0.0, _filled_up(rows, alpha)
        plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
    up, down = lighter + max(balance, 0.0), lighter + max(-balance, 0.0)
    factor = np.where(positive, up / max(plus, 1e-300), down / max(minus, 1e-300))
    return np.asarray(alpha * factor)


def _filled_up(rows: DualRows, alpha: Array) -> Array:
    """Enough of the balance's own sign: rows go the same share of the way to their cost."""
    own = rows.y * rows.balance > 0
    short = abs(rows.balance) - float(alpha[own].sum())
    cost = np.ones_like(alpha) if rows.hard_margin else rows.cost
    room = np.where(own, cost - alpha if rows.loss.p == 1.0 and not rows.hard_margin else cost, 0.0)
    return np.asarray(alpha + room * max(short, 0.0) / max(float(room.sum()), 1e-300))
