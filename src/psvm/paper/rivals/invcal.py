r"""InvCal: regression on the bags' means, by inverse calibration (Rüping 2010).

Platt's calibration says that a score s belongs to a probability :math:`1 / (1 + e^{-s})`. Turned
round, a bag with the share :math:`\pi_k` of class +1 ought to have the score
:math:`t_k = -\log(1 / \pi_k - 1)` on average, and the score is linear, so it is that of the bag's
mean :math:`\mu_k` of the :math:`\phi(x_i)`:

.. math::

    \min_{w, b} \; \tfrac12 \lVert w \rVert^2 + C \sum_k \max(0, \lvert t_k - \langle w, \mu_k
    \rangle - b \rvert - \varepsilon).

That is support vector regression on the means, done by :class:`psvm.PSVR` with p = 1. Shares are
moved into :math:`[\delta, 1 - \delta]` first, since those of 0 and 1 have no finite score.

References
----------
Rüping, S. (2010). SVM classifier estimation from group probabilities. Proceedings of the 27th
International Conference on Machine Learning, 911-918.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import logit

from psvm.estimators.svr import PSVR
from psvm.paper.rivals.label_proportions import (
    Array,
    BaggedRows,
    LabelProportionClassifier,
    means_by_bag,
)


class InvCal(LabelProportionClassifier):
    """InvCal of Rüping; the module gives its formula.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a bag that is not in the tube.
    epsilon : float, default=0.01
        Half the width of the tube, in units of the score.
    clip : float, default=0.01
        Shares are moved into ``[clip, 1 - clip]``.
    kernel : {"linear", "rbf"}, default="linear"
        The kernel.
    gamma : float or "scale", default="scale"
        Width of the Gaussian kernel.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.01,
        clip: float = 0.01,
        kernel: Literal["linear", "rbf"] = "linear",
        gamma: float | Literal["scale"] = "scale",
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.clip = clip
        self.kernel = kernel
        self.gamma = gamma

    def _solve(self, gram: Array, bagged: BaggedRows) -> tuple[Array, float]:
        if not 0 < self.clip < 0.5:
            raise ValueError(f"`clip` must be in (0, 0.5), got {self.clip!r}.")
        sizes = np.bincount(bagged.bags)
        means = means_by_bag(means_by_bag(gram, bagged.bags).T, bagged.bags)
        target = logit(np.clip(bagged.shares, self.clip, 1 - self.clip))
        model = PSVR(p=1.0, C=self.C, epsilon=self.epsilon, kernel="precomputed", n_jobs=1)
        model.fit(means, target)
        of_bags = np.zeros(len(sizes))
        of_bags[model.support_] = model.dual_coef_[0]
        return (of_bags / sizes)[bagged.bags], float(model.intercept_[0])
