"""What all estimators share: all of a fit but what y stands for and how problems are solved."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from psvm.estimators import validation as check
from psvm.estimators.callbacks import CallbackSupportMixin
from psvm.estimators.warn import warn_user
from psvm.mathematics.certificate import Certificate
from psvm.mathematics.loss import PNormHinge
from psvm.solvers.ledger import Budget, Solution, Status


@dataclass(frozen=True)
class Settings:
    """The parameters that every fit needs, checked."""

    loss: PNormHinge
    C: float
    fit_intercept: bool
    budget: Budget
    threads: int


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


class PNormMachine(CallbackSupportMixin, BaseEstimator):
    """Base of classifiers and regressors: what is asked of a fit, and the verdict on it.

    A ``fit`` checks the parameters, then X, y and the weights, encodes y, solves, refuses a hard
    margin that does not exist and warns. Only then are attributes assigned, all of them in one
    place: whatever goes wrong before leaves the estimator as it was.
    """

    # What besides p and C decides how large the numbers of a fit are, and what to do about it.
    _sizes_of: ClassVar[str] = "X and weights"
    _rescaling: ClassVar[str] = "Scale X (for instance with StandardScaler)"

    p: float
    C: float
    fit_intercept: bool
    tol: float
    max_iter: int
    max_time: float | None
    warm_start: bool
    verbose: int
    n_jobs: int | None

    def __sklearn_tags__(self) -> Any:
        """Sparse input is fine."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- fit -------------------------------------------------------------------------------------

    def _check_common(self) -> Settings:
        """The parameters of every estimator, or an error that names the wrong one."""
        check.check_bool("warm_start", self.warm_start)
        check.check_verbose(self.verbose)
        return Settings(
            loss=PNormHinge(check.check_p(self.p)),
            C=check.check_C(self.C),
            fit_intercept=check.check_bool("fit_intercept", self.fit_intercept),
            budget=Budget(
                tol=check.check_tol(self.tol),
                max_iter=check.check_max_iter(self.max_iter),
                max_time=check.check_max_time(self.max_time),
            ),
            threads=check.check_threads(self.n_jobs),
        )

    def _no_hard_margin(self) -> str:
        """What to say when C = inf asks for too much."""
        raise NotImplementedError

    def _how_many(self, failed: int, total: int) -> str:
        """How many problems did not get to their goal, where there may be several."""
        raise NotImplementedError

    def _judge(self, solved: Sequence[Solution], settings: Settings) -> None:
        """Raise if no model was found, for lack of a margin or of range; warn of gaps above tol."""
        if np.isinf(settings.C) and any(one.status is Status.UNBOUNDED for one in solved):
            raise ValueError(self._no_hard_margin())
        if not _are_finite(solved):
            raise ValueError(
                f"The numbers of this fit must stay within the range of float64, and with p = "
                f"{settings.loss.p:g}, C = {settings.C:g} and these {self._sizes_of} they do not. "
                f"{self._rescaling}, or lower C, the weights or p."
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
            f"{type(self).__name__} is at relative gap {gap} > tol {tol:g}"
            f"{self._how_many(len(failed), len(solved))}: {worst.status.value}. "
            f"To get closer, {remedy}, scale X (for instance with StandardScaler), or accept a "
            f"larger tol.",
            ConvergenceWarning,
        )

    def _store_certificates(self, seen: check.SeenFeatures, solved: Sequence[Solution]) -> None:
        """Fitted attributes of every estimator: features, and how good the fit is."""
        seen.store(self)
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
