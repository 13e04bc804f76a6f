"""A search of rows with targets, as all its parts see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.estimators.starts import HeadStart
from psvm.estimators.target_starts import TargetHeadStart
from psvm.estimators.targets import EncodedTargets
from psvm.search.folds import Array, Fold, FoldProblem
from psvm.search.problem import EngineCells, SearchProblem


@dataclass(frozen=True, kw_only=True)
class RegressionProblem(SearchProblem):
    """Cells that are to be solved on splits of rows with targets.

    Attributes
    ----------
    targets : EncodedTargets
        All targets in one unit, for all splits, at C = 1 and without a tube.
    """

    targets: EncodedTargets

    @property
    def answers(self) -> npt.NDArray[Any]:
        """The targets."""
        return self.targets.given

    @property
    def complete(self) -> bool:
        """There is one problem."""
        return True

    def problems_of(self, fold: Fold) -> list[FoldProblem]:
        """The problem of a split: two dual rows for each training row with a weight."""
        of_train = np.flatnonzero(self.weight[fold.train] > 0.0)
        rows = fold.train[of_train]
        dual = self.targets.dual_rows(self.targets.y[rows], self.weight[rows])
        return [FoldProblem(rows, of_train, dual.sign, dual.target, dual.cost)]

    def cells(self, cells: Sequence[int]) -> EngineCells:
        """Cells of the grid in the unit of the targets."""
        grid, scale = self.grid, self.targets.scale
        p = grid.p[cells]
        return EngineCells(p, grid.C[cells] * scale ** (p - 2.0), grid.epsilon[cells] / scale)

    def in_units(self, values: Array) -> Array:
        """Predictions in the unit of y."""
        with np.errstate(over="ignore", invalid="ignore"):  # of fits that explode; none has a score
            return self.targets.scale * values + self.targets.centre

    def values(self, model: Any, X: Any) -> Array:
        """Predictions, in one column."""
        return np.asarray(model.predict(X))[:, None]

    def start(self, head: HeadStart) -> TargetHeadStart:
        """The head start in the unit of y."""
        return TargetHeadStart(self.targets.scale * head.coef[0])

    def supports(self, problem: FoldProblem, values: Array, cell: int) -> npt.NDArray[np.bool_]:
        """Which training rows are support vectors, by the predictions of a whole fit for them."""
        residual = np.abs(self.targets.given[problem.rows] - values)
        margin = _core.OUTSIDE_MARGIN * self.targets.scale
        return np.asarray(residual >= self.grid.epsilon[cell] - margin)
