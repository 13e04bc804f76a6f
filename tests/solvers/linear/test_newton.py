"""The proximal step of the rows solves its equation; the rules of the loop do what they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import costs, seeds

from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import LinearProblems
from psvm.solvers.linear.newton_rules import SlopeSearch
from psvm.solvers.linear.newton_state import Progress
from psvm.solvers.linear.passes import BlockPasses, Pass


def prox(margin, sigma, C, p):
    """Alpha and W of rows with the given margins, around the centre 0 (y = 1, w = 1)."""
    n = margin.size
    problems = LinearProblems(
        np.array([[1]], dtype=np.int8), np.zeros(n, dtype=np.int32), np.full(n, C), PNormHinge(p)
    )
    passes = BlockPasses([np.ascontiguousarray(margin[:, None])], problems, [0], threads=1)
    passes.answer({0: Pass("begin", sigma, direction=np.ones(1), centre="zero")})
    share = passes.shares[0][0]
    return np.array(share.alpha), np.array(share.weight)


@given(st.sampled_from([1.001, 1.01, 1.5]) | st.floats(1.001, 1.999), costs, costs, seeds)
def test_prox_solves_its_equation(p, C, sigma, seed):
    """alpha = sigma (t - slack_of(alpha)) for t = 1 - margin > 0, and alpha = 0 for t <= 0."""
    t = np.random.default_rng(seed).normal(size=40) * 3
    cost, loss = np.full(40, C), PNormHinge(p)
    alpha, weight = prox(1.0 - t, sigma, C, p)
    assert np.all(alpha >= 0.0)
    assert np.all(alpha[t <= 0] == 0.0)
    inside = t > 1e-9
    slack = loss.slack_of(alpha[inside], cost[inside])
    assert alpha[inside] / sigma + slack == pytest.approx(t[inside], rel=1e-9 + 1e-12 / (p - 1))
    assert np.all(weight >= 0.0)
    assert np.all(weight <= sigma * (1 + 1e-12))


@pytest.mark.parametrize("p", [2.0, 2.5, 3.0, 10.0])
def test_smooth_losses_need_no_centre(p):
    """From p = 2 on sigma is infinite: alpha is that of the slack."""
    xi = np.linspace(-1.0, 3.0, 17)
    alpha, _ = prox(1.0 - xi, np.inf, 2.0, p)
    assert alpha == pytest.approx(PNormHinge(p).alpha_of(xi, np.full(17, 2.0)), rel=1e-12)


@given(st.sampled_from([1.25, 1.5, 2.0, 3.0]), costs, costs)
def test_prox_slope_is_a_derivative(p, C, sigma):
    """W = d alpha / d t, by central differences."""
    t, step = np.linspace(0.2, 3.0, 12), 1e-6
    sigma = np.inf if p >= 2.0 else sigma
    high, low = (prox(1.0 - t - sign * step, sigma, C, p)[0] for sign in (1, -1))
    _, weight = prox(1.0 - t, sigma, C, p)
    assert weight == pytest.approx((high - low) / (2 * step), rel=1e-4)


def test_prox_of_the_hinge_is_a_clip():
    """At p = 1: sigma t clipped to [0, cost]."""
    alpha, weight = prox(np.array([2.0, 0.75, -1.0]), 2.0, 1.0, 1.0)
    assert alpha.tolist() == [0.0, 0.5, 1.0]
    assert weight.tolist() == [0.0, 2.0, 0.0]


@pytest.mark.parametrize("root", [1e-3, 0.4, 1.0, 30.0])
def test_slope_search_halves_the_slope(root):
    """Of a convex function with a kink in its slope."""

    def slope(s):
        return min(s - root, 10.0 * (s - root))

    search = SlopeSearch(slope(0.0))
    while not search.done(slope(search.step)):
        pass
    assert abs(slope(search.step)) <= 0.5 * abs(slope(0.0))
    assert search.tries < 20


def test_progress_counts_idle_iterations():
    """Far away a falling primal is a gain; near the solution only the gap is."""
    progress = Progress()
    for primal in (3.0, 2.0, 1.0):
        progress.note(primal, 1.0, new_sigma=False, gained=False, near=False)
    assert progress.idle == 0
    progress.note(0.5, 0.5, new_sigma=False, gained=False, near=True)
    assert progress.idle == 1
    progress.note(0.5, 0.5, new_sigma=False, gained=False, near=False)
    assert progress.idle == 2
    progress.note(0.5, 0.5, new_sigma=False, gained=True, near=True)
    assert progress.idle == 0
