r"""SMLR: sparse multinomial logistic regression (Krishnapuram et al. 2005).

.. math::

    \min_{w, b} \; \sum_k \lVert w_k \rVert_1 + C \sum_i \Bigl( \log \sum_k e^{s_{ik}} - s_{i y_i}
    \Bigr), \qquad s_{ik} = w_k^\top x_i + b_k,

the maximum of the posterior under a Laplace prior on W. The intercepts have no prior. As in
scikit-learn every class has its weights; the authors fix those of one class at 0, which for this
prior is not quite the same model.

Scikit-learn's solver of this problem (``LogisticRegression(solver="saga", l1_ratio=1)``) had not
converged on USPS after 100 passes and 12 seconds. Here W is the difference of two matrices >= 0, so
that its 1-norm is the sum of their entries and L-BFGS-B minimises a smooth function under bounds.
A weight at both bounds is exactly 0.

References
----------
Krishnapuram, B., Carin, L., Figueiredo, M. A. T., and Hartemink, A. J. (2005). Sparse multinomial
logistic regression: fast algorithms and generalization bounds. IEEE Transactions on Pattern
Analysis and Machine Intelligence 27, 957-968.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import Bounds, minimize
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from psvm.paper.rivals.linear_scores import Array, Codes, LinearScoresClassifier, Solution


class SparseMultinomialLR(LinearScoresClassifier):
    """Multinomial logistic regression with a 1-norm penalty; the module gives its formula.

    What a fit sets is in :class:`~psvm.paper.rivals.linear_scores.LinearScoresClassifier`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    tol : float, default=1e-6
        Relative decrease of the objective in one iteration at which to stop.
    max_iter : int, default=20000
        Limit of L-BFGS-B iterations.
    """

    def __init__(self, C: float = 1.0, *, tol: float = 1e-6, max_iter: int = 20_000) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, X: Array, codes: Codes, n_classes: int) -> Solution:
        shape = X.shape[1], n_classes
        size = X.shape[1] * n_classes

        def objective(flat: Array) -> tuple[float, Array]:
            """The objective at (positive part of W, negative part of W, b), and its gradient."""
            parts = flat[: 2 * size]
            W = (parts[:size] - parts[size:]).reshape(shape)
            loss, by_score = log_loss(X @ W + flat[2 * size :], codes)
            by_weight = self.C * (X.T @ by_score).ravel()
            by_intercept = self.C * by_score.sum(axis=0)
            gradient = np.concatenate([1.0 + by_weight, 1.0 - by_weight, by_intercept])
            return float(parts.sum()) + self.C * loss, gradient

        lower = np.concatenate([np.zeros(2 * size), np.full(n_classes, -np.inf)])
        result = minimize(
            objective,
            np.zeros(len(lower)),
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(lower, np.inf),
            options={
                "maxiter": self.max_iter,
                "maxfun": 10 * self.max_iter,
                "ftol": self.tol,
                "gtol": 0.0,
            },
        )
        if result.nit >= self.max_iter:
            warnings.warn(
                f"stopped after max_iter={self.max_iter} iterations before the decrease in one of "
                f"them fell to tol={self.tol:.1e}; raise max_iter or tol, lower C or scale X.",
                ConvergenceWarning,
                stacklevel=3,
            )
        W = (result.x[:size] - result.x[size : 2 * size]).reshape(shape)
        return Solution(np.vstack([W, result.x[2 * size :]]), result.nit)


def log_loss(scores: Array, codes: Codes) -> tuple[float, Array]:
    """Sum over rows of minus the log of the softmax of the own class.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        Scores of the classes.
    codes : ndarray of shape (n_samples,)
        Classes of the rows.

    Returns
    -------
    value : float
        The sum.
    gradient : ndarray of shape (n_samples, n_classes)
        Its gradient in the scores.
    """
    own = np.arange(len(codes)), codes
    total = logsumexp(scores, axis=1, keepdims=True)
    gradient = np.exp(scores - total)
    gradient[own] -= 1.0
    return float(total.sum() - scores[own].sum()), gradient
