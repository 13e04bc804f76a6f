r"""Rivals that scikit-learn has: OvR, OvO, Crammer and Multi-LR, as they are set up here.

========  ==========================================================================================
OvR       one binary SVM per class against the rest,
          :math:`\min \tfrac12 \lVert w \rVert^2 + C \sum_i \max(0, 1 - y_i s_i)^2`
          (``LinearSVC``; the squared hinge is its default)
OvO       one binary SVM per pair of classes and a vote,
          :math:`\min \tfrac12 \lVert w \rVert^2 + C \sum_i \max(0, 1 - y_i s_i)`
          (``SVC(kernel="linear")``)
Crammer   :math:`\min \tfrac12 \sum_k \lVert w_k \rVert^2 + C \sum_i \max_k (s_{ik} + [k \ne y_i] -
          s_{i y_i})` (``LinearSVC(multi_class="crammer_singer")``)
Multi-LR  :math:`\min \tfrac12 \sum_k \lVert w_k \rVert^2 - C \sum_i \log \mathrm{softmax}(s_i)_
          {y_i}` (``LogisticRegression``)
========  ==========================================================================================

Both ``LinearSVC`` penalise the intercept as the weight of a constant feature. Their tolerances are
those that LIBLINEAR itself has for these solvers (0.01, 0.1), not scikit-learn's 1e-4; limits of
iterations are high enough that none is met on the data of the paper.

References
----------
Crammer, K., and Singer, Y. (2001). On the algorithmic implementation of multiclass kernel-based
vector machines. Journal of Machine Learning Research 2, 265-292.

Böhning, D. (1992). Multinomial logistic regression algorithm. Annals of the Institute of
Statistical Mathematics 44, 197-200.
"""

from __future__ import annotations

from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

MAX_ITER = 100_000


def one_vs_rest(C: float) -> LinearSVC:
    """Squared hinge, each class against the rest, in the primal (exact, no random numbers)."""
    return LinearSVC(C=C, dual=False, tol=1e-2, max_iter=MAX_ITER)


def one_vs_one(C: float) -> SVC:
    """Hinge, every pair of classes; most votes win."""
    return SVC(C=C, kernel="linear", decision_function_shape="ovo")


def crammer_singer(C: float, random_state: int) -> LinearSVC:
    """Multiclass hinge of Crammer and Singer, by dual coordinate descent in random order."""
    return LinearSVC(
        C=C, multi_class="crammer_singer", tol=0.1, max_iter=MAX_ITER, random_state=random_state
    )


def multinomial_logistic(C: float) -> LogisticRegression:
    """Softmax loss with a squared 2-norm penalty."""
    return LogisticRegression(C=C, max_iter=MAX_ITER)
