r"""conv-∝SVM: a convex relaxation over labellings (Yu, Liu, Kumar, Jebara and Chang 2013).

Let Y be the labellings that give every bag its share. The dual of the SVM that is best over Y is
relaxed by letting :math:`y y^\top` be a mixture of labellings:

.. math::

    \min_{\mu \ge 0, \sum_t \mu_t = 1} \; \max_{0 \le \alpha \le C} \; \sum_i \alpha_i
    - \tfrac12 \sum_t \mu_t \sum_{ij} \alpha_i \alpha_j y^t_i y^t_j (K_{ij} + 1)

over all :math:`y^t` in Y. (The 1 stands for the intercept, which is penalised.) Labellings come in
one by one, the most violated next (:func:`worst_labels`): the one with the largest
:math:`\sum_{ij} \alpha_i \alpha_j y_i y_j (K_{ij} + 1)`. In between, for those at hand, it is a
problem with several kernels: for given weights :math:`\mu` an SVM, done by :class:`psvm.PSVC` with
p = 1, after which :math:`\mu_t \propto \mu_t (\sum_{ij} \alpha_i \alpha_j y^t_i y^t_j (K_{ij} +
1))^{1/2}`. The machine is :math:`w = \sum_t \mu_t \sum_i \alpha_i y^t_i \phi(x_i)`.

References
----------
Yu, F. X., Liu, D., Kumar, S., Jebara, T., and Chang, S.-F. (2013). ∝SVM for learning with label
proportions. Proceedings of the 30th International Conference on Machine Learning, 504-512.

Li, Y.-F., Tsang, I. W., Kwok, J. T., and Zhou, Z.-H. (2009). Tighter and convex maximum margin
clustering. Proceedings of AISTATS 12, 344-351.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.linalg import eigh

from psvm.estimators.svc import PSVC
from psvm.paper.rivals.alter_propsvm import labels_of_shares
from psvm.paper.rivals.label_proportions import (
    Array,
    BaggedRows,
    LabelProportionClassifier,
)

ROUNDS = 100
"""Limit of steps of the weights for one set of labellings."""

ASCENTS = 50
"""Limit of steps of one search for a labelling; it ends after a few."""


class ConvPropSVM(LabelProportionClassifier):
    """conv-∝SVM of Yu et al.; the module gives its formula.

    Parameters
    ----------
    C : float, default=1.0
        Cost of slack.
    tol : float, default=1e-2
        Relative distance of the upper and the lower bound at which to stop.
    max_labellings : int, default=50
        Limit of labellings.
    kernel : {"linear", "rbf"}, default="linear"
        The kernel.
    gamma : float or "scale", default="scale"
        Width of the Gaussian kernel.

    Attributes
    ----------
    objective_ : float
        The value of the relaxation, from above.
    labellings_ : ndarray of shape (n_labellings, n_samples)
        The labellings.
    weights_ : ndarray of shape (n_labellings,)
        Their weights, of sum 1.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        tol: float = 1e-2,
        max_labellings: int = 50,
        kernel: Literal["linear", "rbf"] = "linear",
        gamma: float | Literal["scale"] = "scale",
    ) -> None:
        self.C = C
        self.tol = tol
        self.max_labellings = max_labellings
        self.kernel = kernel
        self.gamma = gamma

    def _solve(self, gram: Array, bagged: BaggedRows) -> tuple[Array, float]:
        if self.max_labellings < 1:
            raise ValueError(f"`max_labellings` must be at least 1, got {self.max_labellings!r}.")
        gram = gram + 1.0
        directions = _directions(gram)
        alpha = np.full(len(gram), 1.0 / len(gram))
        labellings = worst_labels(alpha, gram, directions, bagged)[None]
        weights = np.ones(1)
        while True:
            alpha, weights, value = self._mixed(gram, labellings, weights)
            worst = worst_labels(alpha, gram, directions, bagged)
            lower = alpha.sum() - 0.5 * _energies(alpha, gram, worst[None])[0]
            known = bool((labellings == worst).all(axis=1).any())
            if known or value - lower <= self.tol * value or len(labellings) >= self.max_labellings:
                break
            labellings = np.vstack([labellings, worst])
            weights = np.append(weights * (1 - 1 / len(labellings)), 1 / len(labellings))
        self.objective_ = float(value)
        self.labellings_, self.weights_ = labellings, weights
        coef = alpha * (weights @ labellings)
        return coef, float(coef.sum())

    def _mixed(self, gram: Array, labellings: Array, weights: Array) -> tuple[Array, Array, float]:
        """The best weights of given labellings: alpha, the weights, and the value."""
        signs = labellings[0]
        for _ in range(ROUNDS):
            mixture = gram * ((labellings.T * weights) @ labellings)
            # PSVC multiplies by its labels; all +1 it would not take, and any signs will do.
            model = PSVC(
                p=1.0, C=self.C, kernel="precomputed", fit_intercept=False, tol=1e-4, n_jobs=1
            )
            alpha = _alpha(model, mixture, signs)
            energies = _energies(alpha, gram, labellings)
            value = alpha.sum() - 0.5 * float(weights @ energies)
            # From below for these labellings: the same alpha against the worst of them.
            if 0.5 * (energies.max() - weights @ energies) <= 0.2 * self.tol * value:
                break
            weights = weights * np.sqrt(energies)
            weights = weights / weights.sum()
        return alpha, weights, float(value)


def _alpha(model: PSVC, mixture: Array, signs: Array) -> Array:
    """Dual variables of the SVM without intercept whose quadratic form is ``mixture``."""
    if np.all(signs == signs[0]):
        # One class, which a classifier does not take: a row of the other sign that is orthogonal
        # to all others, whose own dual variable is left out.
        bordered = np.zeros((len(signs) + 1, len(signs) + 1))
        bordered[:-1, :-1] = mixture
        bordered[-1, -1] = np.trace(mixture) / len(signs)
        return _alpha(model, bordered, np.append(signs, -signs[0]))[:-1]
    model.fit(mixture * np.outer(signs, signs), signs)
    alpha = np.zeros(len(signs))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return alpha


def _energies(alpha: Array, gram: Array, labellings: Array) -> Array:
    """The quadratic form of each labelling."""
    signed = labellings * alpha
    return np.asarray(np.sum((signed @ gram) * signed, axis=1))


def _directions(gram: Array) -> Array:
    """Coordinates of the rows along the principal directions of the feature space."""
    values, vectors = eigh(gram)
    kept = values > 1e-8 * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def worst_labels(alpha: Array, gram: Array, directions: Array, bagged: BaggedRows) -> Array:
    """A labelling of the right shares with a large quadratic form.

    A convex function is to be maximised over labellings, which is hard in general. Yu et al. and Li
    et al. replace the norm of ``sum_i alpha_i y_i z_i`` by the largest of its coordinates, each of
    which is maximised by sorting within the bags. Here the best of these labellings is the start of
    an ascent: for the slope at the present labelling the best labelling is again found by sorting,
    and its quadratic form is no smaller.

    Parameters
    ----------
    alpha : ndarray of shape (n_samples,)
        Dual variables.
    gram : ndarray of shape (n_samples, n_samples)
        Kernel matrix.
    directions : ndarray of shape (n_samples, n_directions)
        Rows z_i with ``gram = Z Z^T``.
    bagged : BaggedRows
        The shares.

    Returns
    -------
    ndarray of shape (n_samples,)
        Labels.
    """
    slopes = alpha[:, None] * np.hstack([directions, -directions])
    tried = np.array([labels_of_shares(slope, bagged) for slope in slopes.T])
    energies = _energies(alpha, gram, tried)
    labels: Array = tried[int(np.argmax(energies))]
    energy = float(energies.max())
    for _ in range(ASCENTS):
        slope = alpha * (gram @ (alpha * labels))
        following = labels_of_shares(slope, bagged)
        rises = float(_energies(alpha, gram, following[None])[0])
        if not rises > energy * (1 + 1e-12):
            break
        labels, energy = following, rises
    return labels
