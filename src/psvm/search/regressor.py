"""PSVRCV: the regressor that chooses p, C, the kernel width and the tube by itself."""

from __future__ import annotations

from typing import Any, Literal, Self

from sklearn.base import BaseEstimator, RegressorMixin

from psvm.estimators.callbacks import with_callbacks
from psvm.estimators.kernel_machine import KernelParameter
from psvm.search.base import PNormSearch
from psvm.search.folds import Array
from psvm.search.posed import PosedSearch
from psvm.search.regression import RegressionTask


class PSVRCV(PNormSearch, RegressorMixin, BaseEstimator):
    r"""Support vector regressor that chooses p, C, gamma and epsilon by cross-validation.

    Every cell (p, C, gamma, epsilon) of the grid is solved on every split and scored on the rows
    that the split holds out; the best cell is then fitted to all rows. The result is that of
    ``GridSearchCV(PSVR(), ...)``, in a fraction of its time: the kernel matrix of a width is
    computed once for all splits, p, C and epsilon, every solution starts from its neighbour, and
    held-out predictions come with the solution.

    A cell minimises over its training rows what :class:`psvm.PSVR` does:

    .. math::

        P(w, b) = \tfrac12 \lVert w \rVert^2
        + \sum_i C_i(r_i) \max(0, \lvert r_i \rvert - \varepsilon)^p,
        \qquad r_i = y_i - \langle w, \phi(x_i) \rangle - b

    Parameters
    ----------
    ps : array-like of float, default=(1, 1.5, 2)
        Exponents of the loss, each >= 1.
    Cs : int or array-like of float, default=6
        Costs of slack, each > 0 and finite. A number asks for so many values, evenly spaced by
        factor from 0.1 to 100 around the scale of the data: that of X as in PSVCCV, times
        ``s ** (2 - p)``, where s is the standard deviation of y. So the search does not depend on
        the unit of y; with several p and an s other than 1 each p has costs of its own.
    gammas : int, "scale", "auto", or array-like of these words and floats, default=5
        Kernel widths. A number asks for so many values, evenly spaced by factor from 0.1 to 10
        times ``1 / (n_features * Var[X])``, with the sample-weighted variance. "scale" and "auto"
        are as in PSVR, for all rows (as ``preprocessor_`` gives them). Ignored by kernels without
        a width: the linear one, a precomputed one and callables.
    epsilons : int or array-like of float, default=3
        Half widths of the tube inside which residuals cost nothing, each >= 0 and in the unit of
        y, as in PSVR. A number asks for so many values, evenly spaced by factor from 0.02 to 0.5
        times the standard deviation of y; with a ``quantile`` other than 0.5 it stands for 0
        alone, since rows inside a tube are on no side of the quantile.
    quantile : float, default=0.5
        The quantile that is asked for, in (0, 1), as in PSVR: residuals above cost
        ``2 quantile C``, those below ``2 (1 - quantile) C``.
    preprocessor : transformer, Pipeline of transformers or None, default=None
        What X goes through first: scaling, imputation, encoding of texts, selection of features.
        A clone is fitted, with y, to the training rows of every split, so that no held-out row has
        a part in its own score, and one to all rows for the final model. X reaches it as it is
        given, a data frame with texts and missing values for instance. ``sample_weight`` reaches
        it only where metadata routing is enabled and it requests them. Not for a precomputed
        kernel.
    kernel : str or callable, default="rbf"
        As in PSVR. "linear" is searched by the solvers of LinearPSVR. A callable is given X as it
        is, or what the preprocessor returns: texts, arrays of three dimensions, data frames.
    degree : int, default=3
        Degree of the "poly" kernel.
    coef0 : float, default=0.0
        Constant of the "poly" and "sigmoid" kernels.
    fit_intercept : bool, default=True
        Whether b is free; if False it is 0.
    cv : int, splitter or iterable, default=5
        Number of folds, in the order of the rows as GridSearchCV takes them (shuffle rows that are
        sorted, or give ``KFold(5, shuffle=True)``), a scikit-learn splitter, or pairs of training
        and held-out rows.
    scoring : str, callable or None, default=None
        A scikit-learn scorer, weighted by ``sample_weight`` where it can be. None is "r2", and for
        a ``quantile`` other than 0.5 minus the mean pinball loss of that quantile. The scorer sees
        a stand-in with ``params_`` and ``predict`` for the held-out rows.
    refit : bool, default=True
        Whether the chosen cell is fitted to all rows; without that there is nothing to predict.
    rule : {"best", "one_se"}, default="best"
        "best" takes the highest mean score, among equals the one with the fewest support vectors.
        "one_se" takes the fewest support vectors among all cells within one standard error of it.
    tol : float, default=1e-4
        Relative duality gap of the final fit. The search itself solves to 1e-3, and all cells near
        the best score to 1e-4; up to 1000 rows everything to 1e-5.
    max_time : float or None, default=None
        Seconds for all of it, the preprocessor included, whose time is looked at after each of its
        fits. The search ends with the cells that are finished by then, in time for the final fit,
        which warns if it is stopped before ``tol``; without any it is an error.
    cache_size : float or None, default=None
        Megabytes for kernel matrices; None takes a quarter of the memory available. A matrix takes
        ``4 n ** 2`` bytes; two of them, and for many features a third one, are fastest. Where not
        even one fits, entries are computed whenever they are needed, which is slower.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does during the search: "raise" leaves the estimator as it was, "keep" chooses
        among the cells that are finished (if there is none it is raised). During the final fit it
        is raised in any case; with "keep" ``cv_results_`` and ``best_params_`` are there then, and
        ``best_estimator_`` is not.
    verbose : int, default=0
        1 shows a progress bar with the fits done, the best so far and the time left (needs rich;
        without a terminal now and then a line of the logger "psvm"), 2 logs every kernel width.
    n_jobs : int or None, default=None
        Threads; None takes as many as OpenMP may use (all cores, unless limited by
        OMP_NUM_THREADS, threadpoolctl or a joblib worker). The result does not depend on it.

    Attributes
    ----------
    best_estimator_ : PSVR or LinearPSVR, or a Pipeline that ends in one
        The chosen cell, fitted to all rows (with ``refit=True``). It takes the same X as the
        search: with a preprocessor it is a Pipeline of the steps "preprocessor", which is
        ``preprocessor_``, and "regressor". Support vectors, ``coef_`` and the certificate are
        attributes of the regressor, ``best_estimator_[-1]`` of a Pipeline.
    preprocessor_ : transformer
        The preprocessor, fitted to all rows (if there is one).
    best_params_ : dict
        Its p, C, epsilon and (unless the kernel has none) gamma.
    best_score_ : float
        Its mean held-out score.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of arrays
        As of GridSearchCV: ``params``, ``param_p``, ``param_C``, ``param_gamma``,
        ``param_epsilon``, scores, ranks and times. Also ``mean_n_support``, the weight of the
        support vectors (their number, if no row has a weight), and ``max_dual_gap``, the largest
        relative gap among the splits. Cells that were not finished have NaN; a cell whose score is
        not finite is not chosen.
    cross_val_prediction_ : ndarray of shape (n_samples,)
        What the chosen cell predicts for every row when the row is held out; the mean where several
        splits hold it out, NaN where none does.
    target_scale_ : float
        The weighted standard deviation of y, which the default grids of C and epsilon follow; 1 if
        all targets are equal.
    scorer_ : callable
        The scorer.
    n_splits_ : int
        Number of splits.
    refit_time_ : float
        Seconds of the final fit (with ``refit=True``).
    n_features_in_ : int
        Number of features of X, before the preprocessor (if X is a table).
    feature_names_in_ : ndarray of str
        Their names, if X has any.

    See Also
    --------
    PSVR : The model with given p, C, gamma and epsilon.
    LinearPSVR : The same for the linear kernel.
    psvm_quantiles : Several quantiles at once, with given parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from psvm import PSVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = PSVRCV(ps=(1, 2), gammas="scale", preprocessor=StandardScaler()).fit(X, y)
    >>> sorted(model.best_params_)
    ['C', 'epsilon', 'gamma', 'p']
    >>> bool(model.best_score_ > 0.45)
    True
    """

    _not_always = (*PNormSearch._not_always, "cross_val_prediction_")

    def __init__(
        self,
        ps: Any = (1, 1.5, 2),
        Cs: Any = 6,
        gammas: Any = 5,
        epsilons: Any = 3,
        *,
        quantile: float = 0.5,
        preprocessor: Any = None,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        cv: Any = 5,
        scoring: Any = None,
        refit: bool = True,
        rule: Literal["best", "one_se"] = "best",
        tol: float = 1e-4,
        max_time: float | None = None,
        cache_size: float | None = None,
        on_interrupt: Literal["raise", "keep"] = "raise",
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.ps = ps
        self.Cs = Cs
        self.gammas = gammas
        self.epsilons = epsilons
        self.quantile = quantile
        self.preprocessor = preprocessor
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.rule = rule
        self.tol = tol
        self.max_time = max_time
        self.cache_size = cache_size
        self.on_interrupt = on_interrupt
        self.verbose = verbose
        self.n_jobs = n_jobs

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Search the grid, choose, and fit the chosen cell to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; for a precomputed kernel the matrix of shape (n_samples, n_samples).
            With a preprocessor anything that it takes and whose rows can be chosen by number.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights that multiply C, and that the scores are weighted by where the scorer can.
            Negative ones are an error. A row of weight 0, or whose product with the smallest C
            underflows, is as if absent.
        **params : dict
            ``groups`` for the splitter; with metadata routing enabled whatever splitter, scorer
            and preprocessor request.

        Returns
        -------
        self : PSVRCV
            The fitted estimator.

        Warns
        -----
        psvm.search.GridEdgeWarning
            If the choice is at the edge of the grid and the score rises towards it.
        """
        return self._search(X, y, sample_weight, params)

    def _task(self) -> RegressionTask:
        return RegressionTask(self)

    def _store_own(self, posed: PosedSearch, held_out: Array | None) -> None:
        self.target_scale_ = posed.spread
        if held_out is not None:
            self.cross_val_prediction_ = held_out
