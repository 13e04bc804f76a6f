r"""Probabilities from held-out decision values.

Two classes have Platt's sigmoid :math:`1 / (1 + e^{-(a f + b)})`, fitted by weighted maximum
likelihood with Platt's targets and :math:`a \ge 0`. Pairs of classes have one sigmoid each, and
their probabilities :math:`r_{ij}` are coupled by the p that minimises
:math:`\sum_{i \ne j} (r_{ji} p_i - r_{ij} p_j)^2` with :math:`\sum_i p_i = 1` (Wu, Lin and Weng
2004); one-vs-rest sigmoids are divided by their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from psvm.mathematics.multiclass import class_pairs, problem_signs
from psvm.rows.sizes import CHUNK_ENTRIES

Array = npt.NDArray[np.float64]

# Newton steps at most, and halvings of one (432 sets of decision values of eleven data sets, plain
# and distorted: at most 14 and 10, but for ten that changed by 1e-13 beyond them).
_STEPS, _HALVINGS = 30, 20
# Probabilities of pairs stay this far from 0 and 1: the system of the coupling is regular then.
SURE = 1e-7
# By how much a probability moved to 1/2 still tells its side and order.
HAIR = 1e-9


@dataclass(frozen=True)
class Sigmoid:
    """``1 / (1 + exp(-(slope * f + offset)))``, with ``slope >= 0``.

    If ``symmetric``, f > 0 has at least probability 1/2 and f < 0 at most that, so that the
    likelier class is the predicted one. What is on the wrong side of 1/2 is moved there (a hair
    beyond, in the order of f).
    """

    slope: float
    offset: float
    symmetric: bool = False

    def __call__(self, decision: Array) -> Array:
        """Probabilities of the positive class."""
        p = np.asarray(expit(self.slope * decision + self.offset))
        if not self.symmetric:
            return p
        half = 0.5 + HAIR * decision / (1.0 + np.abs(decision))
        return np.asarray(np.where(decision > 0.0, np.maximum(p, half), np.minimum(p, half)))


def fit_sigmoid(
    decision: Array, positive: npt.NDArray[np.bool_], weight: Array, *, symmetric: bool
) -> Sigmoid:
    """The most likely sigmoid, by Newton's method with a line search.

    Labels become Platt's targets ``(N+ + 1) / (N+ + 2)`` and ``1 / (N- + 2)``, where N are the
    total weights of the classes; with them the optimum is finite even if the classes are
    separated.
    """
    n_plus, n_minus = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(positive, (n_plus + 1.0) / (n_plus + 2.0), 1.0 / (n_minus + 2.0))
    base = Sigmoid(0.0, float(np.log((n_plus + 1.0) / (n_minus + 1.0))), symmetric)
    size = float(np.max(np.abs(decision), initial=0.0))
    if size == 0.0:
        return base
    rows = np.column_stack([decision / size, np.ones_like(decision)])

    def cost(z: Array) -> float:
        # -t log p - (1 - t) log(1 - p) without overflow
        return float(weight @ (np.logaddexp(0.0, z) - target * z))

    at = np.array([0.0, base.offset])
    value = cost(rows @ at)
    for _ in range(_STEPS):
        p = expit(rows @ at)
        gradient = rows.T @ (weight * (p - target))
        if np.abs(gradient).max() <= 1e-10 * weight.sum():
            break
        hessian = (rows.T * (weight * p * (1.0 - p))) @ rows + 1e-12 * weight.sum() * np.eye(2)
        step = np.linalg.solve(hessian, -gradient)
        slope = float(gradient @ step)
        for _ in range(_HALVINGS):
            new = cost(rows @ (at + step))
            if new <= value + 1e-4 * slope:
                break
            step, slope = 0.5 * step, 0.5 * slope
        else:
            break
        at, value = at + step, new
    if at[0] <= 0.0:
        # Decisions that tell the wrong way say nothing: constant, the frequency of the class.
        # (1 - target, which is 0 to rounding beside very heavy weights, by its own formula.)
        rest = np.where(positive, 1.0 / (n_plus + 2.0), (n_minus + 1.0) / (n_minus + 2.0))
        odds = float(np.log(weight @ target) - np.log(weight @ rest))
        return Sigmoid(0.0, odds, symmetric)
    return Sigmoid(float(at[0]) / size, float(at[1]), symmetric)


@dataclass(frozen=True)
class Calibration:
    """Sigmoids of the binary problems, and how they make the probabilities of k classes."""

    sigmoids: Sequence[Sigmoid]
    n_classes: int
    pairwise: bool

    @classmethod
    def fit(
        cls,
        values: Array,
        codes: npt.NDArray[np.int32],
        weight: Array,
        n_classes: int,
        multi_class: str,
        *,
        symmetric: bool,
    ) -> Calibration:
        """Sigmoids for decision values of shape (n, n_problems) of held-out rows; NaN is absent."""
        sigmoids = []
        for signs, decision in zip(problem_signs(n_classes, multi_class), values.T, strict=True):
            y = signs[codes]
            rows = (y != 0) & (weight > 0.0) & np.isfinite(decision)
            sigmoids.append(
                fit_sigmoid(decision[rows], y[rows] > 0, weight[rows], symmetric=symmetric)
            )
        return cls(sigmoids, n_classes, n_classes > 2 and multi_class == "ovo")

    def probabilities(self, values: Array) -> Array:
        """Probabilities of shape (n, n_classes) from decision values of shape (n, n_problems)."""
        own = np.column_stack(
            [sigmoid(column) for sigmoid, column in zip(self.sigmoids, values.T, strict=True)]
        )
        if self.n_classes == 2:
            return np.column_stack([1.0 - own[:, 0], own[:, 0]])
        if self.pairwise:
            step = max(1, CHUNK_ENTRIES // (self.n_classes + 1) ** 2)
            blocks = [
                coupled(own[first : first + step], self.n_classes)
                for first in range(0, own.shape[0], step)
            ]
            return np.concatenate(blocks) if blocks else np.empty((0, self.n_classes))
        own = np.maximum(own, SURE)
        return np.asarray(own / own.sum(axis=1, keepdims=True))


def coupled(pairs: Array, n_classes: int) -> Array:
    """Probabilities of the classes from those of the first class of every pair (i, j), i < j."""
    n, k = pairs.shape[0], n_classes
    r = np.zeros((n, k, k))
    for column, (i, j) in zip(pairs.T, class_pairs(k), strict=True):
        r[:, i, j] = np.clip(column, SURE, 1.0 - SURE)
        r[:, j, i] = 1.0 - r[:, i, j]
    # Stationarity: Q p = constant, sum p = 1, with Q_ii = sum_j r_ji^2 and Q_ij = -r_ji r_ij.
    system = np.zeros((n, k + 1, k + 1))
    system[:, :k, :k] = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(k)
    system[:, diagonal, diagonal] = (r**2).sum(axis=1)
    system[:, :k, k] = system[:, k, :k] = 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :k, 0], 0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
