"""What PSVR and LinearPSVR share: the parameters of the tube, and one certified problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from psvm.estimators import validation as check
from psvm.estimators.base import PNormMachine, Settings
from psvm.estimators.targets import EncodedTargets, encode_targets
from psvm.estimators.watch import FitWatch
from psvm.mathematics.certificate import Certificate, DualRows
from psvm.solvers.ledger import Budget, Ledger, Record, Solution, Status

Array = npt.NDArray[np.float64]
OnRound = Callable[[int, Record], bool]
# A solver of the problem in the units of its targets, given limits and who listens.
Solve = Callable[[Budget, OnRound | None], Solution]

# Share of tol that is left for what the units of y round off.
FOR_UNITS = 1e-3


@dataclass(frozen=True)
class RegressorSettings(Settings):
    """The parameters that every fit of a regressor needs, checked."""

    epsilon: float
    quantile: float


class PNormRegressor(RegressorMixin, PNormMachine):
    """Base of the regressors.

    Between the encoding of y and the storing of results everything is in the units of
    :class:`psvm.estimators.targets.EncodedTargets`.
    """

    _sizes_of = "X, y and weights"
    _rescaling = (
        "Scale X (for instance with StandardScaler) and y (with TransformedTargetRegressor)"
    )
    # In what no model has all rows inside the tube, and what to do about it.
    _not_inside: ClassVar[str]

    epsilon: float
    quantile: float

    # --- fit -------------------------------------------------------------------------------------

    def _check_settings(self) -> RegressorSettings:
        """The common parameters, or an error that names the wrong one."""
        common = self._check_common()
        epsilon = check.check_epsilon(self.epsilon)
        if np.isinf(common.C) and epsilon == 0.0:
            raise ValueError(
                "C=inf asks for all rows inside the tube |y - f(x)| <= epsilon, and at "
                "epsilon=0 rounding alone puts them outside: `epsilon` must be > 0 for C=inf. "
                "Use a small epsilon, or a large finite C."
            )
        return RegressorSettings(
            **vars(common), epsilon=epsilon, quantile=check.check_quantile(self.quantile)
        )

    def _encode(self, y: Any, weight: Array, settings: RegressorSettings) -> EncodedTargets:
        """The targets in units of their own."""
        return encode_targets(
            y,
            weight,
            settings.C,
            settings.epsilon,
            settings.quantile,
            settings.loss.p,
            settings.fit_intercept,
        )

    def _solved(
        self,
        targets: EncodedTargets,
        rows: DualRows,
        settings: RegressorSettings,
        watch: FitWatch,
        solve: Solve,
    ) -> Solution:
        """What ``solve`` finds for the dual rows, in the user's units, certified and judged.

        ``solve`` works in the units of the targets. Where w = 0 has all rows inside the tube,
        nothing is to be solved.
        """
        budget, told = settings.budget, None
        if watch.listens:

            def told(problem: int, record: Record) -> bool:
                return watch.round(problem, targets.record(record))

        solution = flat_solution(targets, rows.y.size, budget, told)
        if solution is None:
            found = solve(replace(budget, tol=(1.0 - FOR_UNITS) * budget.tol), told)
            solution = targets.in_users_units(found, rows, budget.tol)
        watch.done([solution])
        self._judge([solution], settings)
        return solution

    def _no_hard_margin(self) -> str:
        return (
            f"C=inf asks for all rows inside the tube |y - f(x)| <= epsilon = {self.epsilon:g}, "
            f"and no such model was found {self._not_inside}"
        )

    def _how_many(self, failed: int, total: int) -> str:
        return ""

    # --- predict ---------------------------------------------------------------------------------

    def _values(self, X: Any) -> Array:
        """``f(x) + b`` of every row of X."""
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """Predicted targets of the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, as for :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._values(X)


def flat_solution(
    targets: EncodedTargets, rows: int, budget: Budget, told: OnRound | None
) -> Solution | None:
    """The solution where w = 0 has all rows inside the tube, P = D = 0; else None."""
    intercept = targets.flat_intercept()
    if intercept is None:
        return None
    ledger = Ledger(budget, 0, told)
    stage = ledger.stage("none", "w = 0 has all rows inside the tube")
    stage.tell({"iteration": 0, "gap": 0.0, "primal": 0.0, "dual": 0.0})
    zeros = np.zeros(rows)
    proof = Certificate(0.0, 0.0, 0.0, intercept)
    return ledger.closed(Solution(lambda: zeros, proof, Status.CONVERGED, decision=zeros))
