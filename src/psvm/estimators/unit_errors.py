"""What is rounded off where targets change units, as sums over the dual rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.mathematics.certificate import DualRows
from psvm.mathematics.rounding import UNIT

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class UnitErrors:
    """What the units of targets may do to P and D: sums over dual rows i with targets off by e_i.

    Attributes
    ----------
    largest : float
        The largest ``e_i``.
    alpha, pulled : float
        ``sum_i alpha_i`` and ``sum_i alpha_i e_i``.
    of_targets, of_intercept : float
        ``(sum_i cost_i e_i^p)^(1/p)`` and ``(sum_i cost_i)^(1/p)``; they are not asked for where
        the margin is hard.
    conjugate : float
        ``sum_i conjugate_i(alpha_i)``.
    p : float
        The exponent.
    hard_margin : bool
        Whether costs are infinite.
    """

    largest: float
    alpha: float
    pulled: float
    of_targets: float
    of_intercept: float
    conjugate: float
    p: float
    hard_margin: bool

    @staticmethod
    def bound(target: Any, epsilon: float) -> Any:
        """``e_i``: each target is a difference that is rounded twice; b added to it is, once."""
        return UNIT * (2.0 * np.abs(target) + 3.0 * epsilon)

    @classmethod
    def of(
        cls,
        rows: DualRows,
        alpha: Array,
        epsilon: float,
        conjugates: bool = True,
        *,
        told_apart: bool = False,
    ) -> UnitErrors:
        """The sums over all rows, with the largest error for all of them unless ``told_apart``.

        Mostly one error for all proves as much, and of very many rows anything else takes a sixth
        of the time of a fit. The sum of conjugates is taken only if wanted.
        """
        hard, p, conjugate = rows.hard_margin, rows.loss.p, 0.0
        if conjugates and not hard:
            kept = alpha > 0.0  # rows that are absent have no cost, either
            with np.errstate(over="ignore", invalid="ignore"):
                conjugate = float(np.sum(rows.loss.conjugate(alpha[kept], rows.cost[kept])))
        if not told_apart:
            sums = float(alpha.sum()), float(rows.cost.sum()), conjugate
            return cls.at_most(float(cls.bound(rows.largest_target, epsilon)), sums, p)
        error = cls.bound(rows.target, epsilon)
        largest = float(error.max(initial=0.0))
        pulls = largest, float(alpha.sum()), float(np.sum(alpha * error))
        if hard:
            return cls(*pulls, 0.0, 0.0, 0.0, p, hard_margin=True)
        with np.errstate(over="ignore", invalid="ignore"):
            spread = float(np.sum(rows.cost * (error / (largest or 1.0)) ** p))
            whole = float(np.sum(rows.cost)) ** (1.0 / p)
        lost = largest * spread ** (1.0 / p)
        return cls(*pulls, lost, whole, conjugate, p, hard_margin=False)

    @classmethod
    def at_most(cls, error: float, sums: tuple[float, float, float], p: float) -> UnitErrors:
        """What they are at most where no target is off by more.

        ``sums`` are those of alpha, of the costs and of conjugates.
        """
        alpha, cost, conjugate = sums
        if np.isinf(cost):
            return cls(error, alpha, error * alpha, 0.0, 0.0, 0.0, p, hard_margin=True)
        whole = cost ** (1.0 / p)
        return cls(
            error, alpha, error * alpha, error * whole, whole, conjugate, p, hard_margin=False
        )
