"""What a search has found so far: answers for held-out rows by width and split, then scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

import numpy as np
import numpy.typing as npt

from psvm.estimators.starts import HeadStart
from psvm.search.folds import Array, Fold, Rows


@dataclass
class FoldAnswers:
    """The answers of one split at one width, cell by cell along a path.

    Attributes
    ----------
    cells : list of int
        The cells of the path.
    values : ndarray of shape (n_problems, n_cells, n_test)
        Decision values of the problems for the held-out rows; anything where unsolved.
    support : ndarray of bool, shape (n_cells, n)
        Which rows of X are support vectors of some problem.
    gap : ndarray of shape (n_cells,)
        The worst relative duality gap of the problems.
    seconds : ndarray of shape (n_cells,)
        Time of all problems.
    solved : ndarray of int, shape (n_cells,)
        How many of them are solved.
    """

    cells: list[int]
    values: Array
    support: npt.NDArray[np.bool_]
    gap: Array
    seconds: Array
    solved: npt.NDArray[np.intp]
    _lock: Lock = field(default_factory=Lock, repr=False)

    @classmethod
    def empty(cls, cells: Sequence[int], n: int, fold: Fold, n_problems: int) -> FoldAnswers:
        """Nothing solved yet."""
        m = len(cells)
        return cls(
            list(cells),
            np.empty((n_problems, m, fold.test.size)),  # first touched by the threads of the search
            np.zeros((m, n), dtype=np.bool_),
            np.zeros(m),
            np.zeros(m),
            np.zeros(m, dtype=np.intp),
        )

    def add(
        self,
        places: slice,
        number: int,
        rows: Rows,
        *,
        decision: Array,
        supports: npt.NDArray[np.bool_],
        gap: Array,
        seconds: Array,
    ) -> None:
        """Solutions of one problem for some cells in a row; safe from any thread.

        ``supports`` says which of its training rows ``rows`` are support vectors.
        """
        with self._lock:
            self.values[number, places] = decision
            self.support[places, rows] |= supports
            self.gap[places] = np.maximum(self.gap[places], gap)
            self.seconds[places] += seconds
            self.solved[places] += 1

    @property
    def complete(self) -> npt.NDArray[np.bool_]:
        """Which cells have all their problems solved."""
        return np.asarray(self.solved == len(self.values))

    def some(self, places: npt.NDArray[np.bool_]) -> FoldAnswers:
        """The answers of some cells."""
        return FoldAnswers(
            [cell for cell, taken in zip(self.cells, places, strict=True) if taken],
            self.values[:, places],
            self.support[places],
            self.gap[places],
            self.seconds[places],
            self.solved[places],
        )

    def decision(self, place: int) -> Array:
        """Decision values of one cell, one column per problem."""
        return self.values[:, place].T


@dataclass(frozen=True)
class Listener:
    """Who hears of a run of an engine.

    Attributes
    ----------
    on_cells : callable
        Gets a number of problems that have been solved, from any thread.
    on_width : callable
        Gets the number of a width and the answers of all splits when the width is done; before an
        interrupt or SearchStopped goes on, also what there is of other widths. From the calling
        thread.
    on_wait : callable
        Called some twenty times a second, or after every whole fit. From the calling thread.
    end : float
        When ``on_wait`` will raise SearchStopped, by ``time.monotonic``: a fit need not go on
        beyond it.
    on_first : callable
        Called as soon as some cell is solved on all splits, where there is an ``end``; perhaps
        more than once. From the calling thread.
    """

    on_cells: Callable[[int], None]
    on_width: Callable[[int, list[FoldAnswers]], None]
    on_wait: Callable[[], None]
    end: float = np.inf
    on_first: Callable[[], None] = lambda: None

    def look_for_first(self, answers: Sequence[FoldAnswers]) -> None:
        """Tell if the answers of all splits at one width have a cell in common."""
        if np.isfinite(self.end) and np.all([own.complete for own in answers], axis=0).any():
            self.on_first()


class Engine(Protocol):
    """What solves cells on all splits."""

    @property
    def exact(self) -> bool:
        """Whether its fine answers are as good as those of whole fits, also for the chosen cell.

        Whole fits of few rows are exact to machine precision.
        """

    def run(self, paths: Mapping[int, Sequence[int]], tol: float, listener: Listener) -> None:
        """Solve the path of cells of every width, in the order given, to the relative gap ``tol``.

        Any error stops what is under way.
        """

    def head_start(self, cell: int) -> HeadStart | None:
        """What is known of the fit of a cell to all rows, if that is of use."""
