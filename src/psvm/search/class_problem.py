"""A search of rows with labels, as all its parts see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.estimators.starts import HeadStart
from psvm.search.folds import Array, ClassFold, FoldProblem
from psvm.search.problem import EngineCells, SearchProblem


@dataclass(frozen=True, kw_only=True)
class ClassificationProblem(SearchProblem):
    """Cells that are to be solved on splits of rows with labels.

    Attributes
    ----------
    classes : ndarray
        The labels of the classes.
    multi_class : {"ovo", "ovr"}
    folds : list of ClassFold
    """

    classes: npt.NDArray[Any]
    multi_class: str
    folds: Sequence[ClassFold]

    @property
    def answers(self) -> npt.NDArray[Any]:
        """The numbers of the classes."""
        return self.codes

    @property
    def complete(self) -> bool:
        """Whether every split trains on all classes."""
        return all(fold.classes.size == self.classes.size for fold in self.folds)

    def problems_of(self, fold: ClassFold) -> list[FoldProblem]:
        """The binary problems of a split."""
        return fold.problems(self.multi_class)

    def cells(self, cells: Sequence[int]) -> EngineCells:
        """Cells of the grid, as they are."""
        grid = self.grid
        return EngineCells(grid.p[cells], grid.C[cells], grid.epsilon[cells])

    def in_units(self, values: Array) -> Array:
        """Decision values, as they are."""
        return values

    def values(self, model: Any, X: Any) -> Array:
        """Decision values of the binary problems."""
        return np.asarray(model._problem_decisions(X))

    def start(self, head: HeadStart) -> HeadStart:
        """The head start itself."""
        return head

    def supports(self, problem: FoldProblem, values: Array, cell: int) -> npt.NDArray[np.bool_]:
        """Which training rows are support vectors, by the values of a whole fit for them."""
        return np.asarray(problem.y * values <= 1.0 + _core.OUTSIDE_MARGIN)
