"""PSVC: the kernel support vector classifier with the p-norm hinge loss."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from psvm.estimators import fitted_arrays as fitted
from psvm.estimators import validation as check
from psvm.estimators.base import all_or_nothing, errors_as_before
from psvm.estimators.callbacks import with_callbacks
from psvm.estimators.classifier import ClassifierSettings, PNormClassifier
from psvm.estimators.kept_models import forget
from psvm.estimators.kernel_input import check_kernel_data
from psvm.estimators.kernel_machine import (
    KernelMachine,
    KernelParameter,
    KernelSettings,
    ModelLayout,
    SupportVectors,
)
from psvm.estimators.labels import EncodedLabels, encode_labels
from psvm.estimators.starts import ColdStart, KeptKernel, KernelSource, Start, WarmStart, packed
from psvm.estimators.training_rows import TrainingRows
from psvm.estimators.watch import FitWatch
from psvm.mathematics.multiclass import class_pairs, problem_signs
from psvm.mathematics.problem import KernelProblem
from psvm.rows.dense_or_sparse import stored_for_kernel
from psvm.rows.given_rows import as_given
from psvm.solvers.kernel.together import solve_together

Array = npt.NDArray[np.float64]


class PSVC(KernelMachine, PNormClassifier):
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
        Exponent of the hinge, any number >= 1, and at most 1e6: beyond, slack to the power of p
        has no digits left.
    C : float, default=1.0
        Cost of slack, > 0. ``numpy.inf`` asks for the hard margin (a ValueError if the classes are
        not separable).
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
        The support vectors: ``X[support_]``. Empty for a precomputed kernel. For a callable they
        are of the kind that X is (a list of texts, a data frame), where SVC keeps all of X.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors per class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV)
        ``alpha_i y_i`` in SVC's layout; with ``multi_class="ovr"`` and k > 2 one row per class.
        Dense, also for sparse X.
    intercept_ : ndarray of shape (n_problems,)
        Intercepts.
    coef_ : ndarray of shape (n_problems, n_features)
        Weights, as of SVC, for the linear kernel only. With three or more classes they are those of
        the pairs, unless ``multi_class="ovr"``: ``X @ coef_.T + intercept_`` then is what
        ``decision_function_shape="ovo"`` gives, not the scores of the classes.
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
        Number of features seen during fit; not there if X, for a callable, is no table.
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
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0 that multiply C. A row of weight 0 is as if absent, and so is one whose
            product with C is below the smallest normal float64 (2.2e-308). A negative weight is an
            error; SVC would leave the row out.

        Returns
        -------
        self : PSVC
            The fitted estimator.
        """
        return self._fit_from(KeptKernel(), X, y, sample_weight)

    def _fit_from(
        self,
        kernels: KernelSource,
        X: Any,
        y: Any,
        sample_weight: Any,
        start: Start | None = None,
    ) -> Self:
        """Fit with a kernel matrix of ``kernels``, from ``start`` or what is remembered."""
        settings, of_kernel = self._check_parameters()
        seen, X, y = check_kernel_data(self, X, y, settings.threads)
        weight = check.check_weights(sample_weight, y.size)
        labels = encode_labels(y, weight, self.class_weight, settings.C)
        watch = FitWatch(self, as_given(X), y)

        stored = stored_for_kernel(X, self.kernel, settings.threads)
        rows, kernel = kernels.kernel(
            TrainingRows.of(
                stored,
                labels,
                weight,
                merge=of_kernel.kernel.of_features,
                # Rows sorted by class form the segments that one-vs-one problems share.
                by_class=settings.pairwise(labels.classes.size),
            ),
            lambda rows: of_kernel.matrix_over(stored, rows, weight, settings.threads),
        )
        problems = _problems(settings, labels, rows)
        start = start or self._memory(problems, rows, labels)
        solved = solve_together(
            problems,
            [start.alpha(t, problem, rows) for t, problem in enumerate(problems)],
            kernel,
            settings.budget,
            watch.round if watch.listens else None,
            in_order=watch.in_order,
        )
        watch.done(solved)
        self._judge(solved, settings)
        duals = [
            one.certificate.scale * one.alpha * problem.y
            for one, problem in zip(solved, problems, strict=True)
        ]
        coef = rows.scatter(packed(duals, problems, rows)) * rows.shares
        vectors = SupportVectors.of(coef, labels.codes, labels.classes.size)
        with all_or_nothing(self):
            forget(self)
            self._store_common(seen, labels, solved)
            self.intercept_ = np.array([one.certificate.intercept for one in solved])
            self._store_support(vectors, X, kernel.kernel)
            if self.warm_start:
                self._warm = WarmStart.of(problems, solved, rows, labels.codes)
            watch.end()
        return self

    def _check_parameters(self) -> tuple[ClassifierSettings, KernelSettings]:
        """All parameters, or an error that names the wrong one."""
        check.check_choice(
            "decision_function_shape", self.decision_function_shape, check.MULTI_CLASS
        )
        return self._check_settings(), self._check_kernel_settings()

    def _memory(
        self, problems: list[KernelProblem], rows: TrainingRows, labels: EncodedLabels
    ) -> Start:
        """The present solution, if it is asked for and one of the same rows."""
        warm: WarmStart | None = getattr(self, "_warm", None) if self.warm_start else None
        known = warm is not None and warm.fits(problems, rows, labels.codes)
        return warm if warm is not None and known else ColdStart()

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
        X = self._check_rows(X)
        model = self._as_arrays()
        per_pair = self._pairwise and self.decision_function_shape == "ovo"
        return model.decisions(X) if per_pair else model.mapped(X, self._class_scores)

    def _problem_decisions(self, X: Any) -> Array:
        """Decision value of every binary problem, shape (n, n_problems)."""
        X = self._check_rows(X)
        return self._as_arrays().decisions(X)

    def _class_codes(self, X: Any) -> npt.NDArray[np.intp]:
        X = self._check_rows(X)
        return self._as_arrays().codes(X, self._codes_of)

    def _layout(self) -> ModelLayout:
        problems, k = fitted.problem_count(self), self.classes_.size
        return ModelLayout(problems, k - 1 if self._pairwise else problems, k, self._pairwise)

    def _layout_key(self) -> tuple[Any, ...]:
        return self.multi_class, getattr(self.classes_, "shape", None)


def _problems(
    settings: ClassifierSettings, labels: EncodedLabels, rows: TrainingRows
) -> list[KernelProblem]:
    """The binary problems of a fit, in the order of :mod:`psvm.mathematics.multiclass`."""
    k, loss, free = labels.classes.size, settings.loss, settings.fit_intercept
    cost = rows.gather(labels.cost)
    if settings.pairwise(k):
        # All thousands of pairs of many classes at once, and then parts of these arrays.
        pairs, starts = class_pairs(k), np.array(rows.starts)
        parts = np.array(pairs).ravel()
        lengths = np.diff(starts)[parts]
        ends = np.cumsum(lengths)
        costs = cost[np.arange(ends[-1]) + np.repeat(starts[parts] - ends + lengths, lengths)]
        y = np.repeat(np.tile([1.0, -1.0], len(pairs)), lengths)
        bounds = [0, *ends[1::2].tolist()]
        return [
            KernelProblem.classification(pair, y[begin:end], costs[begin:end], loss, free)
            for pair, (begin, end) in zip(pairs, pairwise(bounds), strict=True)
        ]
    signs = problem_signs(k, settings.multi_class).astype(np.float64)
    codes = rows.pick(labels.codes)
    return [KernelProblem.classification([0], sign[codes], cost, loss, free) for sign in signs]
