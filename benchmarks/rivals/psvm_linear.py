"""psvm's LinearPSVC with float64 input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmarks.linear_objective import LinearModel
from benchmarks.rivals.interface import Labels, Setting


@dataclass(frozen=True)
class PsvmLinear:
    """``psvm.LinearPSVC``; ``tol`` is the relative duality gap to reach."""

    name: str
    tol: float = 1e-4
    solver: Literal["auto", "semismooth_newton", "coordinate_descent"] = "auto"
    package: str = "psvm"

    def why_not(self, p: float, n_train: int) -> str | None:
        """Every p."""
        return None

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """The rows as they are."""
        return X

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Fit to the gap ``tol``."""
        from psvm import LinearPSVC

        svc = LinearPSVC(
            setting.p, C=setting.C, tol=self.tol, solver=self.solver, n_jobs=setting.threads
        )
        return svc.fit(data, y)

    def predict(self, model: Any, data: Any) -> Labels:
        """Predict labels."""
        return np.asarray(model.predict(data))

    def export(self, model: Any) -> LinearModel:
        """The fitted attributes."""
        return from_linear_svc(model)


def from_linear_svc(svc: Any) -> LinearModel:
    """Read the attributes that every LinearSVC-like estimator of two classes has."""
    (model,) = from_one_vs_rest(svc)
    return model


def from_one_vs_rest(svc: Any) -> list[LinearModel]:
    """One model for every class, or one for two of them."""
    coef = np.atleast_2d(np.asarray(svc.coef_, dtype=np.float64))
    return [LinearModel(w, float(b)) for w, b in zip(coef, np.ravel(svc.intercept_), strict=True)]
