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

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

BLOCK_ENTRIES = 4_000_000  # kernel entries per block: 32 MB, so that memory stays bounded
NARROW = (
    1000  # sparse features up to which dense products are faster (a9a, w8a: two to three times)
)


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
    models: Sequence[DualModel],
    ps: Sequence[float],
    train: tuple[Any, npt.NDArray[np.int64]],
    test: tuple[Any, npt.NDArray[np.int64]],
    *,
    C: float,
    gamma: float | None,
    threads: int = 1,
) -> list[Verdict]:
    """Judge models trained on ``train = (X, y)`` with labels 0 .. n_classes - 1.

    ``gamma`` is the width of the rbf kernel. None: X is the matrix of the kernel values of the
    training rows, of any kernel, and the test rows are these.

    All models have the same C and gamma, each its own p. Their support vectors are mostly the same
    rows, so that one pass over the kernel values serves all of them.
    """
    X, y = train
    n_classes = int(y.max()) + 1
    support = np.unique(np.concatenate([model.support for model in models]))
    support = support[np.argsort(y[support], kind="stable")]
    own = [spread(model, support, X.shape[0]) for model in models]
    feasible = [feasible_coef(coef, y[support], C, p) for coef, p in zip(own, ps, strict=True)]
    seen = decisions(X, y, support, [*own, *feasible], gamma, threads)
    unseen = decisions(X, y, support, own, gamma, threads, of=test[0])
    verdicts = []
    for t, model in enumerate(models):
        of_pairs = PairValues(own[t], feasible[t], seen[t], seen[len(models) + t], model.intercept)
        primal, best, dual = objectives(of_pairs, y, support, C, ps[t])
        predicted, labels = (vote(part[t] + model.intercept, n_classes) for part in (seen, unseen))
        verdicts.append(
            Verdict(
                primal=float(primal.sum()),
                primal_best=float(best.sum()),
                dual=float(dual.sum()),
                gap=float((best.sum() - dual.sum()) / best.sum()),
                worst_gap=float(np.max((best - dual) / best)),
                n_support=int(model.support.size),
                train_accuracy=float(np.mean(predicted == y)),
                test_accuracy=float(np.mean(labels == test[1])),
            )
        )
    return verdicts


class PairValues(NamedTuple):
    """Coefficients over the common support vectors, in the layout of ``dual_coef``, and ``f``.

    ``decision`` and ``feasible_decision`` have one row per training row and one column per pair.
    """

    coef: Array
    feasible: Array
    decision: Array
    feasible_decision: Array
    intercept: Array


def objectives(
    values: PairValues, y: npt.NDArray[np.int64], support: Index, C: float, p: float
) -> tuple[Array, Array, Array]:
    """P with the model's own intercept, P with the best one, and D, of every pair of classes."""
    n_classes = values.coef.shape[0] + 1
    labels = y[support]
    found = []
    for t, (rows, sign) in enumerate(binary_problems(y, n_classes)):
        f, y_pair = values.decision[rows, t], sign[rows]
        mine, coef = pair_coefficients(values.coef, labels, t)
        feasible = pair_coefficients(values.feasible, labels, t)[1]
        norm = float(coef @ values.decision[support[mine], t])
        dual_norm = float(feasible @ values.feasible_decision[support[mine], t])
        best = best_intercept(f, y_pair, p)
        alpha = np.abs(feasible)
        found.append(
            (
                0.5 * norm + C * hinge_sum(f + values.intercept[t], y_pair, p),
                0.5 * norm + C * hinge_sum(f + best, y_pair, p),
                float(np.sum(alpha - conjugate(alpha, C, p))) - 0.5 * dual_norm,
            )
        )
    primal, best_primal, dual = np.array(found).T
    return primal, best_primal, dual


def binary_problems(y: npt.NDArray[np.int64], n_classes: int) -> Iterator[tuple[Index, Array]]:
    """Rows and signs (+1, -1, or 0 for absent rows) of each pair of classes."""
    for low, high in combinations(range(n_classes), 2):
        sign = np.where(y == low, 1.0, 0.0) - np.where(y == high, 1.0, 0.0)
        yield np.flatnonzero(sign), -sign if n_classes == 2 else sign


def spread(model: DualModel, support: Index, n_train: int) -> Array:
    """``dual_coef`` with one column per row of ``support``, zero where the model has none."""
    column = np.zeros(n_train, dtype=np.intp)
    column[support] = np.arange(support.size)
    coef = np.zeros((model.dual_coef.shape[0], support.size))
    coef[:, column[model.support]] = model.dual_coef
    return coef


def pair_coefficients(coef: Array, labels: npt.NDArray[np.int64], pair: int) -> tuple[Index, Array]:
    """Columns of ``coef`` that belong to the classes of a pair, and their coefficients.

    In the pair (i, j), i < j, the rows of class i have their coefficients in row j - 1 of
    ``dual_coef`` and the rows of class j in row i.
    """
    low, high = list(combinations(range(coef.shape[0] + 1), 2))[pair]
    first, second = np.flatnonzero(labels == low), np.flatnonzero(labels == high)
    values = np.concatenate([coef[high - 1, first], coef[low, second]])
    return np.concatenate([first, second]), values


def feasible_coef(coef: Array, labels: npt.NDArray[np.int64], C: float, p: float) -> Array:
    """The coefficients of every pair after :func:`feasible_alpha`."""
    result = np.zeros_like(coef)
    n_classes = coef.shape[0] + 1
    for t, (low, high) in enumerate(combinations(range(n_classes), 2)):
        mine, values = pair_coefficients(coef, labels, t)
        sign = np.where((labels[mine] == low) == (n_classes > 2), 1.0, -1.0)
        alpha = sign * feasible_alpha(sign * values, sign, C, p)
        of_low = labels[mine] == low
        result[high - 1, mine[of_low]] = alpha[of_low]
        result[low, mine[~of_low]] = alpha[~of_low]
    return result


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


def decisions(
    X: Any,
    y: npt.NDArray[np.int64],
    support: Index,
    coefs: Sequence[Array],
    gamma: float | None,
    threads: int,
    of: Any = None,
) -> list[Array]:
    """``f`` of every pair at the rows ``of`` (default: X), for each array of coefficients.

    ``support`` are rows of X, sorted by class. Only products with the support vectors of a pair's
    own classes are computed, one block of rows at a time. ``gamma``: see :func:`judge`.
    """
    n_lines = coefs[0].shape[0]
    ends = np.cumsum(np.bincount(y[support], minlength=n_lines + 1)).tolist()
    classes = [slice(end - n, end) for n, end in zip(np.diff([0, *ends]), ends, strict=True)]
    stacked = np.vstack(coefs).T
    rows = X if of is None else of
    found = np.empty((len(coefs), rows.shape[0], n_lines * (n_lines + 1) // 2))

    def take(block: slice, kernel: Array) -> None:
        # One column per array of coefficients and line of it, for the support of every class.
        parts = [kernel[:, one] @ stacked[one] for one in classes]
        for t, (low, high) in enumerate(combinations(range(n_lines + 1), 2)):
            of_low = parts[low][:, high - 1 :: n_lines]
            found[:, block, t] = (of_low + parts[high][:, low::n_lines]).T

    if gamma is None:
        take(slice(None), X[support].T)  # the matrix is symmetric
    else:
        rbf_blocks(rows, X[support], gamma, threads, take)
    return list(found)


def rbf_blocks(
    X: Any, centres: Any, gamma: float, threads: int, take: Callable[[slice, Array], None]
) -> None:
    """Hand ``exp(-gamma ||x - z||^2)`` to ``take``, one block of rows of X (dense or CSR)."""
    if not sp.issparse(X):
        # The rbf kernel does not see a shift; centred rows lose fewer digits in the expansion.
        shift = centres.mean(axis=0, dtype=np.float64)
        X, centres = X - shift, centres - shift
    dense_centres = np.ascontiguousarray(centres.toarray().T if sp.issparse(X) else centres.T)
    row_norms, centre_norms = squared_norms(X), squared_norms(centres)
    as_dense = sp.issparse(X) and X.shape[1] <= NARROW
    n, block = X.shape[0], max(1, BLOCK_ENTRIES // max(1, centres.shape[0]))

    def fill(start: int) -> None:
        rows = slice(start, start + block)
        distance = (X[rows].toarray() if as_dense else X[rows]) @ dense_centres
        distance *= -2.0
        distance += row_norms[rows, None]
        distance += centre_norms
        np.maximum(distance, 0.0, out=distance)
        distance *= -gamma
        take(rows, np.exp(distance, out=distance))

    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, range(0, n, block)))


def squared_norms(X: Any) -> Array:
    """Squared Euclidean norm of each row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X), dtype=np.float64)
