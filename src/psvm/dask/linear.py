"""What the linear estimators on a cluster share: all of a fit but what y means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from psvm.dask.blocks import Expected, summary_of
from psvm.dask.cluster import Cluster, ClusterError, checked_client
from psvm.dask.inputs import partitions
from psvm.dask.load import Loaded, deal_out, load
from psvm.dask.passes import ClusterPasses
from psvm.dask.solve import Certified, ClusterSolve, Costs
from psvm.dask.step import Setup
from psvm.dask.targets import Encoder, Target
from psvm.estimators import validation as check
from psvm.estimators.base import Settings
from psvm.estimators.watch import FitWatch
from psvm.mathematics.problem import LinearStart, Terms
from psvm.solvers.ledger import OutOfTime, Solution

ON_FAILURE = ("raise", "keep")


@dataclass(frozen=True)
class ProblemsOnCluster:
    """What y and the weights of a fit make of its rows.

    ``rows`` and ``cost`` are those of each class, in all.
    """

    encoder: Encoder
    signs: npt.NDArray[np.int8]
    rows: npt.NDArray[np.int64]
    cost: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """How a fit on a cluster ended."""

    solutions: list[Solution]
    support: npt.NDArray[np.int64]
    traffic: dict[str, Any]


@dataclass
class ClusterFit:
    """One fit of an estimator on a cluster: load, then solve.

    The estimator says what y is (``target``) and, once the blocks are described, which problems
    follow from it.
    """

    estimator: Any
    settings: Settings
    local: str  # the name of the estimator for one machine

    def __post_init__(self) -> None:
        if self.estimator.solver == "coordinate_descent":
            raise ValueError(
                f"solver='coordinate_descent' visits rows in random order, which a cluster "
                f"cannot; use 'auto' or 'semismooth_newton', or {self.local}."
            )
        check.check_choice("on_failure", self.estimator.on_failure, ON_FAILURE)
        client, budget = checked_client(self.estimator.client), self.settings.budget
        limit = budget.max_time
        self.cluster = Cluster(
            client, (lambda: None) if limit is None else (lambda: limit - budget.seconds)
        )
        self.certified: dict[int, Certified] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing stays on the workers: neither blocks nor states, however the fit ended."""
        self.cluster.cancel(self.cluster.owned)

    def load(self, X: Any, y: Any, sample_weight: Any, target: Target) -> Loaded:
        """The rows on the cluster."""
        parts = partitions(X, y, sample_weight, self.local)
        self.names = parts.names
        expected = Expected(parts.names, type(self.estimator).__name__, target)
        try:
            return load(self.cluster, parts, expected)
        except OutOfTime as over:
            raise ClusterError(
                f"max_time = {self.settings.budget.max_time:g} s were over before all {len(parts)} "
                f"partitions had been read."
            ) from over

    def seen(self, loaded: Loaded) -> check.SeenFeatures:
        """What the estimator remembers of the columns."""
        names = None if self.names is None else np.array(self.names, dtype=object)
        return check.SeenFeatures(loaded.features, names)

    def solve(
        self,
        loaded: Loaded,
        problems: ProblemsOnCluster,
        starts: Sequence[LinearStart | None],
        watch: FitWatch,
    ) -> Fitted:
        """Certified solutions of all problems."""
        settings = self.settings
        check.check_width(len(problems.signs), loaded.features)
        summary = summary_of(loaded.described, centred=settings.fit_intercept)
        terms = Terms(settings.loss, settings.fit_intercept, bool(np.isinf(settings.C)))
        setup = Setup(problems.encoder, problems.signs, terms, summary.shift)
        deal = partial(deal_out, self.cluster, loaded)
        passes = ClusterPasses(self.cluster, loaded.blocks, setup, deal)
        solve = ClusterSolve(
            cluster=self.cluster,
            passes=passes,
            summary=summary,
            setup=setup,
            costs=Costs.of_classes(problems.signs, problems.rows, problems.cost),
            class_rows=problems.rows,
            budget=settings.budget,
            on_round=self._round(watch),
            threads=settings.threads,
            milestones=self.estimator.on_failure == "keep",
            certified=self.certified,
        )
        try:
            solutions, support = solve.solve(starts, in_order=watch.in_order)
        finally:
            self.cluster.owned += passes.states.values()
        return Fitted(solutions, support, asdict(self.cluster.traffic))

    def _round(self, watch: FitWatch) -> Callable[[int, dict[str, Any]], bool]:
        def on_round(problem: int, record: dict[str, Any]) -> bool:
            self.cluster.tell({"problem": problem, **_plain(record)})
            return watch.round(problem, record)

        return on_round


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """A record of numbers and words, as events must be."""
    return {
        key: value if isinstance(value, str | int) else float(value)
        for key, value in record.items()
    }
