"""What is searched: rows and classes, cells and splits, as all parts of a search see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.mathematics.cached import cached_property
from psvm.rows.kernel import Kernel
from psvm.search.folds import Array, Fold, FoldProblem
from psvm.search.grid import Grid


@dataclass(frozen=True)
class SearchProblem:
    """Which cells are to be solved on which splits of which rows.

    Attributes
    ----------
    kernel : Kernel
        The kernel, of any width.
    X : array or CSR matrix
        The rows; for a precomputed kernel the square matrix.
    codes : ndarray of int32
        The number of the class of every row.
    classes : ndarray
        The labels of the classes.
    weight : ndarray
        Sample weights.
    grid : Grid
    folds : list of Fold
    multi_class : {"ovo", "ovr"}
    fit_intercept : bool
    """

    kernel: Kernel
    X: Any
    codes: npt.NDArray[np.int32]
    classes: npt.NDArray[Any]
    weight: Array
    grid: Grid
    folds: list[Fold]
    multi_class: str
    fit_intercept: bool

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.codes.size

    @property
    def precomputed(self) -> bool:
        """Whether X is a kernel matrix, whose columns follow the training rows."""
        return self.kernel.function == "precomputed"

    @cached_property
    def problems(self) -> list[list[FoldProblem]]:
        """The binary problems of every split."""
        return [fold.problems(self.multi_class) for fold in self.folds]

    @property
    def fits_per_cell(self) -> int:
        """Binary problems of all splits."""
        return sum(len(own) for own in self.problems)
