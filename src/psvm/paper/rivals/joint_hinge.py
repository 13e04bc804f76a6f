r"""Minimise a convex penalty plus C times a hinge-type loss over the scores of all classes at once.

The problems of :mod:`~psvm.paper.rivals.msvm`, :mod:`~psvm.paper.rivals.topk`,
:mod:`~psvm.paper.rivals.m3svm` and one round of :mod:`~psvm.paper.rivals.capped` have the form

.. math::

    P(V) = R(V) + C \sum_i \ell(s_i, y_i), \qquad s_i = W^\top x_i + b, \quad V = (W; b),

with a smooth convex R and a loss that has kinks in the scores :math:`s_i`. A hinge is a maximum,
:math:`\max(0, t) = \max_{0 \le a \le 1} a t`, and is smoothed by :math:`-\tfrac{\mu}{2} a^2` inside
the maximum (Nesterov 2005); a norm likewise. That gives a smaller convex function
:math:`P_\mu \le P` with a Lipschitz gradient, which L-BFGS minimises for
:math:`\mu = 1, 0.1, 0.01, \dots`, each from the last solution. As the minimum of :math:`P_\mu` is a
lower bound of the minimum of P,

.. math::

    P(V_\mu) - \min P \le P(V_\mu) - P_\mu(V_\mu) + (\text{what L-BFGS left of } P_\mu),

so the error of smoothing is known without knowing the minimum, and :math:`\mu` falls until it is at
most ``tol`` times P.

References
----------
Nesterov, Y. (2005). Smooth minimization of non-smooth functions. Mathematical Programming 103.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from psvm.paper.rivals.linear_scores import Array, Codes, Solution

# Smoothed loss and its gradient in the scores: (rows that have a loss, value, their gradients).
ScoreLoss = Callable[[Array, Codes, float], tuple[Codes, float, Array]]
Penalty = Callable[[Array], tuple[float, Array]]

# L-BFGS stops at a relative decrease per step of this times the error of smoothing to be expected:
# what it leaves is then, as measured on USPS, well below that error.
DECREASE = 1e-4
# A run that gains less than this many such steps is the last one.
LITTLE = 100.0
SMALLEST_SMOOTHING = 1e-9
# More memory than L-BFGS' usual 10 costs nothing next to a pass over the rows, and saves passes.
MEMORY = 20


@dataclass(frozen=True)
class JointHinge:
    """The problem ``R(V) + C sum_i loss(s_i, y_i)``.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    codes : ndarray of shape (n_samples,)
        Class of each row, 0 .. n_classes - 1.
    n_scores : int
        Number of scores per row.
    C : float
        Cost of the loss.
    loss : callable
        ``loss(scores, codes, mu)`` gives the rows that have a loss, the smoothed sum and its
        gradient in the scores of these rows.
    penalty : callable
        ``penalty(V)`` gives R and its gradient, for V of shape (n_features + 1, n_scores), whose
        last row holds the intercepts.
    constant : float, default=0.0
        Added to the objective; ``tol`` is relative to the whole.
    """

    X: Array
    codes: Codes
    n_scores: int
    C: float
    loss: ScoreLoss
    penalty: Penalty
    constant: float = 0.0

    def smoothed(self, flat: Array, mu: float) -> tuple[float, Array]:
        """P_mu and its gradient at the flattened V; P and a subgradient if mu is 0."""
        weights = flat.reshape(-1, self.n_scores)
        scores = self.X @ weights[:-1] + weights[-1]
        rows, loss, by_score = self.loss(scores, self.codes, mu)
        penalty, gradient = self.penalty(weights)
        # Most rows have no loss near the optimum: copying the others is cheaper than a full pass.
        gradient[:-1] += self.C * (self.X[rows].T @ by_score)
        gradient[-1] += self.C * by_score.sum(axis=0)
        return self.constant + penalty + self.C * loss, gradient.ravel()


def minimise(
    problem: JointHinge, *, tol: float, max_iter: int, start: Solution | None = None
) -> Solution:
    """Minimise by smoothing and L-BFGS, as the module says.

    Parameters
    ----------
    problem : JointHinge
        What to minimise.
    tol : float
        Relative error of smoothing at which to stop.
    max_iter : int
        Limit of L-BFGS iterations in all.
    start : Solution or None, default=None
        Solution of a similar problem to start from, at the smoothing where it ended.

    Returns
    -------
    solution : Solution
        The weights. A ConvergenceWarning says if ``max_iter`` came before ``tol``.
    """
    final_decrease = DECREASE * tol
    if start is None:
        flat = np.zeros((problem.X.shape[1] + 1) * problem.n_scores)
        mu, decrease = 1.0, DECREASE
    else:
        flat, mu, decrease = start.weights.ravel(), start.smoothing, final_decrease
    n_iter = 0
    while True:
        flat, smooth, n_iter = _minimise_smoothed(problem, flat, mu, decrease, n_iter, max_iter)
        exact = problem.smoothed(flat, 0.0)[0]
        error = (exact - smooth) / exact if exact > 0 else 0.0
        if n_iter >= max_iter:
            warnings.warn(
                f"stopped after max_iter={max_iter} iterations at relative error {error:.1e} of "
                f"smoothing, tol is {tol:.1e}; raise max_iter or tol, lower C or scale X.",
                ConvergenceWarning,
                stacklevel=4,
            )
            break
        if error <= tol and decrease <= final_decrease:
            break
        if mu < SMALLEST_SMOOTHING:
            break  # rounding, not smoothing, is what is left
        # The error is about proportional to mu: go just far enough at the last stage.
        step = max(0.1, 0.8 * tol / max(error, tol))
        mu *= step
        decrease = DECREASE * max(tol, error * step)
    return Solution(flat.reshape(-1, problem.n_scores), n_iter, mu)


def _minimise_smoothed(
    problem: JointHinge, flat: Array, mu: float, decrease: float, n_iter: int, max_iter: int
) -> tuple[Array, float, int]:
    """Minimise P_mu from ``flat`` by L-BFGS; gives the point, P_mu there and n_iter so far.

    One small step need not mean a minimum if the problem is badly scaled, so L-BFGS is run again,
    without memory, until a whole run of it gains little.
    """
    before = np.inf
    while True:
        options = {
            "maxiter": max_iter - n_iter,
            "maxfun": 10 * max_iter,
            "maxcor": MEMORY,
            "ftol": decrease,
            "gtol": 0.0,
        }
        run = minimize(
            problem.smoothed, flat, args=(mu,), jac=True, method="L-BFGS-B", options=options
        )
        flat, n_iter = run.x, n_iter + run.nit
        if n_iter >= max_iter or before - run.fun <= LITTLE * decrease * run.fun:
            return flat, run.fun, n_iter
        before = run.fun


def pairwise_hinge(scores: Array, codes: Codes, mu: float) -> tuple[Codes, float, Array]:
    r"""The hinges of a row against every other class, smoothed.

    .. math:: \sum_i \sum_{k \ne y_i} h_\mu(1 - (s_{i y_i} - s_{ik})), \qquad
        h_\mu(t) = \max_{0 \le a \le 1} a t - \tfrac{\mu}{2} a^2,
        \qquad 0 \le \max(0, t) - h_\mu(t) \le \tfrac{\mu}{2}.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        Scores s.
    codes : ndarray of shape (n_samples,)
        Classes y.
    mu : float
        Smoothing, >= 0.

    Returns
    -------
    rows : ndarray of int
        Rows with a positive loss.
    value : float
        The sum.
    gradient : ndarray of shape (len(rows), n_classes)
        Its gradient in the scores of these rows.
    """
    slack = slack_of(scores, codes)
    rows = np.flatnonzero((slack > 0).any(axis=1))
    slack = slack[rows]
    value, gradient = smoothed_hinge(slack, mu)
    gradient[np.arange(len(rows)), codes[rows]] = -gradient.sum(axis=1)
    return rows, float(value.sum()), gradient


def slack_of(scores: Array, codes: Codes) -> Array:
    """``1 - (s_y - s_k)`` for every class k other than y, and 0 for y itself."""
    own = np.arange(len(codes)), codes
    slack = scores + (1.0 - scores[own])[:, None]
    slack[own] = 0.0
    return slack


def smoothed_hinge(t: Array, mu: float) -> tuple[Array, Array]:
    """``h_mu`` and its derivative: 0 to the left of 0, of slope 1 beyond mu, a parabola between."""
    # At mu = 0 (the hinge itself) the subgradient at 0 is 0, so that a row's own class gets none.
    slope = np.clip(t / mu, 0.0, 1.0) if mu > 0 else (t > 0).astype(np.float64)
    return slope * (t - 0.5 * mu * slope), slope
