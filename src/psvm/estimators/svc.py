"""PSVC: the kernel support vector classifier with the p-norm hinge loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from psvm.estimators import validation as check
from psvm.estimators.base import Codes, FitWatch, Outcome, PNormClassifier
from psvm.estimators.callbacks import with_callbacks
from psvm.estimators.head_start import HeadStart
from psvm.estimators.warm_start import WarmStart
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.multiclass import class_pairs, pack_one_vs_one, problem_signs
from psvm.mathematics.problem import KernelProblem
from psvm.rows.dense_or_sparse import stored_for_kernel
from psvm.rows.equal_rows import EqualRows, find_equal_rows, no_equal_rows
from psvm.rows.kernel import KERNELS, Kernel, resolve_gamma
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.rows.prediction import KernelModel
from psvm.solvers.certified import Certified
from psvm.solvers.kernel.together import solve_together

Array = npt.NDArray[np.float64]
KernelParameter = str | Callable[[Any, Any], Any]


class PSVC(PNormClassifier):
    r"""Support vector classifier with the p-norm hinge loss, for any real p >= 1.

    Minimises, for every binary problem,

    .. math::

        P(w, b) = \tfrac12 \lVert w \rVert^2
        + \sum_i C_i \max(0, 1 - y_i (\langle w, \phi(x_i) \rangle + b))^p

    over w and the intercept b, which is not penalised; ``C_i`` is ``C`` times the weights of class
    and sample. p = 1 is the classic SVM, p = 2 the squared hinge. Every fit is certified: a dual
    solution proves that P is within the fraction ``dual_gap_`` of the optimum.

    Parameters
    ----------
    p : float, default=1.5
        Exponent of the hinge, any finite number >= 1.
    C : float, default=1.0
        Cost of slack, > 0. ``numpy.inf`` asks for the hard margin (a ValueError if the classes are
        not separable).
    kernel : str or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian" ``exp(-gamma ||x - z||_1)``, "exponential"
        ``exp(-gamma ||x - z||_2)``, "precomputed" (X is the kernel matrix), or a function of two
        sets of rows that returns their kernel matrix.
    degree : int, default=3
        Degree of the "poly" kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel width. "scale" is ``1 / (n_features * Var[X])`` with the sample-weighted variance,
        "auto" is ``1 / n_features``.
    coef0 : float, default=0.0
        Constant of the "poly" and "sigmoid" kernels.
    fit_intercept : bool, default=True
        Whether b is free; if False it is 0.
    multi_class : {"ovo", "ovr"}, default="ovo"
        How k > 2 classes become binary problems: every pair, or each class against the rest.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        For k > 2 and ``multi_class="ovo"``: whether ``decision_function`` gives one score per class
        or one per pair.
    class_weight : dict, "balanced" or None, default=None
        Factors of C per class. "balanced" weighs classes inversely to their total sample weight.
    tol : float, default=1e-4
        Relative duality gap ``(P - D) / P`` at which a problem is solved.
    max_iter : int, default=-1
        Limit of outer iterations per binary problem; -1 for none.
    max_time : float or None, default=None
        Limit of seconds of the fit; what is unsolved by then stops at its best iterate.
    cache_size : float or None, default=None
        Megabytes for kernel rows; None takes a quarter of the memory available.
    warm_start : bool, default=False
        Whether a further ``fit`` on the same rows starts from the present solution.
    verbose : int, default=0
        1 reports progress once a second and every binary problem, 2 every outer iteration, to the
        logger "psvm" (and so to standard error, unless logging is configured otherwise).
    n_jobs : int or None, default=None
        Threads; None takes as many as OpenMP may use (all cores, unless limited by
        OMP_NUM_THREADS, threadpoolctl or a joblib worker).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors, grouped by class.
    support_vectors_ : array or CSR matrix of shape (n_SV, n_features)
        The support vectors; empty for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors per class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV)
        ``alpha_i y_i`` in SVC's layout; with ``multi_class="ovr"`` and k > 2 one row per class.
    intercept_ : ndarray of shape (n_problems,)
        Intercepts.
    coef_ : ndarray of shape (n_problems, n_features)
        Weights; for the linear kernel only.
    n_iter_ : ndarray of shape (n_problems,)
        Outer iterations.
    dual_gap_ : ndarray of shape (n_problems,)
        Relative duality gap of each binary problem, recomputed in float64.
    primal_objective_, dual_objective_ : ndarray of shape (n_problems,)
        P and D of each binary problem.
    status_ : list of Status
        How the solve of each binary problem ended.
    history_ : list of list of dict
        One record per outer iteration of each binary problem.
    class_weight_ : ndarray of shape (n_classes,)
        Factor of C of each class.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of str
        Their names, if X has any.

    Notes
    -----
    Binary problems are in SVC's order: with two classes one, whose positive class is
    ``classes_[1]``; for "ovo" the pairs (i, j), i < j, class i positive; for "ovr" the classes.

    The sigmoid kernel, and some callables and matrices, are not positive semidefinite. Then the fit
    ends at a stationary point, and ``status_`` says that the gap measures the violation of the
    optimality conditions.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from psvm import PSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), PSVC(p=1.5)).fit(X, y)
    >>> bool(model[-1].dual_gap_[0] <= 1e-4)
    True
    """

    _not_separable = (
        "in this kernel. Use a finite C, or a kernel with more features (a larger gamma)."
    )

    def __init__(
        self,
        p: float = 1.5,
        *,
        C: float = 1.0,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: float | Literal["scale", "auto"] = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        class_weight: Any = None,
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
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """A precomputed kernel is pairwise."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # --- fit -------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; for a precomputed kernel the matrix of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0 that multiply C. A row of weight 0 is as if absent.

        Returns
        -------
        self : PSVC
            The fitted estimator.
        """
        return self._fit_from(None, X, y, sample_weight)

    def _fit_from(self, head: HeadStart | None, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit the model with what a search knows of it."""
        settings = self._check_settings()
        check.check_choice(
            "decision_function_shape", self.decision_function_shape, check.MULTI_CLASS
        )
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32))
        X = check.canonical(X)
        watch = FitWatch(self, X, y)
        weight = check.check_weights(sample_weight, X)
        labelled = self._code_classes(y, weight, settings.C)
        kept = np.flatnonzero(weight > 0.0)
        stored = stored_for_kernel(X, self.kernel, check.check_threads(self.n_jobs))
        same = self._equal_rows(stored, kept, labelled.codes)
        rows = kept[same.first]
        codes, cost = labelled.codes[rows], same.totals(labelled.cost[kept])

        # Rows sorted by class form the segments that one-vs-one problems share.
        order = np.argsort(codes, kind="stable") if self._pairwise else np.arange(codes.size)
        sizes = np.bincount(codes, minlength=self.classes_.size)
        starts = [0, *np.cumsum(sizes).tolist()] if self._pairwise else [0, codes.size]
        gram = None
        if head is not None and head.has_rows(same):
            order, gram = head.order, head.gram
        kernel = self._training_kernel(
            stored, rows[order], same.totals(weight[kept])[order], starts
        )
        kernel.stored = gram
        problems = self._problems(codes[order], cost[order], settings.loss)
        warm: WarmStart | None = getattr(self, "_warm", None) if self.warm_start else None
        begin = [
            WarmStart.alpha_for(warm, t, problem)
            if head is None
            else head.alpha_for(t, problem, kernel, kept, same, order)
            for t, problem in enumerate(problems)
        ]
        solved = solve_together(
            problems,
            begin,
            kernel,
            settings.budget,
            watch.round if watch.listens else None,
            in_order=watch.in_order,
        )
        outcomes = [
            Outcome(one.certificate, one.result.status, one.result.n_iter, one.result.history)
            for one in solved
        ]
        watch.done(outcomes)
        self._refuse_unbounded(outcomes, settings.C)
        if self.warm_start:
            self._warm = WarmStart.of(problems, solved)
        self._kernel = kernel.kernel
        packed = self._pack(solved, problems, sizes)[:, np.argsort(order)]
        coef = packed[:, same.group] * same.shares(weight[kept])
        self._store(coef, kept, labelled.codes[kept], X)
        self._store_outcomes(outcomes, labelled.weight_of_class)
        self._warn(settings.budget.tol)
        watch.end()
        return self

    def _equal_rows(self, X: Any, rows: npt.NDArray[np.intp], codes: Codes) -> EqualRows:
        """Which of the rows have the same features and class; none for kernels of other input."""
        if callable(self.kernel) or self.kernel == "precomputed":
            return no_equal_rows(rows.size)
        whole = rows.size == X.shape[0]
        return find_equal_rows(X if whole else X[rows], codes[rows])

    def _training_kernel(
        self, X: Any, rows: npt.NDArray[np.intp], weight: Array, starts: list[int]
    ) -> TrainingKernel:
        """The kernel matrix over the given rows of X, in their order."""
        if not callable(self.kernel):
            check.check_choice("kernel", self.kernel, KERNELS)
        if isinstance(self.gamma, str):
            check.check_choice("gamma", self.gamma, ("scale", "auto"))
        else:
            check.check_number("gamma", self.gamma, 0.0)
        check.check_kernel_input(self.kernel, X)
        whole = rows.size == X.shape[0] and bool(np.all(rows[:-1] < rows[1:]))
        if self.kernel == "precomputed":
            values = X.toarray() if sp.issparse(X) else X
            chosen, gamma = (values if whole else values[np.ix_(rows, rows)]), 1.0
        else:
            chosen = X if whole else X[rows]
            gamma = resolve_gamma(self.gamma, chosen, weight)
        kernel = Kernel(
            self.kernel,
            gamma,
            check.check_number("coef0", self.coef0),
            check.check_degree(self.degree),
        )
        threads = check.check_threads(self.n_jobs)
        return TrainingKernel(
            kernel, chosen, starts, check.check_cache_size(self.cache_size), threads
        )

    def _problems(self, codes: Codes, cost: Array, loss: PNormHinge) -> list[KernelProblem]:
        """The binary problems over rows whose class numbers are ``codes``."""
        k = self.classes_.size
        signs = problem_signs(k, self.multi_class)

        def problem(t: int, segments: list[int], rows: Any) -> KernelProblem:
            y = signs[t].astype(np.float64)[codes[rows]]
            return KernelProblem.classification(
                segments, y, cost[rows], loss, bool(self.fit_intercept)
            )

        if not self._pairwise:
            return [problem(t, [0], slice(None)) for t in range(signs.shape[0])]
        of_class = [np.flatnonzero(codes == i) for i in range(k)]
        return [
            problem(t, [i, j], np.concatenate([of_class[i], of_class[j]]))
            for t, (i, j) in enumerate(class_pairs(k))
        ]

    def _pack(
        self,
        solved: list[Certified],
        problems: list[KernelProblem],
        sizes: npt.NDArray[np.intp],
    ) -> Array:
        """Dual coefficients ``alpha_i y_i`` of all problems in SVC's layout, one column per row."""
        duals = [
            one.certificate.scale * one.result.alpha * problem.y
            for one, problem in zip(solved, problems, strict=True)
        ]
        return pack_one_vs_one(duals, sizes.tolist()) if self._pairwise else np.vstack(duals)

    def _store(self, packed: Array, rows: npt.NDArray[np.intp], codes: Codes, X: Any) -> None:
        """Fitted attributes from the coefficients of the given rows of X, in SVC's layout."""
        by_class = np.argsort(codes, kind="stable")
        chosen = by_class[packed[:, by_class].any(axis=0)]
        self.dual_coef_ = np.ascontiguousarray(packed[:, chosen])
        self.support_ = rows[chosen].astype(np.int32)
        self.n_support_ = np.bincount(codes[chosen], minlength=self.classes_.size).astype(np.int32)
        empty = np.empty((0, 0))
        self.support_vectors_ = empty if self.kernel == "precomputed" else X[self.support_]
        self.shape_fit_ = X.shape

    # --- predict ---------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Decision values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; for a precomputed kernel their kernel values with all training rows, of shape
            (n_samples, n_samples_train).

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            For two classes, positive means ``classes_[1]``. For more, one score per class, whose
            largest is the prediction; or with ``decision_function_shape="ovo"`` one value per pair
            (i, j), positive for class i.
        """
        values = self._problem_decisions(X)
        per_pair = self._pairwise and self.decision_function_shape == "ovo"
        return values if per_pair else self._class_scores(values)

    def _problem_decisions(self, X: Any) -> Array:
        """Decision value of every binary problem, shape (n, n_problems)."""
        X = self._check_rows(X)
        return self._as_arrays().decisions(X)

    def _class_codes(self, X: Any) -> npt.NDArray[np.intp]:
        X = self._check_rows(X)
        return self._as_arrays().codes(X, self._codes_of)

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        X = check.canonical(X)
        return X.toarray() if self.kernel == "precomputed" and sp.issparse(X) else X

    def _as_arrays(self) -> KernelModel:
        """The fitted model as a sum over its support vectors."""
        return KernelModel(
            self._kernel,
            self.support_ if self.kernel == "precomputed" else self.support_vectors_,
            self.dual_coef_,
            self.intercept_,
            self.n_support_.tolist(),
            self._pairwise,
            check.check_threads(self.n_jobs),
        )

    @property
    def coef_(self) -> Array:
        """Weights of the features, one row per binary problem (linear kernel only)."""
        if self.kernel != "linear":
            raise AttributeError(
                f"coef_ is only available for the linear kernel, not {self.kernel!r}."
            )
        check_is_fitted(self)
        return self._as_arrays().weights
