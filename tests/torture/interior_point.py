"""A solver of the referee's own: a primal-dual interior-point method for the p-norm loss.

With Q = yy' * K, targets t, slack xi and surplus s the optimum is the solution of

    Q alpha + y b - y t + xi - s = 0      alpha s = 0
    alpha + z = p cost xi^(p - 1)         xi z = 0        y'alpha = 0

found by Newton's method with both products at mu -> 0. Steps are float64 first (n is small: a
Cholesky factorisation each), and in extended precision where these do not decide. What they lead to
is always judged in extended precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from torture.exact import Problem, Real, Value, exactly

_STEPS = 100
# Rows beyond which extended precision takes too long.
_MANY = 100


@dataclass
class Bracket:
    """The best points found so far: the optimum is at most ``upper``, at least ``lower``."""

    upper: Value
    lower: Value


def improve(problem: Problem, bracket: Bracket, wanted: Any) -> None:
    """Narrow a bracket until ``wanted(bracket)``, or as far as this method gets."""
    for kind in (float, Real):
        _follow(problem, bracket, wanted, kind)
        if wanted(bracket) or len(problem.y) > _MANY:
            return


def _follow(problem: Problem, bracket: Bracket, wanted: Any, kind: Any) -> None:
    best, idle = np.inf, 0
    for alpha in _path(problem, kind, bracket.upper.value):
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
    _, f, _ = problem.image(coef)
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
    xi = np.maximum(problem.short(values), 0)
    p = Real(problem.p)
    with np.errstate(over="ignore", under="ignore"):
        return np.where(xi > 0, p * problem.cost * xi ** (p - 1), 0)


def matched(problem: Problem, values: np.ndarray, w: np.ndarray) -> np.ndarray:
    """:func:`stationary`, moved so that ``sum_i alpha_i y_i x_i`` is w and alpha is balanced.

    The change is the smallest in the metric of the conjugate's curvature, so that D changes by
    its square only.
    """
    alpha = stationary(problem, values)
    xi = np.maximum(problem.short(values), 0)
    assert problem.features is not None
    F, wanted = problem.y[:, None] * problem.features, w
    if problem.fit_intercept:
        F, wanted = np.column_stack([F, problem.y]), np.append(w, Real(0))
    F, wanted = F[:, (F != 0).any(axis=0)], wanted[(F != 0).any(axis=0)]
    for _ in range(2):
        H = np.where(xi > 0, alpha * (Real(problem.p) - 1) / np.maximum(xi, Real(1e-4000)), 0)
        inner = F.T @ (F * H[:, None])
        scale = 1 / np.sqrt(np.diagonal(inner))
        system = inner * scale * scale[:, None]
        np.fill_diagonal(system, 1 + 8 * np.finfo(Real).eps)
        step = scale * _inverse(system)(scale * (wanted - alpha @ F))
        alpha = np.maximum(alpha + H * (F @ step), 0)
    return alpha


def _path(problem: Problem, kind: Any, primal: Any) -> Iterator[np.ndarray]:
    """The iterates, late enough to be worth a look; ``primal`` is about P or more."""
    n, y, p = len(problem.y), problem.y.astype(kind), kind(problem.p)
    wanted = (problem.y * problem.aim).astype(kind)
    K = problem.K
    if problem.fit_intercept:  # the same problem, with smaller numbers
        middle = K.mean(axis=0)
        K = K - middle - middle[:, None] + middle.mean()
    largest = np.abs(K).max() or Real(1)
    hard = problem.hard
    typical = 1 / largest if hard else np.exp(np.log(problem.cost).mean())
    unit = min(typical, 1 / largest)  # of alpha: neither Q nor alpha leaves float64 then
    if kind is Real and problem.features is not None:
        system: Any = _Features(y[:, None] * problem.features * np.sqrt(unit))
    else:
        system = _Matrix((y[:, None] * y * (K * unit)).astype(kind))
    slope = np.ones(n) if hard else np.minimum(p * problem.cost / unit, Real(1e200))
    slope = slope.astype(kind)

    # Slack of a loss of the size of 1, or as large as that of rows that cannot be separated is.
    xi = np.clip(slope, 1, None) ** (-1 / p)
    if not hard and np.isfinite(primal):
        xi = np.maximum(xi, kind(min((primal / problem.cost.sum()) ** (1 / Real(problem.p)), 2)))
    alpha = np.maximum(np.minimum(1, slope), slope * xi ** (p - 1)) / 2
    s, z = np.ones(n, dtype=kind), slope * xi ** (p - 1) / 2
    b = kind(0)
    for step in range(_STEPS):
        with np.errstate(all="ignore"):
            first = slope * xi ** (p - 1)
            second = slope * (p - 1) * xi ** (p - 2)
            mu = 0.1 * (alpha @ s + (0.0 if hard else xi @ z)) / (n if hard else 2 * n)
            r1 = system.product(alpha) + y * b - wanted - s + (0.0 if hard else xi)
            c3 = mu - alpha * s
            D, right = s / alpha, -r1 + c3 / alpha
            if not hard:
                r2, c4 = alpha + z - first, mu - xi * z
                H = second + z / xi
                D, right = D + 1 / H, right - (c4 / xi + r2) / H
            moved = _solve(system, D, right, y if problem.fit_intercept else None, -(y @ alpha))
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
            if (
                not np.isfinite(length)
                or length < 1e-12
                or not all(np.isfinite(c).all() for _, c in changes)
            ):
                return
            for value, change in changes:
                value += length * change
                np.maximum(value, 1e-300, out=value)
            b += length * db
        if step >= 8 and step % 3 == 2:
            yield exactly(alpha) * unit


def _solve(system: Any, D: Any, right: Any, y: Any, balance: Any) -> Any:
    """``(Q + D) da + y db = right, y'da = balance``."""
    try:
        solve = system.inverse(D)
    except (LinAlgError, ValueError):
        return None
    if y is None:
        return solve(right), 0
    u, v = solve(right), solve(y)
    bend = y @ v
    db = (y @ u - balance) / bend if bend > 0 else 0
    return u - db * v, db


class _Matrix:
    """``Q + D`` factored, scaled so that its diagonal is 1."""

    def __init__(self, Q: np.ndarray) -> None:
        self.Q = Q

    def product(self, alpha: np.ndarray) -> np.ndarray:
        return self.Q @ alpha

    def inverse(self, D: np.ndarray) -> Any:
        scale = 1 / np.sqrt(np.diagonal(self.Q) + D)
        matrix = self.Q * scale * scale[:, None]
        np.fill_diagonal(matrix, 1 + 4 * np.finfo(matrix.dtype).eps)
        inverse = _inverse(matrix)
        return lambda right: scale * inverse(scale * right)


class _Features:
    """``F F' + D`` by way of ``I + F' D^-1 F``: columns of very different sizes do no harm."""

    def __init__(self, F: np.ndarray) -> None:
        self.F = F

    def product(self, alpha: np.ndarray) -> np.ndarray:
        return self.F @ (alpha @ self.F)

    def inverse(self, D: np.ndarray) -> Any:
        F = self.F
        inner = F.T @ (F / D[:, None])
        inner[np.diag_indices_from(inner)] += 1
        scale = 1 / np.sqrt(np.diagonal(inner))
        inverse = _inverse(inner * scale * scale[:, None])

        def solve(right: np.ndarray) -> np.ndarray:
            first = right / D
            return first - F @ (scale * inverse(scale * (first @ F))) / D

        return solve


def _inverse(matrix: np.ndarray) -> Any:
    """What solves with a positive definite matrix, in its own precision."""
    if not np.isfinite(matrix).all():
        raise ValueError("the path has left the range of numbers")
    if matrix.dtype == np.float64:
        factor = cho_factor(matrix, check_finite=False)
        return lambda right: cho_solve(factor, right, check_finite=False)
    L = np.array(matrix)  # LAPACK knows no extended precision
    n = len(L)
    for k in range(n):
        if not L[k, k] > 0:
            raise ValueError("the matrix is not positive definite")
        L[k:, k] /= np.sqrt(L[k, k])
        L[k + 1 :, k + 1 :] -= L[k + 1 :, k, None] * L[k + 1 :, k]

    def solve(right: np.ndarray) -> np.ndarray:
        x = np.array(right)
        for k in range(n):
            x[k] = (x[k] - L[k, :k] @ x[:k]) / L[k, k]
        for k in reversed(range(n)):
            x[k] = (x[k] - L[k + 1 :, k] @ x[k + 1 :]) / L[k, k]
        return x

    return solve
