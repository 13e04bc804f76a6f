"""PSMOClassifier: pSMO and one-vs-one voting as published, with scikit-learn's interface."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from psvm.estimators import validation as check
from psvm.estimators.base import all_or_nothing
from psvm.estimators.kernel_input import check_kernel_input
from psvm.mathematics.multiclass import predicted_codes
from psvm.paper import psmo
from psvm.rows.kernel import Kernel, resolve_gamma

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]


class PSMOClassifier(ClassifierMixin, BaseEstimator):
    r"""The classifier of the paper's Table 2: pSMO on every pair of classes, and a vote.

    It is kept as published, to study the paper. :class:`psvm.PSVC` and :class:`psvm.LinearPSVC`
    minimise the same objective to a certified accuracy in a fraction of the time, with the exact
    intercept; this one draws its pairs of rows at random and usually ends by its step budget.

    Parameters
    ----------
    p : float, default=1.5
        Exponent of the hinge, any finite number >= 1.
    C : float, default=1.0
        Cost of slack, > 0. At p = 1, ``numpy.inf`` is the paper's hard margin.
    kernel : str or callable, default="linear"
        As for :class:`psvm.PSVC`.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width, as for :class:`psvm.PSVC`.
    degree : int, default=3
        Degree of the "poly" kernel.
    coef0 : float, default=0.0
        Constant of the "poly" and "sigmoid" kernels.
    eps : float, default=1e-4
        A pair of classes is done when a sweep over its rows changes alpha by less than this.
    max_steps : int, default=10_000
        Step budget of each pair of classes.
    random_state : int, RandomState instance or None, default=42
        Seed of the shuffles and of the partners in each step. The published runs had 42.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    pairs_ : ndarray of shape (n_pairs, 2)
        The two classes of each binary problem as indices into ``classes_``, the positive one first.
        Their order is that of the first appearance of each class in y.
    support_ : list of ndarray
        Of each pair, the indices of its support vectors.
    support_vectors_ : list of ndarray
        Of each pair, its support vectors; their indices for a precomputed kernel.
    n_support_ : ndarray of shape (n_pairs,)
        Number of support vectors of each pair.
    dual_coef_ : list of ndarray
        Of each pair, ``alpha_k y_k`` of its support vectors.
    intercept_ : ndarray of shape (n_pairs,)
        Averaged intercepts, Eq. (updb3) of the paper.
    dual_objective_ : ndarray of shape (n_pairs,)
        The dual objective reached.
    n_steps_ : ndarray of shape (n_pairs,)
        Steps made.
    converged_ : ndarray of bool of shape (n_pairs,)
        Whether ``eps`` ended the training and not the budget.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of str
        Their names, if X has any.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from psvm.paper.psmo_classifier import PSMOClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PSMOClassifier(p=2, max_steps=5_000).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    classes_: npt.NDArray[Any]
    pairs_: npt.NDArray[np.intp]
    support_: list[Rows]
    support_vectors_: list[Any]
    dual_coef_: list[Array]
    intercept_: Array
    _kernel: Kernel

    def __init__(
        self,
        p: float = 1.5,
        *,
        C: float = 1.0,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        eps: float = 1e-4,
        max_steps: int = 10_000,
        random_state: Any = 42,
    ) -> None:
        self.p = p
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.eps = eps
        self.max_steps = max_steps
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """A precomputed kernel is pairwise."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # --- fit -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Train one binary classifier per pair of classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows; for a precomputed kernel the matrix of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Labels of any type.

        Returns
        -------
        self : PSMOClassifier
            The fitted estimator.
        """
        p, C = check.check_p(self.p), check.check_C(self.C)
        eps = check.check_number("eps", self.eps, 0.0)
        if not isinstance(self.max_steps, Integral) or self.max_steps < 1:
            raise ValueError(f"`max_steps` must be an integer >= 1, got {self.max_steps!r}.")
        kernel = check.check_kernel(self.kernel, self.degree, self.coef0)
        gamma, seed = check.check_gamma(self.gamma), _seed(self.random_state)
        seen, X, y = check.check_data(self, X, y, sparse=False)
        check_classification_targets(y)
        check_kernel_input(self.kernel, X)
        if self.kernel != "precomputed":
            kernel = replace(kernel, gamma=resolve_gamma(gamma, X, np.ones(X.shape[0])))

        classes, first_row, codes = np.unique(y, return_index=True, return_inverse=True)
        if classes.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, got one class: "
                f"{classes.tolist()}."
            )
        pairs = np.array(list(combinations(np.argsort(first_row).tolist(), 2)))
        # The stream of random numbers of the published code, which is seeded once for the shuffles
        # and again by every binary fit.
        rng = random.Random(seed)
        states: list[psmo.Snapshot] = []
        objectives: list[float] = []
        support, vectors, dual_coef = [], [], []
        for first, second in pairs.tolist():
            rows, signs = shuffled_pair(codes, first, second, rng)
            points = self._points(X, rows)
            K = _matrix(kernel, X[rows], points)
            rng.seed(seed)
            state = psmo.fit(K, signs, p=p, C=C, eps=eps, max_steps=int(self.max_steps), rng=rng)
            kept = state.alpha > 0.0
            support.append(rows[kept])
            vectors.append(points[kept])
            dual_coef.append((state.alpha * signs)[kept])
            objectives.append(psmo.objective(state.alpha, state.decision, signs, p=p, C=C))
            states.append(state)
        with all_or_nothing(self):
            seen.store(self)
            self._kernel = kernel
            self.classes_, self.pairs_ = classes, pairs
            self.support_, self.support_vectors_, self.dual_coef_ = support, vectors, dual_coef
            self.n_support_ = np.array([rows.size for rows in support])
            self.intercept_ = np.array([state.intercept for state in states])
            self.dual_objective_ = np.array(objectives)
            self.n_steps_ = np.array([state.n_steps for state in states])
            self.converged_ = np.array([state.converged for state in states])
        return self

    def _points(self, X: Array, rows: Rows) -> Any:
        """What the kernel needs to know of training rows: features, or column numbers."""
        return rows if self.kernel == "precomputed" else X[rows]

    # --- predict ---------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Decision values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel values with all training rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive means ``classes_[1]``. For more, the votes of each class, plus
            a fraction that gives a tie to the class whose first vote came first in the order of
            ``pairs_``.
        """
        values = self._pair_decisions(X)
        if self.classes_.size == 2:
            return values[:, 0] if self.pairs_[0, 0] == 1 else -values[:, 0]
        return published_votes(values, self.pairs_, self.classes_.size)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Labels of the rows of X: the class of the largest decision value.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as for :meth:`decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        codes = predicted_codes(self.decision_function(X))
        return np.asarray(self.classes_[codes])

    def _pair_decisions(self, X: Any) -> Array:
        """Decision value of every pair, shape (n, n_pairs); positive for its first class."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        models = zip(self.support_vectors_, self.dual_coef_, self.intercept_, strict=True)
        return np.column_stack(
            [self._kernel.product(X, points, coef, threads=1) + b for points, coef, b in models]
        )


def shuffled_pair(codes: Rows, first: int, second: int, rng: random.Random) -> tuple[Rows, Array]:
    """Rows of two classes in the order of the published fits, and their labels.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Number of the class of each row.
    first, second : int
        The classes to be labelled +1 and -1.
    rng : random.Random
        Shuffles the rows, the second class having been stacked under the first.

    Returns
    -------
    rows : ndarray of int
        Row numbers.
    signs : ndarray of float
        Labels -1 and +1 of these rows.
    """
    stacked = np.concatenate([np.flatnonzero(codes == first), np.flatnonzero(codes == second)])
    order = list(range(stacked.size))
    rng.shuffle(order)
    rows = stacked[order]
    return rows, np.where(codes[rows] == first, 1.0, -1.0)


def published_votes(decisions: Array, pairs: npt.NDArray[Any], n_classes: int) -> Array:
    """Votes of each class, from the decision values of the pairs.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_pairs)
        A value >= 0 is a vote for the first class of the pair, else for the second.
    pairs : ndarray of shape (n_pairs, 2)
        Numbers of the two classes of each pair.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Votes plus a fraction below 1, which is the larger the earlier the first vote came. Each
        pair has one vote, so no two scores of a row are equal but those of classes without votes.
    """
    n, n_pairs = decisions.shape
    scores = np.zeros((n, n_classes))
    every = np.arange(n)
    for t in range(n_pairs):
        voted = np.where(decisions[:, t] >= 0.0, pairs[t, 0], pairs[t, 1])
        first_vote = scores[every, voted] == 0.0
        scores[every, voted] += 1.0 + first_vote * (1.0 - (t + 1.0) / (n_pairs + 1.0))
    return scores


def _matrix(kernel: Kernel, X: Array, points: Any) -> Array:
    """Kernel values between the rows of X and training points."""
    blocks = [block for _, block in kernel.blocks(X, points, threads=1)]
    return np.concatenate(blocks, axis=1).T


def _seed(random_state: Any) -> int:
    """A seed for Python's generator; an integer is the seed itself."""
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        return int(random_state)
    try:
        generator = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(f"`random_state` is no seed: {error}") from error
    return int(generator.randint(np.iinfo(np.int32).max))
