r"""M³SVM: maximise the smallest margin between two classes (Nie, Hao and Wang 2024).

.. math::

    \min_{w, b} \; \sum_{k<l} \lVert w_k - w_l \rVert_2^{r} + C \sum_i \sum_{k \ne y_i}
    \max(0, 1 - (w_{y_i} - w_k)^\top x_i - (b_{y_i} - b_k))

with the power r, ``power`` here and p in their paper. The margin between classes k and l is
:math:`2 / \lVert w_k - w_l \rVert`; the larger r, the more the smallest margin counts, and
:math:`r \to \infty` maximises it alone. With r = 2 it is twice the first
sum of :mod:`psvm.paper.rivals.msvm`. Their :math:`\lambda` is
:math:`1 / C`, up to the number of rows that an average divides by.

The objective does not change if the same vector is added to all :math:`w_k`, or the same number to
all :math:`b_k`. The solution here has :math:`\sum_k w_k = 0` and :math:`\sum_k b_k = 0`.

What is certain and what is not: the penalty, the pairwise hinge and the role of p are taken from
the abstract and summaries of the paper, not from its full text. The authors' public code, which
sets p = 4 for USPS, Vehicle and Glass and p = 6 for Dermatology, trains with the softmax loss in
place of the hinge, by Adam for a fixed number of epochs, so that their published accuracies need
not be those of the optimum of this formula. In the paper the hinge is replaced by a smooth
surrogate; here it is smoothed only as far as ``tol`` allows
(:mod:`psvm.paper.rivals.joint_hinge`).

References
----------
Nie, F., Hao, Z., and Wang, R. (2024). Multi-class support vector machine with maximizing minimum
margin. Proceedings of the AAAI Conference on Artificial Intelligence 38.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from psvm.paper.rivals.joint_hinge import JointHinge, minimise, pairwise_hinge
from psvm.paper.rivals.linear_scores import Array, Codes, LinearScoresClassifier, Solution


class M3SVM(LinearScoresClassifier):
    """M³SVM of Nie, Hao and Wang, linear; the module gives its formula.

    What a fit sets is in :class:`~psvm.paper.rivals.linear_scores.LinearScoresClassifier`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    power : float, default=4.0
        Power r > 1 of the distances between the weights of two classes.
    tol : float, default=3e-2
        Relative error of smoothing at which to stop; the objective is closer to its minimum.
    max_iter : int, default=20000
        Limit of L-BFGS iterations.
    """

    def __init__(
        self, C: float = 1.0, *, power: float = 4.0, tol: float = 3e-2, max_iter: int = 20_000
    ) -> None:
        self.C = C
        self.power = power
        self.tol = tol
        self.max_iter = max_iter

    def _solve(self, X: Array, codes: Codes, n_classes: int) -> Solution:
        if not 1 < self.power < np.inf:
            raise ValueError(f"`power` must be a finite number > 1, got {self.power!r}.")
        penalty = partial(powers_of_distances, power=self.power)
        problem = JointHinge(X, codes, n_classes, self.C, pairwise_hinge, penalty)
        return minimise(problem, tol=self.tol, max_iter=self.max_iter)


def powers_of_distances(weights: Array, power: float) -> tuple[float, Array]:
    r"""The sum of :math:`\lVert w_k - w_l \rVert^r` over pairs of classes.

    Parameters
    ----------
    weights : ndarray of shape (n_features + 1, n_classes)
        W, and the intercepts, which are not penalised, in the last row.
    power : float
        The power r > 1.

    Returns
    -------
    value : float
        The penalty.
    gradient : ndarray of shape (n_features + 1, n_classes)
        Its gradient.
    """
    differences = weights[:-1, :, None] - weights[:-1, None, :]
    distances = np.linalg.norm(differences, axis=0)
    # r d^(r-2) (w_k - w_l) is the derivative of one term; it tends to 0 with d as r > 1.
    apart = distances > 0
    factors = np.zeros_like(distances)
    factors[apart] = power * distances[apart] ** (power - 2.0)
    gradient = np.zeros_like(weights)
    gradient[:-1] = weights[:-1] * factors.sum(axis=0) - weights[:-1] @ factors
    return 0.5 * float((distances**power).sum()), gradient
