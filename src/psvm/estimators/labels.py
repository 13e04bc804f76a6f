"""Labels as numbers: classes, the class and the cost of every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

# Rows numbered at a time: searchsorted answers in int64, of which large data need no second copy.
_ROWS_AT_ONCE = 2**20
# A cost below is no number to divide by; a sum above, times p, may leave the range of float64.
SMALLEST_COST, LARGEST_SUM = float(np.finfo(np.float64).tiny), 1e300


@dataclass(frozen=True)
class EncodedLabels:
    """The classes of a training set, and what they make of its rows.

    Attributes
    ----------
    classes : ndarray of shape (k,)
        The labels with positive weight, sorted.
    codes : ndarray of int32, shape (n,)
        The number of every row's class; of a row of weight 0 it says nothing, as its class may not
        exist.
    cost : ndarray of shape (n,)
        ``C`` times class weight times sample weight: infinite for all rows if C is, else for none.
        0 for a row that is absent, because its weight is 0 or its cost below ``SMALLEST_COST``.
    class_weight : ndarray of shape (k,)
        Factor of C of each class.
    """

    classes: npt.NDArray[Any]
    codes: Codes
    cost: Array
    class_weight: Array


def encode_labels(y: Any, weight: Array, class_weight: Any, C: float) -> EncodedLabels:
    """Number the classes of ``y`` and price the rows, whose weights are >= 0."""
    # Integers always are labels; the check would only be slow, but for its warning below.
    integers = y.dtype.kind in "biu"
    if not integers:
        check_classification_targets(y)
    absent = weight == 0.0
    if absent.all():
        raise ValueError("`sample_weight` must be > 0 for some row, got zeros only.")
    classes = np.unique(y[~absent] if absent.any() else y)
    if integers and classes.size > 0.4 * y.size:  # suspiciously many
        check_classification_targets(y)
    if classes.size < 2:
        raise ValueError(
            f"A classifier needs at least two classes with positive weight, got one class: "
            f"{classes.tolist()}."
        )
    codes = class_codes(y, classes)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # refused below
        weight_of_class = class_weights(class_weight, classes, codes, weight)
        cost = weight_of_class[codes]  # multiplied in place: there may be very many rows
        cost *= weight
        check_costs(C, cost)
        cost *= C
    if np.isinf(C):
        cost[:] = np.inf
    cost[absent] = 0.0
    if (cost[~absent] if absent.any() else cost).min() < SMALLEST_COST:
        # Maybe of all rows of a class, which then is none.
        return encode_labels(y, np.where(cost < SMALLEST_COST, 0.0, weight), class_weight, C)
    return EncodedLabels(classes, codes, cost, weight_of_class)


def weights_for_all(y: Any, weight: Array, class_weight: Any, Cs: Array) -> Array:
    """The weights for a grid of costs: 0 for the rows that are absent at the smallest C.

    Refuses what the largest C makes infinite, before anything is solved.
    """
    encode_labels(y, weight, class_weight, float(np.max(Cs)))
    smallest = encode_labels(y, weight, class_weight, float(np.min(Cs)))
    return np.where(smallest.cost > 0.0, weight, 0.0)


def check_costs(C: float, weight: Array) -> None:
    """Refuse costs C times weights that leave the range of float64.

    Their sum over the rows counts: it is the loss at w = 0, and equal rows are merged.
    """
    largest, total = float(weight.max()), float(weight.sum())
    if np.isfinite(C) and not C * total <= LARGEST_SUM:
        raise ValueError(
            f"C times class weight times sample weight must not sum to more than {LARGEST_SUM:g} "
            f"over the rows, got C = {C:g} and {weight.size} rows of weight up to {largest:g}. "
            f"Lower them, or use C = numpy.inf for a hard margin."
        )
    if C * largest < SMALLEST_COST:
        raise ValueError(
            f"C times class weight times sample weight must be at least {SMALLEST_COST:.2g} for "
            f"some row, got C = {C:g} and weights up to {largest:g}; raise them."
        )


def class_codes(
    y: npt.NDArray[Any], classes: npt.NDArray[Any], at_once: int = _ROWS_AT_ONCE
) -> Codes:
    """Number of the class of each row, among sorted classes; arbitrary for a label of none."""
    codes = np.empty(y.size, dtype=np.int32)
    for first in range(0, y.size, at_once):
        rows = slice(first, first + at_once)
        codes[rows] = np.searchsorted(classes, y[rows])
    return np.minimum(codes, classes.size - 1, out=codes)


def check_class_weight(class_weight: Any) -> None:
    """Refuse what is no ``class_weight``, as far as that can be told without the classes."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"`class_weight` must be a dict, 'balanced' or None, got {class_weight!r}."
        )
    try:
        values = np.array(list(class_weight.values()), dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"`class_weight` must be finite and > 0, got {class_weight!r}.")


def class_weights(
    class_weight: Any, classes: npt.NDArray[Any], codes: Codes, weight: Array
) -> Array:
    """Weight of each class: ``"balanced"`` is total weight / (k * weight of the class)."""
    check_class_weight(class_weight)
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, str):
        totals = np.bincount(codes, weights=weight, minlength=classes.size)
        return np.asarray(totals.sum() / (classes.size * totals))
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    if unknown and len(unknown) == len(class_weight):
        raise ValueError(
            f"`class_weight` names no class of y: got {unknown!r}, and y has {known!r}."
        )
    return np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
