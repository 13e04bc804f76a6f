"""Margin loss, Rademacher term and the paper's bounds on the generalization error.

=====================================  ==========================================================
in the paper                           here
=====================================  ==========================================================
Definition 1, Phi_{p,rho}              :func:`margin_loss`
Definition 2, empirical margin loss    :func:`empirical_margin_loss`
Lemma 1, Lipschitz constant p / rho    :func:`lipschitz_constant`
Theorem 2, Rademacher complexity       :func:`rademacher_bound`, with :func:`kernel_radius`
Theorem 3                              :func:`margin_bound`
Corollary 1                            :func:`hinge_bound`
both, for a fitted model               :func:`generalization_bound`
=====================================  ==========================================================

``r`` is the radius of a ball that holds all ``phi(x)``, ``m`` the number of rows, ``rho`` a margin
in ``(0, r]`` and ``delta`` the probability with which the bound may fail. docs/theory.md says where
the paper's statements need a correction, and what the bounds are worth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from psvm.mathematics.loss import PNormHinge
from psvm.rows.given_rows import GivenRows
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.rows.prediction import KernelModel, LinearModel
from psvm.rows.sparse_format import sound_sparse

Array = npt.NDArray[np.float64]


def margin_loss(margin: npt.ArrayLike, p: float, rho: float = 1.0) -> Array:
    """Margin loss ``Phi_{p,rho}(x) = min(1, max(0, 1 - x / rho) ** p)``.

    It is 1 for ``x <= 0`` (a wrong answer), 0 for ``x >= rho``, and falls in between. It never
    exceeds the p-norm hinge ``max(0, 1 - x / rho) ** p``, and falls as p grows.

    Parameters
    ----------
    margin : array-like
        Margins ``y h(x)``: the x of the formula.
    p : float
        Exponent, >= 1.
    rho : float, default=1.0
        The margin from which on there is no loss, > 0.

    Returns
    -------
    ndarray
        The loss of each margin, in [0, 1].
    """
    return np.minimum(_hinge(margin, p, rho), 1.0)


def empirical_margin_loss(margin: npt.ArrayLike, p: float, rho: float = 1.0) -> float:
    """Mean of :func:`margin_loss` over a sample.

    Parameters
    ----------
    margin : array-like of shape (n_samples,)
        Margins ``y_i h(x_i)``.
    p, rho : float
        Exponent and margin, as for :func:`margin_loss`.

    Returns
    -------
    float
        In [0, 1]; at least the fraction of wrong answers.
    """
    return float(np.mean(margin_loss(margin, p, rho)))


def lipschitz_constant(p: float, rho: float = 1.0) -> float:
    """Smallest Lipschitz constant of :func:`margin_loss`, ``p / rho``: its slope right of 0.

    Parameters
    ----------
    p, rho : float
        Exponent and margin, as for :func:`margin_loss`.

    Returns
    -------
    float
        ``p / rho``.
    """
    _check_loss(p, rho)
    return p / rho


def kernel_radius(diagonal: npt.ArrayLike) -> float:
    """Radius of the smallest ball around 0 that holds all ``phi(x_i)``: ``sqrt(max K(x, x))``.

    Parameters
    ----------
    diagonal : array-like of shape (n_samples,)
        ``K(x_i, x_i)``: for the linear kernel the squared norms, for rbf ones.

    Returns
    -------
    float
        The radius.
    """
    values = np.asarray(diagonal, dtype=np.float64)
    if np.min(values) < 0.0:
        raise ValueError(
            f"`diagonal` must hold K(x, x) >= 0, got {np.min(values):.3g}: the kernel is not "
            f"positive semidefinite, and the theory does not apply."
        )
    return math.sqrt(float(np.max(values)))


def rademacher_bound(r: float, norm: float, m: int) -> float:
    """Bound ``sqrt(r**2 norm**2 / m)`` on the Rademacher complexity of ``x -> <w, phi(x)>``.

    Parameters
    ----------
    r : float
        Bound on ``||phi(x)||``; for a kernel ``r**2 = max K(x, x)``, see :func:`kernel_radius`.
    norm : float
        Bound on ``||w||``, the paper's Lambda.
    m : int
        Number of rows.

    Returns
    -------
    float
        The bound. It holds without an intercept; the paper's Claim 1 extends it to a free intercept
        by mistake, since the supremum over b is infinite.
    """
    if not (r >= 0 and norm >= 0 and m >= 1):
        raise ValueError(f"`r` and `norm` must be >= 0 and `m` >= 1, got {r}, {norm} and {m}.")
    return r * norm / math.sqrt(m)


@dataclass(frozen=True)
class GeneralizationBound:
    """An upper bound on the generalization error, term by term.

    With probability ``1 - delta`` over the sample, the probability of a wrong answer is at most
    :attr:`total`.

    Attributes
    ----------
    empirical_loss : float
        Mean loss on the sample.
    complexity : float
        ``4 p r / (rho sqrt(m))``.
    uniformity : float
        ``sqrt(log(log2(2 r / rho)) / m)``, the price of choosing rho after seeing the sample; 0 at
        ``rho = r``.
    confidence : float
        ``sqrt(log(2 / delta) / (2 m))``.
    p, rho, r, delta : float
        Exponent, margin, radius, and probability of failure.
    m : int
        Number of rows.
    """

    empirical_loss: float
    complexity: float
    uniformity: float
    confidence: float
    p: float
    rho: float
    r: float
    delta: float
    m: int

    @property
    def total(self) -> float:
        """The bound: the sum of its four terms."""
        return self.empirical_loss + self.complexity + self.uniformity + self.confidence

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing, because no error exceeds 1."""
        return self.total >= 1.0


def margin_bound(
    margin: npt.ArrayLike, *, p: float, rho: float, r: float, delta: float = 0.05
) -> GeneralizationBound:
    """Theorem 3: the bound with the margin loss, for a weight vector of norm at most 1.

    At p = 1 it is the margin bound of Mohri, Rostamizadeh and Talwalkar for linear hypotheses. For
    the same margins, ``empirical_loss`` falls and ``complexity`` grows with p. The sum is smallest
    at p = 1 whenever ``4 r / (rho sqrt(m)) >= 1 / e``, because the loss falls by at most ``1 / e``
    per unit of p.

    Parameters
    ----------
    margin : array-like of shape (n_samples,)
        Margins ``y_i h(x_i)`` of a function ``h`` with ``||w|| <= 1``.
    p : float
        Exponent, >= 1, chosen before seeing the sample.
    rho : float
        Margin in ``(0, r]``; it may depend on the sample.
    r : float
        Bound on ``||phi(x)||`` for every possible x.
    delta : float, default=0.05
        Probability with which the bound may fail.

    Returns
    -------
    GeneralizationBound
        The terms.
    """
    return _bound(empirical_margin_loss(margin, p, rho), np.size(margin), p, rho, r, delta)


def hinge_bound(
    margin: npt.ArrayLike, *, p: float, rho: float, r: float, delta: float = 0.05
) -> GeneralizationBound:
    """Corollary 1: the bound with the p-norm hinge, for a weight vector of norm at most 1 / rho.

    It is never below :func:`margin_bound` of the same function scaled by rho. Its loss does *not*
    always fall with p, as the paper says: rows with a slack above 1, the wrong answers, cost more.

    Parameters
    ----------
    margin : array-like of shape (n_samples,)
        Margins ``y_i h(x_i)`` of a function ``h`` with ``||w|| <= 1 / rho``, where a margin of 1 or
        more has no loss: those of a support vector machine.
    p, rho, r, delta : float
        As for :func:`margin_bound`.

    Returns
    -------
    GeneralizationBound
        The terms.
    """
    return _bound(float(np.mean(_hinge(margin, p, 1.0))), np.size(margin), p, rho, r, delta)


def generalization_bound(
    estimator: Any,
    X: Any,
    y: Any,
    delta: float = 0.05,
    *,
    loss: Literal["margin", "hinge"] = "margin",
    count_intercept: bool = True,
) -> GeneralizationBound:
    """The bound for a fitted PSVC or LinearPSVC of two classes.

    ``rho`` is ``1 / ||w||``, or ``r`` if that is smaller: the largest margin in ``(0, r]`` for
    which the model is one of the hypotheses of Corollary 1.

    Parameters
    ----------
    estimator : PSVC or LinearPSVC
        A fitted model with two classes. With more classes there is no bound here, because the
        theory does not cover the vote; fit the pair of classes that matters.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows the model was fitted to; for a precomputed kernel their square kernel matrix.
    y : array-like of shape (n_samples,)
        Their labels.
    delta : float, default=0.05
        Probability with which the bound may fail.
    loss : {"margin", "hinge"}, default="margin"
        The loss on the sample: that of Theorem 3, or the larger one of Corollary 1.
    count_intercept : bool, default=True
        Whether the intercept b counts as the weight ``b / r`` of a further feature that is always
        ``r``: ``||w||**2`` becomes ``||w||**2 + (b / r)**2``, and ``r`` becomes ``sqrt(2) r``.
        False takes the paper's formula, whose proof fails for a free b. A model with
        ``fit_intercept=False`` has nothing to count.

    Returns
    -------
    GeneralizationBound
        The terms, with ``r`` and ``rho`` as they were used.

    Notes
    -----
    The bound is vacuous unless ``m > 16 p**2 r**2 / rho**2``: unless there are more than
    ``16 p**2 r**2 ||w||**2`` rows. With a C that suits the data this is rare, and a C so small that
    the bound says something may give a useless model: docs/theory.md has figures. Do not choose p,
    C or the kernel by the bound; use cross-validation.

    Three things are taken for granted. The rows are independent, and each counts once, whatever
    its weight in the fit. ``r`` was known in advance; here it is computed from X, which is exact
    for "rbf", "laplacian" and "exponential" (where K(x, x) = 1) and optimistic for the others, as
    the next x may lie farther out. And p was fixed in advance: to take the best of k exponents, use
    ``delta / k``.

    Examples
    --------
    >>> from psvm import PSVC
    >>> from psvm.bounds import generalization_bound
    >>> from psvm.data import load
    >>> X, y = load("cancer")
    >>> bound = generalization_bound(PSVC(p=1.5).fit(X, y), X, y)
    >>> bound.vacuous
    True
    """
    check_is_fitted(estimator)
    if estimator.classes_.size != 2:
        raise ValueError(
            f"The bound is for two classes, got a model of {estimator.classes_.size}; fit the pair "
            f"of classes that matters."
        )
    if loss not in ("margin", "hinge"):
        raise ValueError(f"`loss` must be 'margin' or 'hinge', got {loss!r}.")
    model = estimator._as_arrays()
    if callable(model.kernel.function):
        X = GivenRows.of(X)
    else:
        numbers = (np.float64, np.float32)
        X = check_array(sound_sparse(X), accept_sparse="csr", dtype=numbers, order="C")
    check_consistent_length(X, y)
    signs = np.where(np.asarray(y) == estimator.classes_[1], 1.0, -1.0)
    margin = signs * estimator.decision_function(X)
    p, b = float(estimator.p), float(estimator.intercept_[0])
    r = kernel_radius(_kernel_diagonal(model.kernel, X))
    squared_norm = _squared_norm(model, X)
    if count_intercept and estimator.fit_intercept and r > 0.0:
        squared_norm += (b / r) ** 2
        r *= math.sqrt(2.0)
    rho = min(1.0 / math.sqrt(squared_norm), r) if squared_norm > 0.0 else r
    if loss == "hinge":
        return hinge_bound(margin, p=p, rho=rho, r=r, delta=delta)
    return margin_bound(rho * margin, p=p, rho=rho, r=r, delta=delta)


def _bound(
    empirical_loss: float, m: int, p: float, rho: float, r: float, delta: float
) -> GeneralizationBound:
    """The terms that Theorem 3 and Corollary 1 share, behind a loss on the sample."""
    _check_loss(p, rho)
    if not rho <= r * (1.0 + 1e-12):
        raise ValueError(f"`rho` must lie in (0, r], got rho = {rho} and r = {r}.")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"`delta` must lie in (0, 1), got {delta!r}.")
    if m < 1:
        raise ValueError("The sample is empty.")
    # Twice the constant of a single rho, which is the other price of choosing it afterwards.
    complexity = 2.0 * 2.0 * lipschitz_constant(p, rho) * rademacher_bound(r, 1.0, m)
    doublings = max(1.0 + math.log2(r / rho), 1.0)
    return GeneralizationBound(
        empirical_loss=empirical_loss,
        complexity=complexity,
        uniformity=math.sqrt(math.log(doublings) / m),
        confidence=math.sqrt(math.log(2.0 / delta) / (2.0 * m)),
        p=p,
        rho=rho,
        r=r,
        delta=delta,
        m=m,
    )


def _check_loss(p: float, rho: float) -> None:
    if not (math.isfinite(p) and p >= 1.0):
        raise ValueError(f"`p` must be a finite float >= 1, got {p!r}.")
    if not (math.isfinite(rho) and rho > 0.0):
        raise ValueError(f"`rho` must be a finite float > 0, got {rho!r}.")


def _hinge(margin: npt.ArrayLike, p: float, rho: float) -> Array:
    """``max(0, 1 - margin / rho) ** p``."""
    _check_loss(p, rho)
    xi = 1.0 - np.asarray(margin, dtype=np.float64) / rho
    return PNormHinge(p).value(xi, np.ones_like(xi))


def _kernel_diagonal(kernel: Kernel, X: Any) -> Array:
    """K(x, x) of every row of X."""
    if kernel.function == "sigmoid":
        raise ValueError(
            "The sigmoid kernel is not positive semidefinite: there is no space in which its rows "
            "lie in a ball, and the theory does not apply."
        )
    if kernel.function == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"For a precomputed kernel X must be the square kernel matrix of the training rows, "
            f"got shape {X.shape}."
        )
    n = X.shape[0]
    matrix = TrainingKernel(kernel, X, [0, n], cache_bytes=0.0, threads=1).float64
    return np.asarray(matrix.diagonal())


def _squared_norm(model: KernelModel | LinearModel, X: Any) -> float:
    """``||w||**2``, for a kernel ``sum_i coef_i <w, phi(x_i)>`` over the support vectors."""
    if isinstance(model, LinearModel):
        return float(np.sum(model.weights**2))
    support = X[model.vectors] if model.kernel.function == "precomputed" else model.vectors
    if support.shape[0] == 0:
        return 0.0
    decision = model.decisions(support)[:, 0] - model.intercept[0]
    squared = float(model.dual_coef[0] @ decision)
    scale = float(np.abs(model.dual_coef[0]) @ np.abs(decision))
    if squared < -1e-8 * scale:
        raise ValueError(
            f"The kernel is not positive semidefinite (||w||**2 = {squared:.3g}): the theory does "
            f"not apply."
        )
    return max(squared, 0.0)
