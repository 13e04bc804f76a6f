"""LinearPSVR: linear support vector regression with the p-norm loss, for many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from psvm.estimators import fitted_arrays as fitted
from psvm.estimators import validation as check
from psvm.estimators.base import all_or_nothing, errors_as_before
from psvm.estimators.callbacks import with_callbacks
from psvm.estimators.linear_starts import LinearTargetStart
from psvm.estimators.regressor import OnRound, PNormRegressor, RegressorSettings
from psvm.estimators.targets import check_targets, refuse_several_targets
from psvm.estimators.watch import FitWatch
from psvm.mathematics.certificate import DualRows
from psvm.mathematics.problem import LinearProblems
from psvm.rows.prediction import LinearModel
from psvm.solvers.ledger import Budget, Solution
from psvm.solvers.linear.choose import SOLVERS, solve_linear

Array = npt.NDArray[np.float64]

# One problem over two kinds of dual rows: those above and those below the target.
_SIGNS = np.array([[1, -1]], dtype=np.int8)


class LinearPSVR(PNormRegressor):
    r"""Linear support vector regression with the p-norm loss, for any real p >= 1 and any quantile.

    Minimises

    .. math::

        P(w, b) = \tfrac12 \lVert w \rVert^2
        + \sum_i C_i(r_i) \max(0, |r_i| - \varepsilon)^p, \qquad
        r_i = y_i - \langle w, x_i \rangle - b

    over w and the intercept b, which is not penalised. ``C_i(r)`` is ``C`` times the weight of the
    sample times ``2 quantile`` where r > 0, and times ``2 (1 - quantile)`` elsewhere. This is the
    problem of ``PSVR(kernel="linear")``, solved in time that grows linearly with the rows, and for
    data that need not fit in memory. Every fit is certified: a dual solution proves that P is
    within the fraction ``dual_gap_`` of the optimum.

    p = 1 is the loss of support vector regression, p = 2 its square. With ``epsilon=0`` the model
    predicts quantiles at p = 1 (a large C leaves them without regularisation), expectiles at p = 2,
    and what lies between at other p.

    Parameters
    ----------
    p : float, default=1.5
        Exponent of the loss, any number >= 1, and at most 1e6: beyond, residuals to the power of p
        have no digits left.
    C : float, default=1.0
        Cost of residuals beyond the tube, > 0. ``numpy.inf`` asks for all rows inside the tube (a
        ValueError if there is no such model, or epsilon is 0).
    epsilon : float, default=0.1
        Half the width of the tube within which residuals cost nothing, >= 0, in the unit of y.
        (LinearSVR has 0 for its default, and SVR 0.1.)
    quantile : float, default=0.5
        In (0, 1): how much more the residuals of rows above the prediction cost than those below.
        With p = 1 and ``epsilon=0`` about this share of the rows lies below the prediction.
    fit_intercept : bool, default=True
        Whether b is free; if False it is 0.
    tol : float, default=1e-4
        Relative duality gap ``(P - D) / P`` at which the problem is solved.
    max_iter : int, default=-1
        Limit of outer iterations; -1 for none.
    max_time : float or None, default=None
        Limit of seconds of the fit, which then stops at its best iterate.
    solver : {"auto", "semismooth_newton", "coordinate_descent"}, default="auto"
        As of :class:`LinearPSVC`: passes over all rows for w and b, or one row at a time. Both
        reach the same optimum; ``history_`` tells which one ran, and why.
    warm_start : bool, default=False
        Whether a further fit of as many features starts from the present solution.
    verbose : int, default=0
        1 reports progress once a second, 2 every outer iteration, to the logger "psvm" (and so to
        standard error, unless logging is configured otherwise).
    n_jobs : int or None, default=None
        Threads; None takes as many as OpenMP may use (all cores, unless limited by
        OMP_NUM_THREADS, threadpoolctl or a joblib worker).

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights w: ``predict(X)`` is ``X @ coef_ + intercept_``. Dense, also for sparse X.
    intercept_ : ndarray of shape (1,)
        The intercept b, as of LinearSVR; 0 without one, also an array.
    n_support_ : ndarray of shape (1,)
        Number of rows whose dual variable is not 0: those on the edge of the tube or outside.
    n_iter_ : ndarray of shape (1,)
        Outer iterations.
    dual_gap_ : ndarray of shape (1,)
        Relative duality gap ``(P - D) / P``, in float64, with P at ``coef_`` and ``intercept_``.
    primal_objective_, dual_objective_ : ndarray of shape (1,)
        P and D, in the square of the unit of y.
    status_ : list of Status
        How the solve ended; one item.
    history_ : list of list of dict
        One record per outer iteration; the first says in "why" for what reason its solver was
        chosen.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of str
        Their names, if X has any.

    See Also
    --------
    PSVR : The same loss with kernels.
    LinearPSVC : The same for classes.

    Notes
    -----
    Targets are centred and scaled inside, so that the unit of y does not matter if ``epsilon`` and
    ``C`` follow it: for ``a * y`` take ``a * epsilon`` and ``C * a**(2 - p)``.

    A C-ordered float32 or float64 array, or ``numpy.memmap``, is used where it lies; other input is
    converted to float64 first.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from psvm import LinearPSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LinearPSVR(p=1.5, epsilon=10.0)).fit(X, y)
    >>> model[-1].coef_.shape
    (10,)
    >>> bool(model[-1].dual_gap_[0] <= 1e-4)
    True

    Nine of ten patients are to be below the prediction:

    >>> high = LinearPSVR(p=1, C=1000, epsilon=0, quantile=0.9).fit(X, y)
    >>> round(float((y <= high.predict(X)).mean()), 1)
    0.9
    """

    _not_inside = "that is linear in X. Use a finite C, a larger epsilon, or more features."

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
        solver: Literal["auto", "semismooth_newton", "coordinate_descent"] = "auto",
        warm_start: bool = False,
        verbose: int = 0,
        n_jobs: int | None = None,
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

    # --- fit -------------------------------------------------------------------------------------

    @with_callbacks
    @errors_as_before()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows. A ``numpy.memmap`` may be larger than memory.
        y : array-like of shape (n_samples,)
            Targets, finite numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0 that multiply C. A row of weight 0 is as if absent, and so is one whose
            product with C is below the smallest normal float64 (2.2e-308). A negative weight is an
            error.

        Returns
        -------
        self : LinearPSVR
            The fitted estimator.
        """
        settings, solver = self._check_parameters()
        refuse_several_targets(y)
        seen, rows, y = check.check_rows(self, X, y)
        weight = check.check_weights(sample_weight, y.size)
        return self._fit_rows(rows, seen, y, weight, settings, solver, FitWatch(self, rows.X, y))

    @with_callbacks
    @errors_as_before()
    def fit_blocks(self, blocks: Any) -> Self:
        """Fit the model to blocks of rows that are loaded one at a time.

        The result is that of :meth:`fit` on all rows together. Targets and weights, and some
        numbers per row, are kept in memory; X is not, unless the solver is "coordinate_descent",
        which goes through the rows in random order.

        Parameters
        ----------
        blocks : sequence
            Anything with ``len(blocks)`` and ``blocks[k]``, which is ``(X, y)`` or
            ``(X, y, sample_weight)`` as for :meth:`fit`, the same each time it is read: once to
            check it, and then once in every pass over the rows. It may load a file.

        Returns
        -------
        self : LinearPSVR
            The fitted estimator. ``feature_names_in_`` are those of the first block, and all blocks
            must agree with it. Callbacks are not shown X and y.
        """
        settings, solver = self._check_parameters()
        read = check.read_blocks(self, blocks, check_y=check_targets)
        rows, seen, y, weight = read.rows, read.seen, read.y, read.weight
        del read
        return self._fit_rows(rows, seen, y, weight, settings, solver, FitWatch(self, None, None))

    def _check_parameters(self) -> tuple[RegressorSettings, str]:
        """All parameters, or an error that names the wrong one."""
        return self._check_settings(), check.check_choice("solver", self.solver, SOLVERS)

    def _fit_rows(
        self,
        rows: Sequence[Any],
        seen: check.SeenFeatures,
        y: npt.NDArray[Any],
        weight: Array,
        settings: RegressorSettings,
        solver: str,
        watch: FitWatch,
    ) -> Self:
        """Solve over checked rows, and store."""
        assert seen.count is not None  # rows of numbers have columns
        check.check_width(1, seen.count)
        targets = self._encode(y, weight, settings)
        pairs = targets.dual_rows()
        if pairs.cost.min() == 0.0:
            pairs.target[pairs.cost == 0.0] = 0.0  # of rows that are absent, whatever it was
        place = np.arange(pairs.cost.size)
        problems = LinearProblems(
            _SIGNS,
            (place & 1).astype(np.int32),
            pairs.cost,
            settings.loss,
            settings.fit_intercept,
            pairs.target,
            place >> 1,
        )
        warm: LinearTargetStart | None = getattr(self, "_warm", None) if self.warm_start else None
        starts = LinearTargetStart.starts_for(warm, targets, problems, rows, seen.count)
        solver_units: list[Solution] = []

        def solve(budget: Budget, told: OnRound | None) -> Solution:
            found = solve_linear(
                rows,
                problems,
                starts,
                budget,
                told,
                solver=solver,
                threads=settings.threads,
                in_order=watch.in_order,
            )
            solver_units.extend(found)
            return found[0]

        dual = DualRows(pairs.sign, pairs.target, pairs.cost, settings.loss, settings.fit_intercept)
        solution = self._solved(targets, dual, settings, watch, solve)
        if not solver_units:  # w = 0 has all rows inside the tube
            solution = replace(solution, w=np.zeros(seen.count))
        alpha = solution.alpha
        proof = solution.certificate
        with all_or_nothing(self):
            self._store_certificates(seen, [solution])
            self.coef_ = proof.scale * solution.w
            self.intercept_ = np.array([proof.intercept])
            self.n_support_ = np.array([np.count_nonzero(alpha[::2] != alpha[1::2])], np.int32)
            if self.warm_start:
                self._warm = LinearTargetStart.of(targets, problems, solution)
            watch.end()
        return self

    # --- predict ---------------------------------------------------------------------------------

    def _values(self, X: Any) -> Array:
        """``<w, x> + b`` of every row of X."""
        X = check.check_new_rows(self, X, order="C")
        return np.asarray(self._as_arrays().decisions(X)[:, 0])

    def _as_arrays(self) -> LinearModel:
        """The fitted model as weights and intercepts."""
        return LinearModel(
            fitted.number_array(self, "coef_", (self.n_features_in_,))[None],
            fitted.number_array(self, "intercept_", (1,)),
        )
