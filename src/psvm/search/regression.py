"""PSVRCV's own part of a search: its parameters, models and targets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.estimators import validation as check
from psvm.estimators.linear_svr import LinearPSVR
from psvm.estimators.svr import PSVR
from psvm.estimators.targets import (
    check_targets,
    encode_targets,
    refuse_several_targets,
    spread_of_targets,
    weights_for_all_targets,
)
from psvm.search.folds import Array, Fold, Rows
from psvm.search.grid import AskedGrid, Grid, check_epsilons, check_grid
from psvm.search.target_problem import RegressionProblem
from psvm.search.target_scoring import TargetScorer, pinball_scorer
from psvm.search.task import EncodedRows


@dataclass(frozen=True)
class RegressionTask:
    """How a PSVRCV poses its problem."""

    search: Any
    classifier = False
    final_step = "regressor"

    def grid(self) -> AskedGrid:
        """The lists, after all parameters that only regression has."""
        search = self.search
        quantile = check.check_quantile(search.quantile)
        epsilons = check_epsilons(search.epsilons)
        if isinstance(epsilons, int) and quantile != 0.5:
            epsilons = [0.0]  # rows inside a tube have no side of the quantile
        asked = check_grid(search.ps, search.Cs, search.gammas, kernel=search.kernel)
        return replace(asked, epsilons=epsilons)

    @property
    def scoring(self) -> Any:
        """The scorer: r2, or of a quantile its pinball loss, unless another is asked for."""
        if self.search.scoring is not None:
            return self.search.scoring
        quantile = check.check_quantile(self.search.quantile)
        return "r2" if quantile == 0.5 else pinball_scorer(quantile)

    def model(self) -> Any:
        """The estimator of one cell but for p, C, gamma and epsilon."""
        search = self.search
        shared = {
            "quantile": search.quantile,
            "fit_intercept": search.fit_intercept,
            "tol": search.tol,
            "n_jobs": search.n_jobs,
        }
        if search.kernel == "linear":
            return LinearPSVR(**shared)
        return PSVR(
            kernel=search.kernel,
            degree=search.degree,
            coef0=search.coef0,
            cache_size=search.cache_size,
            **shared,
        )

    def refuse(self, y: Any) -> None:
        """Several targets for each row."""
        refuse_several_targets(y)

    def checked(self, y: npt.NDArray[Any], weight: Array) -> npt.NDArray[Any]:
        """Targets as float64, some of them with a weight."""
        y = check_targets(y)
        encode_targets(y, weight, 1.0, 0.0, self.search.quantile, 2.0, self.search.fit_intercept)
        return y

    def spread(self, y: npt.NDArray[Any], weight: Array) -> float:
        """The standard deviation of the targets, 1 if they are all equal."""
        return spread_of_targets(y, weight)

    def encoded(self, y: npt.NDArray[Any], weight: Array, grid: Grid) -> EncodedRows:
        """The targets in a unit of their own."""
        search = self.search
        weight = self._weights_for_all(y, weight, grid)
        targets = encode_targets(y, weight, 1.0, 0.0, search.quantile, 2.0, search.fit_intercept)
        name = self.scoring if isinstance(self.scoring, str) else None
        return EncodedRows(
            weight=weight,
            model=self.model(),
            fold=partial(_make_fold, weight=weight),
            problem=partial(
                RegressionProblem,
                codes=np.zeros(y.size, dtype=np.int32),
                weight=weight,
                targets=targets,
            ),
            scorer=partial(TargetScorer, name=name),
        )

    def _weights_for_all(self, y: npt.NDArray[Any], weight: Array, grid: Grid) -> Array:
        """The weights for all cells: 0 for rows that the smallest C of some p leaves out."""
        own = [grid.C[grid.p == p] for p in np.unique(grid.p)]
        ends = zip(np.unique(grid.p), own, strict=True)
        costs = [(float(p), float(C)) for p, Cs in ends for C in (Cs.max(), Cs.min())]
        search = self.search
        return weights_for_all_targets(y, weight, costs, search.quantile, search.fit_intercept)


def _make_fold(number: int, train: Rows, test: Rows, *, weight: Array) -> Fold:
    """A split that some row trains."""
    if not weight[train].any():
        raise ValueError(
            f"Split {number} of `cv` has no model: `sample_weight` must be > 0 for some of its "
            f"training rows, got zeros only."
        )
    return Fold(train, test)
