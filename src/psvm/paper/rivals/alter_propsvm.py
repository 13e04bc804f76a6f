r"""alter-∝SVM: labels and machine in turns (Yu, Liu, Kumar, Jebara and Chang 2013).

∝SVM takes the labels of the rows as unknowns:

.. math::

    \min_{y \in \{-1, 1\}^n, w, b} \; \tfrac12 \lVert w \rVert^2
    + C \sum_i \max(0, 1 - y_i s_i) + C_p \sum_k \lvert \tilde\pi_k(y) - \pi_k \rvert,

where :math:`\tilde\pi_k(y)` is the share of +1 among the labels of bag k. Two steps take turns:

1. y fixed: an SVM, done by :class:`psvm.PSVC` with p = 1;
2. w and b fixed: every bag by itself. To make row i positive saves :math:`\delta_i = \max(0, 1 +
   s_i) - \max(0, 1 - s_i)`, so if R rows of the bag are positive, they are those with the largest
   :math:`\delta_i`, and the best R is found by trying all.

Neither raises the objective. To stay out of bad local minima C rises from :math:`10^{-5}` of its
value by factors of 1.5, and of several random starts the one with the lowest objective is kept.

References
----------
Yu, F. X., Liu, D., Kumar, S., Jebara, T., and Chang, S.-F. (2013). ∝SVM for learning with label
proportions. Proceedings of the 30th International Conference on Machine Learning, 504-512.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from psvm.estimators.svc import PSVC
from psvm.paper.rivals.label_proportions import (
    Array,
    BaggedRows,
    Bags,
    LabelProportionClassifier,
    means_by_bag,
    rows_of_bags,
)

FIRST_COST = 1e-5
"""Share of C to begin with."""

COST_FACTOR = 1.5
"""Factor from one C to the next."""

TURNS = 20
"""Limit of turns at one C; the labels stop changing after a few."""


class AlterPropSVM(LabelProportionClassifier):
    """alter-∝SVM of Yu et al.; the module gives its formula.

    Parameters
    ----------
    C : float, default=1.0
        Cost of slack.
    share_cost : float, default=100.0
        Cost C_p of a wrong share of a bag.
    starts : int, default=10
        Random starts, of which the best is kept.
    kernel : {"linear", "rbf"}, default="linear"
        The kernel.
    gamma : float or "scale", default="scale"
        Width of the Gaussian kernel.
    random_state : int, default=0
        Seed of the starts.

    Attributes
    ----------
    objective_ : float
        What is minimised.
    labels_ : ndarray of shape (n_samples,)
        The labels found.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        share_cost: float = 100.0,
        starts: int = 10,
        kernel: Literal["linear", "rbf"] = "linear",
        gamma: float | Literal["scale"] = "scale",
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.share_cost = share_cost
        self.starts = starts
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state

    def _solve(self, gram: Array, bagged: BaggedRows) -> tuple[Array, float]:
        if self.starts < 1:
            raise ValueError(f"`starts` must be at least 1, got {self.starts!r}.")
        random = np.random.default_rng(self.random_state)
        members = rows_of_bags(bagged.bags)
        lowest, best = np.inf, None
        for _ in range(self.starts):
            labels = labels_of_shares(random.random(len(gram)), bagged)
            for cost in _rising(self.C):
                labels, coef, intercept = self._turns(gram, bagged, members, labels, cost)
            value = self._objective(gram, bagged, labels, coef, intercept, self.C)
            if value < lowest:
                lowest, best = value, (labels, coef, intercept)
        assert best is not None  # the objective of the first start is finite
        self.objective_ = float(lowest)
        self.labels_, coef, intercept = best
        return coef, intercept

    def _turns(
        self, gram: Array, bagged: BaggedRows, members: Sequence[Bags], labels: Array, cost: float
    ) -> tuple[Array, Array, float]:
        """Both steps until the labels stay."""
        coef, intercept = machine(gram, labels, cost)
        for _ in range(TURNS):
            scores = gram @ coef + intercept
            changed = best_labels(scores, members, bagged.shares, cost, self.share_cost)
            if np.array_equal(changed, labels):
                break
            labels = changed
            coef, intercept = machine(gram, labels, cost)
        return labels, coef, intercept

    def _objective(
        self,
        gram: Array,
        bagged: BaggedRows,
        labels: Array,
        coef: Array,
        intercept: float,
        cost: float,
    ) -> float:
        from_zero = gram @ coef
        slack = np.maximum(0.0, 1.0 - labels * (from_zero + intercept))
        shares = means_by_bag((labels > 0).astype(np.float64), bagged.bags)
        wrong = np.abs(shares - bagged.shares).sum()
        return float(0.5 * coef @ from_zero + cost * slack.sum() + self.share_cost * wrong)


def _rising(C: float) -> list[float]:
    steps = int(np.ceil(-np.log(FIRST_COST) / np.log(COST_FACTOR)))
    return [min(C, C * FIRST_COST * COST_FACTOR**step) for step in range(steps + 1)]


def machine(gram: Array, labels: Array, cost: float) -> tuple[Array, float]:
    """The SVM of given labels: coefficients of the rows, and the intercept.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Kernel matrix.
    labels : ndarray of shape (n_samples,)
        Labels -1 and +1; if all are one, that label is the score of every row.
    cost : float
        Cost of slack.

    Returns
    -------
    tuple of ndarray and float
        The machine.
    """
    coef = np.zeros(len(labels))
    if np.all(labels == labels[0]):
        return coef, float(labels[0])
    model = PSVC(p=1.0, C=cost, kernel="precomputed", tol=1e-3, n_jobs=1).fit(gram, labels)
    coef[model.support_] = model.dual_coef_[0]
    return coef, float(model.intercept_[0])


def best_labels(
    scores: Array, members: Sequence[Bags], shares: Array, cost: float, share_cost: float
) -> Array:
    """The labels of least cost for given scores: the second step.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        Scores of the rows.
    members : sequence of ndarray
        The rows of each bag.
    shares : ndarray of shape (n_bags,)
        The share of +1 in each bag.
    cost, share_cost : float
        C and C_p.

    Returns
    -------
    ndarray of shape (n_samples,)
        -1 or +1.
    """
    saved = np.maximum(0.0, 1.0 + scores) - np.maximum(0.0, 1.0 - scores)
    # Among equal savings the larger score, so that beyond the margin rows keep their order, too.
    order = np.lexsort((scores, saved))[::-1]
    ranks = np.empty(len(scores), dtype=np.intp)
    ranks[order] = np.arange(len(scores))
    labels = np.full(len(scores), -1.0)
    for rows, share in zip(members, shares, strict=True):
        ordered = rows[np.argsort(ranks[rows])]
        positive = np.arange(len(rows) + 1)
        gain = cost * np.concatenate([[0.0], np.cumsum(saved[ordered])])
        price = share_cost * np.abs(positive / len(rows) - share)
        labels[ordered[: int(np.argmin(price - gain))]] = 1.0
    return labels


def labels_of_shares(values: Array, bagged: BaggedRows) -> Array:
    """The labels that give every bag its share: the rows of largest value are positive.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Any values.
    bagged : BaggedRows
        The shares; the number of positive rows is rounded.

    Returns
    -------
    ndarray of shape (n_samples,)
        -1 or +1. No labels of these shares have a larger sum of values times labels.
    """
    sizes = np.bincount(bagged.bags)
    positive = np.rint(bagged.shares * sizes)
    order = np.lexsort((-values, bagged.bags))  # bag by bag, the largest values first
    first = np.cumsum(sizes) - sizes
    ordered_bags = bagged.bags[order]
    place = np.arange(len(values)) - first[ordered_bags]
    labels = np.empty(len(values))
    labels[order] = np.where(place < positive[ordered_bags], 1.0, -1.0)
    return labels
