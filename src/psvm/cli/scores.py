"""How good predictions are: one number for all rows, and some for every class."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def scores_of(y: Array, predicted: Array, decision: Array, classes: Array) -> dict[str, Any]:
    """Scores of predictions, as JSON values.

    Parameters
    ----------
    y, predicted : ndarray of shape (n,)
        True and predicted labels, all of them in ``classes``.
    decision : ndarray of shape (n,) or (n, n_classes)
        Decision values; for two classes those of the second.
    classes : ndarray
        The labels of the model.

    Returns
    -------
    dict
        ``rows``, ``accuracy``, ``balanced_accuracy``, ``f1`` (mean over the classes), ``roc_auc``
        (one class against the rest, mean over the classes; None where it is not defined),
        ``confusion`` (rows are true classes) and ``classes`` (precision, recall, f1 and the number
        of rows of each).
    """
    from sklearn import metrics

    present = np.unique(y)
    precision, recall, f1, support = metrics.precision_recall_fscore_support(
        y, predicted, labels=classes, zero_division=0
    )
    occurring = support > 0
    return {
        "rows": int(y.size),
        "accuracy": float(np.mean(y == predicted)),
        "balanced_accuracy": float(recall[occurring].mean()),
        "f1": float(f1[np.isin(classes, np.union1d(present, predicted))].mean()),
        "roc_auc": _area(y, decision, classes),
        "classes": [
            {
                "class": one,
                "precision": float(precision[i]),
                "recall": float(recall[i]),
                "f1": float(f1[i]),
                "rows": int(support[i]),
            }
            for i, one in enumerate(classes.tolist())
        ],
        "confusion": metrics.confusion_matrix(y, predicted, labels=classes).tolist(),
    }


def _area(y: Array, decision: Array, classes: Array) -> float | None:
    """Area under the ROC curve, of the second class or as a mean over all."""
    from sklearn.metrics import roc_auc_score

    if np.unique(y).size < 2 or (classes.size > 2 and decision.shape[1:] != classes.shape):
        return None
    if classes.size == 2:
        return float(roc_auc_score(y == classes[1], decision))
    areas = [
        roc_auc_score(y == one, decision[:, i]) for i, one in enumerate(classes) if one in set(y)
    ]
    return float(np.mean(areas))
