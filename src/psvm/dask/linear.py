"""What the linear estimators on a cluster share: all but what y means.

:class:`ClusterFit` is one fit, :class:`DaskLinearMachine` the estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from dask._task_spec import Task
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from psvm.dask.blocks import Expected, summary_of
from psvm.dask.cluster import Cluster, ClusterError, checked_client
from psvm.dask.inputs import is_collection, partitions
from psvm.dask.load import Loaded, deal_out, load, patiently
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
from psvm.solvers.ledger import OutOfTime, Record, Solution, Status
from psvm.solvers.linear.choose import SOLVERS

ON_FAILURE = ("raise", "keep")
# Attributes that only a fit on a cluster has.
_OF_THE_CLUSTER = ("traffic_", "partial_")


@dataclass(frozen=True)
class ProblemsOnCluster:
    """What y and the weights of a fit make of its rows.

    Attributes
    ----------
    encoder : Encoder
        Makes rows of the problems of y and the weights.
    signs : ndarray of int8
        Those of :class:`psvm.mathematics.problem.LinearProblems`.
    rows : ndarray of int64
        Rows of each class, in all.
    costs : Costs
        Costs of each problem.
    meaning : object
        What the estimator knows of y.
    record : callable
        Turns a record of a round into the user's units.
    share_of_tol : float
        How much of tol the solver may take.
    """

    encoder: Encoder
    signs: npt.NDArray[np.int8]
    rows: npt.NDArray[np.int64]
    costs: Costs
    meaning: Any
    record: Callable[[Record], Record] = lambda record: record
    share_of_tol: float = 1.0


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
    ) -> tuple[list[Solution], npt.NDArray[np.int64]]:
        """Certified solutions of all problems, and how many rows support them."""
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
            budget=replace(settings.budget, tol=problems.share_of_tol * settings.budget.tol),
            on_round=self._round(watch, problems.record),
            threads=settings.threads,
            milestones=self.estimator.on_failure == "keep",
            certified=self.certified,
        )
        try:
            return solve.solve(starts, in_order=watch.in_order)
        finally:
            self.cluster.owned += passes.states.values()

    def total_over(self, loaded: Loaded, look: Callable[[Any], Any]) -> Any:
        """The sum over the blocks of what a look at each of them gives, in one round trip."""
        cluster = self.cluster
        tasks = [Task(cluster.name("look"), look, block) for block in loaded.blocks]
        cluster.traffic.tasks += len(tasks)
        futures = cluster.submit(tasks, {}, [task.key for task in tasks])
        found = patiently(cluster, list(futures.values()), [])
        cluster.cancel(list(futures.values()))
        return sum(found)

    def _round(
        self, watch: FitWatch, converted: Callable[[Record], Record]
    ) -> Callable[[int, Record], bool]:
        def on_round(problem: int, record: Record) -> bool:
            record = converted(record)
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
    (``_store_solved``), and which estimator it is on one machine (``_local``). Where the problems
    are not in the user's units it also turns their solutions into these.
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

    def _known_solution(self, problems: ProblemsOnCluster, features: int) -> Solution | None:
        """The solution of the one problem, if it is known without a solver."""
        return None

    def _in_users_units(
        self, problems: ProblemsOnCluster, certified: Mapping[int, Certified], found: Solution
    ) -> Solution:
        """The solution of a problem in the user's units."""
        return found

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
            try:
                solved, support = self._solve(fit, loaded, problems, watch)
            except Exception:
                self._keep_partial(fit, seen, problems)
                raise
        watch.done(solved)
        self._judge(solved, settings)
        with all_or_nothing(self):
            self._store_solved(seen, problems, solved, support)
            self.traffic_ = asdict(fit.cluster.traffic)
            self.__dict__.pop("partial_", None)
            watch.end()
        return self

    def _solve(
        self, fit: ClusterFit, loaded: Loaded, problems: ProblemsOnCluster, watch: FitWatch
    ) -> tuple[list[Solution], npt.NDArray[np.int64]]:
        """Solutions in the user's units, and how many rows support them."""
        known = self._known_solution(problems, loaded.features)
        if known is not None:
            for record in known.history:
                watch.round(0, record)
            return [known], np.zeros(1, dtype=np.int64)
        starts = self._starts(problems, loaded.features)
        solved, support = fit.solve(loaded, problems, starts, watch)
        return [self._in_users_units(problems, fit.certified, one) for one in solved], support

    def _starts(self, problems: ProblemsOnCluster, features: int) -> Sequence[LinearStart | None]:
        """The present coefficients, if they are wanted and fit."""
        known = None
        if self.warm_start and hasattr(self, "n_features_in_"):
            known = self._known_start(problems, features)
        return [None] * len(problems.signs) if known is None else known

    def _keep_partial(
        self, fit: ClusterFit, seen: check.SeenFeatures, problems: ProblemsOnCluster
    ) -> None:
        """Keep the best certified iterate of a fit that failed, if every problem has one."""
        kept = [fit.certified.get(t) for t in range(len(problems.signs))]
        if self.on_failure != "keep" or any(one is None for one in kept):
            return
        solved = [
            Solution(no_alpha, one.certificate, Status.STOPPED, one.end.n_iter, [], w=one.end.w)
            for one in kept
            if one is not None
        ]
        solved = [self._in_users_units(problems, fit.certified, one) for one in solved]
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
