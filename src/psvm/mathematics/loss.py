"""The p-norm hinge loss, its conjugate, and the link between slack and dual variable.

Everything the paper writes with ``theta`` and ``gamma`` is here under one notation:

=====================  ==========================================================
here                   meaning
=====================  ==========================================================
``p``                  loss exponent, any real number >= 1
``q = p / (p - 1)``    conjugate exponent (the paper's gamma)
``xi``                 slack, ``max(0, 1 - margin)``
``alpha``              dual variable
``cost``               ``C_i``: ``C`` times class weight times sample weight
=====================  ==========================================================

The paper's ``theta = C^(1-q) p^(-q) (p-1)`` overflows near p = 1 and is never formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PNormHinge:
    """The loss ``cost * max(0, 1 - margin) ** p`` and its convex conjugate.

    Parameters
    ----------
    p : float
        Exponent, ``p >= 1``. At ``p = 1`` the conjugate is the indicator of
        ``0 <= alpha <= cost``.

    Notes
    -----
    An infinite cost is the hard margin for every ``p``: the loss is 0 for ``xi = 0`` and
    infinite elsewhere, and the conjugate vanishes for every ``alpha >= 0``.
    """

    p: float

    @property
    def q(self) -> float:
        """Conjugate exponent ``p / (p - 1)``; infinite at ``p = 1``."""
        return self.p / (self.p - 1.0) if self.p > 1.0 else np.inf

    def value(self, xi: Array, cost: Array) -> Array:
        """Loss ``cost * xi ** p``."""
        xi = np.maximum(xi, 0.0)
        with np.errstate(invalid="ignore", over="ignore"):
            loss = cost * xi**self.p
        return np.where(xi > 0.0, loss, 0.0)

    def alpha_of(self, xi: Array, cost: Array) -> Array:
        """Dual variable of a slack: ``p * cost * xi ** (p - 1)``, the slope of the loss.

        At ``p = 1`` the slope is ``cost`` wherever ``xi > 0``; at the kink any value in
        ``[0, cost]`` is one, and 0 is returned.
        """
        xi = np.maximum(xi, 0.0)
        if self.p == 1.0:
            return np.where(xi > 0.0, cost, 0.0)
        with np.errstate(over="ignore"):
            return self.p * cost * xi ** (self.p - 1.0)

    def slack_of(self, alpha: Array, cost: Array) -> Array:
        """Slack of a dual variable: ``(alpha / (p * cost)) ** (1 / (p - 1))``.

        This is the derivative of :meth:`conjugate` and the paper's
        ``theta * gamma * alpha ** (gamma - 1)``. It is 0 at ``p = 1``.
        """
        alpha = np.asarray(alpha, dtype=np.float64)
        if self.p == 1.0:
            return np.zeros_like(alpha)
        with np.errstate(over="ignore"):
            return (np.maximum(alpha, 0.0) / (self.p * cost)) ** (1.0 / (self.p - 1.0))

    def slack_slope(self, alpha: Array, cost: Array) -> Array:
        """Derivative of :meth:`slack_of`; infinite at ``alpha = 0`` for ``p > 2``."""
        alpha = np.asarray(alpha, dtype=np.float64)
        if self.p == 1.0:
            return np.zeros_like(alpha)
        power = 1.0 / (self.p - 1.0)
        with np.errstate(divide="ignore", over="ignore"):
            ratio = np.maximum(alpha, 0.0) / (self.p * cost)
            return power * ratio ** (power - 1.0) / (self.p * cost)

    def conjugate(self, alpha: Array, cost: Array) -> Array:
        """Convex conjugate ``alpha * slack_of(alpha) / q``: the paper's ``theta * alpha ** gamma``.

        For ``p = 1`` it is 0 on ``[0, cost]``. Outside its domain it is infinite.
        """
        alpha = np.asarray(alpha, dtype=np.float64)
        if self.p == 1.0:
            inside = (alpha >= 0.0) & (alpha <= cost)
            return np.where(inside, 0.0, np.inf)
        with np.errstate(over="ignore"):
            value = alpha * self.slack_of(alpha, cost) / self.q
        return np.where(alpha >= 0.0, value, np.inf)
