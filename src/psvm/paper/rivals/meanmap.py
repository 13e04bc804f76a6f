r"""MeanMap: logistic regression with an estimated mean (Quadrianto, Smola, Caetano and Le 2009).

Logistic regression sees the labels through one sum only. For labels :math:`y_i = \pm 1` and scores
:math:`s_i = \langle w, \phi(x_i) \rangle + b`

.. math::

    \sum_i \log(1 + e^{-y_i s_i}) = \sum_i \log(2 \cosh \tfrac{s_i}{2})
    - \tfrac12 \sum_i y_i s_i, \qquad
    \sum_i y_i s_i = n \bigl( \pi_+ s(m_+) - \pi_- s(m_-) \bigr)

with the shares :math:`\pi_\pm` of the classes and the means :math:`m_\pm` of their rows, and
:math:`s(m) = \langle w, m \rangle + b`. If the rows of a class are spread alike in every bag, the
mean of bag k is :math:`\mu_k = \pi_k m_+ + (1 - \pi_k) m_-`. MeanMap solves this for
:math:`m_\pm` by least squares over the bags, puts them into the right side, and minimises

.. math::

    \tfrac12 \lVert w \rVert^2 + C \Bigl[ \sum_i \log(2 \cosh \tfrac{s_i}{2})
    - \tfrac{n}{2} \bigl( \pi_+ s(m_+) - \pi_- s(m_-) \bigr) \Bigr].

With bags of one row it is logistic regression. If all bags have one share, the means cannot be told
apart; those of least norm are taken then, and the model is of no use.

The authors have the penalty :math:`\lambda \lVert \theta \rVert^2` and no intercept of its own;
here :math:`C` stands for :math:`1 / (2 \lambda)` and the intercept is free.

References
----------
Quadrianto, N., Smola, A. J., Caetano, T. S., and Le, Q. V. (2009). Estimating labels from label
proportions. Journal of Machine Learning Research 10, 2349-2374.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.special import expit

from psvm.paper.rivals.label_proportions import (
    Array,
    BaggedRows,
    LabelProportionClassifier,
    means_by_bag,
)

# Directions of the feature space below this share of the largest are rounding.
NEGLIGIBLE = 1e-10


class MeanMap(LabelProportionClassifier):
    """MeanMap of Quadrianto et al.; the module gives its formula.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss.
    kernel : {"linear", "rbf"}, default="linear"
        The kernel.
    gamma : float or "scale", default="scale"
        Width of the Gaussian kernel.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Literal["linear", "rbf"] = "linear",
        gamma: float | Literal["scale"] = "scale",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma

    def _solve(self, gram: Array, bagged: BaggedRows) -> tuple[Array, float]:
        # gram = features @ features.T: the solution lies in the span of the rows.
        values, vectors = eigh(gram)
        kept = values > NEGLIGIBLE * max(values[-1], 1.0)
        roots = np.sqrt(values[kept])
        features = vectors[:, kept] * roots
        signed_mean = estimated_sum(features, bagged)

        def objective(weights: Array) -> tuple[float, Array]:
            scores = features @ weights[:-1] + weights[-1]
            half = np.abs(scores) / 2
            loss = np.sum(half + np.log1p(np.exp(-2 * half))) - 0.5 * signed_mean @ weights
            slope = expit(scores) - 0.5
            gradient = self.C * np.append(features.T @ slope, slope.sum())
            gradient -= 0.5 * self.C * signed_mean
            gradient[:-1] += weights[:-1]
            return 0.5 * float(weights[:-1] @ weights[:-1]) + self.C * float(loss), gradient

        found = minimize(
            objective,
            np.zeros(features.shape[1] + 1),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 5000, "gtol": 1e-7, "ftol": 1e-15},
        ).x
        return vectors[:, kept] @ (found[:-1] / roots), float(found[-1])


def estimated_sum(features: Array, bagged: BaggedRows) -> Array:
    """The estimate of the sum of ``y_i (x_i, 1)`` over all rows.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
        Rows.
    bagged : BaggedRows
        Their bags and shares.

    Returns
    -------
    ndarray of shape (n_features + 1,)
        Exact if every bag's mean is that of its classes.
    """
    sizes = np.bincount(bagged.bags)
    mixture = np.column_stack([bagged.shares, 1.0 - bagged.shares])
    class_means = np.linalg.lstsq(mixture, means_by_bag(features, bagged.bags), rcond=None)[0]
    rows = sizes @ mixture
    return np.append(rows[0] * class_means[0] - rows[1] * class_means[1], rows[0] - rows[1])
