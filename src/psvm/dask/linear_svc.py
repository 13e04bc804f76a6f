"""DaskLinearPSVC: the linear classifier with the p-norm hinge loss, for rows on a Dask cluster."""

from __future__ import annotations

from inspect import signature
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from psvm.dask.inputs import is_collection
from psvm.dask.linear import ClusterFit, ProblemsOnCluster
from psvm.dask.predict import lazily, lazy_accuracy
from psvm.dask.solve import no_alpha
from psvm.dask.targets import Labels, all_labels
from psvm.estimators import validation as check
from psvm.estimators.base import all_or_nothing, errors_as_before
from psvm.estimators.callbacks import with_callbacks
from psvm.estimators.classifier import PNormClassifier
from psvm.estimators.labels import EncodedLabels
from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.linear_weights import LinearWeights
from psvm.estimators.watch import FitWatch
from psvm.mathematics.multiclass import problem_signs
from psvm.mathematics.problem import LinearStart
from psvm.solvers.ledger import Solution, Status
from psvm.solvers.linear.choose import SOLVERS

_DEFAULT = {name: one.default for name, one in signature(LinearPSVC).parameters.items()}


class DaskLinearPSVC(LinearWeights, PNormClassifier):
    r"""Linear support vector classifier with the p-norm hinge loss, on a Dask cluster.

    The problem, the solver and the certificate are those of :class:`psvm.LinearPSVC`; the rows stay
    on the workers. A worker that is lost in the middle of a fit costs time and nothing else,
    workers that join are used, and no wait is without an end. For every binary problem

    .. math::

        P(w, b) = \tfrac12 \lVert w \rVert^2
        + \sum_i C_i \max(0, 1 - y_i (\langle w, x_i \rangle + b))^p

    is minimised over w and the intercept b.

    Parameters
    ----------
    p, C, fit_intercept, multi_class, class_weight, tol, max_iter, verbose
        As in :class:`psvm.LinearPSVC`. With ``verbose`` and callbacks, and as events of the cluster
        of the topic "psvm" (``client.get_events("psvm")``), the gap is told after every iteration.
    max_time : float or None, default=None
        Limit of seconds of the fit. What runs on the cluster by then is cancelled, and the best
        iterate so far is the result; its ``dual_gap_`` is infinite if there was no time left to
        prove one.
    solver : {"auto", "semismooth_newton"}, default="auto"
        There is one solver for rows on a cluster; coordinate descent is for one machine.
    warm_start : bool, default=False
        Whether a further fit of as many classes and features starts from the present coefficients.
    n_jobs : int or None, default=None
        Threads of this machine, for the sample that a large fit begins with. On the cluster every
        thread of a worker runs one task, whose BLAS has one thread.
    client : distributed.Client or None, default=None
        The client of the cluster, not an asynchronous one; None takes the present client. It is not
        copied by ``clone`` and no part of a pickle.
    on_failure : {"raise", "keep"}, default="raise"
        What remains of a fit that the cluster lets down. Both raise the error; "keep" has certified
        iterates on the way, in some more passes, and leaves the last one as ``partial_``.

    Attributes
    ----------
    classes_, coef_, intercept_, n_support_, n_iter_, dual_gap_, primal_objective_, dual_objective_
        As in :class:`psvm.LinearPSVC`; the certificate is from a pass over all rows on the cluster,
        with bounds for its rounding.
    status_, history_, class_weight_, n_features_in_, feature_names_in_
        As in :class:`psvm.LinearPSVC`.
    traffic_ : dict
        What the fit has sent: "round_trips", "tasks", "bytes_broadcast", "bytes_summed"; "rebuilt",
        how often rows had lost their state; and more, see :class:`psvm.dask.cluster.Traffic`.
    partial_ : LinearPSVC
        After a fit that failed with ``on_failure="keep"``: the last iterate that was certified.

    See Also
    --------
    psvm.LinearPSVC : For rows in the memory or on the disk of one machine, where it is faster.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from psvm.dask import DaskLinearPSVC
    >>> client = Client(processes=False)  # doctest: +SKIP
    >>> X = da.random.normal(size=(1_000_000, 20), chunks=(100_000, 20))  # doctest: +SKIP
    >>> model = DaskLinearPSVC().fit(X, X[:, 0] > 0)  # doctest: +SKIP
    >>> model.predict(X)  # doctest: +SKIP
    dask.array<..., shape=(1000000,), dtype=bool, chunksize=(100000,)>
    """

    _not_separable = LinearPSVC._not_separable
    client: Any

    def __init__(
        self,
        p: float = 1.5,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        multi_class: Literal["ovo", "ovr"] = _DEFAULT["multi_class"],
        class_weight: Any = None,
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
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.class_weight = class_weight
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
            Labels of any type.
        sample_weight : dask array or series, or list of delayed objects, default=None
            Weights >= 0 that multiply C.

        Returns
        -------
        self : DaskLinearPSVC
            The fitted estimator.
        """
        settings = self._check_settings()
        check.check_choice("solver", self.solver, SOLVERS)
        with ClusterFit(self, settings, "LinearPSVC") as fit:
            loaded = fit.load(X, y, sample_weight, Labels())
            found = all_labels(loaded.described, self.class_weight, settings.C)
            classes, weight = found.encoder.classes, found.encoder.class_weight
            signs = problem_signs(classes.size, settings.multi_class)
            seen = fit.seen(loaded)
            assert seen.count is not None  # rows of numbers have columns
            labels = EncodedLabels(classes, np.empty(0, np.int32), np.empty(0), weight)
            watch = FitWatch(self, None, None)
            problems = ProblemsOnCluster(found.encoder, signs, found.rows, found.total)
            starts = self._starts(len(signs), seen.count)
            try:
                fitted = fit.solve(loaded, problems, starts, watch)
            except Exception:
                self._keep_partial(fit, labels, seen, len(signs))
                raise
        solved = fitted.solutions
        watch.done(solved)
        self._judge(solved, settings)
        scale = np.array([one.certificate.scale for one in solved])
        with all_or_nothing(self):
            self._store_common(seen, labels, solved)
            self._store_weights(
                scale[:, None] * np.array([one.w for one in solved]),
                np.array([one.certificate.intercept for one in solved]),
            )
            self.n_support_ = fitted.support.astype(np.int32)
            self.traffic_ = fitted.traffic
            self.__dict__.pop("partial_", None)
            watch.end()
        return self

    def _starts(self, problems: int, features: int) -> list[LinearStart | None]:
        """The present coefficients, if they are wanted and fit."""
        if not self.warm_start or not hasattr(self, "classes_"):
            return [None] * problems
        coef, intercept = (getattr(self, name) for name in self._weight_names)
        if coef.shape != (problems, features):
            return [None] * problems
        return [LinearStart(w, float(b)) for w, b in zip(coef, intercept, strict=True)]

    def _keep_partial(
        self, fit: ClusterFit, labels: EncodedLabels, seen: check.SeenFeatures, problems: int
    ) -> None:
        """Keep the last certified iterate of a fit that failed, if every problem has one."""
        kept = [fit.certified.get(t) for t in range(problems)]
        if self.on_failure != "keep" or any(one is None for one in kept):
            return
        solved = [
            Solution(no_alpha, one.certificate, Status.STOPPED, one.end.n_iter, [], w=one.end.w)
            for one in kept
            if one is not None
        ]
        partial = DaskLinearPSVC(**self.get_params(deep=False))
        partial._store_common(seen, labels, solved)
        partial._store_weights(
            np.array([one.certificate.scale * one.w for one in solved]),
            np.array([one.certificate.intercept for one in solved]),
        )
        partial.n_support_ = np.zeros(labels.classes.size, dtype=np.int32)
        self.partial_ = partial.to_local()

    # --- predict ---------------------------------------------------------------------------------

    def to_local(self) -> LinearPSVC:
        """The fitted model as an ordinary estimator, for ``psvm.save``, ONNX and the command line.

        Returns
        -------
        LinearPSVC
            With the same parameters, but for those of the cluster, and the same attributes.
        """
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        own = {name: parameters[name] for name in _DEFAULT}
        local = LinearPSVC(**own)
        for name, value in vars(self).items():
            if name.endswith("_") and name not in ("traffic_", "partial_"):
                setattr(local, name, value)
        return local

    def decision_function(self, X: Any) -> Any:
        """Decision values, of collections lazily.

        Parameters
        ----------
        X : dask array, dask data frame, array-like or sparse matrix
            Rows.

        Returns
        -------
        dask array or ndarray of shape (n_samples,) or (n_samples, n_classes)
            As of :meth:`psvm.LinearPSVC.decision_function`.
        """
        local = self.to_local()
        if not is_collection(X):
            return local.decision_function(X)
        k = self.classes_.size
        return lazily(local, "decision_function", X, np.dtype(np.float64), None if k == 2 else k)

    def predict(self, X: Any) -> Any:
        """Labels of the rows of X, of collections lazily.

        Parameters
        ----------
        X : dask array, dask data frame, array-like or sparse matrix
            Rows.

        Returns
        -------
        dask array or ndarray of shape (n_samples,)
        """
        local = self.to_local()
        if not is_collection(X):
            return local.predict(X)
        return lazily(local, "predict", X, self.classes_.dtype, None)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Accuracy, of collections lazily.

        Parameters
        ----------
        X : dask array, dask data frame, array-like or sparse matrix
            Rows.
        y : dask array or series, or array-like
            Their labels.
        sample_weight : dask array or series, or array-like, default=None
            Their weights.

        Returns
        -------
        dask array of no dimension, or float
            ``float(...)`` computes the former.
        """
        if not is_collection(X):
            return self.to_local().score(X, y, sample_weight)
        return lazy_accuracy(self.predict(X), y, sample_weight)

    # --- the client is of this process -----------------------------------------------------------

    def __sklearn_clone__(self) -> DaskLinearPSVC:
        """A copy of the parameters, with the same client."""
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")
        own = {name: clone(value, safe=False) for name, value in parameters.items()}
        return type(self)(**own, client=client)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the client, which cannot leave this process."""
        state: dict[str, Any] = super().__getstate__()
        return {**state, "client": None}
