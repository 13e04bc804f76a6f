"""Recompute what a fitted PSVC claims, from its attributes and a kernel matrix of our own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import oracle
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_kernels

SHAPES = {"gamma": 0.4, "degree": 3, "coef0": 1.0}  # kernel parameters most tests share


def dense(array):
    return array.toarray() if sp.issparse(array) else np.asarray(array)


def kernel_matrix(kernel, X, Z=None, *, gamma=0.4, degree=3, coef0=1.0):
    """The kernel in float64; rbf and exponential from exact distances, without cancellation."""
    X = dense(X).astype(float)
    Z = X if Z is None else dense(Z).astype(float)
    if kernel == "rbf":
        return np.exp(-gamma * cdist(X, Z, "sqeuclidean"))
    if kernel == "exponential":
        return np.exp(-gamma * cdist(X, Z, "euclidean"))
    parameters = {"gamma": gamma, "degree": degree, "coef0": coef0}
    return pairwise_kernels(X, Z, metric=kernel, filter_params=True, **parameters)


@dataclass(frozen=True)
class Verdict:
    """P and D of one binary problem at the fitted point; ``slop`` is what rounding can hide."""

    primal: float
    dual: float
    slop: float
    alpha: np.ndarray
    intercept: float

    @property
    def gap(self) -> float:
        return (self.primal - self.dual) / self.primal


def judge(model, K, y, cost):
    """P and D of a binary model, for labels y in {-1, +1} with +1 the second class."""
    alpha = np.zeros(y.size)
    alpha[model.support_] = dense(model.dual_coef_).ravel() * y[model.support_]
    intercept = float(model.intercept_[0])
    primal = oracle.primal_objective(K, alpha * y, intercept, y, cost, model.p)
    dual = oracle.dual_objective(K, alpha, y, cost, model.p)
    return Verdict(primal, dual, oracle.rounding(K, alpha * y, primal), alpha, intercept)


def check_certificate(model, K, y, cost, tol=None):
    """The claims of a converged binary fit hold: feasible alpha, P, D, and gap <= tol."""
    tol = model.tol if tol is None else tol
    found = judge(model, K, y, cost)
    assert np.all(found.alpha >= 0.0)
    assert np.all(found.alpha[model.support_] > 0.0), "a support vector has alpha > 0"
    if model.p == 1:
        assert np.all(found.alpha <= cost * (1 + 1e-12))
    if model.fit_intercept:
        residual = abs(found.alpha @ y) * max(1.0, abs(found.intercept))
        assert residual <= 1e-3 * tol * found.primal + 1e-12 * found.alpha.sum()
    else:
        assert found.intercept == 0.0
    assert found.gap <= tol + found.slop
    assert found.gap >= -1e-9 - found.slop
    assert 0.0 <= model.dual_gap_[0] <= tol
    assert abs(model.primal_objective_[0] - found.primal) <= (1e-7 + found.slop) * found.primal
    assert abs(model.dual_objective_[0] - found.dual) <= (1e-7 + found.slop) * found.primal
    return found


def check_against_oracle(model, K, y, cost, tolerance=1e-5):
    """The primal objective of the fit equals the oracle's to a relative ``tolerance``."""
    found = judge(model, K, y, cost)
    best = oracle.solve(K, y, cost, model.p, model.fit_intercept)
    assert found.primal <= best.upper * (1 + tolerance)
    assert found.primal >= best.lower * (1 - tolerance)
    assert found.dual <= best.upper * (1 + tolerance)
    return best
