"""Starting points taken from an earlier solution of the same rows, for another C or p."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem, LinearProblems, LinearStart, feasible
from psvm.solvers.ledger import Solution

Array = npt.NDArray[np.float64]


def carried_alpha(
    alpha: Array, p: float, slacks: Callable[[], Array], loss: PNormHinge, cost: Array
) -> Array | None:
    """Dual variables of a solution at exponent ``p`` as a start for another loss and cost.

    For the same p they are themselves the start; for another p > 1 it is the alpha that the old
    slacks have under the new loss. None where that leaves the range of numbers. Bounds and balance
    are left to the caller.
    """
    if loss.p != p and loss.p > 1.0 and not np.isinf(cost.max()):
        alpha = loss.alpha_of(slacks(), cost)
    return alpha if np.isfinite(alpha).all() else None


@dataclass(frozen=True)
class WarmStart:
    """Solved kernel problems: labels, dual variables and slacks of their rows, and the exponent."""

    y: list[Array]
    alpha: list[Array]
    xi: list[Array]
    p: float

    @classmethod
    def of(cls, problems: Sequence[KernelProblem], solved: Sequence[Solution]) -> WarmStart:
        """Remember solved problems."""
        xi = [
            np.maximum(problem.shortfall(one.decision + one.certificate.intercept), 0.0)
            for problem, one in zip(problems, solved, strict=True)
        ]
        return cls(
            y=[problem.y for problem in problems],
            alpha=[one.alpha for one in solved],
            xi=xi,
            p=problems[0].loss.p,
        )

    @staticmethod
    def alpha_for(warm: WarmStart | None, t: int, problem: KernelProblem) -> Array:
        """A feasible start for the t-th problem: zero without a memory of the same rows."""
        if warm is None or t >= len(warm.y) or not np.array_equal(warm.y[t], problem.y):
            return np.zeros(problem.y.size)
        loss, cost = problem.loss, problem.cost
        alpha = carried_alpha(warm.alpha[t], warm.p, lambda: warm.xi[t], loss, cost)
        if alpha is None:
            return np.zeros(problem.y.size)
        return feasible(problem, alpha)


@dataclass(frozen=True)
class LinearWarmStart:
    """Solved linear problems: where they ended, and the labels of their rows."""

    signs: npt.NDArray[np.int8]
    codes: npt.NDArray[np.int32]
    cost: Array
    p: float
    starts: list[LinearStart]

    @staticmethod
    def starts_for(
        warm: LinearWarmStart | None, problems: LinearProblems, rows: Sequence[Any], n_features: int
    ) -> Sequence[LinearStart | None]:
        """A start for every problem: None without a memory of like problems.

        w and b are good for other rows too, the dual variables only for rows of the same labels.
        """
        if (
            warm is None
            or not np.array_equal(warm.signs, problems.signs)
            or warm.starts[0].w.size != n_features
        ):
            return [None] * problems.signs.shape[0]
        if not np.array_equal(warm.codes, problems.codes):
            return [LinearStart(start.w, start.b) for start in warm.starts]

        with np.errstate(divide="ignore", invalid="ignore"):  # rows of weight 0, hard margins
            ratio = np.nan_to_num(problems.cost / warm.cost, nan=1.0, posinf=1.0)

        @cache
        def slacks() -> Array:
            return _slacks(warm.starts, problems, rows)

        def start_for(t: int, old: LinearStart) -> LinearStart:
            alpha, loss = old.alpha, problems.loss
            if alpha is not None:
                # At the same slack alpha is proportional to the cost.
                alpha = alpha * ratio
                alpha = carried_alpha(alpha, warm.p, lambda: slacks()[t], loss, problems.cost)
            return LinearStart(old.w, old.b, alpha)

        return [start_for(t, old) for t, old in enumerate(warm.starts)]


def _slacks(starts: Sequence[LinearStart], problems: LinearProblems, rows: Sequence[Any]) -> Array:
    """Slack of every row in every problem, 0 where it is absent; in one pass over the rows."""
    w, b = np.array([start.w for start in starts]), np.array([start.b for start in starts])
    xi = np.empty((len(starts), problems.codes.size))
    end = 0
    for k in range(len(rows)):
        decision = rows[k] @ w.T + b
        first, end = end, end + decision.shape[0]
        y = problems.signs[:, problems.codes[first:end]]
        target = y if problems.target is None else problems.target[first:end]
        xi[:, first:end] = np.maximum(y * (target - decision.T), 0.0)  # y = 0: absent
    return xi
