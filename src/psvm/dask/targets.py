"""What y is: labels of classes. The one place that knows, so that numbers may join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from psvm.estimators.labels import (
    SMALLEST_COST,
    check_costs,
    class_codes,
    class_weights,
)
from psvm.mathematics.problem import LinearProblems, Terms

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PricedRows:
    """Rows of :class:`psvm.mathematics.problem.LinearProblems`, of one block."""

    codes: npt.NDArray[np.int32]
    cost: Array
    target: Array | None = None
    feature_row: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, problems: LinearProblems) -> PricedRows:
        """The rows of problems."""
        return cls(problems.codes, problems.cost, problems.target, problems.feature_row)

    @classmethod
    def joined(cls, parts: Sequence[PricedRows], features: Sequence[int]) -> PricedRows:
        """Rows of several blocks of so many rows of features, one block after the other."""
        first, begins = parts[0], np.cumsum([0, *features])
        target = feature_row = None
        if first.target is not None:
            target = np.concatenate([one.target for one in parts])
        if first.feature_row is not None:
            moved = [one.feature_row + at for one, at in zip(parts, begins, strict=False)]
            feature_row = np.concatenate(moved)
        return cls(
            np.concatenate([one.codes for one in parts]),
            np.concatenate([one.cost for one in parts]),
            target,
            feature_row,
        )

    def problems(self, signs: npt.NDArray[np.int8], terms: Terms) -> LinearProblems:
        """Problems of these signs over the rows."""
        return LinearProblems(
            signs,
            self.codes,
            self.cost,
            terms.loss,
            terms.fit_intercept,
            self.target,
            self.feature_row,
        )


class Encoder(Protocol):
    """Turns y and the weights of a block into rows of the problems, on a worker."""

    @property
    def goals_are_1(self) -> bool:
        """Whether rows have no target but their sign, as in classification."""
        ...

    def rows(self, y: npt.NDArray[Any], weight: Array) -> PricedRows:
        """The rows of one block."""
        ...


class Target(Protocol):
    """Checks and describes y, block by block."""

    def check(self, y: Any) -> npt.NDArray[Any]:
        """Y of a block as an array."""
        ...

    def describe(self, y: npt.NDArray[Any], weight: Array) -> Any:
        """What the client must know of it."""
        ...


@dataclass(frozen=True)
class LabelTotals:
    """The classes of a block: the sum and the largest of their weights."""

    classes: npt.NDArray[Any]
    total: Array
    largest: Array
    rows: npt.NDArray[np.int64]  # of positive weight


class Labels:
    """Y holds labels."""

    def check(self, y: Any) -> npt.NDArray[Any]:
        """Labels as an array of one dimension, none missing."""
        labels = check_array(
            np.asarray(y), ensure_2d=False, dtype=None, ensure_min_samples=0, input_name="y"
        )
        labels = column_or_1d(labels)
        if labels.size and labels.dtype.kind == "f":
            check_classification_targets(labels)
        if labels.dtype == object and _strings(labels):
            labels = labels.astype(str)
        return np.asarray(labels)

    def describe(self, y: npt.NDArray[Any], weight: Array) -> LabelTotals:
        """The classes with positive weight and what they weigh."""
        present = weight > 0.0
        classes, codes = np.unique(y[present], return_inverse=True)
        own, k = weight[present], classes.size
        largest = np.zeros(k)
        np.maximum.at(largest, codes, own)
        return LabelTotals(
            classes,
            np.bincount(codes, own, minlength=k).astype(np.float64),
            largest,
            np.bincount(codes, minlength=k).astype(np.int64),
        )


def _strings(labels: npt.NDArray[Any]) -> bool:
    return all(isinstance(label, str) for label in labels.tolist())


@dataclass(frozen=True)
class Classes:
    """The classes of a training set, and the factor of C of each."""

    classes: npt.NDArray[Any]
    class_weight: Array
    C: float

    @property
    def goals_are_1(self) -> bool:
        """Labels are signs."""
        return True

    def rows(self, y: npt.NDArray[Any], weight: Array) -> PricedRows:
        """The number of every row's class, and its cost."""
        codes = class_codes(y, self.classes)
        if np.isinf(self.C):
            return PricedRows(codes, np.where(weight > 0.0, np.inf, 0.0))
        cost = self.C * (self.class_weight[codes] * weight)
        cost[cost < SMALLEST_COST] = 0.0
        return PricedRows(codes, cost)


@dataclass(frozen=True)
class AllLabels:
    """The labels of all blocks: which encoder they get, and what their costs are like."""

    encoder: Classes
    rows: npt.NDArray[np.int64]  # of each class
    typical: Array  # cost of a row of each class, on average
    total: Array  # cost of each class


def all_labels(described: Sequence[Any], class_weight: Any, C: float) -> AllLabels:
    """Classes and costs from what all blocks say; refuses what :func:`encode_labels` refuses."""
    totals: list[LabelTotals] = [one.target for one in described if one.rows]
    if not any(one.classes.size for one in totals):
        raise ValueError("`sample_weight` must be > 0 for some row, got zeros only.")
    first = next(one for one in totals if one.classes.size)
    for block in described:
        kinds = block.target.classes.dtype.kind in "US", first.classes.dtype.kind in "US"
        if block.target.classes.size and kinds[0] != kinds[1]:
            raise ValueError(
                f"partition {block.number}: y has labels of type {block.target.classes.dtype}, "
                f"other partitions {first.classes.dtype}."
            )
    classes = np.unique(np.concatenate([one.classes for one in totals if one.classes.size]))
    check_classification_targets(classes)
    if classes.size < 2:
        raise ValueError(
            f"A classifier needs at least two classes with positive weight, got one class: "
            f"{classes.tolist()}."
        )
    total, largest = np.zeros(classes.size), np.zeros(classes.size)
    rows = np.zeros(classes.size, dtype=np.int64)
    for one in totals:
        codes = class_codes(one.classes, classes)
        np.add.at(total, codes, one.total)
        np.maximum.at(largest, codes, one.largest)
        np.add.at(rows, codes, one.rows)
    factors = class_weights(class_weight, classes, np.arange(classes.size, dtype=np.int32), total)
    with np.errstate(over="ignore", under="ignore"):
        priced = factors * total
        check_costs(C, priced)
        least = C * (factors * largest)
    if not (least >= SMALLEST_COST).all():
        raise ValueError(
            f"C times class weight times sample weight must be at least {SMALLEST_COST:.2g} for "
            f"some row of every class, got C = {C:g} and weights up to {largest.min():g}."
        )
    cost = priced * C if np.isfinite(C) else np.full(classes.size, np.inf)
    return AllLabels(Classes(classes, factors, C), rows, cost / np.maximum(rows, 1), cost)
