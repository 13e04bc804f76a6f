"""Where a fit begins: its kernel matrix, and dual variables near the solution, if any are known.

Dual variables are remembered by row of X, and brought to the places of the kernel matrix by
:class:`TrainingRows`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from psvm.estimators.training_rows import TrainingRows
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.multiclass import coefficients_of_pair, pack_one_vs_one
from psvm.mathematics.problem import KernelProblem, LinearProblems, LinearStart, feasible
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.solvers.ledger import Solution

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
MakeKernel = Callable[[TrainingRows], TrainingKernel]

# Dual variables whose products with each other and with kernel values stay finite.
_LARGEST = 1e100


class KernelSource(Protocol):
    """Where the kernel matrix of a fit comes from."""

    def kernel(self, rows: TrainingRows, make: MakeKernel) -> tuple[TrainingRows, TrainingKernel]:
        """The matrix, made or at hand, and the rows in its order."""
        ...


class Start(Protocol):
    """Where the problems of a kernel fit begin."""

    def alpha(self, t: int, problem: KernelProblem, rows: TrainingRows) -> Array:
        """Feasible dual variables of the t-th problem."""
        ...


class KeptKernel:
    """The matrix of the first fit, for all further ones of the same rows."""

    def __init__(self) -> None:
        self._kept: tuple[TrainingRows, TrainingKernel] | None = None

    def kernel(self, rows: TrainingRows, make: MakeKernel) -> tuple[TrainingRows, TrainingKernel]:
        """The kept matrix."""
        self._kept = self._kept or (rows, make(rows))
        return self._kept


class ColdStart:
    """Nothing is known."""

    def alpha(self, t: int, problem: KernelProblem, rows: TrainingRows) -> Array:
        """Zeros."""
        return np.zeros(problem.y.size)


def carried_alpha(
    alpha: Array, p: float, slacks: Callable[[], Array], loss: PNormHinge, cost: Array
) -> Array | None:
    """Dual variables of a solution at exponent ``p`` as a start for another loss and cost.

    For the same p they are themselves the start; for another p > 1 it is the alpha that the old
    slacks have under the new loss. None where their squares leave the range of numbers. Bounds and
    balance are left to the caller.
    """
    if loss.p != p and loss.p > 1.0 and not np.isinf(cost.max()):
        alpha = loss.alpha_of(slacks(), cost)
    return alpha if np.max(alpha, initial=0.0) <= _LARGEST else None  # NaN is not, either


@dataclass(frozen=True)
class WarmStart:
    """Solved kernel problems.

    Attributes
    ----------
    codes : ndarray of int
        The class of every row of X; -1 for one of weight 0.
    dual, slack : ndarray of shape (n_classes - 1 or n_problems, n_samples)
        Dual variables and slacks of the rows of X in SVC's layout.
    p : float
        The exponent.
    """

    codes: npt.NDArray[np.int32]
    dual: Array
    slack: Array
    p: float

    @classmethod
    def of(
        cls,
        problems: Sequence[KernelProblem],
        solved: Sequence[Solution],
        rows: TrainingRows,
        codes: npt.NDArray[np.int32],
    ) -> WarmStart:
        """Remember solved problems over rows of these classes."""
        alpha = [one.alpha for one in solved]
        slack = [
            np.maximum(problem.shortfall(one.decision + one.certificate.intercept), 0.0)
            for problem, one in zip(problems, solved, strict=True)
        ]
        return cls(
            codes=_known(codes, rows),
            dual=rows.scatter(packed(alpha, problems, rows)) * rows.shares,
            slack=rows.scatter(packed(slack, problems, rows)),
            p=problems[0].loss.p,
        )

    def fits(
        self,
        problems: Sequence[KernelProblem],
        rows: TrainingRows,
        codes: npt.NDArray[np.int32],
    ) -> bool:
        """Whether the rows have the classes that these had, and the problems are like these."""
        pairs = len(problems[0].segments) == 2
        layout = len(rows.starts) - 2 if pairs else len(problems)
        return self.dual.shape[0] == layout and np.array_equal(self.codes, _known(codes, rows))

    def alpha(self, t: int, problem: KernelProblem, rows: TrainingRows) -> Array:
        """The alpha of the old solution, or under another p that of the old slacks."""
        places, loss = rows.places(problem.segments), problem.loss

        def of_problem(values: Array) -> Array:
            if len(problem.segments) == 1:
                return np.asarray(values[t])
            return coefficients_of_pair(values, self.codes, *problem.segments)

        alpha = carried_alpha(
            rows.gather(of_problem(self.dual))[places],
            self.p,
            lambda: rows.pick(of_problem(self.slack))[places],
            loss,
            problem.cost,
        )
        if alpha is None:
            return np.zeros(problem.y.size)
        return feasible(problem, alpha)


@dataclass(frozen=True)
class HeadStart:
    """What a search leaves for the fit of its choice to the same rows.

    Attributes
    ----------
    coef : ndarray of shape (n_problems, n_samples)
        ``alpha_i y_i`` near the solution of every row of X, 0 for rows without part in a problem.
    order : ndarray of int
        The row of X at each place of the matrix; sorted by class.
    gram : ndarray of float32 or None
        The kernel matrix in this order, if it is still in memory.
    """

    coef: Array
    order: Rows
    gram: npt.NDArray[Any] | None

    def kernel(self, rows: TrainingRows, make: MakeKernel) -> tuple[TrainingRows, TrainingKernel]:
        """The matrix of the search, if it has a row for each of the rows."""
        if self.gram is None or not rows.unmerged:
            return rows, make(rows)
        rows = rows.in_order(self.order)
        kernel = make(rows)
        kernel.stored = self.gram
        return rows, kernel

    def alpha(self, t: int, problem: KernelProblem, rows: TrainingRows) -> Array:
        """The alpha of the search."""
        coef = rows.gather(self.coef[t])[rows.places(problem.segments)]
        return feasible(problem, problem.y * problem.of_rows(coef))


def packed(values: Sequence[Array], problems: Sequence[KernelProblem], rows: TrainingRows) -> Array:
    """Values of the rows of all problems by place, in SVC's layout."""
    if len(problems[0].segments) == 1:
        return np.vstack(values)
    return pack_one_vs_one(values, np.diff(rows.starts).tolist())


def _known(codes: npt.NDArray[np.int32], rows: TrainingRows) -> npt.NDArray[np.int32]:
    """The classes of the rows of X that are kept, -1 for the others."""
    known = np.full(rows.size, -1, dtype=np.int32)
    known[rows.kept] = codes[rows.kept]
    return known


@dataclass(frozen=True)
class LinearWarmStart:
    """Solved linear problems: where they ended, and the labels of their rows."""

    signs: npt.NDArray[np.int8]
    codes: npt.NDArray[np.int32]
    cost: Array
    p: float
    starts: list[LinearStart]

    @classmethod
    def of(
        cls, problems: LinearProblems, coef: Array, solved: Sequence[Solution]
    ) -> LinearWarmStart:
        """Remember solved problems, whose scaled weights are ``coef``."""
        starts = [
            LinearStart(w, float(one.certificate.intercept), one.alpha)
            for w, one in zip(coef, solved, strict=True)
        ]
        return cls(problems.signs, problems.codes, problems.cost, problems.loss.p, starts)

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

        # Rows of weight 0, hard margins, costs far apart.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.nan_to_num(problems.cost / warm.cost, nan=1.0, posinf=1.0)

        @cache
        def slacks() -> Array:
            return _slacks(warm.starts, problems, rows)

        def start_for(t: int, old: LinearStart) -> LinearStart:
            alpha, loss = old.alpha, problems.loss
            if alpha is not None:
                # At the same slack alpha is proportional to the cost.
                with np.errstate(over="ignore"):
                    alpha = alpha * ratio
                alpha = carried_alpha(alpha, warm.p, lambda: slacks()[t], loss, problems.cost)
            return LinearStart(old.w, old.b, alpha)

        return [start_for(t, old) for t, old in enumerate(warm.starts)]


def _slacks(starts: Sequence[LinearStart], problems: LinearProblems, rows: Sequence[Any]) -> Array:
    """Slack of every row in every problem, 0 where it is absent; in one pass over the rows."""
    w, b = np.array([start.w for start in starts]), np.array([start.b for start in starts])
    decision = np.concatenate([rows[k] @ w.T + b for k in range(len(rows))])
    y = problems.signs[:, problems.codes]
    target = y if problems.target is None else problems.target
    xi = np.maximum(y * (target - problems.of_rows(decision).T), 0.0)  # y = 0: absent
    return np.asarray(xi)
