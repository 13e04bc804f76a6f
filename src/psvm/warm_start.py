"""Starting points taken from an earlier solution of the same rows, for another C or p."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psvm.problem import BinaryProblem, feasible
from psvm.solvers.choose import Certified

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class WarmStart:
    """Labels, dual variables, costs, exponent and slacks of solved problems."""

    y: list[Array]
    alpha: list[Array]
    cost: list[Array]
    xi: list[Array]
    p: float

    @classmethod
    def of(cls, problems: Sequence[BinaryProblem], solved: Sequence[Certified]) -> WarmStart:
        """Remember solved problems."""
        xi = [
            np.maximum(1.0 - problem.y * (one.result.decision + one.certificate.intercept), 0.0)
            for problem, one in zip(problems, solved, strict=True)
        ]
        return cls(
            y=[problem.y for problem in problems],
            alpha=[one.result.alpha for one in solved],
            cost=[problem.cost for problem in problems],
            xi=xi,
            p=problems[0].loss.p,
        )

    @staticmethod
    def alpha_for(warm: WarmStart | None, t: int, problem: BinaryProblem) -> Array:
        """A feasible start for the t-th problem: zero without a memory of the same rows.

        For the same p the old alpha is the start; for another p > 1 it is the alpha that the old
        slacks have under the new loss. Either is cut to its bounds and balanced.
        """
        if warm is None or t >= len(warm.y) or not np.array_equal(warm.y[t], problem.y):
            return np.zeros(problem.y.size)
        loss, cost = problem.loss, problem.cost
        if loss.p == warm.p or loss.p == 1.0 or problem.hard_margin:
            alpha = warm.alpha[t]
        else:
            alpha = loss.alpha_of(warm.xi[t], cost)
        if not np.isfinite(alpha).all():
            return np.zeros(problem.y.size)
        return feasible(alpha, problem.y, cost, loss, problem.fit_intercept)
