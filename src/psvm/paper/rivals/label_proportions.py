r"""Learning from label proportions: what its four methods share.

The rows come in bags. Of each bag the share of rows of class +1 is known, and of no row its label.
A method is fitted by ``fit(X, bags, shares)``, where ``bags`` has the number of each row's bag and
``shares`` the share of +1 in each bag, and it labels single rows. All work with a kernel, the
linear or the Gaussian one.

:func:`draw_bags` makes such data from labelled rows, and :func:`share_error` judges a method on
bags without a label: that is how parameters are chosen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.utils.validation import check_is_fitted

Array = npt.NDArray[np.float64]
Bags = npt.NDArray[np.intp]


class BaggedRows(NamedTuple):
    """Rows whose labels are known by bag only.

    Attributes
    ----------
    bags : ndarray of shape (n_samples,)
        The bag of each row, 0, 1, ...
    shares : ndarray of shape (n_bags,)
        The share of rows of class +1 in each bag.
    """

    bags: Bags
    shares: Array


def draw_bags(y: Array, size: int, seed: int) -> BaggedRows:
    """Put labelled rows into bags at random, and keep of the labels their shares only.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    size : int
        Rows of a bag; the last one may have fewer.
    seed : int
        Seed of the order of the rows.

    Returns
    -------
    BaggedRows
        The bags, and the share of +1 in each.
    """
    if size < 1:
        raise ValueError(f"`size` must be at least 1, got {size}.")
    order = np.random.default_rng(seed).permutation(len(y))
    bags = np.empty(len(y), dtype=np.intp)
    bags[order] = np.arange(len(y)) // size
    return BaggedRows(bags, means_by_bag((y > 0).astype(np.float64), bags))


def means_by_bag(values: Array, bags: Bags) -> Array:
    """The mean of the values of each bag.

    Parameters
    ----------
    values : ndarray of shape (n_samples,) or (n_samples, n_columns)
        One value, or one row of them, for each row.
    bags : ndarray of shape (n_samples,)
        The bag of each row; none is empty.

    Returns
    -------
    ndarray of shape (n_bags,) or (n_bags, n_columns)
        The means.
    """
    sums = np.zeros((int(bags.max()) + 1, *values.shape[1:]))
    np.add.at(sums, bags, values)
    sizes = np.bincount(bags).astype(np.float64)
    return np.asarray(sums / sizes.reshape(-1, *[1] * (values.ndim - 1)))


def rows_of_bags(bags: Bags) -> list[Bags]:
    """The numbers of the rows of each bag.

    Parameters
    ----------
    bags : ndarray of shape (n_samples,)
        The bag of each row.

    Returns
    -------
    list of ndarray
        In the order of the bags.
    """
    return [np.flatnonzero(bags == bag) for bag in range(int(bags.max()) + 1)]


def share_error(model: LabelProportionClassifier, X: Array, bagged: BaggedRows) -> float:
    """Mean distance between the shares of +1 that a model predicts and the true ones.

    Parameters
    ----------
    model : LabelProportionClassifier
        Fitted, to other bags.
    X : ndarray of shape (n_samples, n_features)
        Rows.
    bagged : BaggedRows
        Their bags.

    Returns
    -------
    float
        From 0 to 1. No label is needed for it.
    """
    predicted = means_by_bag((model.predict(X) > 0).astype(np.float64), bagged.bags)
    return float(np.mean(np.abs(predicted - bagged.shares)))


def take_bags(X: Array, bagged: BaggedRows, chosen: Sequence[int]) -> tuple[Array, BaggedRows]:
    """The rows of some of the bags, numbered anew.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    bagged : BaggedRows
        Their bags.
    chosen : sequence of int
        The bags to take.

    Returns
    -------
    tuple of ndarray and BaggedRows
        Their rows and bags.
    """
    numbers = np.full(len(bagged.shares), -1, dtype=np.intp)
    numbers[list(chosen)] = np.arange(len(chosen))
    kept = numbers[bagged.bags] >= 0
    bags = numbers[bagged.bags[kept]]
    return X[kept], BaggedRows(bags, bagged.shares[list(chosen)])


class LabelProportionClassifier(BaseEstimator, ABC):
    """A classifier of rows that is fitted to shares of labels in bags.

    A subclass has the parameters ``C``, ``kernel`` and ``gamma``, and its ``_solve`` returns
    coefficients of the training rows and an intercept.
    """

    C: float
    kernel: Literal["linear", "rbf"]
    gamma: float | Literal["scale"]

    def fit(self, X: Any, bags: Any, shares: Any) -> Self:
        """Fit to rows in bags.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        bags : array-like of shape (n_samples,)
            The bag of each row: 0, 1, ..., and no number left out.
        shares : array-like of shape (n_bags,)
            The share of rows of class +1 in each bag.

        Returns
        -------
        self : LabelProportionClassifier
            The fitted classifier.
        """
        X = np.asarray(X, dtype=np.float64)
        bagged = _checked(X, bags, shares)
        if self.kernel not in ("linear", "rbf"):
            raise ValueError(f'`kernel` must be "linear" or "rbf", got {self.kernel!r}.')
        if not self.C > 0:
            raise ValueError(f"`C` must be > 0, got {self.C!r}.")
        spread = X.shape[1] * X.var()
        width = self.gamma if self.gamma != "scale" else 1.0 / spread if spread > 0 else 1.0
        gram = _gram(self.kernel, width, X, X)
        self.dual_coef_, self.intercept_ = self._solve(gram, bagged)
        self.rows_, self.gamma_ = X, width
        return self

    @abstractmethod
    def _solve(self, gram: Array, bagged: BaggedRows) -> tuple[Array, float]:
        """Coefficients of the training rows, and the intercept."""

    def decision_function(self, X: Any) -> Array:
        """The score of each row, positive for class +1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores.
        """
        check_is_fitted(self, "dual_coef_")
        gram = _gram(self.kernel, self.gamma_, np.asarray(X, dtype=np.float64), self.rows_)
        return np.asarray(gram @ self.dual_coef_ + self.intercept_)

    def predict(self, X: Any) -> Array:
        """The label of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            -1 or +1.
        """
        return np.where(self.decision_function(X) >= 0, 1.0, -1.0)


def _checked(X: Array, bags: Any, shares: Any) -> BaggedRows:
    bags, shares = np.asarray(bags), np.asarray(shares, dtype=np.float64)
    if X.ndim != 2 or bags.shape != (len(X),):
        raise ValueError(f"`bags` must have one number per row: X is {X.shape}, bags {bags.shape}.")
    if not np.array_equal(np.unique(bags), np.arange(len(shares))):
        raise ValueError(f"`bags` must name each of the {len(shares)} bags from 0 on.")
    if not np.all((shares >= 0) & (shares <= 1)):
        raise ValueError("`shares` must lie in [0, 1].")
    return BaggedRows(bags.astype(np.intp), shares)


def _gram(kernel: str, gamma: float, X: Array, Z: Array) -> Array:
    values = linear_kernel(X, Z) if kernel == "linear" else rbf_kernel(X, Z, gamma=gamma)
    return np.asarray(values, dtype=np.float64)
