r"""Top-k multiclass SVM (Lapin, Hein and Schiele 2015).

.. math::

    \min_W \; \tfrac12 \lVert W \rVert_F^2 + C \sum_i \max\Bigl(0, \tfrac1k \sum_{j=1}^{k}
    t_{i[j]}\Bigr), \qquad t_{im} = \begin{cases} 1 - (w_{y_i} - w_m)^\top x_i & m \ne y_i \\
    0 & m = y_i, \end{cases}

where :math:`t_{i[j]}` is the j-th largest of the K numbers :math:`t_{i1}, \dots, t_{iK}`: the
top-k hinge "alpha" of the paper. A row has no loss if its class beats the others by 1 on average
over the k strongest, so a confusion among k classes is forgiven; k = 1 is the multiclass SVM of
Crammer and Singer. As in LIBLINEAR's solver of the latter, an intercept is the weight of a constant
feature 1 and penalised like the others. The authors divide by the number of rows where we multiply
by C.

The comparison in the paper of this library does not say which k it took. The default here is 2: the
smallest that is not Crammer and Singer's, which has a column of its own.

Solved by :mod:`psvm.paper.rivals.joint_hinge`: the mean of the k largest is the maximum of
:math:`\langle a, t \rangle` over :math:`0 \le a \le 1/k, \sum a = 1`, and is smoothed by
:math:`-\tfrac{\mu}{2} \lVert a \rVert^2`, then the outer hinge is. Both together take at most
:math:`\tfrac{\mu}{2} (1 + 1/k)` off a row's loss.

References
----------
Lapin, M., Hein, M., and Schiele, B. (2015). Top-k multiclass SVM. Advances in Neural Information
Processing Systems 28.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from psvm.paper.rivals.joint_hinge import JointHinge, minimise, slack_of, smoothed_hinge
from psvm.paper.rivals.linear_scores import Array, Codes, LinearScoresClassifier, Solution


class TopKSVM(LinearScoresClassifier):
    """Top-k SVM of Lapin, Hein and Schiele, linear; the module gives its formula.

    What a fit sets is in :class:`~psvm.paper.rivals.linear_scores.LinearScoresClassifier`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    k : int, default=2
        Number of classes among which a confusion is forgiven, 1 to the number of classes.
    tol : float, default=3e-2
        Relative error of smoothing at which to stop; the objective is closer to its minimum.
    max_iter : int, default=20000
        Limit of L-BFGS iterations.
    """

    def __init__(
        self, C: float = 1.0, *, k: int = 2, tol: float = 3e-2, max_iter: int = 20_000
    ) -> None:
        self.C = C
        self.k = k
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, X: Array, codes: Codes, n_classes: int) -> Solution:
        if not 1 <= self.k <= n_classes:
            raise ValueError(
                f"`k` must be 1 to {n_classes}, the number of classes, got {self.k!r}."
            )
        loss = partial(top_k_hinge, k=self.k)
        problem = JointHinge(X, codes, n_classes, self.C, loss, half_squared_norm)
        return minimise(problem, tol=self.tol, max_iter=self.max_iter)


def half_squared_norm(weights: Array) -> tuple[float, Array]:
    """``||V||^2 / 2``, intercepts included, and its gradient V."""
    return 0.5 * float(np.vdot(weights, weights)), weights.copy()


def top_k_hinge(scores: Array, codes: Codes, mu: float, k: int) -> tuple[Codes, float, Array]:
    """The top-k hinge of the module's formula, smoothed.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        Scores of the classes.
    codes : ndarray of shape (n_samples,)
        Classes y.
    mu : float
        Smoothing, >= 0.
    k : int
        How many of the largest terms are averaged.

    Returns
    -------
    rows : ndarray of int
        Rows with a positive loss.
    value : float
        Sum of the smoothed losses.
    gradient : ndarray of shape (len(rows), n_classes)
        Its gradient in the scores of these rows.
    """
    slack = slack_of(scores, codes)
    largest = np.partition(slack, slack.shape[1] - k, axis=1)[:, slack.shape[1] - k :]
    rows = np.flatnonzero(largest.mean(axis=1) > 0)
    slack = slack[rows]
    shares = shares_of_largest(slack, mu, k)
    mean = (shares * (slack - 0.5 * mu * shares)).sum(axis=1)
    value, slope = smoothed_hinge(mean, mu)
    gradient = slope[:, None] * shares
    # What the other classes gain in slack the own class loses; its own share has no effect.
    own = np.arange(len(rows)), codes[rows]
    gradient[own] = 0.0
    gradient[own] = -gradient.sum(axis=1)
    return rows, float(value.sum()), gradient


def shares_of_largest(slack: Array, mu: float, k: int) -> Array:
    """The a of a row that maximises ``<a, t> - mu ||a||^2 / 2`` on ``0 <= a <= 1/k, sum a = 1``.

    Parameters
    ----------
    slack : ndarray of shape (n_rows, n_classes)
        One t per row.
    mu : float
        Smoothing, >= 0. At 0 the k largest get 1/k each.
    k : int
        How many are averaged.

    Returns
    -------
    shares : ndarray of shape (n_rows, n_classes)
        One a per row.
    """
    n_rows, n_classes = slack.shape
    if mu == 0:
        shares = np.zeros_like(slack)
        order = np.argpartition(slack, n_classes - k, axis=1)[:, n_classes - k :]
        np.put_along_axis(shares, order, 1.0 / k, axis=1)
        return shares
    # a = clip(t / mu - level, 0, 1/k): find the level where the sum, which falls with it along
    # straight pieces, is 1. The kinks are known, so bisect among them and interpolate.
    scaled = slack / mu
    enough = 1.0 - 1e-12  # k shares of 1/k need not sum to 1 exactly
    kinks = np.sort(np.hstack([scaled - 1.0 / k, scaled]), axis=1)
    row = np.arange(n_rows)

    def shares_at(level: Array) -> Array:
        clipped: Array = np.clip(scaled - level[:, None], 0.0, 1.0 / k)
        return clipped

    # At the first kink all K >= k classes have 1/k, a sum of at least 1; at the last none has any.
    left, right = np.zeros(n_rows, dtype=np.intp), np.full(n_rows, 2 * n_classes - 1)
    while (right - left > 1).any():
        middle = (left + right) // 2
        above = shares_at(kinks[row, middle]).sum(axis=1) >= enough
        left, right = np.where(above, middle, left), np.where(above, right, middle)
    low, high = kinks[row, left], kinks[row, right]
    total_low, total_high = shares_at(low).sum(axis=1), shares_at(high).sum(axis=1)
    level = low + (high - low) * (total_low - 1.0) / (total_low - total_high)
    return shares_at(level)
