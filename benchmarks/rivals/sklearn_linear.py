"""scikit-learn's LinearSVC (LIBLINEAR with changes), one thread.

It penalises the intercept: ``w`` minimises ``P + 1/2 (b / s)^2`` with ``s = intercept_scaling``, so
its P, with the intercept the referee finds, may exceed the optimum by up to ``b^2 / (2 s^2)``. That
is 1e-3 of P on a9a at C = 0.01 and s = 1, and harmless where ``C n`` is large. A large s costs
time, because the constant column of value s dominates the rows: dual coordinate descent takes 3 to
10 times the epochs at s = 10, and s = 100 does not arrive. So both s = 1 and s = 10 take part.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmarks.linear_objective import LinearModel
from benchmarks.rivals.interface import Labels, Setting
from benchmarks.rivals.psvm_linear import from_linear_svc


@dataclass(frozen=True)
class SklearnLinear:
    """``sklearn.svm.LinearSVC``, primal (trust-region Newton) or dual (coordinate descent).

    "auto", its default, takes the primal where it can and the rows are no fewer than the features.
    """

    name: str
    dual: bool | Literal["auto"]
    intercept_scaling: float = 1.0
    tol: float = 1e-4
    max_iter: int = 1000
    package: str = "scikit-learn"

    def why_not(self, p: float, n_train: int) -> str | None:
        """The hinge in the dual only, and the squared hinge."""
        if p == 2.0 or (p == 1.0 and self.dual):
            return None
        return "solves p = 1 and p = 2 only" if self.dual else "solves p = 2 only"

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """The rows as they are."""
        return X

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Fit; the referee says how far it got, so the warning is not needed."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        svc = LinearSVC(
            C=setting.C,
            loss="hinge" if setting.p == 1.0 else "squared_hinge",
            dual=self.dual,
            intercept_scaling=self.intercept_scaling,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return svc.fit(data, y)

    def predict(self, model: Any, data: Any) -> Labels:
        """Predict labels."""
        return np.asarray(model.predict(data))

    def export(self, model: Any) -> LinearModel:
        """The fitted attributes."""
        return from_linear_svc(model)
