"""PSVCCV: the classifier that chooses p, C and the kernel width by itself."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from psvm.estimators.callbacks import with_callbacks
from psvm.estimators.kernel_machine import KernelParameter
from psvm.search.base import PNormSearch, needs_model
from psvm.search.calibration import Calibration
from psvm.search.class_problem import ClassificationProblem
from psvm.search.classification import ClassificationTask
from psvm.search.posed import PosedSearch

Array = npt.NDArray[np.float64]


class PSVCCV(PNormSearch, ClassifierMixin, BaseEstimator):
    r"""Support vector classifier that chooses p, C and gamma by cross-validation.

    Every cell (p, C, gamma) of the grid is solved on every split and scored on the rows that the
    split holds out; the best cell is then fitted to all rows. The result is that of
    ``GridSearchCV(PSVC(), ...)``, in a fraction of its time: the kernel matrix of a width is
    computed once for all splits, p and C, every solution starts from its neighbour, and held-out
    decision values come with the solution.

    A cell minimises, for every binary problem of its training rows, what :class:`psvm.PSVC` does:

    .. math::

        P(w, b) = \tfrac12 \lVert w \rVert^2
        + \sum_i C_i \max(0, 1 - y_i (\langle w, \phi(x_i) \rangle + b))^p

    Parameters
    ----------
    ps : array-like of float, default=(1, 1.25, 1.5, 2, 3)
        Exponents of the hinge, each >= 1.
    Cs : int or array-like of float, default=6
        Costs of slack, each > 0 and finite. A number asks for so many values, evenly spaced by
        factor from 0.1 to 100 around the scale of the data, which is 1 over the spread of the rows
        for the linear and a precomputed kernel, and 1 for all others.
    gammas : int, "scale", "auto", or array-like of these words and floats, default=5
        Kernel widths. A number asks for so many values, evenly spaced by factor from 0.1 to 10
        times ``1 / (n_features * Var[X])``, with the sample-weighted variance. "scale" and "auto"
        are as in PSVC, for all rows (as ``preprocessor_`` gives them). Ignored by kernels without
        a width: the linear one, a precomputed one and callables.
    preprocessor : transformer, Pipeline of transformers or None, default=None
        What X goes through first: scaling, imputation, encoding of texts, selection of features.
        A clone is fitted, with y, to the training rows of every split, so that no held-out row has
        a part in its own score, and one to all rows for the final model. X reaches it as it is
        given, a data frame with texts and missing values for instance. ``sample_weight`` reaches
        it only where metadata routing is enabled and it requests them. Not for a precomputed
        kernel.
    kernel : str or callable, default="rbf"
        As in PSVC. "linear" is searched by the solvers of LinearPSVC. A callable is given X as it
        is, or what the preprocessor returns: texts, arrays of three dimensions, data frames.
    degree : int, default=3
        Degree of the "poly" kernel.
    coef0 : float, default=0.0
        Constant of the "poly" and "sigmoid" kernels.
    fit_intercept : bool, default=True
        Whether b is free; if False it is 0.
    multi_class : {"ovo", "ovr"}, default="ovo"
        How k > 2 classes become binary problems: every pair, or each class against the rest. With
        the linear kernel only the latter have ``best_estimator_``'s ``coef_`` (see LinearPSVC).
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        For k > 2 and ``multi_class="ovo"``: whether ``decision_function`` gives one score per class
        or one per pair (not for the linear kernel, which has one per class).
    class_weight : dict, "balanced" or None, default=None
        Factors of C per class. "balanced" weighs the classes of each split by its training rows.
    cv : int, splitter or iterable, default=5
        Number of stratified folds, a scikit-learn splitter, or pairs of training and held-out rows.
    scoring : str, callable or None, default=None
        A scikit-learn scorer; None is the accuracy, weighted by ``sample_weight``. The scorer sees
        a stand-in with ``classes_``, ``params_``, ``predict``, ``decision_function`` and
        ``predict_proba`` for the held-out rows. The latter takes its sigmoids from what the other
        splits hold out.
    refit : bool, default=True
        Whether the chosen cell is fitted to all rows; without that there is nothing to predict.
    rule : {"best", "one_se"}, default="best"
        "best" takes the highest mean score, among equals the one with the fewest support vectors.
        "one_se" takes the fewest support vectors among all cells within one standard error of it.
    tol : float, default=1e-4
        Relative duality gap of the final fit. The search itself solves to 1e-3, and all cells
        within 0.002 of the best score to 1e-4; up to 1000 rows everything to 1e-5.
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
    best_estimator_ : PSVC or LinearPSVC, or a Pipeline that ends in one
        The chosen cell, fitted to all rows (with ``refit=True``). It takes the same X as the
        search: with a preprocessor it is a Pipeline of the steps "preprocessor", which is
        ``preprocessor_``, and "classifier". Support vectors, ``coef_`` and the certificate are
        attributes of the classifier, ``best_estimator_[-1]`` of a Pipeline.
    preprocessor_ : transformer
        The preprocessor, fitted to all rows (if there is one).
    best_params_ : dict
        Its p, C and (unless the kernel has none) gamma.
    best_score_ : float
        Its mean held-out score.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of arrays
        As of GridSearchCV: ``params``, ``param_p``, ``param_C``, ``param_gamma``, scores, ranks and
        times. Also ``mean_n_support``, the weight of the support vectors (their number, if no row
        has a weight), and ``max_dual_gap``, the largest relative gap among the splits. Cells that
        were not finished have NaN; a cell whose score is not finite is not chosen.
    cross_val_decision_ : ndarray of shape (n_samples,) or (n_samples, n_columns)
        What ``decision_function`` of the chosen cell gives for every row when the row is held out;
        the mean where several splits hold it out, NaN where none does, -inf for a class that the
        split does not train on.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
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
    PSVC : The model with given p, C and gamma.
    LinearPSVC : The same for the linear kernel.

    Notes
    -----
    ``predict_proba`` is Platt's sigmoid of the decision values for two classes, and coupled
    sigmoids of the pairs for more, fitted to ``cross_val_decision_``: no row judges a model that
    has seen it, and nothing is fitted twice. It rises with the decision values. For two classes
    without ``class_weight`` the likelier class is the predicted one: in the narrow band where the
    sigmoid says otherwise the probability is 1/2. With ``class_weight`` predictions have another
    threshold than 1/2, and probabilities keep to the frequencies.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from psvm import PSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PSVCCV(ps=(1, 2), Cs=(1, 10), preprocessor=StandardScaler()).fit(X, y)
    >>> sorted(model.best_params_)
    ['C', 'gamma', 'p']
    >>> bool(model.best_score_ > 0.97)
    True
    """

    _not_always = (*PNormSearch._not_always, "cross_val_decision_", "_calibration")

    def __init__(
        self,
        ps: Any = (1, 1.25, 1.5, 2, 3),
        Cs: Any = 6,
        gammas: Any = 5,
        *,
        preprocessor: Any = None,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        class_weight: Any = None,
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
        self.preprocessor = preprocessor
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.class_weight = class_weight
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

    # --- fit -------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Search the grid, choose, and fit the chosen cell to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; for a precomputed kernel the matrix of shape (n_samples, n_samples).
            With a preprocessor anything that it takes and whose rows can be chosen by number.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights that multiply C, and that the scores are weighted by where the scorer can.
            Negative ones are an error (SVC leaves such rows out without a word). A row of weight
            0, or whose product with the smallest C underflows, is as if absent.
        **params : dict
            ``groups`` for the splitter; with metadata routing enabled whatever splitter, scorer
            and preprocessor request.

        Returns
        -------
        self : PSVCCV
            The fitted estimator.

        Warns
        -----
        psvm.search.GridEdgeWarning
            If the choice is at the edge of the grid and the score rises towards it.
        """
        return self._search(X, y, sample_weight, params)

    def _task(self) -> ClassificationTask:
        return ClassificationTask(self)

    def _store_own(self, posed: PosedSearch, held_out: tuple[Array, Calibration] | None) -> None:
        assert isinstance(posed.problem, ClassificationProblem)
        self.classes_ = posed.problem.classes
        if held_out is not None:
            self.cross_val_decision_, self._calibration = held_out

    # --- predict ---------------------------------------------------------------------------------

    @available_if(needs_model("decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Decision values, as of PSVC.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
        """
        check_is_fitted(self, "best_estimator_")
        return np.asarray(self.best_estimator_.decision_function(X))

    @available_if(needs_model("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, calibrated on held-out decision values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "best_estimator_")
        model = self.best_estimator_
        if isinstance(model, Pipeline):
            X, model = model[:-1].transform(X), model[-1]
        return self._calibration.probabilities(model._problem_decisions(X))
