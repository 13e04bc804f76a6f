"""The loss, its slope and its conjugate satisfy the identities that make the dual a dual."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import LISTED_P, costs, exponents, slacks

from psvm.mathematics.loss import PNormHinge


def scalar(method, *values):
    """Call a vectorised method with numbers."""
    return float(method(*(np.array([float(value)]) for value in values))[0])


@given(exponents(), costs, st.floats(-2, 3), st.floats(-2, 3), st.floats(0, 1))
def test_loss_is_convex(p, cost, left, right, t):
    """value(t a + (1-t) b) <= t value(a) + (1-t) value(b), also across the kink at 0."""
    loss = PNormHinge(p)
    chord = t * scalar(loss.value, left, cost) + (1 - t) * scalar(loss.value, right, cost)
    assert scalar(loss.value, t * left + (1 - t) * right, cost) <= chord * (1 + 1e-12) + 1e-300


@given(exponents(1.05), costs, st.floats(0, 5), st.floats(0, 5), st.floats(0, 1))
def test_conjugate_is_convex(p, cost, left, right, t):
    """The conjugate of any function is convex."""
    loss = PNormHinge(p)
    left, right = left * cost, right * cost
    chord = t * scalar(loss.conjugate, left, cost) + (1 - t) * scalar(loss.conjugate, right, cost)
    middle = scalar(loss.conjugate, t * left + (1 - t) * right, cost)
    assert middle <= chord * (1 + 1e-12) + 1e-300


@given(exponents(), costs, slacks, st.floats(0, 5))
def test_fenchel_young_inequality(p, cost, xi, ratio):
    """value(xi) + conjugate(alpha) >= alpha xi for every slack and every dual variable."""
    loss, alpha = PNormHinge(p), ratio * cost
    total = scalar(loss.value, xi, cost) + scalar(loss.conjugate, alpha, cost)
    assert total >= alpha * xi * (1 - 1e-12)


@given(exponents(1.001), costs, st.floats(1e-3, 10))
def test_fenchel_young_equality_at_the_slope(p, cost, xi):
    """Equality holds exactly at alpha = slope of the loss: there the duality gap closes."""
    loss = PNormHinge(p)
    alpha = scalar(loss.alpha_of, xi, cost)
    total = scalar(loss.value, xi, cost) + scalar(loss.conjugate, alpha, cost)
    assert total == pytest.approx(alpha * xi, rel=1e-9)


@given(exponents(1.001), costs, st.floats(1e-3, 10), st.floats(0.5, 2))
def test_fenchel_young_is_strict_elsewhere(p, cost, xi, ratio):
    """Away from the slope the inequality is strict, so that the gap cannot close by mistake."""
    assume(abs(ratio - 1) > 0.05)
    loss = PNormHinge(p)
    alpha = ratio * scalar(loss.alpha_of, xi, cost)
    total = scalar(loss.value, xi, cost) + scalar(loss.conjugate, alpha, cost)
    assert total > alpha * xi * (1 + 1e-7)


@given(exponents(1.001), costs, st.floats(1e-3, 10))
def test_slack_of_inverts_alpha_of(p, cost, xi):
    """slack_of is the inverse of alpha_of (up to the conditioning 1/(p-1) of the inverse)."""
    loss = PNormHinge(p)
    back = scalar(loss.slack_of, scalar(loss.alpha_of, xi, cost), cost)
    assert back == pytest.approx(xi, rel=1e-14 / (p - 1) + 1e-13)


@given(exponents(1.1), costs, st.floats(0.05, 5))
def test_slope_is_the_derivative_of_the_loss(p, cost, xi):
    """alpha_of agrees with a central difference of value."""
    loss, step = PNormHinge(p), 1e-5 * xi
    high, low = (scalar(loss.value, xi + sign * step, cost) for sign in (1, -1))
    assert scalar(loss.alpha_of, xi, cost) == pytest.approx((high - low) / (2 * step), rel=1e-5)


@given(exponents(1.1), costs, st.floats(0.05, 5))
def test_slack_of_is_the_derivative_of_the_conjugate(p, cost, ratio):
    """slack_of agrees with a central difference of conjugate."""
    loss, alpha = PNormHinge(p), ratio * cost
    step = 1e-5 * alpha
    high, low = (scalar(loss.conjugate, alpha + sign * step, cost) for sign in (1, -1))
    assert scalar(loss.slack_of, alpha, cost) == pytest.approx((high - low) / (2 * step), rel=1e-5)


@given(exponents(1.1), costs, st.floats(0.05, 5))
def test_slack_slope_is_the_derivative_of_slack_of(p, cost, ratio):
    """slack_slope agrees with a central difference of slack_of."""
    loss, alpha = PNormHinge(p), ratio * cost
    step = 1e-5 * alpha
    high, low = (scalar(loss.slack_of, alpha + sign * step, cost) for sign in (1, -1))
    difference = (high - low) / (2 * step)
    assert scalar(loss.slack_slope, alpha, cost) == pytest.approx(difference, rel=1e-5)


@pytest.mark.parametrize("p", LISTED_P)
def test_conjugate_is_the_supremum(p):
    """conjugate(alpha) = sup over xi of alpha xi - value(xi), searched on a fine grid."""
    loss, cost, alpha = PNormHinge(p), 0.7, 0.9 * 0.7
    xi = np.concatenate([np.geomspace(1e-9, 1e-2, 20_001), np.linspace(0.01, 5, 200_001)])
    supremum = np.max(alpha * xi - loss.value(xi, np.full(xi.size, cost)))
    assert scalar(loss.conjugate, alpha, cost) == pytest.approx(supremum, abs=1e-8)


def test_hinge_conjugate_is_an_indicator():
    """At p = 1 the conjugate is 0 on [0, cost] and infinite outside."""
    loss = PNormHinge(1.0)
    alpha = np.array([-0.1, 0.0, 0.5, 1.0, 1.1])
    assert loss.conjugate(alpha, np.ones(5)).tolist() == [np.inf, 0.0, 0.0, 0.0, np.inf]


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_negative_dual_variables_are_outside_the_domain(p):
    """The loss does not grow for negative slack, hence conjugate(alpha < 0) is infinite."""
    assert scalar(PNormHinge(p).conjugate, -1e-9, 1.0) == np.inf


@pytest.mark.parametrize("p", LISTED_P)
def test_infinite_cost_is_the_hard_margin(p):
    """No loss at slack 0, infinite loss beyond, and a conjugate that vanishes."""
    loss = PNormHinge(p)
    assert scalar(loss.value, 0.0, np.inf) == 0.0
    assert scalar(loss.value, 0.1, np.inf) == np.inf
    assert scalar(loss.conjugate, 3.0, np.inf) == 0.0


def test_nothing_overflows_near_p_1():
    """p = 1.001, C = 0.1: the paper's theta is 0.1^(-1000) = inf; the product form stays finite."""
    loss, cost = PNormHinge(1.001), np.full(3, 0.1)
    xi = np.array([0.0, 0.5, 1.9])
    with np.errstate(over="raise", invalid="raise"):
        alpha = loss.alpha_of(xi, cost)
        conjugate = loss.conjugate(alpha, cost)
        slack = loss.slack_of(alpha, cost)
    assert np.all(np.isfinite(conjugate))
    assert slack == pytest.approx(xi, rel=1e-9)
    assert conjugate[2] == pytest.approx(alpha[2] * xi[2] * 0.001 / 1.001, rel=1e-9)


@pytest.mark.parametrize("p", [1.001, 1.5, 50.0])
def test_q_is_the_conjugate_exponent(p):
    """1/p + 1/q = 1."""
    assert 1 / p + 1 / PNormHinge(p).q == pytest.approx(1.0)


def test_loss_tends_to_the_hinge():
    """As p decreases to 1 the loss tends to cost * xi, at every slack."""
    xi, cost = np.linspace(0, 3, 7), np.ones(7)
    distance = [np.abs(PNormHinge(p).value(xi, cost) - xi).max() for p in (1.1, 1.01, 1.001, 1.0)]
    assert distance == sorted(distance, reverse=True)
    assert distance[-1] == 0.0
