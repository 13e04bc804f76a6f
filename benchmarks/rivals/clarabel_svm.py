"""CVXPY with the conic interior-point solver Clarabel: every p, on the whole kernel matrix.

For K = L L' the primal problem

    min_{u, b, xi}  1/2 ||u||^2 + C sum_i xi_i^p
    subject to      y_i ((L u)_i + b) >= 1 - xi_i,  xi >= 0

is stated as it stands; the dual values of the constraints are alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.objective import DualModel
from benchmarks.rivals.interface import Labels, Setting
from benchmarks.rivals.pairwise import Array, dense, fit_pairs

MAX_ROWS = 1500  # dense linear algebra on twice as many variables: about a minute
NEGLIGIBLE = 1e-7  # times the largest alpha: an interior point is never exactly 0


@dataclass(frozen=True)
class ClarabelSVM:
    """The conic program at Clarabel's default tolerances (1e-8)."""

    name: str = "clarabel"
    package: str = "clarabel"

    def why_not(self, p: float, n_train: int) -> str | None:
        """Every p, on small sets."""
        return f"at most {MAX_ROWS} rows" if n_train > MAX_ROWS else None

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """Dense rows."""
        return dense(X)

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """State and solve the program of every pair of classes."""
        assert setting.gamma is not None

        def solve(K: Array, sign: Array) -> tuple[Array, float]:
            return solve_conic(K, sign, setting.C, setting.p)

        return fit_pairs(data, y, setting.gamma, solve)

    def predict(self, model: Any, data: Any) -> Labels:
        """The library has no prediction: the harness's own."""
        return np.asarray(model.predict(data))

    def export(self, model: Any) -> DualModel:
        """The packed pairs."""
        dual: DualModel = model.dual
        return dual


def solve_conic(K: Array, sign: Array, C: float, p: float) -> tuple[Array, float]:
    """``alpha * sign`` and the intercept of one binary problem."""
    import cvxpy as cp

    values, vectors = np.linalg.eigh(K)
    kept = values > values[-1] * K.shape[0] * np.finfo(np.float64).eps
    L = vectors[:, kept] * np.sqrt(values[kept])
    u, b, xi = cp.Variable(L.shape[1]), cp.Variable(), cp.Variable(sign.size, nonneg=True)
    fits = cp.multiply(sign, L @ u + b) >= 1.0 - xi
    loss = cp.sum(xi) if p == 1.0 else cp.sum(cp.power(xi, p))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(u) + C * loss), [fits])
    problem.solve(solver=cp.CLARABEL)
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise RuntimeError(f"Clarabel ended with status {problem.status}")
    alpha = np.maximum(fits.dual_value, 0.0)
    alpha[alpha < NEGLIGIBLE * alpha.max()] = 0.0
    return alpha * sign, float(np.asarray(b.value))
