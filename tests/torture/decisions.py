"""Decision values and predictions against those of the stored model in extended precision."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from torture.cases import FitCase
from torture.exact import EPS, Kernel, Real, dot, exactly, weights_of
from torture.outcome import Outcome
from torture.referee import Referee, Rows, by_its_name, coefficients, signs_of
from torture.regression_referee import RegressionReferee

_U = np.finfo(np.float64).eps
# Norms of sparse rows, which are not centred, may cancel by 2^13 times their number.
_SPARSE = 32 * 2.0**13 * _U
_TINY = 1e3 * np.finfo(np.float64).tiny  # products that underflow


def check_decisions(case: FitCase, model: Any, referee: Referee, outcome: Outcome) -> None:
    """``decision_function`` is within rounding, ``predict`` its argmax."""
    X = case.data.X
    scores, labels = np.asarray(model.decision_function(X)), np.asarray(model.predict(X))
    if not np.isfinite(scores).all():
        outcome.found("not a number", f"decision_function has {scores[~np.isfinite(scores)][:3]}")
        return
    k = len(referee.classes)
    shape = case.parameters.get("decision_function_shape", "ovr")
    per_pair = referee.pairwise and shape == "ovo" and hasattr(model, "dual_coef_")
    if per_pair or not referee.pairwise:
        _check_values(referee, scores.reshape(len(labels), -1), outcome)
    if k == 2:
        codes = (scores > 0).astype(int)
    else:
        codes = (_votes(scores, k) if per_pair else scores).argmax(axis=1)
    wrong = np.flatnonzero(referee.classes[codes] != labels)
    if wrong.size:
        i = int(wrong[0])
        outcome.found(
            "wrong prediction",
            f"{wrong.size} rows, as {i}: {labels[i]}, scores {np.atleast_1d(scores[i])}",
        )


def _votes(pairs: np.ndarray, k: int) -> np.ndarray:
    """One score per class: votes, ties broken by the summed decisions."""
    votes, confidence = np.zeros((len(pairs), k)), np.zeros((len(pairs), k))
    for t, (i, j) in enumerate(combinations(range(k), 2)):
        value = pairs[:, t]
        votes[:, i] += value >= 0
        votes[:, j] += value < 0
        confidence[:, i] += value
        confidence[:, j] -= value
    return votes + confidence / (3 * (np.abs(confidence) + 1))


def _check_values(referee: Referee, scores: np.ndarray, outcome: Outcome) -> None:
    model = referee.model
    linear = referee.kernel.name == "linear"
    entries = None if linear else support_entries(referee)
    for t, classes in enumerate(signs_of(len(referee.classes), referee.pairwise)):
        b = Real(by_its_name(model, "intercept_")[t])
        if entries is None:
            values, bound = values_by_weights(referee.X, *_weights(referee, t, classes, outcome), b)
        else:
            codes = referee.codes[model.support_]
            coef = coefficients(exactly(model.dual_coef_), codes, t, classes, referee.pairwise)
            values, bound = values_by_kernel(*entries, coef, b)
        if not _agree(scores[:, t], values, bound, f"problem {t}, ", outcome):
            return


def support_entries(rows: Rows) -> tuple[np.ndarray, Any]:
    """Kernel entries of all rows and the support vectors, and how far float64 may be off."""
    model, kernel, X = rows.model, rows.kernel, rows.X
    if kernel.name == "precomputed":
        return X[:, model.support_], Real(0)
    support = X[model.support_]
    K, error = kernel.matrix(X, support), entry_errors(kernel, X, support)
    if kernel.name == "rbf" and sp.issparse(rows.case.data.X):
        error = error + _SPARSE
    return K, error


def values_by_weights(
    X: np.ndarray, w: np.ndarray, off: np.ndarray, b: Any
) -> tuple[np.ndarray, np.ndarray]:
    """``X w + b``, and what rounding may make of it where w is so much off."""
    size = dot(np.abs(X), np.abs(w)) + abs(b)
    bound = _U * (len(w) + 16) * size + dot(np.abs(X), off)
    return dot(X, w) + b, bound + _TINY * (1 + np.abs(w).sum())


def values_by_kernel(
    K: np.ndarray, error: Any, coef: np.ndarray, b: Any
) -> tuple[np.ndarray, np.ndarray]:
    """``K coef + b``, and what rounding may make of it."""
    size = dot(np.abs(K), np.abs(coef)) + abs(b)
    bound = _U * (len(coef) + 32) * size + dot(error + 0 * K, np.abs(coef))
    return dot(K, coef) + b, bound + _TINY * (1 + np.abs(coef).sum())


def _agree(
    found: np.ndarray, values: np.ndarray, bound: np.ndarray, where: str, outcome: Outcome
) -> bool:
    """Whether values are within their bounds; a finding names the worst that is not."""
    off = np.abs(found - values) - 4 * bound
    if (off > 0).any():
        i = int(off.argmax())
        outcome.found(
            "wrong decision",
            f"{where}row {i}: {found[i]!r}, exactly {float(values[i])!r}, "
            f"rounding allows {float(bound[i]):.1e}",
        )
    return not (off > 0).any()


def check_predictions(referee: RegressionReferee, outcome: Outcome) -> None:
    """``predict`` of a regressor is within rounding."""
    model, case = referee.model, referee.case
    found = np.asarray(model.predict(case.data.X))
    if found.shape != (len(case.data.y),) or not np.isfinite(found).all():
        outcome.found("not a number", f"predict has {found[~np.isfinite(found)][:3]}")
        return
    values, bound = _exact_values(referee, getattr(model, "coef_", None), outcome)
    _agree(found, values, bound, "", outcome)


def check_sorted_predictions(
    model: Any, quantiles: list[float], members: list[RegressionReferee], outcome: Outcome
) -> None:
    """``predict`` of several quantiles has the values of all, in the order of the quantiles."""
    case = members[0].case
    found = np.asarray(model.predict(case.data.X))
    if found.shape != (len(case.data.y), len(quantiles)) or not np.isfinite(found).all():
        outcome.found("not a number", f"predict has {found[~np.isfinite(found)][:3]}")
        return
    linear = members[0].kernel.name == "linear"
    weights = model.coef_ if linear else [None] * len(members)
    exact = [_exact_values(one, w, outcome) for one, w in zip(members, weights, strict=True)]
    values = np.sort(np.column_stack([value for value, _ in exact]), axis=1)
    bound = np.max([bound for _, bound in exact], axis=0)
    for rank, column in enumerate(np.argsort(quantiles)):
        where = f"quantile {quantiles[column]:g}, "
        if not _agree(found[:, column], values[:, rank], bound, where, outcome):
            return


def _exact_values(referee: RegressionReferee, weights: Any, outcome: Outcome) -> tuple[Any, Any]:
    """Predictions of a stored regressor, whose ``coef_`` are these weights, and their bounds."""
    model = referee.model
    b = Real(np.ravel(model.intercept_)[0])
    if referee.kernel.name != "linear":
        coef = exactly(model.dual_coef_[0])
        return values_by_kernel(*support_entries(referee), coef, b)
    stored = np.ravel(weights)
    if not hasattr(model, "dual_coef_"):
        w = exactly(stored)
        return values_by_weights(referee.X, w, 0 * w, b)
    support = referee.X[model.support_]
    w, off = _weights_of(exactly(model.dual_coef_[0]), support, stored, "", outcome)
    return values_by_weights(referee.X, w, off, b)


def _weights(referee: Referee, t: int, classes: Any, outcome: Outcome) -> tuple[Any, Any]:
    """The weights of a linear problem, and what rounding may make of those of support vectors."""
    model = referee.model
    if not hasattr(model, "dual_coef_"):
        w = exactly(by_its_name(model, "coef_")[t])
        return w, np.zeros_like(w)
    codes = referee.codes[model.support_]
    coef = coefficients(exactly(model.dual_coef_), codes, t, classes, referee.pairwise)
    support = referee.X[model.support_]
    return _weights_of(coef, support, model.coef_[t], f"problem {t}, ", outcome)


def _weights_of(
    coef: np.ndarray, support: np.ndarray, stored: np.ndarray, where: str, outcome: Outcome
) -> tuple[Any, Any]:
    """``sum_s coef_s x_s``, which ``coef_`` agrees with, and what rounding may make of it."""
    w, rounding = weights_of(coef, support)
    # The middle may as well be that of the support vectors of this problem alone.
    rounding = np.maximum(rounding, weights_of(coef[coef != 0], support[coef != 0])[1])
    # In float64 the middle is rounded, too.
    off = rounding * (_U / EPS) + 16 * _U**2 * dot(np.abs(coef), np.abs(support))
    if (np.abs(exactly(stored) - w) > 4 * off + 4 * _U * np.abs(w)).any():
        k = int((np.abs(exactly(stored) - w) - off).argmax())
        outcome.found("coef_", f"{where}column {k}: {stored[k]!r}, exactly {w[k]!r}")
    return w, off


def entry_errors(kernel: Kernel, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """How far float64 may be off in the entries of ``kernel.matrix(X, Z)``.

    Of differences: rows are moved by a common shift near their middle, each rounded by itself.
    """
    d = X.shape[1]
    if kernel.name in ("rbf", "exponential", "laplacian"):
        middle = Z.mean(axis=0) if len(Z) else X.mean(axis=0)
        Xs, Zs = np.abs(X - middle), np.abs(Z - middle)
        off = np.zeros((len(X), len(Z)), dtype=Real)
        distance = np.zeros_like(off)
        for k in range(d):
            difference = np.abs(X[:, k, None] - Z[None, :, k])
            moved = 2 * _U * (Xs[:, k, None] + Zs[None, :, k] + _U * np.abs(middle[k]))
            if kernel.name == "laplacian":
                off, distance = off + moved, distance + difference
            else:
                off = off + moved * (2 * difference + moved)
                distance = distance + difference**2
        if kernel.name == "rbf":  # by squares that cancel, of rows around their middle
            squares = (Xs**2).sum(axis=1)[:, None] + (Zs**2).sum(axis=1)
            off = off + (d + 8) * _U * squares
        if kernel.name == "exponential":
            root = np.sqrt(distance)
            off = np.where(root > np.sqrt(off), off / np.maximum(root, Real(1e-4000)), np.sqrt(off))
            distance = root
        off = Real(kernel.gamma) * (off + (d + 4) * _U * distance)
        return np.minimum(np.exp(-Real(kernel.gamma) * distance) * np.expm1(off) + 4 * _U, Real(1))
    inner = Real(kernel.gamma) * dot(np.abs(X), np.abs(Z.T)) + abs(Real(kernel.coef0))
    if kernel.name == "sigmoid":  # not relative: tanh of next to nothing
        return (d + 16) * _U * inner + 8 * _U
    error = (d + 16) * _U * inner
    if kernel.name == "poly":
        return kernel.degree * inner ** (kernel.degree - 1) * error + 8 * _U * inner**kernel.degree
    return error
