"""LinearPSVC: the linear support vector classifier with the p-norm hinge loss, for many rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from psvm.estimators import fitted_arrays as fitted
from psvm.estimators import validation as check
from psvm.estimators.base import all_or_nothing, errors_as_before
from psvm.estimators.callbacks import with_callbacks
from psvm.estimators.classifier import ClassifierSettings, PNormClassifier
from psvm.estimators.labels import EncodedLabels, encode_labels
from psvm.estimators.linear_weights import LinearWeights
from psvm.estimators.starts import LinearWarmStart
from psvm.estimators.watch import FitWatch
from psvm.mathematics.multiclass import problem_signs
from psvm.mathematics.problem import LinearProblems
from psvm.rows.prediction import LinearModel
from psvm.solvers.linear.choose import SOLVERS, solve_linear

Array = npt.NDArray[np.float64]


class LinearPSVC(LinearWeights, PNormClassifier):
    r"""Linear support vector classifier with the p-norm hinge loss, for any real p >= 1.

    Minimises, for every binary problem,

    .. math::

        P(w, b) = \tfrac12 \lVert w \rVert^2
        + \sum_i C_i \max(0, 1 - y_i (\langle w, x_i \rangle + b))^p

    over w and the intercept b, which is not penalised; ``C_i`` is ``C`` times the weights of class
    and sample. This is the problem of ``PSVC(kernel="linear")``, solved in time that grows linearly
    with the rows, and for data that need not fit in memory. Every fit is certified: a dual solution
    proves that P is within the fraction ``dual_gap_`` of the optimum.

    Parameters
    ----------
    p : float, default=1.5
        Exponent of the hinge, any number >= 1, and at most 1e6: beyond, slack to the power of p
        has no digits left.
    C : float, default=1.0
        Cost of slack, > 0. ``numpy.inf`` asks for the hard margin (a ValueError if the classes are
        not separable).
    fit_intercept : bool, default=True
        Whether b is free; if False it is 0.
    multi_class : {"ovr", "ovo"}, default="ovr"
        How k > 2 classes become binary problems: each class against the rest, as of LinearSVC, or
        every pair, as of PSVC. Only the former is a linear model of the classes (see ``coef_``).
    class_weight : dict, "balanced" or None, default=None
        Factors of C per class. "balanced" weighs classes inversely to their total sample weight.
    tol : float, default=1e-4
        Relative duality gap ``(P - D) / P`` at which a problem is solved.
    max_iter : int, default=-1
        Limit of outer iterations per binary problem; -1 for none.
    max_time : float or None, default=None
        Limit of seconds of the fit; what is unsolved by then stops at its best iterate.
    solver : {"auto", "semismooth_newton", "coordinate_descent"}, default="auto"
        "semismooth_newton" solves for w and b in passes over all rows; "coordinate_descent" for one
        dual variable at a time. "auto" takes the latter for wide sparse rows (text) and for rows
        far fewer than the features, where a Newton system would cost more than the rows, and first
        where a few passes of it may do; else the former. Both reach the same optimum for every p;
        coordinate descent that would take too long is finished by Newton. ``history_`` tells which
        one ran, and why.
    warm_start : bool, default=False
        Whether a further fit of as many classes and features starts from the present solution.
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
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Weights w: ``decision_function(X)`` is ``X @ coef_.T + intercept_``. Dense, also for sparse
        X. Not there for pairs of three or more classes, whose votes are no linear function of X;
        ``hasattr`` is False then, so that nobody takes one pair's weights for those of a class.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        Intercepts b; not there for pairs of three or more classes.
    pair_coef_ : ndarray of shape (n_pairs, n_features)
        Weights of the pairs of classes, for ``multi_class="ovo"`` with three or more classes only.
    pair_intercept_ : ndarray of shape (n_pairs,)
        Their intercepts.
    n_support_ : ndarray of shape (n_classes,)
        Number of rows per class whose dual variable is positive in some binary problem.
    n_iter_ : ndarray of shape (n_problems,)
        Outer iterations.
    dual_gap_ : ndarray of shape (n_problems,)
        Relative duality gap ``(P - D) / P`` of each binary problem, in float64, with P at ``coef_``
        and ``intercept_``, or those of the pairs.
    primal_objective_, dual_objective_ : ndarray of shape (n_problems,)
        P and D of each binary problem.
    status_ : list of Status
        How the solve of each binary problem ended.
    history_ : list of list of dict
        One record per outer iteration of each binary problem; the first says in "why" for what
        reason its solver was chosen.
    class_weight_ : ndarray of shape (n_classes,)
        Factor of C of each class.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of str
        Their names, if X has any.

    See Also
    --------
    PSVC : The same loss with kernels.

    Notes
    -----
    Binary problems are in the order of :class:`PSVC`: with two classes one, whose positive class is
    ``classes_[1]``; for "ovo" the pairs (i, j), i < j, class i positive; for "ovr" the classes.

    A C-ordered float32 or float64 array, or ``numpy.memmap``, is used where it lies; other input is
    converted to float64 first.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from psvm import LinearPSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LinearPSVC(p=1.5)).fit(X, y)
    >>> model[-1].coef_.shape
    (1, 30)
    >>> bool(model[-1].dual_gap_[0] <= 1e-4)
    True
    """

    _not_separable = "by a hyperplane. Use a finite C, or more features (for instance Nystroem)."

    def __init__(
        self,
        p: float = 1.5,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        multi_class: Literal["ovr", "ovo"] = "ovr",
        class_weight: Any = None,
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
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0 that multiply C. A row of weight 0 is as if absent, and so is one whose
            product with C is below the smallest normal float64 (2.2e-308). A negative weight is an
            error; SVC would leave the row out.

        Returns
        -------
        self : LinearPSVC
            The fitted estimator.
        """
        settings, solver = self._check_parameters()
        seen, rows, y = check.check_rows(self, X, y)
        weight = check.check_weights(sample_weight, y.size)
        labels = encode_labels(y, weight, self.class_weight, settings.C)
        return self._fit_rows(rows, seen, labels, settings, solver, FitWatch(self, rows.X, y))

    @with_callbacks
    @errors_as_before()
    def fit_blocks(self, blocks: Any, classes: Any = None) -> Self:
        """Fit the model to blocks of rows that are loaded one at a time.

        The result is that of :meth:`fit` on all rows together. Labels and weights, and some numbers
        per row and binary problem, are kept in memory; X is not, unless the solver is
        "coordinate_descent", which goes through the rows in random order.

        Parameters
        ----------
        blocks : sequence
            Anything with ``len(blocks)`` and ``blocks[k]``, which is ``(X, y)`` or
            ``(X, y, sample_weight)`` as for :meth:`fit`, the same each time it is read: once to
            check it, and then once in every pass over the rows. It may load a file.
        classes : array-like of shape (n_classes,), default=None
            The labels that must occur, and no others; an error names the block with another label.
            None takes those that are found.

        Returns
        -------
        self : LinearPSVC
            The fitted estimator. ``feature_names_in_`` are those of the first block, and all blocks
            must agree with it. Callbacks are not shown X and y.
        """
        settings, solver = self._check_parameters()
        read = check.read_blocks(self, blocks, classes)
        rows, seen = read.rows, read.seen
        labels = encode_labels(read.y, read.weight, self.class_weight, settings.C)
        del read  # y and the weights are not needed any more, and large where this method is
        return self._fit_rows(rows, seen, labels, settings, solver, FitWatch(self, None, None))

    def _check_parameters(self) -> tuple[ClassifierSettings, str]:
        """All parameters, or an error that names the wrong one."""
        return self._check_settings(), check.check_choice("solver", self.solver, SOLVERS)

    def _fit_rows(
        self,
        rows: Sequence[Any],
        seen: check.SeenFeatures,
        labels: EncodedLabels,
        settings: ClassifierSettings,
        solver: str,
        watch: FitWatch,
    ) -> Self:
        """Solve over checked rows, and store."""
        signs = problem_signs(labels.classes.size, settings.multi_class)
        assert seen.count is not None  # rows of numbers have columns
        check.check_width(len(signs), seen.count)
        problems = LinearProblems(
            signs,
            labels.codes,
            labels.cost,
            settings.loss,
            settings.fit_intercept,
        )
        warm: LinearWarmStart | None = getattr(self, "_warm", None) if self.warm_start else None
        solved = solve_linear(
            rows,
            problems,
            LinearWarmStart.starts_for(warm, problems, rows, seen.count),
            settings.budget,
            watch.round if watch.listens else None,
            solver=solver,
            threads=settings.threads,
            in_order=watch.in_order,
        )
        watch.done(solved)
        self._judge(solved, settings)
        scale = np.array([one.certificate.scale for one in solved])
        coef = scale[:, None] * np.array([one.w for one in solved])
        support = np.zeros(problems.codes.size, dtype=np.bool_)
        for one in solved:
            support[one.support] = True
        n_support = np.bincount(problems.codes[support], minlength=labels.classes.size)
        with all_or_nothing(self):
            self._store_common(seen, labels, solved)
            self._store_weights(coef, np.array([one.certificate.intercept for one in solved]))
            self.n_support_ = n_support.astype(np.int32)
            if self.warm_start:
                self._warm = LinearWarmStart.of(problems, coef, solved)
            watch.end()
        return self

    # --- predict ---------------------------------------------------------------------------------

    def _problem_decisions(self, X: Any) -> Array:
        """Decision value of every binary problem, shape (n, n_problems)."""
        X = check.check_new_rows(self, X, order="C")
        return self._as_arrays().decisions(X)

    def _as_arrays(self) -> LinearModel:
        """The fitted model as weights and intercepts."""
        problems, (coef, intercept) = fitted.problem_count(self), self._weight_names
        return LinearModel(
            fitted.number_array(self, coef, (problems, self.n_features_in_)),
            fitted.number_array(self, intercept, (problems,)),
        )
