"""The rules of the Newton loop: what they promise of sigma, patience, damping and steps."""

import numpy as np
import pytest

from psvm.solvers.linear.newton_rules import (
    SlopeSearch,
    first_sigma,
    growth,
    intercept_damping,
    patience,
    trust_in,
)


def test_smooth_losses_need_no_envelope():
    assert first_sigma(2.0, 1.0, 1.0) == first_sigma(3.0, 0.1, 5.0) == np.inf
    assert np.isfinite(first_sigma(1.0, 1.0, 1.0))


def test_sigma_has_the_units_of_alpha():
    """It grows with the cost as long as that binds, and falls with the size of the rows."""
    for p in (1.0, 1.5):
        assert first_sigma(p, 2e-3, 1.0) == pytest.approx(2.0 * first_sigma(p, 1e-3, 1.0))
        assert first_sigma(p, 1e9, 1.0) == first_sigma(p, 1e6, 1.0)
        assert first_sigma(p, 1e9, 4.0) == pytest.approx(first_sigma(p, 1e9, 1.0) / 4.0)
    for p in (1.0, 1.2, 1.9):
        factor, exactness = growth(p)
        assert factor > 1.0
        assert 0.0 < exactness < 1.0


def test_a_good_start_is_trusted():
    gaps = [1.0, 1e-2, 1e-6, 1e-20]
    factors = [trust_in(gap) for gap in gaps]
    assert factors == sorted(factors)
    assert factors[0] == 1.0 == trust_in(7.0)
    assert factors[2] == pytest.approx(1e3)
    assert np.isfinite(trust_in(0.0))


def test_patience_ends_near_the_solution():
    waits = [patience(gap, exact=False) for gap in (1.0, 1e-7, 1e-12)]
    assert waits == sorted(waits, reverse=True)
    assert patience(1e-16, exact=True) == 1 < patience(1e-16, exact=False)


def test_the_intercept_is_damped_where_no_row_answers():
    assert intercept_damping(1.0, 5.0, 1.0) < 1e-12
    assert intercept_damping(0.0, 5.0, 1.0) == pytest.approx(5e-3)
    assert intercept_damping(0.0, -5.0, 1.0) == pytest.approx(5e-3)
    assert intercept_damping(0.0, 0.0, 1.0) > 0.0


CONVEX = {
    "quadratic": lambda t: t - 0.3,
    "far": lambda t: t - 1e4,
    "steep": lambda t: 1e6 * (t - 1e-3),
    "kinked": lambda t: -1.0 if t < 0.01 else 100.0 * (t - 0.0101) - 0.5,
    "high power": lambda t: (t / 1e-2) ** 9 - 1.0,
    "exponential": lambda t: np.exp(20.0 * t) - 5.0,
}


@pytest.mark.parametrize("name", CONVEX)
def test_a_step_halves_the_slope_at_least(name):
    """Of any convex function that has a minimum, in few evaluations."""
    slope = CONVEX[name]
    search = SlopeSearch(slope(0.0))
    while not search.done(slope(search.step)):
        pass
    assert abs(slope(search.step)) <= 0.5 * abs(slope(0.0))
    assert search.tries <= 40


def test_where_a_power_overflows_the_step_is_too_long():
    def slope(t):
        return np.inf if t > 1e-3 else np.nan if t > 5e-4 else t / 1e-4 - 1.0

    search = SlopeSearch(slope(0.0))
    while not search.done(slope(search.step)):
        pass
    assert search.step <= 2e-4


def test_without_descent_there_is_no_search():
    search = SlopeSearch(0.0)
    assert search.done(5.0)
    assert search.step == 1.0


def test_a_search_ends_where_there_is_no_minimum():
    search = SlopeSearch(-1.0)
    with np.errstate(over="ignore"):
        while not search.done(-1.0):
            pass
    assert search.tries == 61
