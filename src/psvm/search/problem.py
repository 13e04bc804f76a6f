"""What is searched: rows and what they stand for, cells and splits, as all parts see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm.estimators.starts import HeadStart
from psvm.mathematics.cached import cached_property
from psvm.rows.given_rows import GivenRows
from psvm.rows.kernel import Kernel
from psvm.search.folds import Array, Fold, FoldProblem, Rows
from psvm.search.grid import Grid


def _one_after_the_other(train: Any, test: Any) -> Any:
    """All rows of both in one."""
    if isinstance(train, GivenRows):
        return train.followed_by(test)
    if sp.issparse(train) or sp.issparse(test):
        return sp.vstack([train, test], format="csr")
    return np.vstack([train, test])


@dataclass(frozen=True)
class PreparedRows:
    """Rows as the kernel takes them, and the splits that are solved on them.

    All splits share the rows as they are given. A preprocessor that is fitted to the training rows
    of a split makes rows that only this split can use.

    Attributes
    ----------
    X : array, CSR matrix or GivenRows
        The rows; for a precomputed kernel the square matrix, for a callable as they were given.
    rows : ndarray of int
        Which rows of the search they are.
    splits : list of int
        The splits.
    train, test : list of ndarray of int
        Where the training and the held-out rows of each of these splits are.
    """

    X: Any
    rows: Rows
    splits: list[int]
    train: list[Rows]
    test: list[Rows]

    @classmethod
    def shared(cls, X: Any, folds: Sequence[Fold]) -> PreparedRows:
        """All rows as they are, for all splits."""
        return cls(
            X,
            np.arange(X.shape[0], dtype=np.int64),
            list(range(len(folds))),
            [fold.train for fold in folds],
            [fold.test for fold in folds],
        )

    @classmethod
    def of_split(cls, split: int, fold: Fold, train: Any, test: Any) -> PreparedRows:
        """The training rows of one split, then those that it holds out."""
        n = fold.train.size
        return cls(
            _one_after_the_other(train, test),
            np.concatenate([fold.train, fold.test]),
            [split],
            [np.arange(n, dtype=np.int64)],
            [np.arange(n, n + fold.test.size, dtype=np.int64)],
        )

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.rows.size


@dataclass(frozen=True)
class EngineCells:
    """Cells in the units of the dual rows.

    Attributes
    ----------
    p, C, epsilon : ndarray of shape (n_cells,)
    """

    p: Array
    C: Array
    epsilon: Array


@dataclass(frozen=True, kw_only=True)
class SearchProblem:
    """Which cells are to be solved on which splits of which rows.

    What the rows stand for is up to :class:`psvm.search.class_problem.ClassificationProblem` and
    :class:`psvm.search.target_problem.RegressionProblem`.

    Attributes
    ----------
    kernel : Kernel
        The kernel, of any width.
    prepared : list of PreparedRows
        What the kernel is computed from, for all splits or for each of them.
    codes : ndarray of int32
        The number of the class of every row; all 0 in regression.
    weight : ndarray
        Sample weights.
    grid : Grid
    folds : list of Fold
    fit_intercept : bool
    """

    kernel: Kernel
    prepared: list[PreparedRows]
    codes: npt.NDArray[np.int32]
    weight: Array
    grid: Grid
    folds: Sequence[Fold]
    fit_intercept: bool

    # --- what the rows stand for -----------------------------------------------------------------

    @property
    def answers(self) -> npt.NDArray[Any]:
        """The y of a whole fit."""
        raise NotImplementedError

    @property
    def complete(self) -> bool:
        """Whether every split has all problems that the final fit has."""
        raise NotImplementedError

    def problems_of(self, fold: Any) -> list[FoldProblem]:
        """The problems of a split."""
        raise NotImplementedError

    def cells(self, cells: Sequence[int]) -> EngineCells:
        """Cells of the grid in the units of the dual rows."""
        raise NotImplementedError

    def in_units(self, values: Array) -> Array:
        """Values of the solver in the units of the answers."""
        raise NotImplementedError

    def values(self, model: Any, X: Any) -> Array:
        """What a whole fit says of rows, one column per problem."""
        raise NotImplementedError

    def start(self, head: HeadStart) -> Any:
        """Where the final fit begins."""
        raise NotImplementedError

    def supports(self, problem: FoldProblem, values: Array, cell: int) -> npt.NDArray[np.bool_]:
        """Which training rows are support vectors, by the values of a whole fit for them.

        A row is one where it has slack, or is on the margin.
        """
        raise NotImplementedError

    # --- the same for all ------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.weight.size

    @property
    def precomputed(self) -> bool:
        """Whether the rows are a kernel matrix, whose columns follow the training rows."""
        return self.kernel.function == "precomputed"

    def rows_of(self, split: int) -> tuple[Any, Any]:
        """Training and held-out rows, cut to training columns for a precomputed kernel."""
        own = next(prepared for prepared in self.prepared if split in prepared.splits)
        number = own.splits.index(split)
        train, test = own.train[number], own.test[number]
        if not self.precomputed:
            return own.X[train], own.X[test]
        columns = own.X[:, train]
        return columns[train], columns[test]

    @cached_property
    def problems(self) -> list[list[FoldProblem]]:
        """The problems of every split."""
        return [self.problems_of(fold) for fold in self.folds]

    @property
    def fits_per_cell(self) -> int:
        """Problems of all splits."""
        return sum(len(own) for own in self.problems)
