"""SciPy's L-BFGS-B on the smooth primal (p > 1), intercept free: what one can do without a library.

For p other than 1 and 2 it is the only rival.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.linear_objective import LinearModel
from benchmarks.objective import Array
from benchmarks.rivals.interface import Labels, Setting


@dataclass(frozen=True)
class ScipyLBFGS:
    """``scipy.optimize.minimize``; ``ftol`` is the relative decrease of P per iteration."""

    name: str
    ftol: float
    package: str = "scipy"

    def why_not(self, p: float, n_train: int) -> str | None:
        """Needs a gradient."""
        return None if p > 1.0 else "needs p > 1"

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """The rows as they are."""
        return X

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Minimise P over (w, b), divided by ``C n`` so that its size does not matter."""
        from scipy.optimize import minimize

        C, p = setting.C, setting.p
        sign = np.where(y == 1, 1.0, -1.0)
        scale = 1.0 / (C * sign.size)

        def value_and_gradient(u: Array) -> tuple[float, Array]:
            w = u[:-1]
            xi = np.maximum(1.0 - sign * (data @ w + u[-1]), 0.0)
            power = xi ** (p - 1.0)
            slope = (-p * C) * sign * power
            gradient = np.append(w + data.T @ slope, slope.sum())
            return scale * (0.5 * (w @ w) + C * (power @ xi)), scale * gradient

        limits = {"maxiter": 100_000, "maxfun": 100_000, "ftol": self.ftol, "gtol": 0.0}
        start = np.zeros(data.shape[1] + 1)
        found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=limits)
        return LinearModel(found.x[:-1], float(found.x[-1]))

    def predict(self, model: Any, data: Any) -> Labels:
        """Predict labels."""
        return np.asarray(data @ model.coef + model.intercept > 0.0).astype(np.int64)

    def export(self, model: LinearModel) -> LinearModel:
        """The model as it is."""
        return model
