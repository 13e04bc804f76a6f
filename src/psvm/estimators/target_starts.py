"""Where a kernel regression begins: at what is remembered of a fit to the same targets, or at 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from psvm.estimators.starts import carried_alpha
from psvm.estimators.target_rows import TargetRows
from psvm.estimators.targets import EncodedTargets
from psvm.mathematics.problem import KernelProblem, feasible
from psvm.solvers.ledger import Solution

Array = npt.NDArray[np.float64]


class TargetStart(Protocol):
    """Where a kernel regression begins."""

    def alpha(self, problem: KernelProblem, rows: TargetRows, targets: EncodedTargets) -> Array:
        """Feasible dual variables, in the units of the targets."""
        ...


class ColdTargetStart:
    """Nothing is known."""

    def alpha(self, problem: KernelProblem, rows: TargetRows, targets: EncodedTargets) -> Array:
        """Zeros."""
        return np.zeros(problem.y.size)


@dataclass(frozen=True)
class TargetWarmStart:
    """A solved regression.

    Attributes
    ----------
    y : ndarray of shape (n,)
        The targets of the rows of X; NaN for a row of weight 0.
    dual, slack : ndarray of shape (n, 2)
        Dual variables and slacks of their dual rows, in the user's units.
    p : float
        The exponent.
    """

    y: Array
    dual: Array
    slack: Array
    p: float

    @classmethod
    def of(
        cls, problem: KernelProblem, solution: Solution, rows: TargetRows, targets: EncodedTargets
    ) -> TargetWarmStart:
        """Remember a solution in the user's units."""
        s = targets.scale
        values = solution.decision + (solution.certificate.intercept - targets.centre)
        slack = s * np.maximum(problem.shortfall(values / s), 0.0)
        return cls(
            _known(targets, rows), rows.split(solution.alpha), rows.scatter(slack), problem.loss.p
        )

    def fits(self, rows: TargetRows, targets: EncodedTargets) -> bool:
        """Whether the rows have the targets that these had."""
        return np.array_equal(self.y, _known(targets, rows), equal_nan=True)

    def alpha(self, problem: KernelProblem, rows: TargetRows, targets: EncodedTargets) -> Array:
        """The alpha of the old solution, or under another p that of the old slacks."""
        alpha = carried_alpha(
            rows.gather(self.dual) / targets.scale,
            self.p,
            lambda: rows.pick(self.slack) / targets.scale,
            problem.loss,
            problem.cost,
        )
        return np.zeros(problem.y.size) if alpha is None else feasible(problem, alpha)


@dataclass(frozen=True)
class TargetHeadStart:
    """What a search knows of the fit of its choice to the same rows.

    Attributes
    ----------
    coef : ndarray of shape (n,)
        Coefficients near the solution of every row of X, in the user's units.
    """

    coef: Array

    def alpha(self, problem: KernelProblem, rows: TargetRows, targets: EncodedTargets) -> Array:
        """The alpha of the search."""
        dual = np.maximum(np.column_stack([self.coef, -self.coef]), 0.0)
        return feasible(problem, rows.gather(dual) / targets.scale)


def _known(targets: EncodedTargets, rows: TargetRows) -> Array:
    """The targets of the rows of X that are kept, NaN for the others."""
    known = np.full(rows.rows.size, np.nan)
    known[rows.rows.kept] = targets.given[rows.rows.kept]
    return known
