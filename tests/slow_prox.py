"""The prox of one row by bisection in extended precision; nothing here imports psvm."""

from __future__ import annotations

import numpy as np

WIDE = np.longdouble


def slow_prox(shortfall, centre, cost, p, sigma, *, hard=False):
    """The argmax over alpha of ``alpha s - conjugate(alpha) - (alpha - centre)^2 / (2 sigma)``.

    Bisection of the derivative over the decades of alpha, row by row; an infinite sigma leaves the
    last term out. ``hard``: without a conjugate or an upper bound.
    """
    s, a, cost = (np.asarray(v, WIDE) for v in np.broadcast_arrays(shortfall, centre, cost))

    def slope(alpha):  # of the function to maximise
        value = s - (alpha - a) / WIDE(sigma) if np.isfinite(sigma) else s
        return value - slack_of(alpha, cost, p) if p > 1 else value

    low, high = np.full(s.shape, WIDE("1e-1000")), np.full(s.shape, WIDE("1e1000"))
    if p == 1 and not hard:
        high = np.minimum(high, cost)
    with np.errstate(over="ignore"):
        at_bound = slope(high) >= 0
        for _ in range(100):
            middle = np.sqrt(low) * np.sqrt(high)
            rising = slope(middle) > 0
            low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        return np.where(slope(WIDE(0) * s) <= 0, 0.0, np.where(at_bound, cost, high))


def slack_of(alpha, cost, p):
    """``(alpha / (p cost))^(1 / (p - 1))``."""
    return (alpha / (WIDE(p) * cost)) ** (WIDE(1) / (WIDE(p) - 1))


def loss_of(shortfall, cost, p):
    """``cost max(0, s)^p``."""
    return cost * np.maximum(np.asarray(shortfall, WIDE), 0) ** WIDE(p)


def conjugate_of(alpha, cost, p):
    """``(p - 1) / p alpha slack_of(alpha)``; 0 at p = 1."""
    if p == 1:
        return 0 * alpha
    return (WIDE(p) - 1) / WIDE(p) * alpha * slack_of(np.asarray(alpha, WIDE), cost, p)
