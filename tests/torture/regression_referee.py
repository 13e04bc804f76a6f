"""Regressions for the referee: every row is two rows of its problem, in units of its own.

With ``y' = (y - m) / s`` the same problem has the cost ``C s^(p - 2)``, ``epsilon / s``, and an
objective that is ``s^2`` times as small; s is a power of two, so that extended precision loses
nothing by it, and gaps are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torture.cases import FitCase
from torture.exact import Problem, Real, exactly
from torture.referee import Rows, Stored


class RegressionReferee(Rows):
    """The rows of a regression in extended precision."""

    def __init__(self, case: FitCase, model: Any, **chosen: float) -> None:
        given = {"epsilon": 0.1, "quantile": 0.5} | case.parameters | chosen
        self.p, self.quantile = float(given["p"]), Real(given["quantile"])
        weight = exactly(case.data.weight)
        present = weight > 0
        y = exactly(case.data.y)
        centred = case.parameters.get("fit_intercept", True)
        self.middle = np.sort(y[present])[present.sum() // 2] if centred else Real(0)
        spread = np.abs(y[present] - self.middle).max()
        power = int(np.round(np.log2(spread))) if spread > 0 else 0
        self.unit = np.ldexp(Real(1), power)
        self.y = (y - self.middle) / self.unit
        self.epsilon = Real(given["epsilon"]) / self.unit
        with np.errstate(over="ignore", under="ignore"):
            factor = np.exp2(Real(power) * (Real(self.p) - 2))
            cost = Real(given["C"]) * weight * factor
        super().__init__(case, model, np.where(present, cost, 0))

    @property
    def within_range(self) -> bool:
        """Whether costs are numbers in these units."""
        soft = np.isfinite(self.cost) | (self.case.parameters.get("C") == np.inf)
        return bool((self.cost[self.case.data.weight > 0] > 0).all() and soft.all())

    def stored(self) -> Stored:
        """The problem and its model as they are stored."""
        model = self.model
        rows = np.flatnonzero(self.cost > 0)
        twice = np.concatenate([rows, rows])
        one = np.ones(len(rows), dtype=Real)
        up, down = 2 * self.quantile * self.cost[rows], 2 * (1 - self.quantile) * self.cost[rows]
        problem = Problem(
            self.K[np.ix_(twice, twice)],
            np.concatenate([one, -one]),
            np.concatenate([up, down]),
            self.p,
            self.fit_intercept,
            self.entry_error,
            None if self.features is None else self.features[twice],
            np.concatenate([self.y[rows] - self.epsilon, self.y[rows] + self.epsilon]),
        )
        intercept = (Real(np.ravel(model.intercept_)[0]) - self.middle) / self.unit
        coef = w = None
        if hasattr(model, "dual_coef_"):
            every = np.zeros(len(self.cost), dtype=Real)
            every[model.support_] = exactly(model.dual_coef_[0]) / self.unit
            coef = np.concatenate([np.maximum(every[rows], 0), np.minimum(every[rows], 0)])
            primal, values = self.with_kernel(problem, twice, coef, intercept)
        else:
            w = exactly(np.ravel(model.coef_)) / self.unit
            primal, values = self.with_weights(problem, twice, w, 0 * w, intercept)
        status = model.status_[0].name if model.status_ else ""
        gap = float(np.ravel(model.dual_gap_)[0])
        return Stored(problem, primal, values, coef, intercept, gap, status, w)
