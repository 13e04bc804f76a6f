"""What a search leaves to the kind of its answers: labels, or targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from psvm.search.folds import Array, Fold
from psvm.search.grid import AskedGrid, Grid
from psvm.search.problem import SearchProblem
from psvm.search.scoring import HeldOutScorer


@dataclass(frozen=True)
class EncodedRows:
    """The answers of all rows as numbers, and what is made with them.

    Attributes
    ----------
    weight : ndarray
        Sample weights; 0 for rows that the smallest C leaves out.
    model : estimator
        Makes whole fits, for the problem's ``answers``.
    fold : callable
        Gives the fold of a number, training rows and held-out rows.
    problem : callable
        Gives the problem of a kernel, prepared rows, grid, folds and fit_intercept.
    scorer : callable
        Gives the scorer of a problem, from a scorer of scikit-learn, X, y and its parameters.
    """

    weight: Array
    model: Any
    fold: Callable[..., Fold]
    problem: Callable[..., SearchProblem]
    scorer: Callable[..., HeldOutScorer]


class Task(Protocol):
    """How a search poses its problem.

    Attributes
    ----------
    classifier : bool
        Whether folds are stratified.
    final_step : str
        The name of the model behind a preprocessor.
    """

    classifier: bool
    final_step: str

    def grid(self) -> AskedGrid:
        """The lists, after all parameters that only this task has: checked, without the data."""

    @property
    def scoring(self) -> Any:
        """The scorer, by name or callable."""

    def model(self) -> Any:
        """The estimator of one cell but for the cell's parameters."""

    def refuse(self, y: Any) -> None:
        """Refuse what is clearly for another estimator, with a word about which."""

    def checked(self, y: npt.NDArray[Any], weight: Array) -> npt.NDArray[Any]:
        """y, unless this task is not for it; before anything is computed."""

    def spread(self, y: npt.NDArray[Any], weight: Array) -> float:
        """The unit of y, which default grids follow."""

    def encoded(self, y: npt.NDArray[Any], weight: Array, grid: Grid) -> EncodedRows:
        """The rows as numbers."""
