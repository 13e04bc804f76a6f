"""Recompute what a fitted LinearPSVC claims, in extended precision and from the rows alone.

P comes from the weights and intercepts. D comes from the dual variables that the solver returns,
which the fixture ``heard`` (conftest) overhears; they are made exactly feasible here first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import oracle
from referee import dense

WIDE = np.longdouble
EPS = float(np.finfo(np.float64).eps)


def weights_of(model):
    """Weights and intercepts of the binary problems, of PSVC, and of LinearPSVC by either name."""
    if hasattr(model, "pair_coef_"):
        assert not hasattr(model, "coef_")
        return model.pair_coef_, model.pair_intercept_
    return model.coef_, model.intercept_


@dataclass
class Heard:
    """Question and answer of one call of ``solve_linear``."""

    rows: Any = None
    problems: Any = None
    solutions: Any = None

    @property
    def X(self):
        """All rows, dense."""
        return np.vstack([dense(self.rows[k]) for k in range(len(self.rows))])


def primal_of(X, w, b, y, cost, p):
    """``1/2 ||w||^2 + sum_i cost_i max(0, 1 - y_i (<w, x_i> + b))^p``; absent rows cost nothing."""
    X, w, y = dense(X).astype(WIDE), np.asarray(w, WIDE), np.asarray(y, WIDE)
    margin = y * (X @ w + WIDE(b))
    if np.isinf(np.max(cost)):
        return 0.5 * float(w @ w)
    return float(0.5 * (w @ w) + np.sum(cost * np.maximum(0.0, 1.0 - margin) ** WIDE(p)))


def dual_of(X, alpha, y, cost, p, fit_intercept=True):
    """``sum alpha - 1/2 ||sum_i alpha_i y_i x_i||^2 - sum conjugate_i(alpha_i)``.

    The heavier class is scaled down first, so that ``sum alpha_i y_i = 0`` holds to 19 digits.
    """
    X, y = dense(X).astype(WIDE), np.asarray(y, WIDE)
    kept = alpha > 0
    if not kept.any():
        return 0.0
    X, y, alpha, cost = X[kept], y[kept], np.asarray(alpha, WIDE)[kept], np.asarray(cost)[kept]
    if fit_intercept:
        plus, minus = alpha[y > 0].sum(), alpha[y < 0].sum()
        if min(plus, minus) == 0:
            return 0.0
        alpha = np.where(
            y > 0, alpha * (min(plus, minus) / plus), alpha * (min(plus, minus) / minus)
        )
    w = (alpha * y) @ X
    value = alpha.sum() - 0.5 * (w @ w)
    if p > 1 and not np.isinf(np.max(cost)):
        slack = np.exp(np.log(alpha / (WIDE(p) * cost)) / (WIDE(p) - 1))
        value -= (WIDE(p) - 1) / WIDE(p) * (alpha @ slack)
    return float(value)


def problem_parts(problems, t):
    """Labels and costs of the t-th binary problem over all rows; absent rows cost 0."""
    y = problems.signs[t][problems.codes].astype(float)
    return y, np.where(y == 0, 0.0, problems.cost)


def check_solutions(model, heard, tol=None):
    """P, D and gap of every binary problem of the last fit are as claimed, and gap <= tol.

    A problem whose status is not CONVERGED may have a larger gap, but its claim must be true, too.
    Returns the gaps found.
    """
    tol = model.tol if tol is None else tol
    X = heard.X
    gaps = []
    coef, intercept = weights_of(model)
    for t, solution in enumerate(heard.solutions):
        y, cost = problem_parts(heard.problems, t)
        alpha = np.asarray(solution.alpha)
        assert alpha.shape == y.shape
        assert np.all(alpha >= 0.0)
        assert np.all(alpha[cost == 0] == 0.0)
        if model.p == 1:
            assert np.all(alpha <= cost * (1 + 1e-12))
        w, b = coef[t], intercept[t]
        primal = primal_of(X, w, b, y, cost, model.p)
        dual = dual_of(X, alpha, y, cost, model.p, model.fit_intercept)
        if not model.fit_intercept:
            assert b == 0.0
        # What float64 margins can be wrong by, times the slope of the loss there (for P), and times
        # alpha (for D).
        size = np.abs(dense(X).astype(float)) @ np.abs(w) + abs(b) + 1.0
        xi = np.maximum(0.0, 1.0 - y * (dense(X) @ w + b)) + 4 * EPS * size
        slope = 0.0
        if np.isfinite(np.max(cost)):
            slope = model.p * cost * xi ** (model.p - 1.0)
        slop = min(128 * EPS * float(np.maximum(slope, alpha) @ size) / primal, 1e-3)
        assert abs(model.primal_objective_[t] - primal) <= (1e-7 + slop) * primal
        assert abs(model.dual_objective_[t] - dual) <= (1e-7 + slop) * primal
        gap = (primal - dual) / primal
        gaps.append(gap)
        assert gap >= -1e-9 - slop
        claimed = model.dual_gap_[t]
        assert claimed >= 0.0
        assert gap <= claimed + 1e-9 + slop
        measured = (model.primal_objective_[t] - model.dual_objective_[t]) / primal
        if measured > 1e-6:
            assert measured <= 1.001 * gap + slop, "the gap is not overstated"
    assert np.all(model.dual_gap_ <= tol), model.dual_gap_
    return gaps


def check_linear_optimum(model, X, y, cost, tolerance=1e-5):
    """Binary: P at coef_, intercept_ is the oracle's to ``tolerance``, and D is below it."""
    cost = np.broadcast_to(np.asarray(cost, dtype=float), y.shape)
    best = oracle.solve_linear(dense(X), y, cost, model.p, model.fit_intercept)
    primal = primal_of(X, model.coef_[0], model.intercept_[0], y, cost, model.p)
    assert primal <= best.upper * (1 + tolerance)
    assert primal >= best.lower * (1 - oracle.BRACKET)
    assert abs(model.primal_objective_[0] - primal) <= 1e-7 * primal
    assert model.dual_objective_[0] <= best.upper * (1 + oracle.BRACKET)
    assert model.dual_objective_[0] >= best.lower * (1 - tolerance)
    return best
