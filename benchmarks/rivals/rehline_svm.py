"""ReHLine: coordinate descent for piecewise linear-quadratic losses, one thread.

It penalises the intercept, see :mod:`benchmarks.rivals.sklearn_linear`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.linear_objective import LinearModel
from benchmarks.rivals.interface import Labels, Setting
from benchmarks.rivals.psvm_linear import from_linear_svc


@dataclass(frozen=True)
class RehlineSVM:
    """``rehline.plq_Ridge_Classifier``; ``tol`` is a relative duality gap."""

    name: str
    intercept_scaling: float = 1.0
    tol: float = 1e-4
    max_iter: int = 1000
    package: str = "rehline"

    def why_not(self, p: float, n_train: int) -> str | None:
        """Losses made of lines and parabolas."""
        return None if p in (1.0, 2.0) else "solves p = 1 and p = 2 only"

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """The rows as they are."""
        return X

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Fit; the referee says how far it got, so the warning is not needed."""
        from rehline import plq_Ridge_Classifier

        svc = plq_Ridge_Classifier(
            loss={"name": "hinge" if setting.p == 1.0 else "squared hinge"},
            C=setting.C,
            intercept_scaling=self.intercept_scaling,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return svc.fit(data, y)

    def predict(self, model: Any, data: Any) -> Labels:
        """Predict labels."""
        return np.asarray(model.predict(data))

    def export(self, model: Any) -> LinearModel:
        """The fitted attributes."""
        return from_linear_svc(model)
