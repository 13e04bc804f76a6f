"""What the rivals implemented here share: one linear score per class, the largest one predicts."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from psvm.mathematics.multiclass import predicted_codes

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]


class Solution(NamedTuple):
    """Weights that an optimiser found, and its iterations.

    Attributes
    ----------
    weights : ndarray of shape (n_features + 1, n_classes)
        One column per class; the last row holds the intercepts. For two classes it may be one
        column, the difference of the second and the first.
    n_iter : int
        Iterations of the optimiser.
    smoothing : float
        The last smoothing of the loss, for a further solve that starts from here.
    """

    weights: Array
    n_iter: int
    smoothing: float = 0.0


class LinearScoresClassifier(ClassifierMixin, BaseEstimator):
    """Classifier that predicts the class k of largest score ``<w_k, x> + b_k``.

    A subclass has the parameters ``C``, ``tol`` and ``max_iter``, all > 0, and says in ``_solve``
    how W and b are found. With two classes only the difference of their scores is kept, which is
    scikit-learn's form of a binary linear model.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) with two classes
        Weights; with two classes the difference of the second and the first.
    intercept_ : ndarray of shape (n_classes,), or (1,) with two classes
        Intercepts, likewise.
    n_iter_ : int
        Iterations of the optimiser, of all its rounds if there are several.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of str
        Their names, if X has any.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels of any type, of at least two classes.

        Returns
        -------
        self : LinearScoresClassifier
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must have at least 2 classes, got one class: {self.classes_[0]!r}."
            )
        check_positive(self, "C", "tol", "max_iter")
        weights, self.n_iter_, _ = self._solve(X, codes, len(self.classes_))
        if weights.shape[1] == 2:
            weights = weights[:, 1:] - weights[:, :1]
        self.coef_ = np.ascontiguousarray(weights[:-1].T)
        self.intercept_ = weights[-1]
        return self

    def decision_function(self, X: Any) -> Array:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) with two classes
            One score per class; with two classes that of ``classes_[1]`` less that of
            ``classes_[0]``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores: Array = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Class of largest score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted labels.
        """
        codes = predicted_codes(self.decision_function(X))
        return np.asarray(self.classes_[codes])

    def _solve(self, X: Array, codes: Codes, n_classes: int) -> Solution:
        """Weights for rows X whose classes are ``codes``, numbers 0 .. n_classes - 1."""
        raise NotImplementedError


def check_positive(estimator: object, *names: str) -> None:
    """Raise ValueError unless every named parameter is a finite number > 0."""
    for name in names:
        value = getattr(estimator, name)
        if not 0 < value < np.inf:
            raise ValueError(f"`{name}` must be a finite number > 0, got {value!r}.")
