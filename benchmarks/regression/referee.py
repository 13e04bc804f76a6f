"""The referee of regression: the objective, recomputed in float64 from predictions alone.

It shares no code with psvm or with any rival. It sees targets, predictions without their intercept
and ``||w||^2``, and computes

    P = 1/2 ||w||^2 + C sum_i 2 q_i max(0, |r_i| - epsilon)^p,     r_i = y_i - f_i - b,

where ``q_i`` is the quantile for r > 0 and 1 less the quantile elsewhere: for the model's own
intercept and for the best one, since LIBLINEAR penalises its intercept. Sums are taken in extended
precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks.linear_objective import linear_decision

Array = npt.NDArray[np.float64]

_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


@dataclass(frozen=True)
class Loss:
    """What a problem asks for."""

    p: float = 1.0
    C: float = 1.0
    epsilon: float = 0.0
    quantile: float = 0.5

    def total(self, residual: Array) -> float:
        """C times the sum of the losses."""
        total = np.longdouble(0.0)
        for sign, share in ((1.0, self.quantile), (-1.0, 1.0 - self.quantile)):
            slack = np.maximum(sign * residual - self.epsilon, 0.0)
            powers = slack if self.p == 1.0 else slack**self.p
            total += 2.0 * share * np.sum(powers, dtype=np.longdouble)
        return float(self.C * total)


@dataclass(frozen=True)
class Verdict:
    """``primal`` with the model's own intercept, ``primal_best`` with the best one."""

    primal: float
    primal_best: float
    r2: float


def judge(y: Array, values: Array, intercept: float, squared_norm: float, loss: Loss) -> Verdict:
    """Judge predictions: ``values`` are those without the intercept."""
    residual = np.asarray(y, np.float64) - values
    norm = 0.5 * float(squared_norm)
    best = best_intercept(residual, loss, intercept)
    spread = float(np.sum((y - np.mean(y)) ** 2))
    unexplained = float(np.sum((residual - intercept) ** 2))
    return Verdict(
        primal=norm + loss.total(residual - intercept),
        primal_best=norm + loss.total(residual - best),
        r2=1.0 - unexplained / spread if spread > 0.0 else float("nan"),
    )


def judge_linear(X: Any, y: Array, coef: Any, intercept: Any, loss: Loss) -> Verdict:
    """Judge a linear model of dense or CSR rows, one block of rows at a time."""
    coef = np.ravel(np.asarray(coef, np.float64))
    b = float(np.ravel(intercept)[0]) if np.size(intercept) else 0.0
    return judge(y, linear_decision(X, coef), b, float(coef @ coef), loss)


def judge_matrix(K: Array, y: Array, model: Any, loss: Loss) -> Verdict:
    """Judge a kernel machine by the whole kernel matrix of its training rows."""
    # SVR's coefficients of sparse rows are sparse.
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    support, coef = np.asarray(model.support_), np.ravel(np.asarray(coef, np.float64))
    values = K[:, support] @ coef
    b = float(np.ravel(model.intercept_)[0])
    return judge(y, values, b, float(coef @ values[support]), loss)


def best_intercept(residual: Array, loss: Loss, start: float) -> float:
    """The intercept of the smallest loss: golden sections of a convex function of b."""
    low, high = float(residual.min()), float(residual.max())
    # Around the start, where that holds the minimum: tens of steps become a dozen.
    near = 1e-3 * (high - low)
    if low < start - near and start + near < high:
        there = loss.total(residual - start)
        if min(loss.total(residual - start + near), loss.total(residual - start - near)) >= there:
            low, high = start - near, start + near
    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    values = [loss.total(residual - b) for b in inner]
    while high - low > 1e-9 * max(abs(low), abs(high), 1e-300):
        if values[0] <= values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - _GOLDEN * (high - low)
            values[0] = loss.total(residual - inner[0])
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + _GOLDEN * (high - low)
            values[1] = loss.total(residual - inner[1])
        if inner[0] >= inner[1]:
            break
    candidates = [start, *inner]
    return min(candidates, key=lambda b: loss.total(residual - b))
