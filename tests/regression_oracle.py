"""An independent, slow and trustworthy solver of the problem that PSVR and LinearPSVR solve.

As ``oracle``: nothing here imports psvm. With residuals ``r = y - K coef - b`` the optimum of

    1/2 coef' K coef + sum_i above_i max(0, r_i - epsilon)^p + below_i max(0, -r_i - epsilon)^p

comes from CVXPY with Clarabel, as a bracket that is evaluated in float64: ``upper`` is the primal
objective of a point, ``lower`` the dual objective of feasible dual variables.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from oracle import BRACKET, NoOptimum, _factor


class NoTube(Exception):
    """No model has all rows inside the tube."""


@dataclass(frozen=True)
class Tube:
    """The loss: exponent, half-width of the tube, costs of the rows on each side."""

    p: float
    epsilon: float
    above: np.ndarray
    below: np.ndarray

    @classmethod
    def of(cls, n, p, epsilon, quantile=0.5, C=1.0, weight=1.0):
        cost = np.broadcast_to(np.asarray(C * np.asarray(weight), dtype=float), (n,))
        return cls(p, epsilon, 2.0 * quantile * cost, 2.0 * (1.0 - quantile) * cost)

    @property
    def hard(self):
        return bool(np.isinf(self.above[0]))


@dataclass(frozen=True)
class Optimum:
    """A bracket of the optimal value, and predictions of the point at its upper end."""

    upper: float
    lower: float
    predicted: np.ndarray

    @property
    def width(self):
        return (self.upper - self.lower) / max(self.upper, 1e-300)


def primal(K, coef, intercept, y, tube):
    """P of given coefficients; a row outside a hard tube makes it infinite."""
    f = K @ coef
    return _primal(coef @ f, y - f - intercept, tube)


def _primal(squared_norm, residual, tube):
    out = [np.maximum(side * residual - tube.epsilon, 0) for side in (1, -1)]
    if tube.hard:
        return 0.5 * squared_norm if max(map(np.max, out)) <= 0 else np.inf
    lost = sum(np.sum(c * xi**tube.p) for c, xi in zip((tube.above, tube.below), out, strict=True))
    return 0.5 * squared_norm + lost


def dual(K, above, below, y, tube):
    """D of feasible dual variables of the two sides."""
    coef = above - below
    value = coef @ y - tube.epsilon * np.sum(above + below) - 0.5 * coef @ K @ coef
    if tube.p > 1 and not tube.hard:
        q = tube.p / (tube.p - 1)
        for alpha, cost in ((above, tube.above), (below, tube.below)):
            value -= np.sum(alpha * (alpha / (tube.p * cost)) ** (q - 1)) / q
    return value


def solve(K, y, tube, fit_intercept=True):
    """The optimum, to a relative bracket of ``BRACKET`` or better."""
    K, y = np.asarray(K, dtype=float), np.asarray(y, dtype=float)
    best = None
    for unit in (1.0, float(np.mean(np.abs(y - y.mean()))) or 1.0):
        for tolerance in (1e-12, 1e-9):
            found = _attempt(K, y, tube, fit_intercept, unit, tolerance)
            if found is not None and (best is None or abs(found.width) < abs(best.width)):
                best = found
            if best is not None and abs(best.width) < 0.01 * BRACKET:
                return best
    if best is None or abs(best.width) > BRACKET:
        raise NoOptimum(f"p={tube.p}: bracket {best and best.width}")
    return best


def _attempt(K, y, tube, fit_intercept, unit, tolerance):
    """One conic solve in units of ``unit``; None where the solver gives nothing back."""
    L, n, p = _factor(K), y.size, tube.p
    u, b = cp.Variable(L.shape[1]), cp.Variable() if fit_intercept else 0.0
    residual = y / unit - L @ u - b
    objective, constraints = 0.5 * cp.sum_squares(u), []
    for side, cost in ((1, tube.above), (-1, tube.below)):
        if tube.hard:
            constraints.append(side * residual <= tube.epsilon / unit)
            continue
        xi = cp.Variable(n)
        constraints += [xi >= side * residual - tube.epsilon / unit, xi >= 0]
        powers = xi
        if p > 1:
            powers = cp.Variable(n)
            constraints.append(cp.PowCone3D(powers, np.ones(n), xi, np.full(n, 1.0 / p)))
        objective += (cost * unit ** (p - 2)) @ powers
    model = cp.Problem(cp.Minimize(objective), constraints)
    options = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.solve(solver="CLARABEL", max_iter=300, **options)
    except cp.error.SolverError:
        return None
    if tube.hard and model.status in ("infeasible", "infeasible_inaccurate"):
        raise NoTube
    if u.value is None or not np.all(np.isfinite(u.value)):
        return None
    intercept = unit * float(b.value) if fit_intercept else 0.0
    predicted, squared_norm = unit * (L @ u.value) + intercept, unit**2 * (u.value @ u.value)
    if tube.hard:  # feasible to the tolerance of the solver
        upper = 0.5 * squared_norm
        duals = [one.dual_value for one in constraints]
    else:
        upper = _primal(squared_norm, y - predicted, tube)
        duals = [constraints[0].dual_value, constraints[3 if p > 1 else 2].dual_value]
    candidates = [[unit * side for side in duals]]
    if p > 1 and not tube.hard:
        out = [np.maximum(s * (y - predicted) - tube.epsilon, 0) for s in (1, -1)]
        costs = (tube.above, tube.below)
        candidates.append([p * c * xi ** (p - 1) for c, xi in zip(costs, out, strict=True)])
    lower = max(dual(K, *feasible(*one, tube, fit_intercept), y, tube) for one in candidates)
    return Optimum(upper, lower, predicted)


def feasible(above, below, tube, fit_intercept):
    """The nearby feasible point: at most one side of a row, within its bounds, balanced."""
    above, below = np.maximum(above, 0), np.maximum(below, 0)
    both = np.minimum(above, below)
    above, below = above - both, below - both
    if tube.p == 1:
        above, below = np.minimum(above, tube.above), np.minimum(below, tube.below)
    if fit_intercept:
        least = min(above.sum(), below.sum())
        above = above * (least / max(above.sum(), 1e-300))
        below = below * (least / max(below.sum(), 1e-300))
    return above, below
