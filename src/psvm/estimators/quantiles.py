"""PSVRQuantiles and psvm_quantiles: several quantiles from one kernel matrix."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_pinball_loss

from psvm.estimators import validation as check
from psvm.estimators.base import all_or_nothing, errors_as_before
from psvm.estimators.callbacks import FitReporter, with_callbacks
from psvm.estimators.kept_models import forget
from psvm.estimators.kernel_input import check_kernel_data
from psvm.estimators.kernel_machine import (
    KernelMachine,
    KernelParameter,
    ModelLayout,
    SupportVectors,
)
from psvm.estimators.starts import KeptKernel
from psvm.estimators.svr import PSVR
from psvm.estimators.targets import refuse_several_targets, weights_for_all_targets
from psvm.estimators.warn import warn_user
from psvm.rows.given_rows import as_given

Array = npt.NDArray[np.float64]

# A limit of 0 is none that PSVR takes.
_LEAST_SECONDS = 1e-3


class PSVRQuantiles(KernelMachine):
    r"""Several quantiles of y given x, from one kernel matrix, that never cross.

    For every quantile the problem of :class:`psvm.PSVR` is solved and certified, each from the
    solution of its neighbour; kernel rows are computed once for all. With p = 1 and ``epsilon=0``
    about the share q of the training rows lies below the prediction for the quantile q. With p = 2
    they are expectiles, between them Lp-quantiles, which have no such share. The problem of the
    quantile q is to minimise

    .. math::

        P(w, b) = \tfrac12 \lVert w \rVert^2
        + \sum_i C_i(r_i) \max(0, \lvert r_i \rvert - \varepsilon)^p,
        \qquad r_i = y_i - \langle w, \phi(x_i) \rangle - b

    where ``C_i(r)`` is C times the weight of the row, times ``2 q`` for ``r > 0`` and
    ``2 (1 - q)`` for ``r < 0``.

    Quantiles that are fitted one by one may cross where rows are few. Predictions are put in order,
    row by row: sorted (or "rearranged") quantiles are never further from the true ones than the
    unsorted (Chernozhukov, Fernández-Val and Galichon 2010), every solution keeps its certificate,
    and quantiles that do not cross stay as they are. Constraints against crossing would hold at
    chosen rows only, bind all quantiles into one problem of several times the size, and make each
    of them depend on which others are asked for.

    Parameters
    ----------
    quantiles : array-like of float, default=(0.05, 0.5, 0.95)
        The quantiles, each in (0, 1), all different.
    p : float, default=1.0
        Exponent of the loss, any number >= 1, as in PSVR; 1 is for quantiles.
    C : float, default=1.0
        Cost of slack, > 0 and finite, in units of y to the power of ``2 - p``.
    epsilon : float, default=0.0
        Half the width of the tube, >= 0, in the unit of y. Rows inside a tube are on no side of a
        quantile: 0 is for quantiles.
    kernel : str or callable, default="rbf"
        As in PSVR.
    degree : int, default=3
        Degree of the "poly" kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width, as in PSVR.
    coef0 : float, default=0.0
        Constant of the "poly" and "sigmoid" kernels.
    fit_intercept : bool, default=True
        Whether b is free; if False it is 0.
    tol : float, default=1e-4
        Relative duality gap ``(P - D) / P`` at which a problem is solved.
    max_iter : int, default=-1
        Limit of outer iterations per quantile; -1 for none.
    max_time : float or None, default=None
        Limit of seconds of the fit; quantiles that are unsolved by then stop at their best iterate.
    cache_size : float or None, default=None
        Megabytes for kernel rows; None takes a quarter of the memory available.
    verbose : int, default=0
        As in PSVR, for every quantile.
    n_jobs : int or None, default=None
        Threads, as in PSVR.

    Attributes
    ----------
    quantiles_ : ndarray of shape (n_quantiles,)
        The quantiles, in the order given: that of the columns of ``predict``.
    support_ : ndarray of shape (n_SV,)
        Indices of the rows that are support vectors for some quantile.
    support_vectors_ : array or CSR matrix of shape (n_SV, n_features)
        ``X[support_]``. Empty for a precomputed kernel.
    n_support_ : ndarray of shape (1,)
        Their number.
    dual_coef_ : ndarray of shape (n_quantiles, n_SV)
        Their coefficients for every quantile, as those of PSVR; 0 where a row is none.
    intercept_ : ndarray of shape (n_quantiles,)
        The intercepts.
    coef_ : ndarray of shape (n_quantiles, n_features)
        Weights, for the linear kernel only.
    n_iter_ : ndarray of shape (n_quantiles,)
        Outer iterations.
    dual_gap_ : ndarray of shape (n_quantiles,)
        Relative duality gaps, recomputed in float64; upper bounds whatever was rounded.
    primal_objective_, dual_objective_ : ndarray of shape (n_quantiles,)
        P and D of every quantile.
    status_ : list of Status
        How the solve of each quantile ended.
    history_ : list of list of dict
        One record per outer iteration of each quantile.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features seen during fit; not there if X, for a callable, is no table.
    feature_names_in_ : ndarray of str
        Their names, if X has any.

    See Also
    --------
    psvm_quantiles : The same as a function.
    PSVR : One quantile.
    psvm.plotting.QuantileBandDisplay : A picture of the band.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVRQuantiles
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(400, 1))
    >>> y = np.sin(2 * X[:, 0]) + (0.2 + 0.2 * np.abs(X[:, 0])) * rng.normal(size=400)
    >>> model = PSVRQuantiles(quantiles=(0.1, 0.5, 0.9), C=10).fit(X, y)
    >>> low, median, high = model.predict(X).T
    >>> bool(np.all(low <= median) and np.all(median <= high))
    True
    >>> float(np.mean((low <= y) & (y <= high)).round(1))
    0.8
    """

    warm_start = False

    def __init__(
        self,
        quantiles: Any = (0.05, 0.5, 0.95),
        *,
        p: float = 1.0,
        C: float = 1.0,
        epsilon: float = 0.0,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: float | Literal["scale", "auto"] = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = -1,
        max_time: float | None = None,
        cache_size: float | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.quantiles = quantiles
        self.p = p
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.verbose = verbose
        self.n_jobs = n_jobs

    # --- fit -------------------------------------------------------------------------------------

    @with_callbacks
    @errors_as_before()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all quantiles.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; for a precomputed kernel the matrix of shape (n_samples, n_samples), for
            a callable whatever it takes.
        y : array-like of shape (n_samples,)
            Targets, finite numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0 that multiply C, as for PSVR.

        Returns
        -------
        self : PSVRQuantiles
            The fitted estimator.
        """
        began = time.monotonic()
        quantiles = check_quantiles(self.quantiles)
        limit, C = check.check_max_time(self.max_time), check.check_C(self.C)
        if np.isinf(C):
            raise ValueError("`C` must be finite: with all rows inside a tube quantiles are alike.")
        model = self._model()
        refuse_several_targets(y)
        seen, checked, y = check_kernel_data(self, X, y)
        sample_weight = self._weights_for_all(y, sample_weight, quantiles)
        reporter = FitReporter(self, as_given(checked), y)
        kept, found = KeptKernel(), {}
        # Each from its neighbour.
        for number in np.argsort(quantiles):
            left = None if limit is None else limit - (time.monotonic() - began)
            model.set_params(quantile=float(quantiles[number]))
            model.set_params(max_time=None if left is None else max(left, _LEAST_SECONDS))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # one for all comes at the end
                model._fit_from(kept, X, y, sample_weight)
            found[int(number)] = dict(vars(model))
            gap = float(model.dual_gap_[0])
            reporter.task("quantile", {"quantile": float(quantiles[number]), "gap": gap})
        with all_or_nothing(self):
            forget(self)
            seen.store(self)
            self._store([found[number] for number in range(quantiles.size)], quantiles, checked)
            reporter.end()
        self._warn()
        return self

    def _model(self) -> PSVR:
        """The model of one quantile, after all parameters are checked."""
        names = set(PSVR().get_params()) & set(self.get_params(deep=False))
        model = PSVR(**{name: getattr(self, name) for name in names}, warm_start=True)
        model._check_settings()
        model._check_kernel_settings()
        return model

    def _weights_for_all(self, y: Any, sample_weight: Any, quantiles: Array) -> Any:
        """The weights, 0 for rows that the outermost quantile leaves out, as its costs underflow.

        The rows of the kernel matrix are those of all quantiles.
        """
        if sample_weight is None:
            return None
        weight = check.check_weights(sample_weight, y.size)
        outermost = quantiles[np.argmax(np.abs(quantiles - 0.5))]
        cost = [(self.p, self.C)]
        return weights_for_all_targets(y, weight, cost, float(outermost), self.fit_intercept)

    def _store(self, found: Sequence[dict[str, Any]], quantiles: Array, X: Any) -> None:
        """Fitted attributes of all quantiles, from those of each."""
        coef = np.zeros((quantiles.size, X.shape[0]))
        for own, one in zip(coef, found, strict=True):
            own[one["support_"]] = one["dual_coef_"][0]
        vectors = SupportVectors.of(coef, np.zeros(X.shape[0], dtype=np.int32), 1)
        self.quantiles_ = quantiles
        for name in ("intercept_", "n_iter_", "dual_gap_", "primal_objective_", "dual_objective_"):
            setattr(self, name, np.concatenate([one[name] for one in found]))
        self.status_ = [one["status_"][0] for one in found]
        self.history_ = [one["history_"][0] for one in found]
        self._store_support(vectors, X, found[0]["_kernel"])

    def _warn(self) -> None:
        """One warning for all quantiles whose gap is above ``tol``."""
        failed = np.flatnonzero(~(self.dual_gap_ <= self.tol))
        if failed.size:
            worst = failed[np.argmax(self.dual_gap_[failed])]
            warn_user(
                f"PSVRQuantiles is at relative gap {self.dual_gap_[worst]:.1e} > tol {self.tol:g} "
                f"for {failed.size} of {self.quantiles_.size} quantiles: "
                f"{self.status_[worst].value}. To get closer, raise max_iter or max_time, scale X "
                f"(for instance with StandardScaler), or lower C.",
                ConvergenceWarning,
            )

    # --- predict ---------------------------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """Predicted quantiles of the rows of X, ascending with the quantile in every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, as for :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles)
            One column for each of ``quantiles_``, in its order.
        """
        X = self._check_rows(X)
        values = np.sort(self._as_arrays().decisions(X), axis=1)
        return np.asarray(values[:, np.argsort(np.argsort(self.quantiles_))])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the mean pinball loss of all quantiles.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their true targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
        """
        losses = [
            mean_pinball_loss(y, own, sample_weight=sample_weight, alpha=float(quantile))
            for quantile, own in zip(self.quantiles_, self.predict(X).T, strict=True)
        ]
        return -float(np.mean(losses))

    def _layout(self) -> ModelLayout:
        size = np.size(self.quantiles_)
        return ModelLayout(problems=size, coefficients=size, groups=1, pairwise=False)

    def _layout_key(self) -> tuple[Any, ...]:
        return (np.size(self.quantiles_),)


def check_quantiles(quantiles: Any) -> Array:
    """The quantiles as an array, all different."""
    if isinstance(quantiles, str) or not hasattr(quantiles, "__iter__"):
        raise ValueError(
            f"`quantiles` must be a list of numbers in (0, 1), got {quantiles!r}; one quantile is "
            f"a list of one."
        )
    values = [check.check_quantile(quantile, "quantiles") for quantile in quantiles]
    if not values or len(set(values)) < len(values):
        raise ValueError(f"`quantiles` must hold different values, at least one, got {values!r}.")
    return np.array(values)


def psvm_quantiles(
    X: Any,
    y: Any,
    quantiles: Any = (0.05, 0.5, 0.95),
    *,
    p: float = 1.0,
    C: float = 1.0,
    epsilon: float = 0.0,
    kernel: KernelParameter = "rbf",
    degree: int = 3,
    gamma: float | Literal["scale", "auto"] = "scale",
    coef0: float = 0.0,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    tol: float = 1e-4,
    max_iter: int = -1,
    max_time: float | None = None,
    cache_size: float | None = None,
    verbose: int = 0,
    n_jobs: int | None = None,
) -> PSVRQuantiles:
    """Several quantiles of y given x, all from one kernel matrix.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Targets.
    quantiles : array-like of float, default=(0.05, 0.5, 0.95)
        The quantiles, each in (0, 1), all different.
    p, C, epsilon, kernel, degree, gamma, coef0, fit_intercept
        As of :class:`psvm.PSVRQuantiles`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights >= 0 that multiply C.
    tol, max_iter, max_time, cache_size, verbose, n_jobs
        As of :class:`psvm.PSVRQuantiles`.

    Returns
    -------
    PSVRQuantiles
        Fitted. Its ``predict`` gives one column per quantile, which do not cross.

    See Also
    --------
    PSVRQuantiles : The estimator, with more to say on crossing quantiles.
    PSVRCV : Chooses C, gamma and p for one quantile.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from psvm import psvm_quantiles
    >>> X, y = load_diabetes(return_X_y=True)
    >>> band = psvm_quantiles(scale(X), y, quantiles=(0.1, 0.9), C=10, gamma=0.01)
    >>> band.predict(scale(X)).shape
    (442, 2)
    """
    model = PSVRQuantiles(
        quantiles,
        p=p,
        C=C,
        epsilon=epsilon,
        kernel=kernel,
        degree=degree,
        gamma=gamma,
        coef0=coef0,
        fit_intercept=fit_intercept,
        tol=tol,
        max_iter=max_iter,
        max_time=max_time,
        cache_size=cache_size,
        verbose=verbose,
        n_jobs=n_jobs,
    )
    return model.fit(X, y, sample_weight=sample_weight)
