"""DaskLinearPSVR: linear regression with the p-norm loss, for rows on a Dask cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from psvm.dask.inputs import is_collection
from psvm.dask.linear import ClusterFit, DaskLinearMachine, ProblemsOnCluster
from psvm.dask.load import Loaded
from psvm.dask.numbers import SIGNS, AllNumbers, Numbers, errors_of
from psvm.dask.predict import lazy_r2
from psvm.dask.solve import Certified, Costs
from psvm.estimators import validation as check
from psvm.estimators.linear_svr import LinearPSVR
from psvm.estimators.regressor import (
    FOR_UNITS,
    PNormRegressor,
    RegressorSettings,
    flat_solution,
)
from psvm.mathematics.problem import LinearStart
from psvm.solvers.ledger import Budget, Solution


class DaskLinearPSVR(DaskLinearMachine, PNormRegressor):
    r"""Linear support vector regression with the p-norm loss, on a Dask cluster.

    The problem, the solver and the certificate are those of :class:`psvm.LinearPSVR`; the rows stay
    on the workers. A worker that is lost in the middle of a fit costs time and nothing else,
    workers that join are used, and no wait is without an end. What is minimised is

    .. math::

        P(w, b) = \tfrac12 \lVert w \rVert^2
        + \sum_i C_i(r_i) \max(0, \lvert r_i \rvert - \varepsilon)^p,
        \qquad r_i = y_i - \langle w, x_i \rangle - b

    Parameters
    ----------
    p, epsilon, quantile, fit_intercept, tol, max_iter, verbose
        As in :class:`psvm.LinearPSVR`. With ``verbose`` and callbacks, and as events of the cluster
        of the topic "psvm" (``client.get_events("psvm")``), the gap is told after every iteration.
    C : float, default=1.0
        Cost of residuals beyond the tube, > 0 and finite: ``numpy.inf`` is for one machine.
    max_time : float or None, default=None
        Limit of seconds of the fit. What runs on the cluster by then is cancelled, and the best
        iterate so far is the result; its ``dual_gap_`` is infinite if there was no time left to
        prove one.
    solver : {"auto", "semismooth_newton"}, default="auto"
        There is one solver for rows on a cluster; coordinate descent is for one machine.
    warm_start : bool, default=False
        Whether a further fit of as many features starts from the present coefficients.
    n_jobs : int or None, default=None
        Threads of this machine, for the sample that a large fit begins with. On the cluster every
        thread of a worker runs one task, whose BLAS has one thread.
    client : distributed.Client or None, default=None
        The client of the cluster, not an asynchronous one; None takes the present client. It is not
        copied by ``clone`` and no part of a pickle.
    on_failure : {"raise", "keep"}, default="raise"
        What remains of a fit that the cluster lets down. Both raise the error; "keep" has certified
        iterates on the way, in some more passes, and leaves the best one as ``partial_``.

    Attributes
    ----------
    coef_, intercept_, n_support_, n_iter_, dual_gap_, primal_objective_, dual_objective_
        As in :class:`psvm.LinearPSVR`; the certificate is from a pass over all rows on the cluster,
        with bounds for its rounding.
    status_, history_, n_features_in_, feature_names_in_
        As in :class:`psvm.LinearPSVR`.
    traffic_ : dict
        What the fit has sent: "round_trips", "tasks", "bytes_broadcast", "bytes_summed"; "rebuilt",
        how often rows had lost their state; and more, see :class:`psvm.dask.cluster.Traffic`.
    partial_ : LinearPSVR
        After a fit that failed with ``on_failure="keep"``: the best iterate that was certified.

    See Also
    --------
    psvm.LinearPSVR : For rows in the memory or on the disk of one machine, where it is faster.
    DaskLinearPSVC : The same for classes.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from psvm.dask import DaskLinearPSVR
    >>> client = Client(processes=False)  # doctest: +SKIP
    >>> X = da.random.normal(size=(1_000_000, 20), chunks=(100_000, 20))  # doctest: +SKIP
    >>> model = DaskLinearPSVR(quantile=0.9).fit(X, X[:, 0])  # doctest: +SKIP
    >>> model.predict(X)  # doctest: +SKIP
    dask.array<..., shape=(1000000,), dtype=float64, chunksize=(100000,)>
    """

    _not_inside = LinearPSVR._not_inside
    _local = LinearPSVR

    def __init__(
        self,
        p: float = 1.5,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        quantile: float = 0.5,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = -1,
        max_time: float | None = None,
        solver: Literal["auto", "semismooth_newton"] = "auto",
        warm_start: bool = False,
        verbose: int = 0,
        n_jobs: int | None = None,
        client: Any = None,
        on_failure: Literal["raise", "keep"] = "raise",
    ) -> None:
        self.p = p
        self.C = C
        self.epsilon = epsilon
        self.quantile = quantile
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.solver = solver
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.client = client
        self.on_failure = on_failure

    # --- fit -------------------------------------------------------------------------------------

    def _check_settings(self) -> RegressorSettings:
        settings: RegressorSettings = super()._check_settings()
        if np.isinf(settings.C):
            raise ValueError(
                "`C` must be finite on a cluster, got inf: all rows inside the tube is for "
                "LinearPSVR. Take a large C."
            )
        return settings

    def _target(self) -> Numbers:
        return Numbers()

    def _problems(self, fit: ClusterFit, loaded: Loaded) -> ProblemsOnCluster:
        settings = fit.settings
        numbers = AllNumbers.of(loaded.described, settings.fit_intercept)
        distance, lost = fit.total_over(loaded, numbers.look(settings))
        tube = numbers.tube(settings, float(distance))
        targets, costs = numbers.in_unit(tube), numbers.costs(tube)
        rows = np.array([numbers.rows, numbers.rows])
        at_zero = [numbers.lost_at_zero(tube, float(lost))]
        return ProblemsOnCluster(
            tube,
            SIGNS,
            rows,
            Costs.of_classes(SIGNS, rows, costs, at_zero),
            (targets, costs),
            targets.record,
            1.0 - FOR_UNITS,
        )

    def _known_start(
        self, problems: ProblemsOnCluster, features: int
    ) -> Sequence[LinearStart] | None:
        targets, _ = problems.meaning
        if self.coef_.shape != (features,):
            return None
        b = (float(self.intercept_[0]) - targets.centre) / targets.scale
        return [LinearStart(self.coef_ / targets.scale, b if self.fit_intercept else 0.0)]

    def _known_solution(self, problems: ProblemsOnCluster, features: int) -> Solution | None:
        targets, _ = problems.meaning
        flat = flat_solution(targets, 0, Budget(), None)
        return None if flat is None else replace(flat, w=np.zeros(features))

    def _in_users_units(
        self, problems: ProblemsOnCluster, certified: Mapping[int, Certified], found: Solution
    ) -> Solution:
        targets, costs = problems.meaning
        proved = certified.get(0)
        sums = (0.0, 0.0) if proved is None else (proved.alpha, proved.conjugate)
        errors = errors_of(targets, costs, *sums, self.p)
        solution: Solution = targets.converted(found, errors, self.tol)
        return solution

    def _store_solved(
        self,
        seen: check.SeenFeatures,
        problems: ProblemsOnCluster,
        solved: Sequence[Solution],
        support: npt.NDArray[np.int64],
    ) -> None:
        (solution,) = solved
        self._store_certificates(seen, solved)
        self.coef_ = solution.certificate.scale * solution.w
        self.intercept_ = np.array([solution.certificate.intercept])
        self.n_support_ = support[:1].astype(np.int32)

    # --- predict ---------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Predicted targets of the rows of X, of collections lazily.

        Parameters
        ----------
        X : dask array, dask data frame, array-like or sparse matrix
            Rows.

        Returns
        -------
        dask array or ndarray of shape (n_samples,)
        """
        return self._of_rows("predict", X, np.dtype(np.float64))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """The coefficient of determination R2, of collections lazily.

        Parameters
        ----------
        X : dask array, dask data frame, array-like or sparse matrix
            Rows.
        y : dask array or series, or array-like
            Their targets.
        sample_weight : dask array or series, or array-like, default=None
            Their weights.

        Returns
        -------
        dask array of no dimension, or float
            ``float(...)`` computes the former.
        """
        if not is_collection(X):
            return self.to_local().score(X, y, sample_weight)
        return lazy_r2(self.predict(X), y, sample_weight)
