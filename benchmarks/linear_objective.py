"""The referee of linear models: objective and accuracy, recomputed in float64.

Like :mod:`benchmarks.objective` it shares no code with psvm or with any rival. It sees the training
data, ``w`` and ``b``, and computes

    P(w, b) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i (w.x_i + b))^p

for the model's own intercept and for the best one, since some libraries penalise theirs. Libraries
of linear SVMs give no dual variables, so there is no gap here: the report compares P with the
smallest one that anybody reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.objective import Array, best_intercept, hinge_sum

BLOCK_ROWS = 50_000  # rows converted to float64 at a time, so that memory stays bounded


@dataclass(frozen=True)
class LinearModel:
    """A fitted linear SVM of two classes; positive decision values mean the higher label.

    Attributes
    ----------
    coef : ndarray, shape (n_features,)
    intercept : float
    """

    coef: Array
    intercept: float


@dataclass(frozen=True)
class LinearVerdict:
    """``primal`` uses the model's own intercept, ``primal_best`` the best one for its ``w``."""

    primal: float
    primal_best: float
    train_accuracy: float
    test_accuracy: float


def judge_linear(
    model: LinearModel,
    train: tuple[Any, npt.NDArray[np.int64]],
    test: tuple[Any, npt.NDArray[np.int64]],
    *,
    C: float,
    p: float,
) -> LinearVerdict:
    """Judge a model trained on ``train = (X, y)`` with labels 0 and 1."""
    X, y = train
    if set(np.unique(y)) != {0, 1}:
        raise ValueError("the referee of linear models expects two classes, labelled 0 and 1.")
    intercept = float(model.intercept)
    sign = np.where(y == 1, 1.0, -1.0)
    decision = linear_decision(X, model.coef)
    best = best_intercept(decision, sign, p)
    norm = 0.5 * float(model.coef @ model.coef)
    unseen = linear_decision(test[0], model.coef) + intercept
    return LinearVerdict(
        primal=norm + C * hinge_sum(decision + intercept, sign, p),
        primal_best=norm + C * hinge_sum(decision + best, sign, p),
        train_accuracy=float(np.mean((decision + intercept > 0.0) == y)),
        test_accuracy=float(np.mean((unseen > 0.0) == test[1])),
    )


def linear_decision(X: Any, coef: Array, block_rows: int = BLOCK_ROWS) -> Array:
    """``X @ coef`` in float64 for dense or CSR rows, one block of rows at a time."""
    decision = np.empty(X.shape[0])
    for start in range(0, X.shape[0], block_rows):
        rows = slice(start, start + block_rows)
        decision[rows] = X[rows].astype(np.float64) @ coef
    return decision
