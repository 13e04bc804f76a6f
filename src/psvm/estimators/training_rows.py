"""Which rows of X a kernel fit solves for, and in which order.

====================  ===========================================================================
step                  rows
====================  ===========================================================================
``kept``              those of X with positive cost
``same``              of these, groups of the same features and class, each solved as one row
``order``             the groups, sorted by class where pairs of classes share kernel rows
====================  ===========================================================================

A *place* is a row of the kernel matrix. Values of the rows of X become values by place by
:meth:`TrainingRows.gather` or :meth:`TrainingRows.pick`, and come back by
:meth:`TrainingRows.scatter`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.estimators.labels import EncodedLabels
from psvm.rows.equal_rows import EqualRows, find_equal_rows, no_equal_rows

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a fit: kept, merged, ordered.

    Attributes
    ----------
    kept : ndarray of int
        Rows of X with positive cost, ascending.
    same : EqualRows
        Which of these are equal.
    order : ndarray of int
        The group of equal rows at each place.
    starts : list of int
        First place of every segment (one per class, or one for all) and, last, their number.
    size : int
        Number of rows of X.
    shares : ndarray of shape (size,)
        The part of each row of X in the values of its place, by its weight; 0 if not kept.
    """

    kept: Rows
    same: EqualRows
    order: Rows
    starts: list[int]
    size: int
    shares: Array

    @classmethod
    def of(
        cls, X: Any, labels: EncodedLabels, weight: Array, *, merge: bool, by_class: bool
    ) -> TrainingRows:
        """The rows of X with positive cost; equal ones merged, sorted by class, where asked."""
        classes = labels.classes.size if by_class else None
        return cls._of(X, labels.cost, labels.codes, weight, merge, classes)

    @classmethod
    def of_targets(cls, X: Any, cost: Array, weight: Array, *, merge: bool) -> TrainingRows:
        """The rows of X with positive cost; equal ones merged where asked, whatever their target.

        ``TargetRows`` knows which of these are equal in their targets, too.
        """
        return cls._of(X, cost, np.zeros(cost.size, dtype=np.int32), weight, merge, None)

    @classmethod
    def _of(
        cls,
        X: Any,
        cost: Array,
        codes: npt.NDArray[np.int32],
        weight: Array,
        merge: bool,
        classes: int | None,
    ) -> TrainingRows:
        kept = np.flatnonzero(cost > 0.0)
        codes = codes[kept]
        if merge:
            same = find_equal_rows(X if kept.size == X.shape[0] else X[kept], codes)
        else:
            same = no_equal_rows(kept.size)
        codes = codes[same.first]
        order, starts = np.arange(codes.size), [0, codes.size]
        if classes is not None:
            order = np.argsort(codes, kind="stable")
            sizes = np.bincount(codes, minlength=classes)
            starts = [0, *np.cumsum(sizes).tolist()]
        shares = np.zeros(X.shape[0])
        shares[kept] = same.shares(weight[kept])
        return cls(kept, same, order, starts, X.shape[0], shares)

    @property
    def rows(self) -> Rows:
        """The row of X at each place: the first of its group."""
        return self.kept[self.same.first][self.order]

    @property
    def unmerged(self) -> bool:
        """Whether every row of X has a place of its own."""
        return self.order.size == self.size

    def places(self, segments: Sequence[int]) -> Rows:
        """The places of some segments, one segment after the other."""
        return np.concatenate([np.arange(self.starts[s], self.starts[s + 1]) for s in segments])

    def in_order(self, order: Rows) -> TrainingRows:
        """The same rows in another order, within their segments, if every row has a place."""
        assert self.unmerged
        return replace(self, order=order)

    def gather(self, values: Array) -> Array:
        """Values of the rows of X by place, those of equal rows added up."""
        return self.same.totals(values[self.kept])[self.order]

    def pick(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the rows of X by place, where equal rows have equal ones."""
        return values[self.rows]

    @property
    def place_of_kept(self) -> Rows:
        """The place of every row of X that is kept."""
        place = np.empty_like(self.order)
        place[self.order] = np.arange(self.order.size)
        return np.asarray(place[self.same.group])

    def scatter(self, values: Array) -> Array:
        """Values by place (the last axis) as those of the rows of X; 0 where not kept."""
        out = np.zeros((*values.shape[:-1], self.size))
        out[..., self.kept] = values[..., self.place_of_kept]
        return out
