"""Scores of held-out decision values of classes, and the probabilities that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from psvm.mathematics.multiclass import class_pairs, class_scores, predicted_codes, problem_signs
from psvm.search.board import FoldAnswers
from psvm.search.calibration import Calibration
from psvm.search.class_problem import ClassificationProblem
from psvm.search.folds import Array, ClassFold
from psvm.search.scoring import HeldOutModel, HeldOutScorer, mean_of_splits

# How far the accuracy of a coarse cell may be off.
_NEAR = 0.002


def values_among_all(values: Array, fold: ClassFold, n_classes: int, multi_class: str) -> Array:
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


def class_decisions(values: Array, fold: ClassFold, n_classes: int, multi_class: str) -> Array:
    """Scores of all classes, one column each, from the values of a split; -inf for absent ones."""
    scores = class_scores(values, fold.classes.size, multi_class)
    found = np.full((values.shape[0], n_classes), -np.inf)
    two = scores.ndim == 1
    found[:, fold.classes] = np.column_stack([-scores, scores]) if two else scores
    return found


class HeldOutClassifier(ClassifierMixin, HeldOutModel):
    """What a scorer sees of a classifier; it has ``classes_``, too."""

    def __init__(
        self,
        classes: npt.NDArray[Any],
        decision: Array,
        codes: npt.NDArray[np.intp],
        params: dict[str, float],
        probabilities: Callable[[], Array],
    ) -> None:
        super().__init__(codes.size, params)
        self.classes_ = classes
        self._decision, self._codes, self._probabilities = decision, codes, probabilities

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


class ClassScorer(HeldOutScorer):
    """Scores every cell of every split of a classification.

    Parameters
    ----------
    problem, scorer, X, y, parameters
        As of HeldOutScorer.
    decision_function_shape : str
        As of PSVC.
    symmetric : bool
        Whether probabilities must agree with predictions, see :class:`Sigmoid`.
    quick : bool
        Whether the scorer is the accuracy, weighted by sample_weight.
    """

    _folds: Sequence[ClassFold]

    def __init__(
        self,
        problem: ClassificationProblem,
        scorer: Any,
        X: Any,
        y: npt.NDArray[Any],
        parameters: dict[str, Any],
        *,
        decision_function_shape: str,
        symmetric: bool,
        quick: bool,
    ) -> None:
        super().__init__(problem, scorer, X, y, parameters)
        self._codes, self._weight = problem.codes, problem.weight
        self._classes, self._multi_class = problem.classes, problem.multi_class
        self._shape, self._symmetric, self._quick = decision_function_shape, symmetric, quick

    def _at_once(self, values: Array, fold: ClassFold, parameters: dict[str, Any]) -> Array | None:
        if not self._quick:
            return None
        own_labels = self._codes[fold.test]
        # A label that has no weight in any row is no class: its rows are wrong.
        known = self._classes[own_labels] == self._y[fold.test]
        # Of all cells at once: the loop over pairs of classes is in Python.
        cells = values.shape[1]
        scores = self.class_scores(values.reshape(len(values), -1).T, fold)
        codes = predicted_codes(scores).reshape(cells, fold.test.size)
        right = (fold.classes[codes] == own_labels) & known
        weight = parameters.get("sample_weight")
        return np.array([np.average(one, weights=weight) for one in right])

    def near(self, best: Array) -> float:
        """How far the score of a coarse cell may be off."""
        return _NEAR

    def class_scores(self, values: Array, fold: ClassFold) -> Array:
        """One score per class of the split."""
        return class_scores(values, fold.classes.size, self._multi_class)

    def decision(self, values: Array, fold: ClassFold) -> Array:
        """What ``decision_function`` of a model of the split returns."""
        pairs = self._multi_class == "ovo" and fold.classes.size > 2 and self._shape == "ovo"
        return values if pairs else self.class_scores(values, fold)

    def of_all_rows(self, decisions: Sequence[Array]) -> tuple[Array, Calibration]:
        """What ``decision_function`` says of every row when held out; the sigmoids fitted to it.

        ``decisions`` are the values of the binary problems of one cell, split by split.
        """
        k, n = self._classes.size, self._size
        rows = [fold.test for fold in self._folds]

        def mean(of: Callable[[Array, ClassFold, int, str], Array]) -> Array:
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
            self._codes[rows],
            self._weight[rows],
            self._classes.size,
            self._multi_class,
            symmetric=self._symmetric,
        )

    def _model(self, split: int, place: int, answers: Sequence[FoldAnswers]) -> HeldOutClassifier:
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

        return HeldOutClassifier(
            self._classes[fold.classes],
            self.decision(values, fold),
            predicted_codes(self.class_scores(values, fold)),
            self._params[answers[split].cells[place]],
            probabilities,
        )
