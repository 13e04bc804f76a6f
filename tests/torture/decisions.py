"""Decision values and predictions against those of the stored model in extended precision."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from torture.cases import FitCase
from torture.exact import EPS, Kernel, Real, dot, exactly, weights_of
from torture.outcome import Outcome
from torture.referee import Referee, by_its_name, coefficients, signs_of

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
    model, kernel = referee.model, referee.kernel
    X = referee.X
    linear = kernel.name == "linear"
    if not linear:
        support = X[model.support_] if kernel.name != "precomputed" else None
        if support is not None:
            K, error = kernel.matrix(X, support), entry_errors(kernel, X, support)
            if kernel.name == "rbf" and sp.issparse(referee.case.data.X):
                error = error + _SPARSE
        else:
            K, error = X[:, model.support_], Real(0)
    for t, classes in enumerate(signs_of(len(referee.classes), referee.pairwise)):
        b = Real(by_its_name(model, "intercept_")[t])
        if linear:
            w, off = _weights(referee, t, classes, outcome)
            values, size = dot(X, w) + b, dot(np.abs(X), np.abs(w)) + abs(b)
            bound = _U * (len(w) + 16) * size + dot(np.abs(X), off)
            coef = w
        else:
            codes = referee.codes[model.support_]
            coef = coefficients(exactly(model.dual_coef_), codes, t, classes, referee.pairwise)
            values = dot(K, coef) + b
            size = dot(np.abs(K), np.abs(coef)) + abs(b)
            bound = _U * (len(coef) + 32) * size + dot(error + 0 * K, np.abs(coef))
        bound = bound + _TINY * (1 + np.abs(coef).sum())
        off = np.abs(scores[:, t] - values) - 4 * bound
        if (off > 0).any():
            i = int(off.argmax())
            outcome.found(
                "wrong decision",
                f"problem {t}, row {i}: {scores[i, t]!r}, exactly {float(values[i])!r}, "
                f"rounding allows {float(bound[i]):.1e}",
            )
            return


def _weights(referee: Referee, t: int, classes: Any, outcome: Outcome) -> tuple[Any, Any]:
    """The weights of a linear problem, and what rounding may make of those of support vectors."""
    model = referee.model
    if not hasattr(model, "dual_coef_"):
        w = exactly(by_its_name(model, "coef_")[t])
        return w, np.zeros_like(w)
    support = referee.X[model.support_]
    codes = referee.codes[model.support_]
    coef = coefficients(exactly(model.dual_coef_), codes, t, classes, referee.pairwise)
    w, rounding = weights_of(coef, support)
    # The middle may as well be that of the support vectors of this problem alone.
    rounding = np.maximum(rounding, weights_of(coef[coef != 0], support[coef != 0])[1])
    # In float64 the middle is rounded, too.
    off = rounding * (_U / EPS) + 16 * _U**2 * dot(np.abs(coef), np.abs(support))
    if (np.abs(exactly(model.coef_[t]) - w) > 4 * off + 4 * _U * np.abs(w)).any():
        k = int((np.abs(exactly(model.coef_[t]) - w) - off).argmax())
        outcome.found("coef_", f"problem {t}, column {k}: {model.coef_[t][k]!r}, exactly {w[k]!r}")
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
