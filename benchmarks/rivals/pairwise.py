"""One-vs-one for libraries that solve two classes only, in the layout of scikit-learn's SVC."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks.objective import DualModel, decisions, vote
from benchmarks.rivals.interface import Labels

Array = npt.NDArray[np.float64]


class PairSolution(NamedTuple):
    """Of the pair (low, high): training rows, ``alpha_i y_i`` and intercept; ``low`` has y = +1."""

    low: int
    high: int
    rows: npt.NDArray[np.intp]
    coef: Array
    intercept: float


@dataclass(frozen=True)
class PairwiseModel:
    """A fitted model with the training set that its support vectors are rows of."""

    dual: DualModel
    X: Any
    y: Labels
    gamma: float

    def predict(self, X: Any) -> Labels:
        """Labels by one-vs-one votes."""
        order = np.argsort(self.y[self.dual.support], kind="stable")
        support, coef = self.dual.support[order], self.dual.dual_coef[:, order]
        (values,) = decisions(self.X, self.y, support, [coef], self.gamma, 1, of=X)
        return vote(values + self.dual.intercept, coef.shape[0] + 1)


def fit_pairs(
    X: Any, y: Labels, gamma: float, solve: Callable[[Array, Array], tuple[Array, float]]
) -> PairwiseModel:
    """Solve every pair of classes by ``solve(K, sign) -> (alpha * sign, intercept)``."""
    from sklearn.metrics.pairwise import rbf_kernel

    solutions = []
    for low, high in combinations(range(int(y.max()) + 1), 2):
        rows = np.flatnonzero((y == low) | (y == high))
        coef, intercept = solve(
            rbf_kernel(X[rows], gamma=gamma), np.where(y[rows] == low, 1.0, -1.0)
        )
        kept = coef != 0.0
        solutions.append(PairSolution(low, high, rows[kept], coef[kept], intercept))
    return PairwiseModel(packed(solutions, y), X, y, gamma)


def packed(solutions: Iterable[PairSolution], y: Labels) -> DualModel:
    """The pairs as one model; with two classes the higher label becomes the positive one."""
    n_classes = int(y.max()) + 1
    sign = -1.0 if n_classes == 2 else 1.0
    coef = np.zeros((n_classes - 1, y.size))
    intercept = {}
    for low, high, rows, values, b in solutions:
        of_low = y[rows] == low
        coef[high - 1, rows[of_low]] = sign * values[of_low]
        coef[low, rows[~of_low]] = sign * values[~of_low]
        intercept[low, high] = sign * b
    support = np.flatnonzero(coef.any(axis=0))
    in_order = [intercept[pair] for pair in combinations(range(n_classes), 2)]
    return DualModel(support, coef[:, support], np.array(in_order))


def dense(X: Any) -> Array:
    """The rows as an array."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
