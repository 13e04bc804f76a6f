"""prox.hpp against bisection in extended precision, one row at a time through a pass."""

import numpy as np
import pytest
from slow_prox import WIDE, conjugate_of, loss_of, slow_prox

from psvm import _core

# One of each kind of prox.hpp, and exponents near their borders.
BELOW_TWO = [1.001, 1.1, 1.5, 1.75, 1.999]
FROM_TWO = [2.0, 2.001, 2.5, 3.0, 10.0]
TINY = 1e-290


def proxes(shortfall, centre, cost, p, sigma, *, hard=False):
    """alpha, W, loss and conjugate of every row: its margin is 0 and its goal the shortfall."""
    n = shortfall.size
    codes, signs = np.zeros(n, dtype=np.int32), np.array([1], dtype=np.int8)
    rows = _core.BlockRows.dense(np.ones((n, 1)))
    shares = [
        _core.BlockShare(np.array([i], dtype=np.int32), codes, cost, signs, target=shortfall)
        for i in range(n)
    ]
    orders = []
    for share, a in zip(shares, centre, strict=True):
        share.centre[:] = a
        envelope = _core.Envelope(p, sigma, hard)
        orders.append(_core.PassOrder(share, "begin", envelope, direction=np.zeros(1)))
    sums = rows.run(orders, 1)
    values = [
        (share.alpha[0], share.weight[0], found["loss"], found["dual"]["conjugate"][1])
        for share, found in zip(shares, sums, strict=True)
    ]
    return np.array(values).T


def cases(p, sigma, cost, seed=0):
    """Shortfalls over 16 decades and both signs, and at 0; centres of the size alpha may have."""
    size = np.concatenate([[0.0], np.geomspace(1e-12, 1e4, 33)])
    s = np.concatenate([-size, size])
    rng = np.random.default_rng(seed)
    largest = cost if p == 1.0 else p * cost * np.maximum(np.abs(s), 1e-3) ** (p - 1.0)
    centre = rng.uniform(0.0, 1.0, s.size) * largest * rng.integers(0, 2, s.size)
    return s, centre, np.full(s.size, cost)


def check(s, centre, cost, p, sigma, tolerance, *, hard=False):
    """All four values, to a relative tolerance; W by finite differences."""
    alpha, weight, loss, conjugate = proxes(s, centre, cost, p, sigma, hard=hard)
    expected = slow_prox(s, centre, cost, p, sigma, hard=hard)

    def close(found, wanted, where=True):
        wanted = np.asarray(wanted, float)
        off = np.abs(found - wanted) > tolerance * np.abs(wanted) + TINY
        assert not np.any(off & where), (s[off], found[off], wanted[off])

    close(alpha, expected)
    lost = 0.0 * s if hard else loss_of(s, cost, p)
    close(loss, lost)
    close(conjugate, 0.0 * s if hard else conjugate_of(expected, cost, p))
    # The prox has one scale, t = centre / sigma + s; at p = 1 it has kinks, where W may be either.
    t = np.asarray(s, WIDE) + np.asarray(centre, WIDE) / WIDE(sigma)
    step = WIDE(1e-6) * np.abs(t)
    ahead, behind = (slow_prox(s + h, centre, cost, p, sigma, hard=hard) for h in (step, -step))
    smooth = (t > 0) & (behind > 0) & ((p > 1) | (ahead < cost) | (behind >= cost))
    with np.errstate(invalid="ignore"):
        slope = np.where(smooth, (ahead - behind) / (2 * step), 0)
    tolerance = max(tolerance, 1e-8)
    close(weight, slope, smooth & (np.abs(t) > 1e-11 * np.abs(s)))
    assert np.all(weight[t < 0] == 0.0)


@pytest.mark.parametrize("cost", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("sigma", [1e-6, 1.0, 1e9])
@pytest.mark.parametrize("p", BELOW_TWO)
def test_below_two(p, sigma, cost):
    check(*cases(p, sigma, cost), p, sigma, 1e-11 / (p - 1.0))


@pytest.mark.parametrize("cost", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("sigma", [1e-6, 1.0, 1e9])
def test_one(sigma, cost):
    check(*cases(1.0, sigma, cost), 1.0, sigma, 1e-13)


@pytest.mark.parametrize("sigma", [1e-6, 1.0, 1e9])
def test_hard_margin(sigma):
    """No upper bound, no loss."""
    s, centre, _ = cases(1.0, sigma, 1.0)
    check(s, centre, np.full(s.size, np.inf), 1.0, sigma, 1e-13, hard=True)


@pytest.mark.parametrize("cost", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("p", FROM_TWO)
def test_from_two(p, cost):
    """The loss itself: sigma is infinite and the centre does not matter."""
    check(*cases(p, np.inf, cost), p, np.inf, 1e-12 * p)
