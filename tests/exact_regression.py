"""What a fitted PSVR is worth, in extended precision and the user's units.

Nothing here is shared with the product: kernels, P and D are written out again.
"""

from __future__ import annotations

import numpy as np
from exact_kernels import LONG, exact_kernel, long


def exact_matrix(model, X):
    """The kernel matrix of a fitted model over rows X."""
    X, gamma = long(X), LONG(model._kernel.gamma)
    if model.kernel == "linear":
        return X @ X.T
    if model.kernel == "poly":
        return (gamma * (X @ X.T) + LONG(model.coef0)) ** model.degree
    return exact_kernel(model.kernel, X, X, gamma)


def exact_objectives(model, X, y, weight=None):
    """P of the model as it is stored, and D of its coefficients, brought to balance."""
    coef, y = np.zeros(len(y), dtype=LONG), long(y)
    coef[model.support_] = long(model.dual_coef_)[0]
    if weight is not None:  # without the rows that are absent
        kept = np.asarray(weight) > 0
        X, y, coef, weight = X[kept], y[kept], coef[kept], np.asarray(weight)[kept]
    K = exact_matrix(model, X)
    f, epsilon, p = K @ coef, LONG(model.epsilon), LONG(model.p)
    cost = LONG(model.C) * (np.ones(y.size, dtype=LONG) if weight is None else long(weight))
    costs = 2 * LONG(model.quantile) * cost, 2 * (1 - LONG(model.quantile)) * cost
    r = y - f - LONG(model.intercept_[0])
    slacks = np.maximum(r - epsilon, 0), np.maximum(-r - epsilon, 0)
    if np.isinf(model.C):
        lost = LONG(0) if max(map(np.max, slacks)) <= 0 else LONG(np.inf)
    else:
        lost = sum(np.sum(c * xi**p) for c, xi in zip(costs, slacks, strict=True))
    alphas = np.maximum(coef, 0), np.maximum(-coef, 0)
    if model.fit_intercept:
        least = min(alpha.sum() for alpha in alphas)
        alphas = tuple(alpha * (least / max(alpha.sum(), LONG(1e-300))) for alpha in alphas)
    balanced = alphas[0] - alphas[1]
    dual = balanced @ y - epsilon * sum(map(np.sum, alphas)) - balanced @ K @ balanced / 2
    if model.p > 1 and not np.isinf(model.C):
        for alpha, c in zip(alphas, costs, strict=True):
            dual -= np.sum(alpha * (alpha / (p * c)) ** (1 / (p - 1))) * (p - 1) / p
    return coef @ f / 2 + lost, dual
