"""The proximal step of the rows solves its equation; duals are balanced, loops run in lockstep."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from strategies import costs, seeds

from psvm import LinearPSVC
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import LinearProblems
from psvm.solvers.linear.balance import balanced_dual
from psvm.solvers.linear.lockstep import in_lockstep
from psvm.solvers.linear.passes import BlockPasses, DualSums, Pass


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


# --- the dual of two classes, and many loops at once ---------------------------------------------


def dual_of(X, y, alpha, p):
    """The sums of rows with cost 1 by class."""
    slack = (alpha / p) ** (1.0 / (p - 1.0)) if p > 1.0 else 0.0 * alpha
    conjugate = alpha * slack * (p - 1.0) / p
    of_class = [y < 0, y > 0]
    total = np.array([alpha[rows].sum() for rows in of_class])
    return DualSums(
        image=np.array([alpha[rows] @ X[rows] for rows in of_class]),
        alpha=total,
        linear=total.copy(),
        conjugate=np.array([conjugate[rows].sum() for rows in of_class]),
    )


@pytest.mark.parametrize("heavier", [-1.0, 1.0])
@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_the_heavier_class_is_scaled_down(p, heavier):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.where(np.arange(30) % 3 == 0, heavier, -heavier)
    alpha = rng.uniform(size=30)
    zeros = np.zeros(5)
    value, factors = balanced_dual(dual_of(X, y, alpha, p), p, zeros, 0.0, True)
    balanced = alpha * np.where(y > 0, factors[1], factors[0])
    assert y @ balanced == pytest.approx(0.0, abs=1e-12)
    assert max(factors) == 1.0 > min(factors)
    sums, w = dual_of(X, y, balanced, p), (y * balanced) @ X
    expected = balanced.sum() - 0.5 * w @ w - sums.conjugate.sum()
    assert value == pytest.approx(expected, rel=1e-12)
    # Without an intercept nothing has to balance.
    value, factors = balanced_dual(dual_of(X, y, alpha, p), p, zeros, 0.0, False)
    sums, w = dual_of(X, y, alpha, p), (y * alpha) @ X
    assert factors == (1.0, 1.0)
    assert value == pytest.approx(alpha.sum() - 0.5 * w @ w - sums.conjugate.sum(), rel=1e-12)


def test_fixed_rows_count_in_the_balance():
    """Left out with their image and their total: as if they took part with a factor of 1."""
    rng = np.random.default_rng(1)
    X, y, alpha = rng.normal(size=(20, 3)), np.resize([1.0, -1.0], 20), rng.uniform(size=20)
    inside = np.arange(20) < 15
    fixed = np.append((y * alpha)[~inside] @ X[~inside], (y * alpha)[~inside].sum())
    sums = dual_of(X[inside], y[inside], alpha[inside], 1.0)
    value, factors = balanced_dual(sums, 1.0, fixed, alpha[~inside].sum(), True)
    scaled = np.where(inside, np.where(y > 0, factors[1], factors[0]), 1.0) * alpha
    w = (y * scaled) @ X
    assert y @ scaled == pytest.approx(0.0, abs=1e-12)
    assert value == pytest.approx(scaled.sum() - 0.5 * w @ w, rel=1e-12)


def test_no_dual_where_no_scaling_balances():
    fixed = np.array([0.0, 0.0, 0.0, 100.0])
    X, y = np.ones((4, 3)), np.array([1.0, 1.0, -1.0, -1.0])
    value, _ = balanced_dual(dual_of(X, y, np.ones(4), 1.0), 1.0, fixed, 0.0, True)
    assert value == -np.inf


def test_loops_in_lockstep_are_answered_together():
    """Each gets its own answers, and those that go on longer are answered alone."""

    def loop(t, rounds):
        heard = []
        for k in range(rounds):
            answered = yield t, k
            heard.append(answered)
        return heard

    asked = []

    def answer(orders):
        asked.append(sorted(orders))
        return {t: ("answer", *order) for t, order in orders.items()}

    outcomes = in_lockstep(answer, {t: loop(t, rounds) for t, rounds in ((0, 2), (3, 0), (5, 3))})
    assert outcomes == {
        0: [("answer", 0, 0), ("answer", 0, 1)],
        3: [],
        5: [("answer", 5, 0), ("answer", 5, 1), ("answer", 5, 2)],
    }
    assert asked == [[0, 5], [0, 5], [5]]


def test_numpys_error_state_is_left_as_it_was():
    """Problems in lockstep leave their loops in another order than they entered them."""
    X, y = load_iris(return_X_y=True)
    before = np.geterr()
    LinearPSVC(multi_class="ovr", solver="semismooth_newton").fit(X, y)
    assert np.geterr() == before


def test_a_loop_that_ends_does_not_bring_back_the_warnings_of_others():
    """Overflows far from the solution are silent until the last loop ends, and then no longer."""

    def loop(rounds):
        for _ in range(rounds):
            yield None
        return float(np.float64(1e200) * np.float64(1e200))

    before = np.geterr()
    outcomes = in_lockstep(lambda orders: dict.fromkeys(orders), {0: loop(0), 1: loop(3)})
    assert outcomes == {0: np.inf, 1: np.inf}
    assert np.geterr() == before
