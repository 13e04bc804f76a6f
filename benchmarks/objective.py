"""The referee: objective, gap and accuracy of any rival's model, recomputed in float64.

It sees only the training data and what a kernel SVM is made of (support rows, dual coefficients,
intercepts), shares no code with psvm or with any rival, and never asks an adapter for a number.
For each binary problem, with ``f(x) = sum_j coef_j k(x_j, x)`` and ``q = p / (p - 1)``,

    P(b) = 1/2 ||f||^2 + C sum_i max(0, 1 - y_i (f(x_i) + b))^p
    D    = sum_i alpha_i - 1/2 ||f_alpha||^2 - sum_i conjugate(alpha_i)

where conjugate(alpha) = alpha (alpha / (p C))^(1 / (p - 1)) / q, or 0 on [0, C] at p = 1.
A problem with k > 2 classes is one binary problem per pair; its P and D are the sums over pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

BLOCK_ENTRIES = 4_000_000  # kernel entries per block: 32 MB, so that memory stays bounded


@dataclass(frozen=True)
class DualModel:
    """A fitted rbf SVM in the shapes and signs of scikit-learn's ``SVC``.

    Attributes
    ----------
    support : ndarray of int, shape (n_support,)
        Rows of the training set.
    dual_coef : ndarray, shape (n_classes - 1, n_support)
        ``alpha_i y_i``. With two classes y is +1 for the higher label; with more, for the lower
        label of each pair, stored as LIBSVM does (see :func:`pair_coefficients`).
    intercept : ndarray, shape (n_pairs,)
        One per pair, in the order (0, 1), (0, 2), ..., (1, 2), ...
    """

    support: Index
    dual_coef: Array
    intercept: Array


@dataclass(frozen=True)
class Verdict:
    """What the referee found. Objectives are sums over the pairs of classes.

    ``primal`` uses the model's own intercept, ``primal_best`` the best one for its coefficients.
    ``gap`` is ``(primal_best - dual) / primal_best`` and ``worst_gap`` its maximum over pairs.
    """

    primal: float
    primal_best: float
    dual: float
    gap: float
    worst_gap: float
    n_support: int
    train_accuracy: float
    test_accuracy: float


def judge(
    model: DualModel,
    train: tuple[Any, npt.NDArray[np.int64]],
    test: tuple[Any, npt.NDArray[np.int64]],
    *,
    C: float,
    gamma: float,
    p: float,
    threads: int = 1,
) -> Verdict:
    """Judge a model trained on ``train = (X, y)`` with labels 0 .. n_classes - 1."""
    X, y = train
    n_classes = int(y.max()) + 1
    coef = pair_coefficients(model, y, n_classes)
    feasible = np.empty_like(coef)
    labels = y[model.support]
    for t, (_, pair_sign) in enumerate(binary_problems(labels, n_classes)):
        feasible[:, t] = pair_sign * feasible_alpha(pair_sign * coef[:, t], pair_sign, C, p)

    n_pairs = coef.shape[1]
    decision = rbf_decision(X, X[model.support], np.hstack([coef, feasible]), gamma, threads)
    both = np.zeros((3, n_pairs))
    for t, (rows, sign) in enumerate(binary_problems(y, n_classes)):
        f, y_pair = decision[rows, t], sign[rows]
        norm = float(coef[:, t] @ decision[model.support, t])
        best = best_intercept(f, y_pair, p)
        alpha = np.abs(feasible[:, t])
        dual_norm = float(feasible[:, t] @ decision[model.support, n_pairs + t])
        both[:, t] = (
            0.5 * norm + C * hinge_sum(f + model.intercept[t], y_pair, p),
            0.5 * norm + C * hinge_sum(f + best, y_pair, p),
            float(np.sum(alpha - conjugate(alpha, C, p))) - 0.5 * dual_norm,
        )
    primal, primal_best, dual = (float(v) for v in both.sum(axis=1))
    predicted = vote(decision[:, :n_pairs] + model.intercept, n_classes)
    unseen = rbf_decision(test[0], X[model.support], coef, gamma, threads) + model.intercept
    return Verdict(
        primal=primal,
        primal_best=primal_best,
        dual=dual,
        gap=(primal_best - dual) / primal_best,
        worst_gap=float(np.max((both[1] - both[2]) / both[1])),
        n_support=int(model.support.size),
        train_accuracy=float(np.mean(predicted == y)),
        test_accuracy=float(np.mean(vote(unseen, n_classes) == test[1])),
    )


def binary_problems(y: npt.NDArray[np.int64], n_classes: int) -> Iterator[tuple[Index, Array]]:
    """Rows and signs (+1, -1, or 0 for absent rows) of each pair of classes."""
    for low, high in combinations(range(n_classes), 2):
        sign = np.where(y == low, 1.0, 0.0) - np.where(y == high, 1.0, 0.0)
        yield np.flatnonzero(sign), -sign if n_classes == 2 else sign


def pair_coefficients(model: DualModel, y: npt.NDArray[np.int64], n_classes: int) -> Array:
    """Unfold ``dual_coef`` to one column per pair of classes, zero for rows of other classes.

    In the pair (i, j), i < j, the rows of class i have their coefficients in row j - 1 of
    ``dual_coef`` and the rows of class j in row i.
    """
    labels = y[model.support]
    n_pairs = n_classes * (n_classes - 1) // 2
    coef = np.zeros((model.support.size, n_pairs))
    for t, (low, high) in enumerate(combinations(range(n_classes), 2)):
        coef[labels == low, t] = model.dual_coef[high - 1, labels == low]
        coef[labels == high, t] = model.dual_coef[low, labels == high]
    return coef


def feasible_alpha(alpha: Array, sign: Array, C: float, p: float) -> Array:
    """Clip into the box, then shrink the heavier class until ``sum_i alpha_i y_i = 0``."""
    alpha = np.clip(alpha, 0.0, C if p == 1.0 else np.inf)
    above, below = alpha[sign > 0].sum(), alpha[sign < 0].sum()
    lighter = min(above, below)
    alpha[sign > 0] *= lighter / above if above > 0.0 else 0.0
    alpha[sign < 0] *= lighter / below if below > 0.0 else 0.0
    return alpha


def conjugate(alpha: Array, C: float, p: float) -> Array:
    """Conjugate of ``C xi^p`` at a feasible ``alpha``."""
    if p == 1.0:
        return np.zeros_like(alpha)
    result: Array = alpha * (alpha / (p * C)) ** (1.0 / (p - 1.0)) * (p - 1.0) / p
    return result


def hinge_sum(decision: Array, y: Array, p: float) -> float:
    """``sum_i max(0, 1 - y_i decision_i)^p``."""
    return float(np.sum(np.maximum(1.0 - y * decision, 0.0) ** p))


def best_intercept(decision: Array, y: Array, p: float) -> float:
    """Minimise :func:`hinge_sum` over an added constant by bisection of its slope."""
    threshold = y - decision
    low, high = float(threshold.min()), float(threshold.max())
    while low < (middle := 0.5 * (low + high)) < high:
        xi = y * (threshold - middle)
        active = xi > 0.0
        if float(y[active] @ xi[active] ** (p - 1.0)) > 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def vote(decision: Array, n_classes: int) -> npt.NDArray[np.int64]:
    """One-vs-one votes; the summed decision values break ties."""
    if n_classes == 2:
        return (decision[:, 0] > 0.0).astype(np.int64)
    votes = np.zeros((decision.shape[0], n_classes))
    confidence = np.zeros_like(votes)
    for t, (low, high) in enumerate(combinations(range(n_classes), 2)):
        wins = decision[:, t] > 0.0
        votes[wins, low] += 1
        votes[~wins, high] += 1
        confidence[:, low] += decision[:, t]
        confidence[:, high] -= decision[:, t]
    score = votes + confidence / (3.0 * (np.abs(confidence).max() + 1.0))
    return np.asarray(np.argmax(score, axis=1), dtype=np.int64)


def rbf_decision(X: Any, centres: Any, coef: Array, gamma: float, threads: int) -> Array:
    """``exp(-gamma ||x - z||^2) @ coef`` for dense or CSR rows, one block of rows at a time."""
    if not sp.issparse(X):
        # The rbf kernel does not see a shift; centred rows lose fewer digits in the expansion.
        shift = centres.mean(axis=0, dtype=np.float64)
        X, centres = X - shift, centres - shift
    dense_centres = np.ascontiguousarray(centres.toarray().T if sp.issparse(X) else centres.T)
    row_norms, centre_norms = squared_norms(X), squared_norms(centres)
    n, block = X.shape[0], max(1, BLOCK_ENTRIES // max(1, coef.shape[0]))
    decision = np.empty((n, coef.shape[1]))

    def fill(start: int) -> None:
        rows = slice(start, start + block)
        distance = X[rows] @ dense_centres
        distance *= -2.0
        distance += row_norms[rows, None]
        distance += centre_norms
        np.maximum(distance, 0.0, out=distance)
        distance *= -gamma
        decision[rows] = np.exp(distance, out=distance) @ coef

    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, range(0, n, block)))
    return decision


def squared_norms(X: Any) -> Array:
    """Squared Euclidean norm of each row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X), dtype=np.float64)
