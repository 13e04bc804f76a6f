"""Which rows a kernel regression solves for: two dual rows for each target on each kernel row.

Equal rows of X share a kernel row, whatever their targets; those with equal targets are one, whose
cost is their sum (see :mod:`psvm.rows.equal_rows`). A *group* is such a row, alone or merged; its
two dual rows are ``2 k`` and ``2 k + 1``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psvm.estimators.targets import EncodedTargets
from psvm.estimators.training_rows import TrainingRows
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem
from psvm.rows.equal_rows import EqualRows, find_equal_rows, no_equal_rows

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TargetRows:
    """The rows of a kernel regression.

    Attributes
    ----------
    rows : TrainingRows
        The rows of the kernel matrix.
    groups : EqualRows
        Which of the kept rows of X agree in their features and in their target.
    shares : ndarray of shape (n_kept,)
        The part of each kept row in the values of its group, by its weight.
    """

    rows: TrainingRows
    groups: EqualRows
    shares: Array

    @classmethod
    def of(cls, rows: TrainingRows, targets: EncodedTargets, weight: Array) -> TargetRows:
        """Groups among the rows of a kernel matrix."""
        groups = no_equal_rows(rows.kept.size)
        if rows.same.merged:
            places = rows.same.group.astype(np.int32)
            groups = find_equal_rows(targets.given[rows.kept, None], places, worth=0.0)
        return cls(rows, groups, groups.shares(weight[rows.kept]))

    def problem(
        self, targets: EncodedTargets, loss: PNormHinge, fit_intercept: bool
    ) -> KernelProblem:
        """The problem of these rows in the units of the targets."""
        first, kept = self.groups.first, self.rows.kept
        pairs = targets.dual_rows(targets.y[kept[first]], self.groups.totals(targets.cost[kept]))
        return KernelProblem(
            pairs.sign,
            pairs.target,
            pairs.cost,
            loss,
            fit_intercept,
            segments=[0],
            kernel_row=np.repeat(self.rows.place_of_kept[first], 2),
        )

    def scatter(self, values: Array) -> Array:
        """Values of the dual rows as those of the rows of X, shape (n, 2); 0 where not kept."""
        out = np.zeros((self.rows.size, 2))
        out[self.rows.kept] = values.reshape(-1, 2)[self.groups.group]
        return out

    def split(self, values: Array) -> Array:
        """The same of values that the rows of a group share, by their weights."""
        out = self.scatter(values)
        out[self.rows.kept] *= self.shares[:, None]
        return out

    def gather(self, values: Array) -> Array:
        """Values of the rows of X, shape (n, 2), as those of the dual rows; added up in groups."""
        kept = values[self.rows.kept]
        return np.column_stack([self.groups.totals(side) for side in kept.T]).ravel()

    def pick(self, values: Array) -> Array:
        """Values of the rows of X, shape (n, 2), as those of the dual rows, alike in groups."""
        return np.asarray(values[self.rows.kept[self.groups.first]].ravel())
