r"""CappedSVM: a loss that stops growing (Nie, Wang and Huang 2017).

.. math::

    \min_{W, b} \; \tfrac12 \lVert W \rVert_F^2 + C \sum_i \min\bigl(\lVert u_i \rVert_2^p,
    \varepsilon\bigr), \qquad u_{ik} = \max(0, 1 - y_{ik} (w_k^\top x_i + b_k)),

with :math:`y_{ik} = 1` if row i is of class k and -1 otherwise (with two classes one score and
:math:`y_i = \pm 1`), :math:`0 < p \le 2` and the cap :math:`\varepsilon > 0`. The small power p
limits what light outliers do, and a row whose loss reaches the cap has no influence at all. A row
goes to the class of largest :math:`w_k^\top x + b_k`.

The abstract of the paper and its title fix the capped :math:`\ell_p`-norm of a hinge; that the norm
is taken over the one-vs-rest hinges of a row is our reading of "multiclass", and the paper's values
of p and :math:`\varepsilon` are not known here: the defaults are p = 1, convex apart from the cap,
and :math:`\varepsilon = 4`. (On the wrong side of two margins at once, by 1 each, is
:math:`\lVert (2, 2) \rVert = 2.8`.)

Solved by re-weighting. Rows get the weight 1 or, where the loss is at the cap, 0. As
:math:`\min(\ell, \varepsilon)` is at most :math:`\ell` and at most :math:`\varepsilon`, the sum of
the losses of weight 1 plus a constant is an upper bound of the objective that touches it at the
present solution; minimising it (:mod:`psvm.paper.rivals.joint_hinge`) lowers the objective. Rounds
follow until it falls no more. The first gives every row the weight 1, which for p >= 1 is a
convex problem. (The authors' weights :math:`\tfrac{p}{2} \lVert u_i \rVert^{p-2}` bound the power p
by a square as well; the stationary points are the same.) The objective is not convex: this is a
local minimum. Smoothing replaces :math:`r^p` for r below :math:`\mu` by
:math:`\tfrac{p}{2} \mu^{p-2} r^2` and lowers it elsewhere by the constant
:math:`(1 - \tfrac{p}{2}) \mu^p`, which makes it continuous.

References
----------
Nie, F., Wang, X., and Huang, H. (2017). Multiclass capped l_p-norm SVM for robust classifications.
Proceedings of the AAAI Conference on Artificial Intelligence 31, 2415-2421.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from psvm.paper.rivals.joint_hinge import JointHinge, minimise
from psvm.paper.rivals.linear_scores import (
    Array,
    Codes,
    LinearScoresClassifier,
    Solution,
    check_positive,
)


class CappedSVM(LinearScoresClassifier):
    """Capped l_p-norm SVM of Nie, Wang and Huang, linear; the module gives its formula.

    What a fit sets is in :class:`~psvm.paper.rivals.linear_scores.LinearScoresClassifier`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    p : float, default=1.0
        Power of a row's loss, 0 < p <= 2.
    cap : float, default=4.0
        Largest loss of a row; ``numpy.inf`` for none.
    tol : float, default=0.1
        Relative error of smoothing at which to stop each round.
    max_iter : int, default=20000
        Limit of L-BFGS iterations of one round.
    max_rounds : int, default=10
        Limit of rounds of re-weighting.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        p: float = 1.0,
        cap: float = 4.0,
        tol: float = 0.1,
        max_iter: int = 20_000,
        max_rounds: int = 10,
    ) -> None:
        self.C = C
        self.p = p
        self.cap = cap
        self.tol = tol
        self.max_iter = max_iter
        self.max_rounds = max_rounds

    def _solve(self, X: Array, codes: Codes, n_classes: int) -> Solution:
        check_positive(self, "max_rounds")
        if not 0 < self.p <= 2:
            raise ValueError(f"`p` must be in (0, 2], got {self.p!r}.")
        if not self.cap > 0:
            raise ValueError(f"`cap` must be > 0, got {self.cap!r}.")
        n_scores = 1 if n_classes == 2 else n_classes
        loss = partial(row_norms, p=self.p)

        def losses(weights: Array) -> Array:
            scores = X @ weights[:-1] + weights[-1]
            result: Array = np.linalg.norm(hinges(scores, codes)[0], axis=1) ** self.p
            return result

        best, lowest, n_iter = None, np.inf, 0
        kept = np.ones(len(X), dtype=np.bool_)
        for _ in range(self.max_rounds):
            lost = self.C * self.cap * np.count_nonzero(~kept) if not kept.all() else 0.0
            problem = JointHinge(
                X[kept], codes[kept], n_scores, self.C, loss, half_squared_weights, lost
            )
            found = minimise(problem, tol=self.tol, max_iter=self.max_iter, start=best)
            n_iter += found.n_iter
            by_row = losses(found.weights)
            objective = half_squared_weights(found.weights)[0]
            objective += self.C * float(np.minimum(by_row, self.cap).sum())
            if not objective < lowest:
                break
            best, lowest = found, objective
            if np.array_equal(by_row < self.cap, kept):
                break
            kept = by_row < self.cap
        assert best is not None  # the first round is below infinity
        return best._replace(n_iter=n_iter)


def half_squared_weights(weights: Array) -> tuple[float, Array]:
    """``||W||^2 / 2`` and its gradient; the intercepts in the last row are free."""
    gradient = weights.copy()
    gradient[-1] = 0.0
    return 0.5 * float(np.vdot(gradient, gradient)), gradient


def hinges(scores: Array, codes: Codes) -> tuple[Array, Array]:
    """One-vs-rest hinges ``max(0, 1 - y s)`` of every score, and the signs y."""
    if scores.shape[1] == 1:
        signs = np.where(codes == 1, 1.0, -1.0)[:, None]
    else:
        signs = np.full(scores.shape, -1.0)
        signs[np.arange(len(codes)), codes] = 1.0
    return np.maximum(0.0, 1.0 - signs * scores), signs


def row_norms(scores: Array, codes: Codes, mu: float, p: float) -> tuple[Codes, float, Array]:
    """The sum of ``||u_i||^p`` of the module's formula without the cap, smoothed.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes), or (n_samples, 1) with two classes
        Scores of the classes.
    codes : ndarray of shape (n_samples,)
        Classes y.
    mu : float
        Smoothing, >= 0.
    p : float
        Power, 0 < p <= 2.

    Returns
    -------
    rows : ndarray of int
        Rows with a positive loss.
    value : float
        Sum of the smoothed losses.
    gradient : ndarray of shape (len(rows), n_scores)
        Its gradient in the scores of these rows.
    """
    slack, signs = hinges(scores, codes)
    norms = np.linalg.norm(slack, axis=1)
    rows = np.flatnonzero(norms > 0)
    slack, signs, norms = slack[rows], signs[rows], norms[rows]
    weights = p * np.maximum(norms, mu) ** (p - 2.0)  # derivative in r, over r
    value = np.where(norms > mu, norms**p - (1 - p / 2) * mu**p, 0.5 * weights * norms**2)
    return rows, float(value.sum()), -weights[:, None] * signs * slack
