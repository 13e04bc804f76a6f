"""PSVR: the kernel support vector regressor with the p-norm loss outside a tube."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from psvm.estimators import validation as check
from psvm.estimators.base import all_or_nothing, errors_as_before
from psvm.estimators.callbacks import with_callbacks
from psvm.estimators.kept_models import forget
from psvm.estimators.kernel_input import check_kernel_data
from psvm.estimators.kernel_machine import (
    KernelMachine,
    KernelParameter,
    ModelLayout,
    SupportVectors,
)
from psvm.estimators.regressor import OnRound, PNormRegressor
from psvm.estimators.starts import KeptKernel, KernelSource
from psvm.estimators.target_rows import TargetRows
from psvm.estimators.target_starts import ColdTargetStart, TargetStart, TargetWarmStart
from psvm.estimators.targets import EncodedTargets, refuse_several_targets
from psvm.estimators.training_rows import TrainingRows
from psvm.estimators.watch import FitWatch
from psvm.rows.dense_or_sparse import stored_for_kernel
from psvm.rows.given_rows import as_given
from psvm.solvers.kernel.together import solve_together
from psvm.solvers.ledger import Budget, Solution

Array = npt.NDArray[np.float64]


class PSVR(KernelMachine, PNormRegressor):
    r"""Support vector regressor with the p-norm loss outside a tube, for any real p >= 1.

    Minimises

    .. math::

        P(w, b) = \tfrac12 \lVert w \rVert^2
        + \sum_i C_i(r_i) \max(0, \lvert r_i \rvert - \varepsilon)^p,
        \qquad r_i = y_i - \langle w, \phi(x_i) \rangle - b

    over w and the intercept b, which is not penalised. ``C_i(r)`` is ``C`` times the weight of the
    sample, times ``2 quantile`` for ``r > 0`` and ``2 (1 - quantile)`` for ``r < 0``. p = 1 is SVR,
    p = 2 its squared form; with ``epsilon=0``, p = 1 is quantile regression and p = 2 expectile
    regression. Every fit is certified: a dual solution proves that P is within the fraction
    ``dual_gap_`` of the optimum.

    Parameters
    ----------
    p : float, default=1.5
        Exponent of the loss, any number >= 1, and at most 1e6: beyond, slack to the power of p has
        no digits left.
    C : float, default=1.0
        Cost of slack, > 0, in units of y to the power of ``2 - p``. ``numpy.inf`` asks for all rows
        inside the tube (a ValueError if there is no such model, or if ``epsilon`` is 0).
    epsilon : float, default=0.1
        Half the width of the tube, >= 0, in the unit of y: smaller residuals cost nothing.
    quantile : float, default=0.5
        In (0, 1). Above 0.5, residuals of rows above the prediction cost more than those below.
    kernel : str or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian" ``exp(-gamma ||x - z||_1)``, "exponential"
        ``exp(-gamma ||x - z||_2)``, "precomputed" (X is the kernel matrix), or a function of two
        sets of rows that returns their kernel matrix. A function is given X as it is, called once
        for many rows: X may be a list of texts, have three dimensions, or be a data frame.
    degree : int, default=3
        Degree of the "poly" kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width. "scale" is ``1 / (n_features * Var[X])`` with the sample-weighted variance,
        "auto" is ``1 / n_features``. A number must be > 0.
    coef0 : float, default=0.0
        Constant of the "poly" and "sigmoid" kernels.
    fit_intercept : bool, default=True
        Whether b is free; if False it is 0.
    tol : float, default=1e-4
        Relative duality gap ``(P - D) / P`` at which the problem is solved.
    max_iter : int, default=-1
        Limit of outer iterations; -1 for none.
    max_time : float or None, default=None
        Limit of seconds of the fit; then it stops at its best iterate.
    cache_size : float or None, default=None
        Megabytes for kernel rows; None takes a quarter of the memory available.
    warm_start : bool, default=False
        Whether a further ``fit`` to the same targets starts from the present solution.
    verbose : int, default=0
        1 reports progress once a second, 2 every outer iteration, to the logger "psvm" (and so to
        standard error, unless logging is configured otherwise).
    n_jobs : int or None, default=None
        Threads; None takes as many as OpenMP may use (all cores, unless limited by
        OMP_NUM_THREADS, threadpoolctl or a joblib worker).

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors: the rows outside the tube, or on its edge.
    support_vectors_ : array or CSR matrix of shape (n_SV, n_features)
        The support vectors: ``X[support_]``. Empty for a precomputed kernel. For a callable they
        are of the kind that X is (a list of texts, a data frame), where SVR keeps all of X.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : ndarray of shape (1, n_SV)
        Their coefficients, positive for rows above the tube and negative for those below. Dense,
        also for sparse X.
    intercept_ : ndarray of shape (1,)
        The intercept.
    coef_ : ndarray of shape (1, n_features)
        Weights, for the linear kernel only.
    n_iter_ : ndarray of shape (1,)
        Outer iterations.
    dual_gap_ : ndarray of shape (1,)
        Relative duality gap, recomputed in float64; an upper bound whatever was rounded.
    primal_objective_, dual_objective_ : ndarray of shape (1,)
        P and D, in the unit of y, squared.
    status_ : list of Status
        How the solve ended, one entry.
    history_ : list of list of dict
        One record per outer iteration, in one list.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features seen during fit; not there if X, for a callable, is no table.
    feature_names_in_ : ndarray of str
        Their names, if X has any.

    See Also
    --------
    PSVC : The same loss for classes.

    Notes
    -----
    The fit does not depend on the unit of y if ``epsilon`` and C follow it: with y times s,
    ``epsilon`` times s and C times ``s^(2 - p)`` predictions are s times as large.

    The sigmoid kernel, and some callables and matrices, are not positive semidefinite. Then the fit
    ends at a stationary point, and ``status_`` says that the gap measures the violation of the
    optimality conditions.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from psvm import PSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), PSVR(p=1.5, C=2.0, epsilon=10)).fit(X, y)
    >>> bool(model[-1].dual_gap_[0] <= 1e-4)
    True
    """

    _not_inside = (
        "in this kernel: there is none, or its weights are too large for float64. Use a finite C, "
        "a larger epsilon, or a kernel with more features (a larger gamma)."
    )

    def __init__(
        self,
        p: float = 1.5,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        quantile: float = 0.5,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: float | Literal["scale", "auto"] = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = -1,
        max_time: float | None = None,
        cache_size: float | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.p = p
        self.C = C
        self.epsilon = epsilon
        self.quantile = quantile
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs

    # --- fit -------------------------------------------------------------------------------------

    @with_callbacks
    @errors_as_before()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; for a precomputed kernel the matrix of shape (n_samples, n_samples), for
            a callable whatever it takes.
        y : array-like of shape (n_samples,)
            Targets, finite numbers. For several targets use scikit-learn's MultiOutputRegressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0 that multiply C. A row of weight 0 is as if absent, and so is one whose
            cost, in the unit of y, is below the smallest normal float64 (2.2e-308). A negative
            weight is an error; SVR would leave the row out.

        Returns
        -------
        self : PSVR
            The fitted estimator.
        """
        return self._fit_from(KeptKernel(), X, y, sample_weight)

    def _fit_from(
        self,
        kernels: KernelSource,
        X: Any,
        y: Any,
        sample_weight: Any,
        start: TargetStart | None = None,
    ) -> Self:
        """Fit with a kernel matrix of ``kernels``, from ``start`` or what is remembered."""
        settings, of_kernel = self._check_settings(), self._check_kernel_settings()
        refuse_several_targets(y)
        seen, X, y = check_kernel_data(self, X, y, settings.threads)
        weight = check.check_weights(sample_weight, y.size)
        targets = self._encode(y, weight, settings)
        watch = FitWatch(self, as_given(X), y)

        stored = stored_for_kernel(X, self.kernel, settings.threads)
        merge = of_kernel.kernel.of_features
        matrix_rows, kernel = kernels.kernel(
            TrainingRows.of_targets(stored, targets.cost, weight, merge=merge),
            lambda rows: of_kernel.matrix_over(stored, rows, weight, settings.threads),
        )
        rows = TargetRows.of(matrix_rows, targets, weight)
        problem = rows.problem(targets, settings.loss, settings.fit_intercept)
        start = start or self._memory(rows, targets)

        def solve(budget: Budget, on_round: OnRound | None) -> Solution:
            alpha = start.alpha(problem, rows, targets)
            (found,) = solve_together(
                [problem], [alpha], kernel, budget, on_round, in_order=watch.in_order
            )
            return found

        solution = self._solved(targets, problem, settings, watch, solve)
        above, below = rows.split(solution.alpha).T
        vectors = SupportVectors.of((above - below)[None, :], np.zeros(y.size, dtype=np.int32), 1)
        with all_or_nothing(self):
            forget(self)
            self._store_certificates(seen, [solution])
            self.intercept_ = np.array([solution.certificate.intercept])
            self._store_support(vectors, X, kernel.kernel)
            if self.warm_start:
                self._warm = TargetWarmStart.of(problem, solution, rows, targets)
            watch.end()
        return self

    def _memory(self, rows: TargetRows, targets: EncodedTargets) -> TargetStart:
        """The present solution, if it is asked for and one of the same targets."""
        warm: TargetWarmStart | None = getattr(self, "_warm", None) if self.warm_start else None
        known = warm is not None and warm.fits(rows, targets)
        return warm if warm is not None and known else ColdTargetStart()

    # --- predict ---------------------------------------------------------------------------------

    def _values(self, X: Any) -> Array:
        X = self._check_rows(X)
        return np.asarray(self._as_arrays().decisions(X)[:, 0])

    def _layout(self) -> ModelLayout:
        return ModelLayout(problems=1, coefficients=1, groups=1, pairwise=False)

    def _layout_key(self) -> tuple[Any, ...]:
        return ()
