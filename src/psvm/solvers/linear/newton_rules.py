"""The rules of the Newton loop: sigma, patience, damping, line search."""

from __future__ import annotations

import numpy as np

# Iterations: a large p takes about p, separable classes at a large C up to 200.
MAX_ITERATIONS = 2000
# ... of them with an infinite primal in a row, before that is no way to a finite one any more.
MOST_INFINITE = 200
# Start of sigma in units of 1 / ||x||^2: 1 to 1000 measured alike, none at all twice as slow.
_SCALE = 10.0


def growth(p: float) -> tuple[float, float]:
    """Growth of sigma per outer step, and how exactly the inner problem is solved before it."""
    return (3.0, 0.1) if p == 1.0 else (5.0, 0.5)


def first_sigma(p: float, typical_cost: float, largest: float) -> float:
    """Sigma of a cold start, given the largest squared norm of a row."""
    if p >= 2.0:
        return np.inf
    # Where the cost never binds, the rows set the scale of alpha.
    return min(typical_cost, _SCALE / largest) * (0.5 if p == 1.0 else 1.0)


def trust_in(gap: float) -> float:
    """Factor of sigma at a start of this relative gap: it is off by some sqrt(gap) only."""
    return float(1.0 / np.sqrt(np.clip(gap, 1e-12, 1.0)))


def patience(gap: float, exact: bool) -> int:
    """Iterations without gain to wait: far away it may take long before any gap is proved.

    ``exact`` is a gap that is not the difference of P and D: 1e-15 of it is not rounding.
    """
    if exact and gap <= 1e-15:
        return 1
    return 4 if gap <= 1e-11 else 15 if gap <= 1e-6 else 100


def intercept_damping(weight: float, unbalanced: float, typical_cost: float) -> float:
    """Curvature of b where no row answers to it, and just above rounding elsewhere.

    ``weight`` is the sum of W, ``unbalanced`` the slope in b.
    """
    few = weight < 1e-9 * typical_cost
    return 1e-13 * (weight + typical_cost) + 1e-3 * abs(unbalanced) * few


class SlopeSearch:
    """Line search on the slope of a convex function along a direction, from the step 1.

    Done when the slope is at most half of the first one in size: bracket, then secants.
    """

    def __init__(self, first: float) -> None:
        self.first = first
        self.low, self.at_low = 0.0, first
        self.high, self.at_high = np.inf, 0.0
        self.step = 1.0
        self.tries = 0

    def done(self, slope: float) -> bool:
        """Whether the present step will do, given the slope there; if not, there is a new step."""
        if not np.isfinite(slope):
            slope = np.inf  # where a large power overflows, the loss is climbing
        self.tries += 1
        if self.first >= 0.0 or abs(slope) <= 0.5 * abs(self.first) or self.tries > 60:
            return True
        if slope < 0.0:
            self.low, self.at_low = self.step, slope
        else:
            self.high, self.at_high = self.step, slope
        if np.isinf(self.high):
            self.step *= 4.0
        elif np.isinf(self.at_high):
            self.step = 0.5 * (self.low + self.high)
        else:
            width = self.high - self.low
            secant = self.low - self.at_low * width / (self.at_high - self.at_low)
            self.step = min(max(secant, self.low + 0.05 * width), self.high - 0.05 * width)
        return False
