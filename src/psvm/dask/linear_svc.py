"""DaskLinearPSVC: the linear classifier with the p-norm hinge loss, for rows on a Dask cluster."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from psvm.dask.inputs import is_collection
from psvm.dask.linear import ClusterFit, DaskLinearMachine, ProblemsOnCluster
from psvm.dask.load import Loaded
from psvm.dask.predict import lazy_accuracy
from psvm.dask.solve import Costs
from psvm.dask.targets import Labels, all_labels
from psvm.estimators import validation as check
from psvm.estimators.classifier import PNormClassifier
from psvm.estimators.labels import EncodedLabels
from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.linear_weights import LinearWeights
from psvm.mathematics.multiclass import problem_signs
from psvm.mathematics.problem import LinearStart
from psvm.solvers.ledger import Solution

_DEFAULT = {name: one.default for name, one in signature(LinearPSVC).parameters.items()}


class DaskLinearPSVC(DaskLinearMachine, LinearWeights, PNormClassifier):
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
        iterates on the way, in some more passes, and leaves the best one as ``partial_``.

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
        After a fit that failed with ``on_failure="keep"``: the best iterate that was certified.

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
    _local = LinearPSVC

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

    def _target(self) -> Labels:
        return Labels()

    def _problems(self, fit: ClusterFit, loaded: Loaded) -> ProblemsOnCluster:
        found = all_labels(loaded.described, self.class_weight, fit.settings.C)
        classes, weight = found.encoder.classes, found.encoder.class_weight
        signs = problem_signs(classes.size, fit.settings.multi_class)
        return ProblemsOnCluster(
            found.encoder,
            signs,
            found.rows,
            Costs.of_classes(signs, found.rows, found.total),
            EncodedLabels(classes, np.empty(0, np.int32), np.empty(0), weight),
        )

    def _known_start(
        self, problems: ProblemsOnCluster, features: int
    ) -> Sequence[LinearStart] | None:
        coef, intercept = (getattr(self, name) for name in self._weight_names)
        if coef.shape != (len(problems.signs), features):
            return None
        return [LinearStart(w, float(b)) for w, b in zip(coef, intercept, strict=True)]

    def _store_solved(
        self,
        seen: check.SeenFeatures,
        problems: ProblemsOnCluster,
        solved: Sequence[Solution],
        support: npt.NDArray[np.int64],
    ) -> None:
        self._store_common(seen, problems.meaning, solved)
        self._store_weights(
            np.array([one.certificate.scale * one.w for one in solved]),
            np.array([one.certificate.intercept for one in solved]),
        )
        self.n_support_ = support.astype(np.int32)

    # --- predict ---------------------------------------------------------------------------------

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
        check_is_fitted(self)
        k = self.classes_.size
        return self._of_rows("decision_function", X, np.dtype(np.float64), None if k == 2 else k)

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
        check_is_fitted(self)
        return self._of_rows("predict", X, self.classes_.dtype)

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
