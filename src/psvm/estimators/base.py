"""What PSVC and LinearPSVC share: all of a fit but the way the binary problems are solved."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets

from psvm.estimators import validation as check
from psvm.estimators.callbacks import CallbackSupportMixin, FitReporter
from psvm.estimators.progress import ProgressLog
from psvm.estimators.watch import FitListeners
from psvm.mathematics.certificate import Certificate
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.multiclass import votes_of_pairs
from psvm.mathematics.problem import Budget, Status

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Outcome:
    """How the solve of one binary problem ended."""

    certificate: Certificate
    status: Status
    n_iter: int
    history: list[dict[str, Any]]


@dataclass(frozen=True)
class Settings:
    """The parameters that every fit needs, checked."""

    loss: PNormHinge
    C: float
    budget: Budget


@dataclass(frozen=True)
class LabelledCosts:
    """Class number and cost of every row (0 for a row of weight 0), and the weight of each class.

    The class number of a row of weight 0 says nothing: its class may not exist.
    """

    codes: Codes
    cost: Array
    weight_of_class: Array


class FitWatch:
    """Who is told of a fit while it runs: the log, the callbacks and the listeners."""

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._reporter = FitReporter(estimator, X, y)
        self._log = ProgressLog(estimator.verbose)
        self._listeners = FitListeners()

    @property
    def in_order(self) -> bool:
        """Whether callbacks listen, who expect one problem after the other."""
        return self._reporter.active

    @property
    def listens(self) -> bool:
        """Whether anybody wants to hear of rounds, which makes a solver wait for Python."""
        return self._reporter.active or self._log.verbose > 0 or bool(self._listeners)

    def round(self, problem: int, record: dict[str, Any]) -> bool:
        """One outer iteration of a binary problem; a true answer stops it."""
        self._log.round(problem, record)
        self._listeners.round(problem, record)
        return self._reporter.round(problem, record)

    def done(self, outcomes: Sequence[Outcome]) -> None:
        """The binary problems are solved."""
        for t, one in enumerate(outcomes):
            self._log.done(t, one.certificate.gap, one.n_iter, one.status)

    def end(self) -> None:
        """The fit is over."""
        self._reporter.end()


class PNormClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of the classifiers: k classes as certified binary problems.

    A ``fit`` checks the parameters, validates X, begins a :class:`FitWatch`, numbers the classes,
    solves, refuses a hard margin that does not exist, stores, warns, and ends the watch.
    """

    # What to do when the hard margin does not exist, and in what the classes are not separable.
    _not_separable: ClassVar[str]

    p: float
    C: float
    fit_intercept: bool
    multi_class: str
    class_weight: Any
    tol: float
    max_iter: int
    max_time: float | None
    warm_start: bool
    verbose: int
    n_jobs: int | None
    classes_: npt.NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        """Sparse input is fine."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- fit -------------------------------------------------------------------------------------

    def _check_settings(self) -> Settings:
        """The common parameters, or an error that names the wrong one."""
        loss = PNormHinge(check.check_p(self.p))
        C = check.check_C(self.C)
        check.check_bool("fit_intercept", self.fit_intercept)
        check.check_bool("warm_start", self.warm_start)
        check.check_choice("multi_class", self.multi_class, check.MULTI_CLASS)
        budget = Budget(
            tol=check.check_tol(self.tol),
            max_iter=check.check_max_iter(self.max_iter),
            max_time=check.check_max_time(self.max_time),
        )
        return Settings(loss, C, budget)

    def _code_classes(self, y: npt.NDArray[Any], weight: Array, C: float) -> LabelledCosts:
        """Set ``classes_``, the labels with positive weight; number them and price the rows."""
        # Integers always are labels; the check would only be slow, but for its warning below.
        integers = y.dtype.kind in "biu"
        if not integers:
            check_classification_targets(y)
        absent = weight == 0.0
        if absent.all():
            raise ValueError("`sample_weight` must be > 0 for some row, got zeros only.")
        self.classes_ = np.unique(y[~absent] if absent.any() else y)
        if integers and self.classes_.size > 0.4 * y.size:  # suspiciously many
            check_classification_targets(y)
        if self.classes_.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes with positive weight, got one "
                f"class: {self.classes_.tolist()}."
            )
        codes = check.class_codes(y, self.classes_)
        weight_of_class = check.class_weights(self.class_weight, self.classes_, codes, weight)
        cost = weight_of_class[codes]  # multiplied in place: there may be very many rows
        cost *= C
        with np.errstate(invalid="ignore"):  # inf * 0
            cost *= weight
        cost[absent] = 0.0
        return LabelledCosts(codes, cost, weight_of_class)

    @property
    def _pairwise(self) -> bool:
        """Whether there is one binary problem per pair of classes, and more than one pair."""
        return self.classes_.size > 2 and self.multi_class == "ovo"

    def _refuse_unbounded(self, outcomes: Sequence[Outcome], C: float) -> None:
        """Raise if a hard margin was asked for and there is none; nothing is stored then."""
        if np.isinf(C) and any(one.status is Status.UNBOUNDED for one in outcomes):
            raise ValueError(
                f"C=inf asks for a hard margin, but the classes are not separable "
                f"{self._not_separable}"
            )

    def _store_outcomes(self, outcomes: Sequence[Outcome], weight_of_class: Array) -> None:
        """Fitted attributes that say how good the fit is, and the intercepts that belong to it."""
        self.intercept_ = np.array([one.certificate.intercept for one in outcomes])
        self.dual_gap_ = np.array([one.certificate.gap for one in outcomes])
        self.primal_objective_ = np.array([one.certificate.primal for one in outcomes])
        self.dual_objective_ = np.array([one.certificate.dual for one in outcomes])
        self.status_ = [one.status for one in outcomes]
        self.history_ = [one.history for one in outcomes]
        self.n_iter_ = np.array([one.n_iter for one in outcomes], dtype=np.int32)
        self.class_weight_ = weight_of_class

    def _warn(self, tol: float) -> None:
        """Warn if the fit is not within ``tol``, with the gap and a remedy."""
        failed = np.flatnonzero(~(self.dual_gap_ <= tol))
        if failed.size == 0:
            return
        worst = max(failed.tolist(), key=lambda t: float(self.dual_gap_[t]))
        status = self.status_[worst]
        remedy = {
            Status.MAX_ITER: "raise max_iter",
            Status.MAX_TIME: "raise max_time",
            Status.STOPPED: "let the callback go on",
        }.get(status, "lower C")
        warnings.warn(
            f"{type(self).__name__} is at relative gap {self.dual_gap_[worst]:.1e} > tol {tol:g} "
            f"in {failed.size} of {len(self.status_)} binary problems: {status.value}. "
            f"To get closer, {remedy}, scale X (for instance with StandardScaler), or accept a "
            f"larger tol.",
            ConvergenceWarning,
            stacklevel=3,
        )

    # --- predict ---------------------------------------------------------------------------------

    def _problem_decisions(self, X: Any) -> Array:
        """Decision value of every binary problem, shape (n, n_problems)."""
        raise NotImplementedError

    def _class_scores(self, values: Array) -> Array:
        """One score per class (of two classes the second only) from those of the problems."""
        if self.classes_.size == 2:
            return values[:, 0]
        return votes_of_pairs(values, self.classes_.size) if self._pairwise else values

    def decision_function(self, X: Any) -> Array:
        """Decision values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive means ``classes_[1]``. For more, one score per class, whose
            largest is the prediction.
        """
        return self._class_scores(self._problem_decisions(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Labels of the rows of X: the class of the largest decision value.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, as for :meth:`decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        codes = self._class_codes(X)
        return np.asarray(self.classes_[codes])

    def _class_codes(self, X: Any) -> npt.NDArray[np.intp]:
        """The number of the predicted class of every row."""
        return self._codes_of(self._problem_decisions(X))

    def _codes_of(self, values: Array) -> npt.NDArray[np.intp]:
        """The class of the largest score, from the decision values of the problems."""
        scores = self._class_scores(values)
        return (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
