"""An independent, slow and trustworthy solver of the problem that PSVC and LinearPSVC solve.

Nothing here imports psvm: the objectives are written out again from their definitions, and the
optimum comes from CVXPY with the interior-point solver Clarabel, on the primal in kernel form

    min_{u, b, xi}  1/2 ||u||^2 + sum_i cost_i xi_i^p
    subject to      y_i ((L u)_i + b) >= 1 - xi_i,  xi >= 0,     where K = L L'

(for a linear problem L is X itself, and u is w).

The answer is a *bracket*: ``upper`` is the primal objective of a point and ``lower`` the dual
objective of a feasible alpha, both evaluated in float64 by the formulas below, so that the true
optimum lies between them whatever the solver believed about itself.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np

BRACKET = 1e-6  # relative width above which the oracle refuses to answer


class NotSeparable(Exception):
    """No hard-margin solution exists."""


class NoOptimum(Exception):
    """No formulation reached a trustworthy bracket."""


@dataclass(frozen=True)
class Optimum:
    """A bracket of the optimal value and the point that attains its upper end."""

    upper: float
    lower: float
    alpha: np.ndarray
    decision: np.ndarray
    intercept: float
    u: np.ndarray

    @property
    def width(self) -> float:
        return (self.upper - self.lower) / self.upper


def primal_objective(K, coef, intercept, y, cost, p):
    """``1/2 coef' K coef + sum_i cost_i max(0, 1 - y_i ((K coef)_i + b))^p``.

    An infinite cost adds nothing: whether the margins hold is for the caller to check.
    """
    decision = K @ coef
    return _primal(coef @ decision, y * (decision + intercept), cost, p)


def dual_objective(K, alpha, y, cost, p):
    """``sum alpha - 1/2 alpha' (yy' * K) alpha - sum conjugate_i(alpha_i)``.

    ``conjugate(alpha) = (p - 1) / p * alpha * (alpha / (p cost))^(1 / (p - 1))``.
    """
    coef = alpha * y
    return _dual(coef @ K @ coef, alpha, cost, p)


def _dual(quadratic, alpha, cost, p):
    if p == 1 or np.isinf(cost[0]):
        return alpha.sum() - 0.5 * quadratic
    ratio = alpha / (p * cost)
    with np.errstate(divide="ignore", over="ignore"):  # p close to 1
        slack = np.exp(np.log(ratio) / (p - 1.0))
    return alpha.sum() - 0.5 * quadratic - (p - 1.0) / p * (alpha @ slack)


def rounding(K, coef, reference):
    """How far float64 can move ``coef' K coef``, relative to ``reference``."""
    absolute = np.abs(coef)
    return 64 * np.finfo(np.float64).eps * (absolute @ np.abs(K) @ absolute) / abs(reference)


def solve(K, y, cost, p, fit_intercept=True):
    """The optimum of one binary problem, to a relative bracket of ``BRACKET`` or better.

    ``y`` is -1 or +1, ``cost`` has one entry per row; rows that cost nothing are left out and get
    alpha = 0. Infinite cost is the hard margin.
    """
    K = np.asarray(K, dtype=float)
    return _solve(_factor(K), lambda coef: coef @ K @ coef, y, cost, p, fit_intercept)


def solve_linear(X, y, cost, p, fit_intercept=True):
    """The same for the linear problem over the rows of X, without forming its kernel matrix."""
    X = np.asarray(X, dtype=float)
    return _solve(X, lambda coef: np.sum((coef @ X) ** 2), y, cost, p, fit_intercept)


@dataclass(frozen=True)
class RowOptimum:
    """Value, dual variables and intercept of a problem with targets, as Clarabel believes them."""

    value: float
    alpha: np.ndarray
    intercept: float


def solve_rows(K, y, target, cost, p, balance=0.0, fit_intercept=True):
    """``min 1/2 ||u||^2 + sum_i cost_i xi_i^p + balance b``, ``xi_i >= y_i (t_i - (L u)_i - b)``.

    K is the kernel matrix of the rows; those that share a kernel row are equal in it.
    """
    L = _factor(np.asarray(K, dtype=float))
    u, xi = cp.Variable(L.shape[1]), cp.Variable(y.size)
    b = cp.Variable() if fit_intercept else cp.Constant(0.0)
    constraints = [xi >= cp.multiply(y, target - L @ u - b), xi >= 0]
    powers = xi
    if p > 1:
        powers = cp.Variable(y.size)
        constraints.append(cp.PowCone3D(powers, np.ones(y.size), xi, np.full(y.size, 1.0 / p)))
    objective = 0.5 * cp.sum_squares(u) + cost @ powers + balance * b
    model = cp.Problem(cp.Minimize(objective), constraints)
    options = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.solve(solver="CLARABEL", max_iter=300, **options)
    return RowOptimum(float(model.value), constraints[0].dual_value, float(b.value))


def _solve(L, quadratic, y, cost, p, fit_intercept):
    """The optimum over the rows of L, whose products are K; ``quadratic(coef) = coef' K coef``."""
    y = np.asarray(y, dtype=float)
    cost = np.broadcast_to(np.asarray(cost, dtype=float), y.shape)
    kept = np.flatnonzero(cost > 0)
    if kept.size < y.size:

        def scatter(values):
            everywhere = np.zeros(y.size)
            everywhere[kept] = values
            return everywhere

        part = _solve(
            L[kept], lambda coef: quadratic(scatter(coef)), y[kept], cost[kept], p, fit_intercept
        )
        return replace(part, alpha=scatter(part.alpha), decision=L @ part.u)
    best = None
    for formulation, tolerance in _ATTEMPTS:
        found = _attempt(L, quadratic, y, cost, p, fit_intercept, formulation, tolerance)
        if found is not None and (best is None or abs(found.width) < abs(best.width)):
            best = found
        if best is not None and abs(best.width) < 0.01 * BRACKET:
            break
    if best is None or abs(best.width) > BRACKET:
        raise NoOptimum(f"p={p}, cost={cost[:3]}...: bracket {best and best.width}")
    return best


# The first reaches 1e-10 nearly always; the others are scaled for extreme costs.
_ATTEMPTS = [
    ("plain", 1e-12),
    ("unit slack cost", 1e-12),
    ("unit cost", 1e-12),
    ("plain", 1e-9),
    ("unit slack cost", 1e-9),
    ("unit cost", 1e-9),
]


def _attempt(L, quadratic, y, cost, p, fit_intercept, formulation, tolerance):
    """One conic solve; None where the solver gives nothing back."""
    hard = bool(np.isinf(cost[0]))
    n, rank = L.shape
    typical = 1.0 if hard else float(np.exp(np.mean(np.log(cost))))
    factor = 1.0 / typical if formulation == "unit cost" else 1.0
    unit = cost ** (-1.0 / p) if formulation == "unit slack cost" and not hard else np.ones(n)

    u, b = cp.Variable(rank), cp.Variable() if fit_intercept else 0.0
    margin = cp.multiply(y, L @ u + b)
    objective = 0.5 * factor * cp.sum_squares(u)
    if hard:
        constraints = [margin >= 1]
    else:
        xi = cp.Variable(n)  # in units of `unit`
        constraints = [margin >= 1 - cp.multiply(unit, xi), xi >= 0]
        weight = factor * cost * unit**p
        if p == 1:
            objective += weight @ xi
        elif p == 2 and formulation != "unit cost":
            objective += cp.sum_squares(cp.multiply(np.sqrt(weight), xi))
        else:
            power = cp.Variable(n)  # power >= xi^p
            constraints.append(cp.PowCone3D(power, np.ones(n), xi, np.full(n, 1.0 / p)))
            objective += weight @ power
    model = cp.Problem(cp.Minimize(objective), constraints)
    options = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.solve(solver="CLARABEL", max_iter=300, **options)
    except cp.error.SolverError:
        return None
    if hard and model.status in ("infeasible", "infeasible_inaccurate"):
        raise NotSeparable
    if u.value is None or not np.all(np.isfinite(u.value)):
        return None
    intercept = float(b.value) if fit_intercept else 0.0
    duals = constraints[0].dual_value / factor
    return _bracket(L, quadratic, y, cost, p, fit_intercept, u.value, intercept, duals)


def _bracket(L, quadratic, y, cost, p, fit_intercept, u, intercept, duals):
    """Evaluate both objectives at the solver's point, made feasible."""
    margin = y * (L @ u + intercept)
    if np.isinf(cost[0]):
        shrink = 1.0 / margin.min()
        u, intercept, margin = u * shrink, intercept * shrink, margin * shrink
    upper = _primal(u @ u, margin, cost, p)
    candidates = [duals]
    if p > 1 and np.isfinite(cost[0]):
        candidates.append(p * cost * np.maximum(0.0, 1.0 - margin) ** (p - 1.0))
    best, lower = None, -np.inf
    for candidate in candidates:
        alpha = feasible(candidate, y, cost, p, fit_intercept)
        value = _dual(quadratic(alpha * y), alpha, cost, p)
        if value > lower:
            best, lower = alpha, value
    return None if best is None else Optimum(upper, lower, best, L @ u, intercept, u)


def feasible(alpha, y, cost, p, fit_intercept=True):
    """The nearby dual-feasible point: clipped to its bounds, the heavier class scaled down."""
    alpha = np.maximum(alpha, 0.0)
    if p == 1:
        alpha = np.minimum(alpha, cost)
    if fit_intercept:
        sums = {side: alpha[y == side].sum() for side in (-1.0, 1.0)}
        least = min(sums.values())
        for side, total in sums.items():
            if total > 0:
                alpha[y == side] *= least / total
    return alpha


def _primal(squared_norm, margin, cost, p):
    if np.isinf(cost[0]):
        return 0.5 * squared_norm
    return 0.5 * squared_norm + np.sum(cost * np.maximum(0.0, 1.0 - margin) ** p)


def _factor(K):
    """L with L L' = K, from the eigenvectors; K must be positive semidefinite to rounding."""
    values, vectors = np.linalg.eigh((K + K.T) / 2.0)
    if values[0] < -1e-9 * max(values[-1], 0.0):
        raise ValueError(f"the kernel has the eigenvalue {values[0]:.1e} beside {values[-1]:.1e}")
    kept = values >= max(1e-14 * values[-1], np.finfo(float).tiny)
    if not kept.any():
        return np.zeros((len(K), 1))
    return vectors[:, kept] * np.sqrt(values[kept])
