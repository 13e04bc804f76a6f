"""A solver of the referee's own: a primal-dual interior-point method for the p-norm hinge.

With Q = yy' * K, slack xi and margin surplus s the optimum is the solution of

    Q alpha + y b - 1 + xi - s = 0        alpha s = 0
    alpha + z = p cost xi^(p - 1)         xi z = 0        y'alpha = 0

found by Newton's method with both products at mu -> 0. Steps are float64 (n is small: a Cholesky
factorisation each); what they lead to is judged in extended precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from torture.exact import Problem, Real, Value, dot, exactly

_STEPS = 100


@dataclass
class Bracket:
    """The best points found so far: the optimum is at most ``upper``, at least ``lower``."""

    upper: Value
    lower: Value


def improve(problem: Problem, bracket: Bracket, wanted: Any) -> None:
    """Narrow a bracket until ``wanted(bracket)``, or as far as this method gets."""
    best, idle = np.inf, 0
    for alpha in _path(problem):
        _take(problem, bracket, exactly(alpha))
        if wanted(bracket):
            return
        width = (bracket.upper.value - bracket.lower.value) / bracket.upper.value
        idle = 0 if width < 0.9 * best or width > 0.99 else idle + 1
        best = min(best, width)
        if idle > 8:
            return


def _take(problem: Problem, bracket: Bracket, alpha: np.ndarray) -> None:
    """Both objectives at alpha, and at the alpha of its own slack."""
    alpha = problem.feasible(alpha)
    coef = alpha * problem.y
    f = dot(problem.K, coef)
    b = problem.best_intercept(f)
    for_upper = problem.at(coef, b)
    if for_upper.high < bracket.upper.high:
        bracket.upper = for_upper
    candidates = [alpha]
    if problem.p > 1 and not problem.hard:
        candidates.append(problem.feasible(stationary(problem, f + b)))
    for one in candidates:
        found = problem.dual(one)
        if found.low > bracket.lower.low:
            bracket.lower = found


def stationary(problem: Problem, values: np.ndarray) -> np.ndarray:
    """``alpha = p cost xi^(p - 1)``: what alpha would be, were these values optimal."""
    xi = np.maximum(1 - problem.y * values, 0)
    p = Real(problem.p)
    with np.errstate(over="ignore", under="ignore"):
        return np.where(xi > 0, p * problem.cost * xi ** (p - 1), 0)


def _path(problem: Problem) -> Iterator[np.ndarray]:
    """The iterates, late enough to be worth a look."""
    n, y, p = len(problem.y), problem.y.astype(float), float(problem.p)
    K = problem.K
    if problem.fit_intercept:  # the same problem, with smaller numbers
        middle = K.mean(axis=0)
        K = K - middle - middle[:, None] + middle.mean()
    largest = np.abs(K).max() or Real(1)
    hard = problem.hard
    typical = 1 / largest if hard else np.exp(np.log(problem.cost).mean())
    unit = min(typical, 1 / largest)  # of alpha: neither Q nor alpha leaves float64 then
    Q = (y[:, None] * y * (K * unit)).astype(float)
    slope = np.ones(n) if hard else np.minimum(p * problem.cost / unit, Real(1e200)).astype(float)

    alpha = np.minimum(1.0, slope) / 2
    xi = np.clip(slope, 1.0, None) ** (-1.0 / p)  # so that the loss is of the size of 1
    s, z = np.ones(n), slope * xi ** (p - 1) / 2
    b = 0.0
    for step in range(_STEPS):
        with np.errstate(all="ignore"):
            first = slope * xi ** (p - 1)
            second = slope * (p - 1) * xi ** (p - 2)
            mu = 0.1 * (alpha @ s + (0.0 if hard else xi @ z)) / (n if hard else 2 * n)
            r1 = Q @ alpha + y * b - 1 - s + (0.0 if hard else xi)
            c3 = mu - alpha * s
            D, right = s / alpha, -r1 + c3 / alpha
            if not hard:
                r2, c4 = alpha + z - first, mu - xi * z
                H = second + z / xi
                D, right = D + 1 / H, right - (c4 / xi + r2) / H
            moved = _solve(Q, D, right, y if problem.fit_intercept else None, -(y @ alpha))
            if moved is None:
                return
            da, db = moved
            ds = (c3 - s * da) / alpha
            changes = [(alpha, da), (s, ds)]
            if not hard:
                dxi = (da + c4 / xi + r2) / H
                dz = (c4 - z * dxi) / xi
                changes += [(xi, dxi), (z, dz)]
            length = 1.0
            for value, change in changes:
                negative = change < 0
                if negative.any():
                    length = min(length, 0.995 * (-value[negative] / change[negative]).min())
            if not np.isfinite(length) or not all(np.isfinite(c).all() for _, c in changes):
                return
            for value, change in changes:
                value += length * change
                np.maximum(value, 1e-300, out=value)
            b += length * db
        if step >= 8 and step % 2 == 0:
            yield exactly(alpha) * unit


def _solve(Q: Any, D: Any, right: Any, y: Any, balance: float) -> Any:
    """``(Q + D) da + y db = right, y'da = balance``; scaled so that the diagonal is 1."""
    diagonal = np.diagonal(Q) + D
    scale = 1 / np.sqrt(diagonal)
    if not np.isfinite(scale).all():
        return None
    matrix = Q * scale * scale[:, None]
    np.fill_diagonal(matrix, 1.0 + 1e-15)
    try:
        factor = cho_factor(matrix, check_finite=False)
    except (LinAlgError, ValueError):
        return None
    if y is None:
        return scale * cho_solve(factor, scale * right, check_finite=False), 0.0
    both = cho_solve(factor, np.column_stack([scale * right, scale * y]), check_finite=False)
    u, v = scale * both[:, 0], scale * both[:, 1]
    bend = y @ v
    db = (y @ u - balance) / bend if bend > 0 else 0.0
    return u - db * v, db
