"""What the linear estimators on a cluster share: all but what y means.

:class:`ClusterFit` is one fit, :class:`DaskLinearMachine` the estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from psvm.dask.blocks import Expected, summary_of
from psvm.dask.cluster import Cluster, ClusterError, checked_client
from psvm.dask.inputs import is_collection, partitions
from psvm.dask.load import Loaded, deal_out, load
from psvm.dask.passes import ClusterPasses
from psvm.dask.predict import lazily
from psvm.dask.solve import Certified, ClusterSolve, Costs, no_alpha
from psvm.dask.step import Setup
from psvm.dask.targets import Encoder, Target
from psvm.estimators import validation as check
from psvm.estimators.base import all_or_nothing, errors_as_before
from psvm.estimators.callbacks import with_callbacks
from psvm.estimators.watch import FitWatch
from psvm.mathematics.problem import LinearStart, Terms
from psvm.solvers.ledger import OutOfTime, Solution, Status
from psvm.solvers.linear.choose import SOLVERS

ON_FAILURE = ("raise", "keep")
# Attributes that only a fit on a cluster has.
_OF_THE_CLUSTER = ("traffic_", "partial_")


@dataclass(frozen=True)
class ProblemsOnCluster:
    """What y and the weights of a fit make of its rows.

    ``rows`` are those of each class, in all; ``meaning`` is what the estimator knows of y.
    """

    encoder: Encoder
    signs: npt.NDArray[np.int8]
    rows: npt.NDArray[np.int64]
    costs: Costs
    meaning: Any


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
    settings: Any  # of the estimator
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
            costs=problems.costs,
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


class DaskLinearMachine:
    """Base of the estimators whose rows lie on a cluster, beside the base of the local one.

    A child says what y is (``_target``, ``_problems``), what becomes an attribute
    (``_store_solved``), and which estimator it is on one machine (``_local``).
    """

    _local: ClassVar[type[Any]]

    client: Any
    solver: str
    warm_start: bool
    on_failure: str

    if TYPE_CHECKING:
        max_time: float | None

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: D102
        def _check_settings(self) -> Any: ...
        def _judge(self, solved: Sequence[Solution], settings: Any) -> None: ...

    # --- what y is -------------------------------------------------------------------------------

    def _target(self) -> Target:
        """Checks and describes y, block by block."""
        raise NotImplementedError

    def _problems(self, fit: ClusterFit, loaded: Loaded) -> ProblemsOnCluster:
        """What the blocks have said of y, as problems."""
        raise NotImplementedError

    def _store_solved(
        self,
        seen: check.SeenFeatures,
        problems: ProblemsOnCluster,
        solved: Sequence[Solution],
        support: npt.NDArray[np.int64],
    ) -> None:
        """Fitted attributes, all but those of the cluster."""
        raise NotImplementedError

    def _known_start(
        self, problems: ProblemsOnCluster, features: int
    ) -> Sequence[LinearStart] | None:
        """The present coefficients, in the units of the problems; None if they do not fit."""
        raise NotImplementedError

    # --- fit -------------------------------------------------------------------------------------

    @with_callbacks
    @errors_as_before()
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : dask array, dask data frame or list of delayed objects
            Training rows. Arrays may have any chunks, also of unknown sizes, and blocks of CSR
            matrices; the columns of frames must be numbers. The objects of a list are delayed
            ``(X, y)`` or ``(X, y, sample_weight)`` with y left out, or X with a list as y.
        y : dask array or series, or list of delayed objects, default=None
            As for the estimator of one machine: labels of any type, or numbers.
        sample_weight : dask array or series, or list of delayed objects, default=None
            Weights >= 0 that multiply C.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        settings = self._check_settings()
        check.check_choice("solver", self.solver, SOLVERS)
        with ClusterFit(self, settings, self._local.__name__) as fit:
            loaded = fit.load(X, y, sample_weight, self._target())
            seen, problems = fit.seen(loaded), self._problems(fit, loaded)
            watch = FitWatch(self, None, None)
            starts = self._starts(problems, loaded.features)
            try:
                fitted = fit.solve(loaded, problems, starts, watch)
            except Exception:
                self._keep_partial(fit, seen, problems)
                raise
        watch.done(fitted.solutions)
        self._judge(fitted.solutions, settings)
        with all_or_nothing(self):
            self._store_solved(seen, problems, fitted.solutions, fitted.support)
            self.traffic_ = fitted.traffic
            self.__dict__.pop("partial_", None)
            watch.end()
        return self

    def _starts(self, problems: ProblemsOnCluster, features: int) -> Sequence[LinearStart | None]:
        """The present coefficients, if they are wanted and fit."""
        known = None
        if self.warm_start and hasattr(self, "n_features_in_"):
            known = self._known_start(problems, features)
        return [None] * len(problems.signs) if known is None else known

    def _keep_partial(
        self, fit: ClusterFit, seen: check.SeenFeatures, problems: ProblemsOnCluster
    ) -> None:
        """Keep the last certified iterate of a fit that failed, if every problem has one."""
        kept = [fit.certified.get(t) for t in range(len(problems.signs))]
        if self.on_failure != "keep" or any(one is None for one in kept):
            return
        solved = [
            Solution(no_alpha, one.certificate, Status.STOPPED, one.end.n_iter, [], w=one.end.w)
            for one in kept
            if one is not None
        ]
        partial = type(self)(**self.get_params(deep=False))
        partial._store_solved(seen, problems, solved, np.zeros(problems.rows.size, dtype=np.int64))
        self.partial_ = partial.to_local()

    # --- predict ---------------------------------------------------------------------------------

    def to_local(self) -> Any:
        """The fitted model as an ordinary estimator, for ``psvm.save``, ONNX and the command line.

        Returns
        -------
        LinearPSVC or LinearPSVR
            With the same parameters, but for those of the cluster, and the same attributes.
        """
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        local = self._local(**{name: parameters[name] for name in self._local().get_params()})
        for name, value in vars(self).items():
            if name.endswith("_") and name not in _OF_THE_CLUSTER:
                setattr(local, name, value)
        return local

    def _of_rows(self, method: str, X: Any, dtype: Any, columns: int | None = None) -> Any:
        """What a method of the local estimator says of the rows of X; of collections lazily."""
        local = self.to_local()
        if not is_collection(X):
            return getattr(local, method)(X)
        return lazily(local, method, X, dtype, columns)

    # --- the client is of this process -----------------------------------------------------------

    def __sklearn_clone__(self) -> Self:
        """A copy of the parameters, with the same client."""
        parameters = self.get_params(deep=False)
        own = {
            name: value if name == "client" else clone(value, safe=False)
            for name, value in parameters.items()
        }
        return type(self)(**own)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the client, which cannot leave this process."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {**state, "client": None}
