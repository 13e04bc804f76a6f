"""The recipe behind the paper's numbers: split, model and choice of C, exactly as published.

What the published experiments did differs from the model the paper defines in four ways, and every
one is kept here because the published numbers depend on it:

- the kernel called Gaussian is ``exp(-||x - z|| / (sqrt(2) sigma))``, without the square;
- p = 1 has no upper bound on alpha, so it is the hard margin and C plays no part;
- the intercept is the mean of ``y_k - sign(f_k)`` over the support vectors (f without intercept);
- alpha up to 1e-5 counts as zero, in the model as well as in the number of support vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from sklearn.model_selection import KFold, train_test_split

from psvm.data import load
from psvm.estimators.svc import PSVC
from psvm.paper import published

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[Any]

SEED = 42
"""Seed of every split and fold of the paper."""

GRID = (0.1, 0.5, 1.0, 5.0, 10.0)
"""The values of C searched for Table 1."""

SUPPORT_THRESHOLD = 1e-5
"""A row is a support vector if its alpha is larger."""

MULTICLASS_TEST_SIZE = 0.2
"""Test share of every set of Table 2 (the sets of Table 1 have one each)."""

SOLVED = 1e-9
"""Relative duality gap of every dual solved here: alpha is then exact well beyond the threshold."""


class Predictor(Protocol):
    """Anything that gives a label to each row."""

    def predict(self, X: Any) -> Labels:
        """Labels of the rows of X."""


Fit = Callable[[Array, Labels, float], Predictor]
"""``fit(X, y, C)``, a model trained with that cost."""


class Split(NamedTuple):
    """A training and a test part.

    Attributes
    ----------
    X_train, X_test : ndarray
        Rows.
    y_train, y_test : ndarray
        Their labels.
    """

    X_train: Array
    X_test: Array
    y_train: Labels
    y_test: Labels


def split(name: str) -> Split:
    """Training and test part of a set of the paper.

    Features are scaled over the whole set before it is split, as published.

    Parameters
    ----------
    name : str
        One of ``psvm.data.NAMES``.

    Returns
    -------
    Split
        ``X_train, X_test, y_train, y_test``; labels are -1 and +1 for the sets of Table 1.
    """
    shares = {cell.dataset: cell.test_size for cell in published.table1()}
    X, y = load(name)
    test_size = shares.get(name, MULTICLASS_TEST_SIZE)
    return Split(*train_test_split(X, y, test_size=test_size, random_state=SEED))


@dataclass(frozen=True)
class PublishedModel:
    """A binary classifier as the paper's experiments built it.

    Attributes
    ----------
    support_vectors : ndarray of shape (n_SV, n_features)
        Training rows with alpha above the threshold.
    dual_coef : ndarray of shape (n_SV,)
        Their ``alpha_k y_k``.
    intercept : float
        The sign-average.
    gamma : float
        Width of the exponential kernel.
    nsv_percent : float
        Share of the training rows that are support vectors, in percent.
    gap : float
        Certified relative duality gap of the dual solution, before the threshold.
    """

    support_vectors: Array
    dual_coef: Array
    intercept: float
    gamma: float
    nsv_percent: float
    gap: float

    def decision_function(self, X: Array) -> Array:
        """``sum_k alpha_k y_k K(x_k, x) + b`` for each row x.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Decision values.
        """
        kernel = exponential_kernel(X, self.support_vectors, self.gamma)
        return np.asarray(kernel @ self.dual_coef + self.intercept)

    def predict(self, X: Array) -> Array:
        """Sign of the decision value; 0, which is no label, where that is exactly 0.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            -1, 0 or +1.
        """
        return np.sign(self.decision_function(X))


def fit_published(X: Array, y: Labels, *, p: float, C: float) -> PublishedModel:
    """Train the model of Table 1 as published.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Training rows.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    p : float
        Exponent of the hinge, >= 1.
    C : float
        Cost of slack; without effect at p = 1, which is a hard margin.

    Returns
    -------
    PublishedModel
        The model.
    """
    gamma = published_gamma(X)
    cost = np.inf if p == 1.0 else C
    solved = PSVC(p=p, C=cost, kernel="exponential", gamma=gamma, tol=SOLVED, n_jobs=1).fit(X, y)
    kept = np.abs(solved.dual_coef_[0]) > SUPPORT_THRESHOLD
    rows = solved.support_[kept]
    dual_coef = solved.dual_coef_[0, kept]
    decision = exponential_kernel(X[rows], X[rows], gamma) @ dual_coef
    return PublishedModel(
        support_vectors=X[rows],
        dual_coef=dual_coef,
        intercept=sign_average(decision, y[rows]),
        gamma=gamma,
        nsv_percent=100.0 * rows.size / y.size,
        gap=float(solved.dual_gap_[0]),
    )


def published_gamma(X: Array) -> float:
    """Width of the exponential kernel: ``1 / (sqrt(2) sigma)`` with ``2 sigma^2 = M Var[X]``.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Training rows; Var is over all their entries together.

    Returns
    -------
    float
        ``1 / sqrt(M Var[X])``.
    """
    return float(1.0 / np.sqrt(X.shape[1] * X.var()))


def exponential_kernel(X: Array, Z: Array, gamma: float) -> Array:
    """``exp(-gamma ||x - z||)`` between the rows of X and Z.

    Parameters
    ----------
    X, Z : ndarray of shape (n, n_features) and (m, n_features)
        Rows.
    gamma : float
        Width.

    Returns
    -------
    ndarray of shape (n, m)
        Kernel values.
    """
    return np.asarray(np.exp(-gamma * cdist(X, Z)))


def sign_average(decision: Array, y: Labels) -> float:
    """The published intercept: the mean of ``y_k - sign(f_k)`` over the support vectors.

    Parameters
    ----------
    decision : ndarray of shape (n_SV,)
        ``f_k = sum_j alpha_j y_j K(x_j, x_k)``, without an intercept.
    y : ndarray of shape (n_SV,)
        Labels -1 and +1.

    Returns
    -------
    float
        The intercept. Each support vector on its right side adds 0, each other one 2 y_k (or y_k
        where f_k = 0), so that b is near 0 whatever the optimum's intercept is.
    """
    return float(np.mean(y - np.sign(decision)))


def choose_C(fit: Fit, X: Array, y: Labels, grid: Sequence[float], *, folds: int = 5) -> float:
    """The value of C with the best mean accuracy over the folds of the training part.

    Parameters
    ----------
    fit : callable
        ``fit(X, y, C)`` trains a model.
    X, y : ndarray
        The training part. What is given here is all that the choice depends on.
    grid : sequence of float
        Values of C in ascending order: of equally good ones the first is chosen.
    folds : int, default=5
        Number of folds, of shuffled rows (seed 42).

    Returns
    -------
    float
        The chosen C.
    """
    parts = list(KFold(n_splits=folds, shuffle=True, random_state=SEED).split(X))
    means = [
        np.mean(
            [np.mean(fit(X[rows], y[rows], C).predict(X[held]) == y[held]) for rows, held in parts]
        )
        for C in grid
    ]
    return float(grid[int(np.argmax(means))])


def accuracy_percent(model: Predictor, X: Array, y: Labels) -> float:
    """Share of the rows that the model labels right, in percent.

    Parameters
    ----------
    model : object with a ``predict`` method
        The model.
    X, y : ndarray
        Rows and their true labels.

    Returns
    -------
    float
        Accuracy from 0 to 100.
    """
    return 100.0 * float(np.mean(model.predict(X) == y))
