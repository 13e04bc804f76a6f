"""k classes as binary problems: one-vs-one and one-vs-rest, as pure functions.

Signs and layouts are those of scikit-learn's SVC. With two classes there is one problem whose
positive class is ``classes_[1]``. One-vs-one has one problem per pair (i, j), i < j, in
lexicographic order, with class i positive; one-vs-rest one problem per class, that class positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm import _core

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """The pairs (i, j), i < j, in the order of the one-vs-one problems."""
    return list(combinations(range(n_classes), 2))


def problem_count(n_classes: int, multi_class: str) -> int:
    """Number of binary problems."""
    if n_classes == 2:
        return 1
    return n_classes if multi_class == "ovr" else n_classes * (n_classes - 1) // 2


def problem_signs(n_classes: int, multi_class: str) -> npt.NDArray[np.int8]:
    """Label +1, -1 or 0 (absent) of each class in each binary problem, one row per problem."""
    if n_classes == 2:
        return np.array([[-1, 1]], dtype=np.int8)
    if multi_class == "ovr":
        return np.asarray(2 * np.eye(n_classes, dtype=np.int8) - 1, dtype=np.int8)
    first, second = np.triu_indices(n_classes, 1)
    signs = np.zeros((first.size, n_classes), dtype=np.int8)
    every = np.arange(first.size)
    signs[every, first], signs[every, second] = 1, -1
    return signs


def pack_one_vs_one(duals: Sequence[Array], class_sizes: Sequence[int]) -> Array:
    """Dual coefficients ``alpha_i y_i`` of all pairs as SVC's array of shape (k - 1, n).

    ``duals[t]`` belongs to the t-th pair (i, j) and holds the rows of class i, then of class j.
    Column s of the result belongs to row s (rows sorted by class); row r of a column of class i is
    its coefficient against the r-th other class.
    """
    k = len(class_sizes)
    starts = list(accumulate(class_sizes, initial=0))
    packed = np.zeros((k - 1, starts[-1]))
    for (i, j), dual in zip(class_pairs(k), duals, strict=True):
        packed[j - 1, starts[i] : starts[i + 1]] = dual[: class_sizes[i]]
        packed[i, starts[j] : starts[j + 1]] = dual[class_sizes[i] :]
    return packed


def coefficients_of_pair(packed: Array, codes: npt.NDArray[Any], i: int, j: int) -> Array:
    """The part of the pair (i, j) in arrays of SVC's layout, shape (..., k - 1, n).

    ``codes`` are the classes of the n rows, in any order; rows of other classes have 0.
    """
    return np.where(codes == i, packed[..., j - 1, :], np.where(codes == j, packed[..., i, :], 0.0))


def pair_products(values: Array, dual_coef: Array, n_support: Sequence[int]) -> Array:
    """``sum_s coef_ts values_s`` for every pair t, from SVC's packed ``dual_coef``.

    ``values`` has one row per support vector (sorted by class). Returns one row per pair. Only the
    support vectors of the two classes of a pair enter.
    """
    ends = np.cumsum(n_support)
    parts = [
        dual_coef[:, end - count : end] @ values[end - count : end]
        for count, end in zip(n_support, ends, strict=True)
    ]
    return pair_sums(np.stack(parts))


def pair_sums(parts: Array) -> Array:
    """The parts of both classes of every pair added up.

    ``parts[i]`` are those of class i, one row for each other class, as in SVC's ``dual_coef_``.
    """
    first, second = np.triu_indices(len(parts), 1)
    return np.asarray(parts[first, second - 1] + parts[second, first])


def votes_of_pairs(decisions: Array, n_classes: int) -> Array:
    """One score per class from pairwise decisions: votes, ties broken by summed confidence.

    The sum of a class's decisions is squeezed into [-1/3, 1/3], so it never outweighs a vote, and
    finite even where decisions are not: what is no number says nothing.
    """
    return _core.votes_of_pairs(np.ascontiguousarray(decisions, dtype=np.float64), n_classes)


def class_scores(values: Array, n_classes: int, multi_class: str) -> Array:
    """One score per class (of two the second only) from values of shape (n, n_problems)."""
    if n_classes == 2:
        return values[:, 0]
    return votes_of_pairs(values, n_classes) if multi_class == "ovo" else values


def predicted_codes(scores: Array) -> Codes:
    """The class of the largest score."""
    if scores.ndim == 1:
        return (scores > 0.0).astype(np.intp)
    return np.asarray(scores.argmax(axis=1))


def certain_side(decision: Array, bound: Array) -> tuple[Codes, Mask]:
    """The class of two by the sign of a decision, and where it is sure.

    Here and below the true decision lies within ``bound`` of the given one; what is sure does not
    depend on where. A bound or a decision that is not a number makes nothing sure.
    """
    return (decision > 0.0).astype(np.intp), np.abs(decision) > bound


def certain_largest(decisions: Array, bound: Array) -> tuple[Codes, Mask]:
    """The class of the largest decision (one row per class), and where it is sure."""
    codes = decisions.argmax(axis=0)
    columns = np.arange(codes.size)
    least = (decisions - bound)[codes, columns]
    others = decisions + bound
    others[codes, columns] = -np.inf
    return codes, least > others.max(axis=0)


def certain_class(decisions: Array, bound: Array, n_classes: int) -> tuple[Codes, Mask]:
    """The class with the most votes of the pairs (one row per pair), and where it is sure.

    Sure is a class with more votes than any other could get, by itself: ties are not.
    """
    return _core.certain_class(
        np.ascontiguousarray(decisions), np.ascontiguousarray(bound), n_classes
    )
