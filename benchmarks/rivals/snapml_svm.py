"""Snap ML's SupportVectorMachine: stochastic dual coordinate ascent.

It penalises the intercept, see :mod:`benchmarks.rivals.sklearn_linear`. It runs on one thread: with
two it took twice as long where that was tried, on a million rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.linear_objective import LinearModel
from benchmarks.rivals.interface import Labels, Setting


@dataclass(frozen=True)
class SnapmlSVM:
    """``snapml.SupportVectorMachine``; ``tol`` is a change of coefficients."""

    name: str
    intercept_scaling: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000
    package: str = "snapml"

    def why_not(self, p: float, n_train: int) -> str | None:
        """The hinge and the squared hinge."""
        return None if p in (1.0, 2.0) else "solves p = 1 and p = 2 only"

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """The rows as they are."""
        return X

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Fit on one thread."""
        from snapml import SupportVectorMachine

        svm = SupportVectorMachine(
            loss="hinge" if setting.p == 1.0 else "squared_hinge",
            regularizer=1.0 / setting.C,
            fit_intercept=True,
            intercept_scaling=self.intercept_scaling,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=0,
        )
        return svm.fit(data, np.where(y == 1, 1.0, -1.0))

    def predict(self, model: Any, data: Any) -> Labels:
        """Predict labels."""
        return np.asarray(model.predict(data) > 0.0).astype(np.int64)

    def export(self, model: Any) -> LinearModel:
        """Its ``intercept_`` is the coefficient of a column whose value is the scale."""
        coef = np.asarray(model.coef_, dtype=np.float64).ravel()
        return LinearModel(coef, self.intercept_scaling * float(np.ravel(model.intercept_)[0]))
