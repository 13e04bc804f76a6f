"""psvm_path: the solutions along a grid of p and C, each started from its neighbour."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from copy import copy
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring

from psvm.estimators import validation as check
from psvm.estimators.base import errors_as_before
from psvm.estimators.cost_grid import is_count, spread_costs
from psvm.estimators.kernel_input import check_kernel_data
from psvm.estimators.kernel_machine import KernelMachine
from psvm.estimators.path_result import KernelParameter, PSVMPath
from psvm.estimators.path_tasks import Model, path_task
from psvm.estimators.starts import KeptKernel
from psvm.estimators.svc import PSVC
from psvm.estimators.svr import PSVR
from psvm.estimators.warn import warn_user
from psvm.estimators.watch import ProgressLog, logger

__all__ = ["PSVMPath", "psvm_path"]

Array = npt.NDArray[np.float64]

# Fitted attributes, without their underscore, that a path has for every model.
_FITTED = ("n_support", "primal_objective", "dual_objective", "dual_gap", "n_iter")


@errors_as_before()
def psvm_path(
    X: Any,
    y: Any,
    *,
    task: Literal["classification", "regression"] = "classification",
    ps: Any = (1.0, 1.25, 1.5, 2.0, 3.0),
    Cs: Any = 10,
    kernel: KernelParameter = "rbf",
    gamma: float | Literal["scale", "auto"] = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    fit_intercept: bool = True,
    multi_class: Literal["ovo", "ovr"] = "ovo",
    class_weight: Any = None,
    epsilon: float | None = None,
    quantile: float | None = None,
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    scoring: Any = None,
    tol: float = 1e-4,
    max_iter: int = -1,
    max_time: float | None = None,
    cache_size: float | None = None,
    verbose: int = 0,
    n_jobs: int | None = None,
) -> PSVMPath:
    r"""Solve the problem of PSVC, or of PSVR, for every p in ``ps`` and every C in ``Cs``.

    .. math::

        P(w, b) = \tfrac12 \lVert w \rVert^2
        + \sum_i C_i \max(0, 1 - y_i (\langle w, \phi(x_i) \rangle + b))^p

    For p ascending, C goes from the smallest to the largest, and every solve starts from the
    solution for the C before; the first one of the next p starts from the dual variables

    .. math:: \alpha_i = p\, C_i\, \xi_i^{p - 1}

    that the slacks of the previous p have under the new one, at the smallest C. Kernel rows are
    kept from one fit to the next, within ``cache_size``. Every model is certified by its own gap,
    as if it were fitted alone.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Training rows; for a precomputed kernel the matrix of shape (n_samples, n_samples).
    y : array-like of shape (n_samples,)
        Labels of any type, of which there may be more than two; targets with
        ``task="regression"``.
    task : {"classification", "regression"}, default="classification"
        What y stands for. Numbers are labels unless regression is asked for.
    ps : float or array-like, default=(1, 1.25, 1.5, 2, 3)
        Exponents, each a finite number >= 1.
    Cs : int, or array-like of float, default=10
        Costs, finite and > 0. A number asks for so many values, evenly spaced by factor from 0.1
        to 100 around the scale of the data, as in :class:`psvm.PSVCCV`; in regression over all
        that :class:`psvm.PSVRCV` takes for some p of ``ps``.
    kernel : str or callable, default="rbf"
        As for :class:`psvm.PSVC`. "linear" is solved by :class:`psvm.LinearPSVC`, or by
        :class:`psvm.LinearPSVR`.
    gamma, degree, coef0
        Parameters of the kernel, as for :class:`psvm.PSVC`.
    fit_intercept
        As for :class:`psvm.PSVC`.
    multi_class, class_weight
        As for :class:`psvm.PSVC`; not for regression.
    epsilon, quantile : float or None, default=None
        As for :class:`psvm.PSVR`, whose defaults None stands for; only for regression.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights >= 0 that multiply C. A row of weight 0 is as if absent, and so is one whose product
        with the smallest C is below the smallest normal float64 (2.2e-308).
    X_val, y_val : array-like, default=None
        Validation rows and their labels or targets, on which every model is scored.
    scoring : str, callable or None, default=None
        How to score them, as scikit-learn's ``check_scoring`` reads it; None is the accuracy, or in
        regression r2.
    tol : float, default=1e-4
        Relative duality gap at which a problem is solved.
    max_iter : int, default=-1
        Limit of outer iterations per binary problem; -1 for none.
    max_time : float or None, default=None
        Limit of seconds for the whole path. The models beyond it are missing from the result.
    cache_size : float or None, default=None
        Megabytes for kernel rows; None takes a quarter of the memory available.
    verbose : int, default=0
        1 reports every model to the logger "psvm", 2 also every binary problem, 3 every round.
    n_jobs : int or None, default=None
        Threads, as for :class:`psvm.PSVC`.

    Returns
    -------
    PSVMPath
        Coefficients or dual coefficients, intercepts, numbers of support vectors, objectives and
        gaps, as arrays with one entry per (p, C).

    See Also
    --------
    psvm.plotting.PathDisplay : Pictures of a path.

    Notes
    -----
    One ConvergenceWarning tells of all models whose gap is above ``tol``, and of models missing.

    Dual coefficients take 8 bytes for every model, training row and other class: 8 MB for 50 models
    of 20,000 rows in two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from psvm import psvm_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = psvm_path(scale(X), y, ps=[1, 1.5, 2], Cs=[0.1, 1, 10])
    >>> path.dual_gap.shape
    (3, 3, 1)
    >>> bool(path.dual_gap.max() <= 1e-4)
    True

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = psvm_path(scale(X), y, task="regression", ps=[1, 2], Cs=[1, 10], epsilon=10)
    >>> path.dual_gap.shape
    (2, 2, 1)
    """
    exponents, limit = _exponents(ps), check.check_max_time(max_time)
    check.check_verbose(verbose)
    if (X_val is None) != (y_val is None):
        given, missing = ("y_val", "X_val") if X_val is None else ("X_val", "y_val")
        raise ValueError(f"`X_val` and `y_val` belong together, got {given} without {missing}.")
    if X_val is None and scoring is not None:
        raise ValueError("`scoring` needs rows to score: give `X_val` and `y_val`.")
    common: dict[str, Any] = {
        "fit_intercept": fit_intercept,
        "tol": tol,
        "max_iter": max_iter,
        "warm_start": True,
        "verbose": max(verbose - 1, 0),
        "n_jobs": n_jobs,
    }
    of_kernel = {"gamma": gamma, "degree": degree, "coef0": coef0, "cache_size": cache_size}
    asked = path_task(task, multi_class, class_weight, epsilon, quantile)
    model = asked.model(kernel, common, of_kernel)
    y = asked.checked(y)
    at_the_door = check_kernel_data if isinstance(model, KernelMachine) else check.check_data
    _, checked, _ = at_the_door(model, X, y)
    weight = check.check_weights(sample_weight, y.size)
    units = asked.unit(y, weight) ** (2.0 - exponents)
    grid = _Grid(exponents, _costs(Cs, model, checked, weight, units))
    sample_weight = asked.weights(model, y, weight, grid.ps, grid.Cs)
    del checked
    kept = KeptKernel()
    scorer = None if X_val is None else check_scoring(model, scoring)
    log = ProgressLog(verbose)
    corner = model  # at the smallest C, where the next p begins
    for i, j, left in grid.cells(limit):
        model = corner if j == 0 else model
        model.set_params(p=float(grid.ps[i]), C=float(grid.Cs[j]), max_time=left)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # one for all comes at the end
            if isinstance(model, PSVC | PSVR):
                model._fit_from(kept, X, y, sample_weight)
            else:
                model.fit(X, y, sample_weight=sample_weight)
        grid.store(i, j, model, time.perf_counter() - began)
        if scorer is not None:
            grid.keep("score", i, j, float(scorer(model, X_val, y_val)))
        if j == 0:
            corner = copy(model)
        if log.verbose >= 1:
            logger.info("model %d of %d, %s", grid.n_stored, grid.size, _said_of(model))
    path = grid.path(model, kernel, *asked.classes(model, y))
    _warn(path)
    return path


class _Grid:
    """Arrays over (p, C) that are filled model by model."""

    def __init__(self, ps: Array, Cs: Array) -> None:
        self.ps, self.Cs = ps, Cs
        self.size, self.n_stored = ps.size * Cs.size, 0
        self._arrays: dict[str, npt.NDArray[Any]] = {}

    def cells(self, max_time: float | None) -> Iterator[tuple[int, int, float | None]]:
        """The cells in the order of the path, with the seconds left; at least the first one."""
        began, left = time.perf_counter(), max_time
        for i, j in np.ndindex(self.ps.size, self.Cs.size):
            if left is not None and left <= 0.0:
                return
            yield i, j, left
            left = None if max_time is None else max_time - (time.perf_counter() - began)

    def keep(self, name: str, i: int, j: int, value: Any) -> None:
        """Keep a number or an array of model [i, j]; the others are NaN, or 0 if it counts."""
        value = np.asarray(value)
        if name not in self._arrays:
            shape = (self.ps.size, self.Cs.size, *value.shape)
            counts = value.dtype.kind == "i"
            self._arrays[name] = np.zeros(shape, np.int64) if counts else np.full(shape, np.nan)
        self._arrays[name][i, j] = value

    def store(self, i: int, j: int, model: Model, seconds: float) -> None:
        """Keep what a fitted model says."""
        if not isinstance(model, PSVC | PSVR):
            arrays = model._as_arrays()  # of the classes or of their pairs
            self.keep("coef", i, j, arrays.weights)
            self.keep("intercept", i, j, arrays.intercept)
        else:
            self.keep("intercept", i, j, model.intercept_)
            dual_coef = np.zeros((model.dual_coef_.shape[0], model.shape_fit_[0]))
            dual_coef[:, model.support_] = model.dual_coef_
            self.keep("dual_coef", i, j, dual_coef)
        for name in _FITTED:
            self.keep(name, i, j, getattr(model, f"{name}_"))
        self.keep("seconds", i, j, seconds)
        self.n_stored += 1

    def path(
        self,
        model: Model,
        kernel: KernelParameter,
        classes: npt.NDArray[Any],
        codes: npt.NDArray[np.int32],
    ) -> PSVMPath:
        """The path of all models kept, of which one is given."""
        return PSVMPath(
            ps=self.ps,
            Cs=self.Cs,
            classes=classes,
            kernel=kernel,
            multi_class=getattr(model, "multi_class", "ovo"),
            tol=model.tol,
            codes=codes,
            feature_names=getattr(model, "feature_names_in_", None),
            coef=self._arrays.pop("coef", None),
            dual_coef=self._arrays.pop("dual_coef", None),
            score=self._arrays.pop("score", None),
            **self._arrays,
        )


def _exponents(ps: Any) -> Array:
    """The exponents, ascending and without repetition."""
    values = np.atleast_1d(np.asarray(ps, dtype=object))
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"`ps` must be a number or a list of numbers >= 1, got {ps!r}.")
    return np.unique([check.check_p(p, "ps") for p in values])


def _costs(Cs: Any, model: Model, X: Any, weight: Array, units: Array) -> Array:
    """The costs, ascending and without repetition; ``units`` are those of C at every p."""
    if is_count(Cs):
        kernel = getattr(model, "kernel", "linear")
        return np.array(spread_costs(int(Cs), kernel, X, weight, (units.min(), units.max())))
    values = np.asarray(Cs, dtype=object)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"`Cs` must be an int or a list of numbers > 0, got {Cs!r}.")
    costs = np.unique([check.check_C(C, "Cs") for C in values])
    if np.isinf(costs[-1]):
        raise ValueError(
            "`Cs` must be finite, got inf: the hard margin is no neighbour of any C. "
            "Fit PSVC(C=numpy.inf), or PSVR, for it."
        )
    return costs


def _said_of(model: Model) -> str:
    """One line on a fitted model."""
    return (
        f"p = {model.p:g}, C = {model.C:g}: relative gap {model.dual_gap_.max():.2e} after "
        f"{model.n_iter_.sum()} rounds, {model.n_support_.sum()} support vectors"
    )


def _warn(path: PSVMPath) -> None:
    """One warning for all models that are missing or above ``tol``."""
    gaps = path.dual_gap[path.computed]
    above = (~(gaps <= path.tol)).any(axis=1)
    told = []
    if above.any():
        told.append(
            f"{above.sum()} of {above.size} models are above tol {path.tol:g}, the worst at "
            f"relative gap {gaps.max():.1e}; raise max_iter or max_time, or scale X."
        )
    missing = int((~path.computed).sum())
    if missing:
        told.append(f"{missing} models are missing: max_time was over; raise it, or take fewer Cs.")
    if told:
        warn_user("psvm_path: " + " ".join(told), ConvergenceWarning)
