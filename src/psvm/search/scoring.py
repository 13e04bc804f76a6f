"""Scores of held-out answers by any scikit-learn scorer, without a fitted model at hand."""

from __future__ import annotations

import inspect
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _check_method_params, _num_samples

from psvm.search.board import FoldAnswers
from psvm.search.folds import Array, Fold, Rows
from psvm.search.problem import SearchProblem


def mean_of_splits(n: int, rows: Sequence[Rows], values: Sequence[Array]) -> Array:
    """The mean of what the splits say of every row, NaN where none does."""
    total = np.zeros((n, values[0].shape[1]))
    count = np.zeros((n, 1))
    for own, value in zip(rows, values, strict=True):
        np.add.at(total, own, value)
        np.add.at(count, own, 1.0)
    with np.errstate(invalid="ignore"):
        return total / count


class HeldOutModel(BaseEstimator):
    """What a scorer sees of a model of the search: its answers for the held-out rows.

    It answers for those rows only, whatever X it is given, and has ``params_``.
    """

    def __init__(self, size: int, params: dict[str, float]) -> None:
        self._size, self.params_ = size, params

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _check_rows(self, X: Any) -> None:
        """Refuse other rows, as far as their number tells."""
        if _num_samples(X) != self._size:
            raise ValueError(
                f"The model that `scoring` is given answers for the {self._size} held-out rows "
                f"only, got {_num_samples(X)} rows; choose among its answers instead."
            )


class HeldOutScorer:
    """Scores every cell of every split.

    Parameters
    ----------
    problem : SearchProblem
    scorer : callable
        ``scorer(model, X, y, **parameters)``.
    X : array-like or sparse matrix
        The rows as the scorer sees them, a frame perhaps.
    y : ndarray
        Their answers.
    parameters : dict
        What the scorer is given; of values per row those of the held-out ones.
    """

    def __init__(
        self,
        problem: SearchProblem,
        scorer: Any,
        X: Any,
        y: npt.NDArray[Any],
        parameters: dict[str, Any],
    ) -> None:
        self._scorer, self._y, self._parameters = scorer, y, parameters
        (self._X,) = indexable(X)
        self._size, self._folds = problem.size, problem.folds
        self._precomputed, self._params = problem.precomputed, problem.grid.params

    def scores(self, split: int, answers: Sequence[FoldAnswers]) -> tuple[Array, float]:
        """Scores of one split for the cells of a path (NaN where unfinished); seconds per cell.

        ``answers`` are those of all splits.
        """
        own, fold = answers[split], self._folds[split]
        places = np.flatnonzero(own.complete)
        found = np.full(len(own.cells), np.nan)
        start = time.perf_counter()
        parameters = _check_method_params(self._X, self._parameters, indices=fold.test)
        if not np.any(parameters.get("sample_weight", 1.0)):
            del parameters["sample_weight"]  # nothing but rows without weight: all alike
        at_once = self._at_once(own.values[:, places], fold, parameters)
        if at_once is not None:
            found[places] = at_once
        else:
            X = self._held_out_rows(fold)
            for place in places:
                if not np.isfinite(own.decision(int(place))).all():
                    continue  # of a kernel that is not definite: there is no score
                model = self._model(split, int(place), answers)
                value = self._scorer(model, X, self._y[fold.test], **parameters)
                found[place] = _number(value, self._scorer)
        return found, (time.perf_counter() - start) / max(len(places), 1)

    def near(self, best: Array) -> float:
        """How far the score of a coarse cell may be off; ``best`` are the scores of the best."""
        raise NotImplementedError

    def of_all_rows(self, decisions: Sequence[Array]) -> Any:
        """What is kept of the held-out values of the chosen cell, given split by split."""
        raise NotImplementedError

    def _at_once(self, values: Array, fold: Any, parameters: dict[str, Any]) -> Array | None:
        """Scores of all cells from values of shape (n_problems, n_cells, n_test), if that is known.

        None where the scorer itself must be asked, cell by cell.
        """
        raise NotImplementedError

    def _model(self, split: int, place: int, answers: Sequence[FoldAnswers]) -> HeldOutModel:
        """The stand-in for the model of one cell."""
        raise NotImplementedError

    def _held_out_rows(self, fold: Fold) -> Any:
        if self._precomputed:
            return self._X[fold.test][:, fold.train]
        return _safe_indexing(self._X, fold.test)


def accepts_sample_weight(scorer: Any) -> bool:
    """Whether a scorer can be given weights."""
    if hasattr(scorer, "_accept_sample_weight"):
        return bool(scorer._accept_sample_weight())
    score = getattr(scorer, "_score_func", scorer)
    return "sample_weight" in inspect.signature(score).parameters


def _number(value: Any, scorer: Any) -> float:
    try:
        if np.ndim(value) != 0:
            raise TypeError("several values")
        return float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`scoring` must return one number, {scorer!r} returned {value!r}."
        ) from error
