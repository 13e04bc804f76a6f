"""What is measured of a method's answers: accuracy, balanced accuracy, AUC, log loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

LEAST_PROBABILITY = 1e-6
"""Probabilities are not below it in the log loss: a method that is sure and wrong loses 13.8."""


class Answers(NamedTuple):
    """What a method says of the test rows.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
        Classes.
    probabilities : ndarray of shape (n_rows, n_classes)
        Of the classes of the whole table; 0 for those that it was not trained on.
    scores : ndarray of shape (n_rows,) or None
        Decision values of two classes, which order the rows more finely than probabilities.
    """

    labels: Labels
    probabilities: Array
    scores: Array | None = None


def answers_of(model: Any, X: Any, n_classes: int) -> Answers:
    """Labels, probabilities and decision values of a fitted classifier."""
    probabilities = np.zeros((len(X), n_classes))
    probabilities[:, model.classes_] = model.predict_proba(X)
    scores = None
    if len(model.classes_) == 2 and n_classes == 2 and hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X))
    return Answers(np.asarray(model.predict(X)), probabilities, scores)


def measured(y: Labels, answers: Answers) -> dict[str, float]:
    """The four measures."""
    return {
        "accuracy": float(np.mean(answers.labels == y)),
        # The mean recall of the classes that have test rows.
        "balanced_accuracy": float(
            np.mean([np.mean(answers.labels[y == k] == k) for k in np.unique(y)])
        ),
        "auc": area(y, answers),
        "log_loss": log_loss(y, answers.probabilities),
    }


def area(y: Labels, answers: Answers) -> float:
    """Area under the curve: of two classes as usual, of more the mean of each against the rest."""
    present = np.unique(y)
    if len(present) < 2:
        return float("nan")
    if answers.scores is not None:
        return float(roc_auc_score(y == 1, answers.scores))
    areas = [roc_auc_score(y == k, answers.probabilities[:, k]) for k in present]
    return float(np.mean(areas))


def log_loss(y: Labels, probabilities: Array) -> float:
    """Mean of the negative logarithm of the true class's probability."""
    own = probabilities[np.arange(len(y)), y]
    return float(-np.mean(np.log(np.clip(own, LEAST_PROBABILITY, 1.0))))
