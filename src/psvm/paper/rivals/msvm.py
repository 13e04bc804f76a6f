r"""M-SVM: one convex problem over all classes (Bredensteiner and Bennett 1999).

.. math::

    \min_{w, b} \; \tfrac12 \sum_{k<l} \lVert w_k - w_l \rVert^2 + \tfrac12 \sum_k \lVert w_k
    \rVert^2 + C \sum_i \sum_{k \ne y_i} \max(0, 1 - (w_{y_i} - w_k)^\top x_i - (b_{y_i} - b_k))

over one :math:`w_k, b_k` per class; a row is put into the class of largest
:math:`w_k^\top x + b_k`. The first sum widens the margins :math:`2 / \lVert w_k - w_l \rVert`
between all pairs of classes, the second makes the solution unique. (The authors write
:math:`-\gamma_k` for :math:`b_k` and weigh the penalty by :math:`1 - \lambda`, the loss by
:math:`\lambda`; only the ratio matters.)

With two classes and :math:`w = w_2 - w_1` it is the binary SVM with the penalty
:math:`\tfrac34 \lVert w \rVert^2`.

Solved by :mod:`psvm.paper.rivals.joint_hinge`.

References
----------
Bredensteiner, E. J., and Bennett, K. P. (1999). Multicategory classification by support vector
machines. Computational Optimization and Applications 12, 53-79.
"""

from __future__ import annotations

import numpy as np

from psvm.paper.rivals.joint_hinge import JointHinge, minimise, pairwise_hinge
from psvm.paper.rivals.linear_scores import Array, Codes, LinearScoresClassifier, Solution


class MSVM(LinearScoresClassifier):
    """Multicategory SVM of Bredensteiner and Bennett, linear; the module gives its formula.

    What a fit sets is in :class:`~psvm.paper.rivals.linear_scores.LinearScoresClassifier`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    tol : float, default=3e-2
        Relative error of smoothing at which to stop; the objective is closer to its minimum.
    max_iter : int, default=20000
        Limit of L-BFGS iterations.
    """

    def __init__(self, C: float = 1.0, *, tol: float = 3e-2, max_iter: int = 20_000) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, X: Array, codes: Codes, n_classes: int) -> Solution:
        problem = JointHinge(X, codes, n_classes, self.C, pairwise_hinge, squared_differences)
        return minimise(problem, tol=self.tol, max_iter=self.max_iter)


def squared_differences(weights: Array) -> tuple[float, Array]:
    """Half the squared distances between the weights of two classes plus their squared norms.

    Parameters
    ----------
    weights : ndarray of shape (n_features + 1, n_classes)
        W, and the intercepts, which are not penalised, in the last row.

    Returns
    -------
    value : float
        The penalty.
    gradient : ndarray of shape (n_features + 1, n_classes)
        Its gradient.
    """
    # sum_{k<l} ||w_k - w_l||^2 = K sum_k ||w_k||^2 - ||sum_k w_k||^2
    n_classes = weights.shape[1]
    gradient = np.zeros_like(weights)
    gradient[:-1] = (n_classes + 1) * weights[:-1] - weights[:-1].sum(axis=1, keepdims=True)
    return 0.5 * float(np.vdot(weights, gradient)), gradient
