"""Kernels of differences in extended precision, and what a fit is worth by them.

Nothing here is shared with the product: every distance is summed from differences of features.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

LONG = np.longdouble


def long(array):
    """An array or sparse matrix as an array of extended precision."""
    return (array.toarray() if sp.issparse(array) else np.asarray(array)).astype(LONG)


def exact_kernel(function, X, Z, gamma):
    """K(X, Z) of "rbf", "laplacian" or "exponential"."""
    X, Z = long(X), long(Z)
    values = np.empty((X.shape[0], Z.shape[0]), dtype=LONG)
    for i, x in enumerate(X):
        difference = np.abs(Z - x)
        if function == "laplacian":
            distance = difference.sum(axis=1)
        else:
            distance = (difference * difference).sum(axis=1)
            distance = np.sqrt(distance) if function == "exponential" else distance
        values[i] = np.exp(-LONG(gamma) * distance)
    return values


def exact_decision(model, X):
    """Decision values of a binary model as it is stored."""
    K = exact_kernel(model.kernel, X, model.support_vectors_, model._kernel.gamma)
    return K @ long(model.dual_coef_)[0] + LONG(model.intercept_[0])


def exact_gap(model, X, y):
    """The relative gap of a binary model as it is stored, for labels 0 and 1 and cost C."""
    C, p = LONG(model.C), LONG(model.p)
    coef, vectors = long(model.dual_coef_)[0], model.support_vectors_
    decision = exact_decision(model, vectors) - LONG(model.intercept_[0])
    squared_norm = coef @ decision
    slack = np.maximum(1 - (2 * np.asarray(y) - 1) * exact_decision(model, X), 0)
    primal = squared_norm / 2 + C * np.sum(slack**p)
    alpha = np.abs(coef)
    conjugate = LONG(0)
    if p > 1:
        conjugate = np.sum(alpha * (alpha / (p * C)) ** (1 / (p - 1))) * (p - 1) / p
    dual = alpha.sum() - squared_norm / 2 - conjugate
    return float((primal - dual) / primal)
