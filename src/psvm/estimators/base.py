"""What PSVC and LinearPSVC share: all of a fit but the way the binary problems are solved."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from psvm.estimators import validation as check
from psvm.estimators.absent import no_probabilities
from psvm.estimators.callbacks import CallbackSupportMixin
from psvm.estimators.labels import EncodedLabels, check_class_weight
from psvm.estimators.warn import warn_user
from psvm.mathematics.certificate import Certificate
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.multiclass import class_scores, predicted_codes
from psvm.solvers.ledger import Budget, Solution, Status

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """The parameters that every fit needs, checked."""

    loss: PNormHinge
    C: float
    fit_intercept: bool
    multi_class: str
    budget: Budget
    threads: int

    def pairwise(self, n_classes: int) -> bool:
        """Whether there is one binary problem per pair of classes, and more than one pair."""
        return n_classes > 2 and self.multi_class == "ovo"


def _is_finite(proof: Certificate) -> bool:
    """Whether a certificate consists of numbers, though its gap may be infinite."""
    # Of floats, for which math is ten times as fast.
    unknown = math.isnan(proof.primal) or math.isnan(proof.dual) or math.isnan(proof.gap)
    return not unknown and math.isfinite(proof.intercept) and math.isfinite(proof.scale)


def _are_finite(solved: Sequence[Solution]) -> bool:
    """Whether solutions consist of numbers."""
    values = [one.alpha if one.decision.size else one.w for one in solved]
    # All at once: there may be thousands of them.
    joined = values[0] if len(values) == 1 else np.concatenate(values)
    return all(_is_finite(one.certificate) for one in solved) and bool(np.isfinite(joined).all())


@contextmanager
def errors_as_before() -> Iterator[None]:
    """What NumPy does about overflows is the same afterwards, also of a fit that is interrupted.

    ``np.errstate`` stays on where Ctrl-C hits the few lines of NumPy that enter or leave it.
    """
    before = np.geterr()
    try:
        yield
    finally:
        np.seterr(**before)


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """What fails or is interrupted inside leaves the estimator as it was."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


class PNormClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of the classifiers: k classes as certified binary problems.

    A ``fit`` checks the parameters, then X, y and the weights, encodes the labels, solves, refuses
    a hard margin that does not exist and warns. Only then are attributes assigned, all of them in
    the method ``_store``: whatever goes wrong before leaves the estimator as it was.
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

    if not TYPE_CHECKING:  # which would call everything after them unreachable
        predict_proba = no_probabilities()
        predict_log_proba = no_probabilities()

    def __sklearn_tags__(self) -> Any:
        """Sparse input is fine."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- fit -------------------------------------------------------------------------------------

    def _check_settings(self) -> Settings:
        """The common parameters, or an error that names the wrong one."""
        check.check_bool("warm_start", self.warm_start)
        check.check_verbose(self.verbose)
        check_class_weight(self.class_weight)
        return Settings(
            loss=PNormHinge(check.check_p(self.p)),
            C=check.check_C(self.C),
            fit_intercept=check.check_bool("fit_intercept", self.fit_intercept),
            multi_class=check.check_choice("multi_class", self.multi_class, check.MULTI_CLASS),
            budget=Budget(
                tol=check.check_tol(self.tol),
                max_iter=check.check_max_iter(self.max_iter),
                max_time=check.check_max_time(self.max_time),
            ),
            threads=check.check_threads(self.n_jobs),
        )

    @property
    def _pairwise(self) -> bool:
        """Whether there is one binary problem per pair of classes, and more than one pair."""
        return self.classes_.size > 2 and self.multi_class == "ovo"

    def _judge(self, solved: Sequence[Solution], settings: Settings) -> None:
        """Raise if no model was found, for lack of a margin or of range; warn of gaps above tol."""
        if np.isinf(settings.C) and any(one.status is Status.UNBOUNDED for one in solved):
            raise ValueError(
                f"C=inf asks for a hard margin, but the classes are not separable "
                f"{self._not_separable}"
            )
        if not _are_finite(solved):
            raise ValueError(
                f"The numbers of this fit must stay within the range of float64, and with p = "
                f"{settings.loss.p:g}, C = {settings.C:g} and these X and weights they do not. "
                f"Scale X (for instance with StandardScaler), or lower C, the weights or p."
            )
        tol = settings.budget.tol
        failed = [one for one in solved if not one.certificate.gap <= tol]
        if not failed:
            return
        worst = max(failed, key=lambda one: one.certificate.gap)
        remedy = {
            Status.MAX_ITER: "raise max_iter",
            Status.MAX_TIME: "raise max_time",
            Status.STOPPED: "let the callback go on",
            Status.UNBOUNDED: "take a positive semidefinite kernel, p = 1 or a much lower C",
        }.get(worst.status, "lower C")
        gap = f"{worst.certificate.gap:.1e}"
        if worst.status is Status.UNPROVEN:
            gap = f"{worst.certificate.measured:.1e} or, with rounding, {gap}"
        warn_user(
            f"{type(self).__name__} is at relative gap {gap} > tol {tol:g} "
            f"in {len(failed)} of {len(solved)} binary problems: {worst.status.value}. "
            f"To get closer, {remedy}, scale X (for instance with StandardScaler), or accept a "
            f"larger tol.",
            ConvergenceWarning,
        )

    def _store_common(
        self, seen: check.SeenFeatures, labels: EncodedLabels, solved: Sequence[Solution]
    ) -> None:
        """Fitted attributes of every classifier: features, classes, and how good the fit is."""
        seen.store(self)
        self.classes_ = labels.classes
        self.class_weight_ = labels.class_weight
        self.dual_gap_ = np.array([one.certificate.gap for one in solved])
        self.primal_objective_ = np.array([one.certificate.primal for one in solved])
        self.dual_objective_ = np.array([one.certificate.dual for one in solved])
        self.status_ = [one.status for one in solved]
        self.history_ = [one.history for one in solved]
        self.n_iter_ = np.array([one.n_iter for one in solved], dtype=np.int32)

    # --- copies and files ------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        # The status by name: skops makes objects without their constructor, and an Enum has no
        # members but its own.
        state = dict(super().__getstate__())
        if "status_" in state:
            state["status_"] = [
                one.name if isinstance(one, Status) else one for one in state["status_"]
            ]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "status_" in state:
            found = [Status[one] if isinstance(one, str) else one for one in state["status_"]]
            state = {**state, "status_": found}
        super().__setstate__(state)

    # --- predict ---------------------------------------------------------------------------------

    def _problem_decisions(self, X: Any) -> Array:
        """Decision value of every binary problem, shape (n, n_problems)."""
        raise NotImplementedError

    def _class_scores(self, values: Array) -> Array:
        """One score per class (of two classes the second only) from those of the problems."""
        return class_scores(values, self.classes_.size, self.multi_class)

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
        return predicted_codes(self._class_scores(values))
