"""LearningProcessDisplay: accuracy and share of support vectors against the training size."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, indexable
from sklearn.utils.metaestimators import _safe_split

from psvm.plotting.canvas import (
    BLUE,
    GREEN,
    HANDLE,
    VERMILLION,
    axes_for,
    final_model,
    require_matplotlib,
    score_name,
    with_defaults,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

Array = npt.NDArray[np.float64]


class LearningProcessDisplay:
    """Training and test accuracy, and the share of support vectors, as the training set grows.

    This is the paper's Figure 2, for any data. Use :meth:`from_estimator`, or the constructor for
    numbers at hand.

    Parameters
    ----------
    train_sizes : array-like of shape (n_sizes,)
        Numbers of training rows (or steps, or whatever the process goes along).
    train_scores, test_scores : array-like of shape (n_sizes,) or (n_sizes, n_folds)
        Scores on the training rows and on others, in [0, 1].
    support_shares : array-like of shape (n_sizes,) or (n_sizes, n_folds)
        Number of support vectors over the number of training rows, in [0, 1].
    score_name : str, default="accuracy"
        What the scores are.
    x_label : str, default="training rows"
        What the sizes are.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        Means over the folds: training score, test score, share of support vectors.
    bands_ : list of matplotlib PolyCollection
        One standard deviation around each, if there are several folds.
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure that holds them.

    See Also
    --------
    sklearn.model_selection.LearningCurveDisplay : The scores alone, for any estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from psvm import PSVC
    >>> from psvm.plotting import LearningProcessDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = LearningProcessDisplay.from_estimator(PSVC(), X, y, train_sizes=[30, 60, 120])
    >>> display.test_scores.shape
    (3, 5)
    """

    lines_: list[Line2D]
    bands_: list[PolyCollection]
    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self,
        *,
        train_sizes: Any,
        train_scores: Any,
        test_scores: Any,
        support_shares: Any,
        score_name: str = "accuracy",
        x_label: str = "training rows",
    ) -> None:
        self.train_sizes = train_sizes
        self.train_scores = train_scores
        self.test_scores = test_scores
        self.support_shares = support_shares
        self.score_name = score_name
        self.x_label = x_label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        train_sizes: Any = 8,
        cv: Any = None,
        groups: Any = None,
        scoring: Any = None,
        shuffle: bool = True,
        random_state: Any = 0,
        n_jobs: int | None = None,
        ax: Axes | None = None,
        line_kw: dict[str, Any] | None = None,
        fill_between_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Train on more and more rows, and draw how the scores develop.

        Parameters
        ----------
        estimator : estimator
            An estimator with ``n_support_`` once fitted: PSVC, LinearPSVC, PSVR, SVC, or a pipeline
            or search of them. It is cloned.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        train_sizes : int, or array-like of int or float, default=8
            Numbers of training rows, or shares of the smallest training part (floats up to 1); an
            int is how many, from a tenth to all of them.
        cv : int, splitter, iterable or None, default=None
            How to split into training and test parts, as everywhere in scikit-learn; None is 5
            stratified folds.
        groups : array-like of shape (n_samples,), default=None
            Groups for the splitter.
        scoring : str, callable or None, default=None
            The score; None is the accuracy, or R² of a regressor.
        shuffle : bool, default=True
            Whether the rows of a training part come in random order. The smaller sets are the
            beginnings of the larger ones.
        random_state : int, RandomState or None, default=0
            The order of the rows.
        n_jobs : int or None, default=None
            Processes, as joblib reads it.
        ax, line_kw, fill_between_kw
            As for :meth:`plot`.

        Returns
        -------
        LearningProcessDisplay
            The display, drawn.
        """
        require_matplotlib("LearningProcessDisplay.from_estimator")
        X, y, groups = indexable(X, y, groups)
        splits = [
            (np.asarray(train), np.asarray(test))
            for train, test in check_cv(cv, y, classifier=is_classifier(estimator)).split(
                X, y, groups
            )
        ]
        sizes = _sizes(train_sizes, min(train.size for train, _ in splits))
        scorer = check_scoring(estimator, scoring)
        if shuffle:
            rng = check_random_state(random_state)
            splits = [(rng.permutation(train), test) for train, test in splits]
        points = Parallel(n_jobs=n_jobs)(
            delayed(_point)(clone(estimator), X, y, train[:size], test, scorer)
            for size in sizes
            for train, test in splits
        )
        values = np.array(points).reshape(len(sizes), len(splits), 3)
        display = cls(
            train_sizes=np.array(sizes),
            train_scores=values[:, :, 0],
            test_scores=values[:, :, 1],
            support_shares=values[:, :, 2],
            score_name=score_name(scoring, estimator),
        )
        return display.plot(ax, line_kw=line_kw, fill_between_kw=fill_between_kw)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        line_kw: dict[str, Any] | None = None,
        fill_between_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the scores and the share of support vectors, in percent.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        line_kw : dict, default=None
            Further arguments of every line.
        fill_between_kw : dict, default=None
            Further arguments of every band.

        Returns
        -------
        LearningProcessDisplay
            The display itself.
        """
        ax = axes_for(ax, "LearningProcessDisplay.plot")
        self.lines_, self.bands_ = [], []
        for values, label, colour, dashes, marker in (
            (self.train_scores, f"training {self.score_name}", BLUE, "--", "s"),
            (self.test_scores, f"test {self.score_name}", VERMILLION, "-", "o"),
            (self.support_shares, "support vectors", GREEN, ":", "^"),
        ):
            folds = 100.0 * np.asarray(values, dtype=np.float64).reshape(len(self.train_sizes), -1)
            mean, deviation = folds.mean(axis=1), folds.std(axis=1)
            style = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 4.0}
            style |= {"linewidth": 1.8, "label": label}
            self.lines_ += ax.plot(self.train_sizes, mean, **with_defaults(line_kw, **style))
            if folds.shape[1] > 1:
                band = {"color": colour, "alpha": 0.15, "linewidth": 0.0, **(fill_between_kw or {})}
                low, high = mean - deviation, mean + deviation
                self.bands_.append(ax.fill_between(self.train_sizes, low, high, **band))
        ax.set_xlabel(self.x_label)
        ax.set_ylabel("percent")
        ax.legend(frameon=False, handlelength=HANDLE)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _sizes(train_sizes: Any, largest: int) -> list[int]:
    """Numbers of training rows, ascending."""
    if isinstance(train_sizes, Integral):
        train_sizes = np.linspace(0.1, 1.0, int(train_sizes))
    values = np.asarray(train_sizes)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iuf":
        raise ValueError(
            f"`train_sizes` must be an int, or a list of numbers or shares of rows, "
            f"got {train_sizes!r}."
        )
    if values.dtype.kind == "f":
        values = np.floor(values * largest + 1e-9).astype(np.int64)
    if values.min() < 2 or values.max() > largest:
        raise ValueError(
            f"`train_sizes` must be from 2 to {largest}, the rows of the smallest training part "
            f"(or shares of it), got {train_sizes!r}."
        )
    return [int(size) for size in np.unique(values)]


def _point(estimator: Any, X: Any, y: Any, train: Any, test: Any, scorer: Any) -> list[float]:
    """Training score, test score and share of support vectors of one fit."""
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, y_test = _safe_split(estimator, X, y, test, train)
    if np.unique(y_train).size < 2:
        raise ValueError(
            f"{train.size} training rows of a split have one class only; take larger "
            f"`train_sizes`, or another order of the rows (`shuffle`, `random_state`)."
        )
    estimator.fit(X_train, y_train)
    model = final_model(estimator, "n_support_", "LearningProcessDisplay.from_estimator")
    return [
        float(scorer(estimator, X_train, y_train)),
        float(scorer(estimator, X_test, y_test)),
        float(np.sum(model.n_support_)) / train.size,
    ]
