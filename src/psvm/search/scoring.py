"""Scores of held-out answers by any scikit-learn scorer, without a fitted model at hand."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _check_method_params, _num_samples

from psvm.mathematics.multiclass import class_pairs, class_scores, predicted_codes, problem_signs
from psvm.search.board import FoldAnswers
from psvm.search.calibration import Calibration
from psvm.search.folds import Fold, Rows
from psvm.search.problem import SearchProblem

Array = npt.NDArray[np.float64]


def values_among_all(values: Array, fold: Fold, n_classes: int, multi_class: str) -> Array:
    """Values of the binary problems of a split as those of all classes; NaN for absent ones."""
    k = fold.classes.size
    if k == n_classes:
        return values
    found = np.full((values.shape[0], len(problem_signs(n_classes, multi_class))), np.nan)
    if multi_class == "ovr":
        # Of two classes there is one problem, whose positive class is the second.
        own = np.column_stack([-values[:, 0], values[:, 0]]) if k == 2 else values
        found[:, fold.classes] = own
        return found
    number = {pair: t for t, pair in enumerate(class_pairs(n_classes))}
    for t, (i, j) in enumerate(class_pairs(k)):
        column = number[int(fold.classes[i]), int(fold.classes[j])]
        found[:, column] = -values[:, t] if k == 2 else values[:, t]
    return found


def class_decisions(values: Array, fold: Fold, n_classes: int, multi_class: str) -> Array:
    """Scores of all classes, one column each, from the values of a split; -inf for absent ones."""
    scores = class_scores(values, fold.classes.size, multi_class)
    found = np.full((values.shape[0], n_classes), -np.inf)
    two = scores.ndim == 1
    found[:, fold.classes] = np.column_stack([-scores, scores]) if two else scores
    return found


def mean_of_splits(n: int, rows: Sequence[Rows], values: Sequence[Array]) -> Array:
    """The mean of what the splits say of every row, NaN where none does."""
    total = np.zeros((n, values[0].shape[1]))
    count = np.zeros((n, 1))
    for own, value in zip(rows, values, strict=True):
        np.add.at(total, own, value)
        np.add.at(count, own, 1.0)
    with np.errstate(invalid="ignore"):
        return total / count


class HeldOutModel(ClassifierMixin, BaseEstimator):
    """What a scorer sees of a model of the search: its answers for the held-out rows.

    It answers for those rows only, whatever X it is given, and has ``classes_`` and ``params_``.
    """

    def __init__(
        self,
        classes: npt.NDArray[Any],
        decision: Array,
        codes: npt.NDArray[np.intp],
        params: dict[str, float],
        probabilities: Callable[[], Array],
    ) -> None:
        self.classes_, self.params_ = classes, params
        self._decision, self._codes, self._probabilities = decision, codes, probabilities

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> Array:
        """Decision values of the held-out rows."""
        self._check_rows(X)
        return self._decision

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Labels of the held-out rows."""
        self._check_rows(X)
        return np.asarray(self.classes_[self._codes])

    def predict_proba(self, X: Any) -> Array:
        """Probabilities, by sigmoids fitted to what the other splits hold out."""
        self._check_rows(X)
        return self._probabilities()

    def _check_rows(self, X: Any) -> None:
        """Refuse other rows, as far as their number tells."""
        n = self._codes.size
        if _num_samples(X) != n:
            raise ValueError(
                f"The model that `scoring` is given answers for the {n} held-out rows only, got "
                f"{_num_samples(X)} rows; choose among its answers instead."
            )


class HeldOutScorer:
    """Scores every cell of every split.

    Parameters
    ----------
    problem : SearchProblem
    scorer : callable or None
        ``scorer(model, X, y, **parameters)``; None is the accuracy, weighted by sample_weight.
    X : array-like or sparse matrix
        The rows as the scorer sees them, a frame perhaps.
    y : ndarray
        Their labels.
    parameters : dict
        What the scorer is given; of values per row those of the held-out ones.
    decision_function_shape : str
        As of PSVC.
    symmetric : bool
        Whether probabilities must agree with predictions, see :class:`Sigmoid`.
    """

    def __init__(
        self,
        problem: SearchProblem,
        scorer: Any,
        X: Any,
        y: npt.NDArray[Any],
        parameters: dict[str, Any],
        *,
        decision_function_shape: str,
        symmetric: bool,
    ) -> None:
        self._problem, self._scorer, self._y, self._parameters = problem, scorer, y, parameters
        (self._X,) = indexable(X)
        self._folds, self._classes = problem.folds, problem.classes
        self._multi_class, self._shape = problem.multi_class, decision_function_shape
        self._symmetric = symmetric

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
        if self._scorer is None:
            own_labels = self._problem.codes[fold.test]
            # A label that has no weight in any row is no class: its rows are wrong.
            known = self._classes[own_labels] == self._y[fold.test]
            # Of all cells at once: the loop over pairs of classes is in Python.
            values = own.values[:, places].reshape(len(own.values), -1).T
            codes = predicted_codes(self.class_scores(values, fold)).reshape(
                places.size, fold.test.size
            )
            for place, predicted in zip(places, codes, strict=True):
                right = (fold.classes[predicted] == own_labels) & known
                found[place] = np.average(right, weights=parameters.get("sample_weight"))
        else:
            X = self._held_out_rows(fold)
            for place in places:
                model = self._model(split, int(place), answers)
                value = self._scorer(model, X, self._y[fold.test], **parameters)
                found[place] = _number(value, self._scorer)
        return found, (time.perf_counter() - start) / max(len(places), 1)

    def class_scores(self, values: Array, fold: Fold) -> Array:
        """One score per class of the split."""
        return class_scores(values, fold.classes.size, self._multi_class)

    def decision(self, values: Array, fold: Fold) -> Array:
        """What ``decision_function`` of a model of the split returns."""
        pairs = self._multi_class == "ovo" and fold.classes.size > 2 and self._shape == "ovo"
        return values if pairs else self.class_scores(values, fold)

    def of_all_rows(self, decisions: Sequence[Array]) -> tuple[Array, Calibration]:
        """What ``decision_function`` says of every row when held out; the sigmoids fitted to it.

        ``decisions`` are the values of the binary problems of one cell, split by split.
        """
        k, n = self._classes.size, self._problem.size
        rows = [fold.test for fold in self._folds]

        def mean(of: Callable[[Array, Fold, int, str], Array]) -> Array:
            by_split = zip(decisions, self._folds, strict=True)
            return mean_of_splits(n, rows, [of(*own, k, self._multi_class) for own in by_split])

        values = mean(values_among_all)
        calibration = self._calibration(values, np.arange(n))
        if k > 2 and not (self._multi_class == "ovo" and self._shape == "ovo"):
            values = mean(class_decisions)
        return values[:, 0] if k == 2 else values, calibration

    def _calibration(self, values: Array, rows: npt.NDArray[Any]) -> Calibration:
        """Sigmoids fitted to the held-out values of some rows."""
        return Calibration.fit(
            values,
            self._problem.codes[rows],
            self._problem.weight[rows],
            self._classes.size,
            self._multi_class,
            symmetric=self._symmetric,
        )

    def _held_out_rows(self, fold: Fold) -> Any:
        if self._problem.precomputed:
            return self._X[fold.test][:, fold.train]
        return _safe_indexing(self._X, fold.test)

    def _model(self, split: int, place: int, answers: Sequence[FoldAnswers]) -> HeldOutModel:
        fold, values = self._folds[split], answers[split].decision(place)

        @cache
        def probabilities() -> Array:
            others = [s for s in range(len(self._folds)) if s != split] or [split]
            seen = [s for s in others if answers[s].complete[place]]
            rows = np.concatenate([self._folds[s].test for s in seen])
            k = self._classes.size
            held_out = np.concatenate(
                [
                    values_among_all(
                        answers[s].decision(place), self._folds[s], k, self._multi_class
                    )
                    for s in seen
                ]
            )
            calibration = self._calibration(held_out, rows)
            own = values_among_all(values, fold, k, self._multi_class)
            if fold.classes.size < k:
                raise ValueError(
                    f"The scorer needs probabilities of {k} classes, and split {split} of `cv` "
                    f"trains on {fold.classes.size}; every class must have training rows in every "
                    f"split: stratify them, and leave out classes of a single row."
                )
            return calibration.probabilities(own)

        return HeldOutModel(
            self._classes[fold.classes],
            self.decision(values, fold),
            predicted_codes(self.class_scores(values, fold)),
            self._problem.grid.params[answers[split].cells[place]],
            probabilities,
        )


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
