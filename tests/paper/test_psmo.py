"""pSMO: every formula against its meaning, the loop against PSVC's optimum.

The dual objective is the oracle's, which imports nothing from psvm.
"""

import math
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import dual_objective
from scipy.optimize import brentq
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from small_data import noisy, separable
from strategies import costs, dual_points

from psvm import PSVC
from psvm.paper import psmo
from psvm.paper.psmo import Pair, Penalty

EXPONENTS = (1.0, 1.25, 1.5, 2.0, 3.0)
EXTREME = (1.0 + 1e-9, 1.0001, 1.01, 1.1, 10.0, 50.0)


def pair_of(K, y, alpha, i, j):
    """Algorithm 1's input, with E from its definition (b = 7 must not matter)."""
    E = K @ (alpha * y) + 7.0 - y
    eta = psmo.eta(K[i, i], K[j, j], K[i, j])
    return Pair(alpha[i], alpha[j], y[i], y[j], E[i], E[j], eta)


def moved_to(alpha, y, i, j, x):
    """The point of the paper's W(x): alpha_j = x, and alpha_i balances it."""
    moved = alpha.copy()
    moved[j] = x
    moved[i] = alpha[i] + y[i] * y[j] * (alpha[j] - x)
    return moved


def domain(pair, penalty):
    """The appendix's D, cut at the box of p = 1, and at some large number."""
    if pair.y_i == pair.y_j:
        c = pair.alpha_i + pair.alpha_j
        return max(0.0, c - penalty.upper), min(c, penalty.upper)
    ahead = pair.alpha_j - pair.alpha_i
    high = min(penalty.upper, penalty.upper + ahead)
    return max(0.0, ahead), min(high, 10.0 + 2.0 * abs(pair.alpha_j) + 100.0 * penalty.C)


def fitted(K, y, *, p, C=1.0, max_steps=2_000, eps=0.0, seed=0, **options):
    return psmo.fit(
        K, y, p=p, C=C, eps=eps, max_steps=max_steps, rng=random.Random(seed), **options
    )


def problem(n=30, seed=0):
    X, y = noisy(n=n, d=3, seed=seed)
    return rbf_kernel(X, gamma=0.3), y


# --- the formulas --------------------------------------------------------------------------------


def test_eta_is_a_squared_distance():
    """Lemma 2, and not the misprint with K_12 for K_22."""
    x, z = np.array([1.0, 2.0]), np.array([-0.5, 1.0])
    assert psmo.eta(x @ x, z @ z, x @ z) == pytest.approx(np.sum((x - z) ** 2))


@pytest.mark.parametrize("p", [1.25, 1.5, 2.0, 3.0])
def test_penalty_is_that_of_the_paper(p):
    """Slope and curvature are the derivatives of theta alpha^gamma, theta formed as printed."""
    C, alpha = 0.7, 0.4
    gamma = p / (p - 1)
    theta = C ** (1 - gamma) * p ** (-gamma) * (p - 1)
    penalty = Penalty(p, C)
    assert penalty.slope(alpha) == pytest.approx(gamma * theta * alpha ** (gamma - 1))
    assert penalty.curvature(alpha) == pytest.approx(
        gamma * (gamma - 1) * theta * alpha ** (gamma - 2)
    )


@given(dual_points(), st.sampled_from((1.25, 1.5, 1.7, 2.0, 3.0)), costs)
def test_g_is_the_slope_of_the_dual(point, p, C):
    """W' by central differences of the objective along the pair."""
    K, y, alpha = point
    cost = np.full(y.size, C)
    for i, j in ((0, 1), (1, 0), (2, 3)):
        least = min(alpha[i], alpha[j])
        if least == 0.0:
            continue
        x, h = alpha[j] - 0.1 * least, 1e-5 * least  # inside D, and not where W was before
        low, high = (
            dual_objective(K, moved_to(alpha, y, i, j, x + s * h), y, cost, p) for s in (-1, 1)
        )
        rounding = 1e-13 * (1.0 + abs(low)) / h
        slope = psmo.g(x, pair_of(K, y, alpha, i, j), Penalty(p, C))
        assert slope == pytest.approx((high - low) / (2 * h), rel=1e-4, abs=1e-6 + rounding)


@given(dual_points(), st.sampled_from((1.25, 1.5, 1.7, 2.0, 3.0)), costs)
def test_second_derivative_is_the_slope_of_g(point, p, C):
    """W'' by central differences of W', and never above 0."""
    K, y, alpha = point
    pair, penalty = pair_of(K, y, alpha, 0, 1), Penalty(p, C)
    x, h = pair.alpha_j, 1e-6 * min(pair.alpha_i, pair.alpha_j)
    slope = (psmo.g(x + h, pair, penalty) - psmo.g(x - h, pair, penalty)) / (2 * h)
    second = psmo.second_derivative(x, pair, penalty)
    scale = abs(pair.E_i - pair.E_j) + penalty.slope(x) + penalty.slope(pair.alpha_i)
    assert second == pytest.approx(slope, rel=1e-4, abs=1e-14 * (1.0 + scale) / h)
    assert second <= 0.0


@given(dual_points(), st.sampled_from(EXPONENTS), costs)
def test_Q_tells_the_sign_of_g_at_the_ends_of_D(point, p, C):
    """The appendix's summary: g(0) = Q + 2 slope(|c|), g(|c|) = Q - eta |c|, g(u) = Q - eta u."""
    K, y, alpha = point
    penalty = Penalty(p, C)
    for i, j in ((0, 1), (1, 0), (0, 2), (2, 1), (1, 3)):
        pair = pair_of(K, y, alpha, i, j)
        c = abs(pair.alpha_i * pair.y_i + pair.alpha_j * pair.y_j)
        q, slope = psmo.Q(pair, penalty), penalty.slope(c)
        if pair.y_i == pair.y_j:
            ends = {0.0: q + 2.0 * slope, c: q - pair.eta * c}
        else:
            u = max(0.0, -c * np.sign(pair.alpha_i - pair.alpha_j))
            ends = {u: q - pair.eta * u}
        scale = 1.0 + abs(q) + slope + pair.eta * (c + pair.alpha_j)
        # At an end of D one alpha is 0 to rounding, where for p > 2 the penalty is steep.
        tolerance = (1e-9 if p <= 2.0 else 1e-6) * scale
        for x, value in ends.items():
            assert psmo.g(x, pair, penalty) == pytest.approx(value, abs=tolerance)


def random_pairs(seed, count=200):
    """Pairs of all kinds: free, at a bound, both zero, and slopes of either sign."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        alpha = rng.exponential(size=2) * (rng.random(2) < 0.7)
        y_i, y_j = rng.choice([-1.0, 1.0], size=2)
        E_i, E_j = rng.normal(size=2) * rng.choice([0.1, 1.0, 5.0])
        eta = rng.exponential() + 0.01
        yield Pair(*alpha.tolist(), *map(float, (y_i, y_j, E_i, E_j, eta)))


def value_along(pair, penalty, x):
    """The paper's W(x) but for a constant, from the definition of the dual."""
    p, C = penalty.p, penalty.C

    def conjugate(alpha):
        if p == 1.0 or math.isinf(C):
            return np.zeros_like(alpha)
        with np.errstate(divide="ignore", over="ignore"):
            ratio = np.maximum(alpha, 0.0) / (p * C)
            return (p - 1.0) / p * alpha * np.exp(np.log(ratio) / (p - 1.0))

    x = np.asarray(x, dtype=float)
    s = pair.y_i * pair.y_j
    t = x - pair.alpha_j
    other = np.maximum(pair.alpha_i - s * t, 0.0)
    # Without the penalty the slope of the dual is 1 - y f = -y E in each alpha, and its curvature
    # along the pair is -eta.
    rest = pair.y_j * (pair.E_i - pair.E_j) * t - 0.5 * pair.eta * t**2
    return rest - conjugate(x) - conjugate(other)


def branch_of(pair, penalty, x):
    """Which line of Algorithm 1 the result x comes from."""
    same = pair.y_i == pair.y_j
    c = pair.alpha_i + pair.alpha_j if same else pair.alpha_i - pair.alpha_j
    if same:
        return "0" if x == 0.0 else "|c|" if x == c else "root on [0, |c|]"
    return "u" if x == max(0.0, -c) else "root on [u, inf)"


@pytest.mark.parametrize("C", [0.3, 2.0])
@pytest.mark.parametrize("p", [*EXPONENTS, 1.4, *EXTREME])
def test_update_is_the_best_of_its_pair(p, C):
    """Algorithm 1 against brute force: 4,001 points of D, in every branch, within its bounds."""
    penalty = Penalty(p, C)
    seen = set()
    for pair in random_pairs(seed=int(1000 * C)):
        if p == 1.0:
            pair = pair._replace(alpha_i=min(pair.alpha_i, C), alpha_j=min(pair.alpha_j, C))
        alpha_i, alpha_j = psmo.update_pair(pair, penalty)
        assert math.isfinite(alpha_i)
        assert 0.0 <= alpha_i <= penalty.upper
        assert 0.0 <= alpha_j <= penalty.upper
        before = pair.alpha_i * pair.y_i + pair.alpha_j * pair.y_j
        after = alpha_i * pair.y_i + alpha_j * pair.y_j
        assert after == pytest.approx(before, abs=1e-14 * (1 + alpha_i + alpha_j))
        low, high = domain(pair, penalty)
        assert low <= alpha_j <= high
        near = alpha_j + np.linspace(-1e-3, 1e-3, 1001) * (1e-3 + alpha_j)
        grid = np.concatenate([np.linspace(low, high, 3000), np.clip(near, low, high)])
        best = value_along(pair, penalty, grid).max()
        assert value_along(pair, penalty, alpha_j) >= best - 1e-9 * (1.0 + abs(best))
        seen.add(branch_of(pair, penalty, alpha_j))
    everything = {"0", "|c|", "root on [0, |c|]", "u", "root on [u, inf)"}
    # For a very large p the penalty is so steep at 0 that alpha = 0 is hardly ever the best.
    assert seen == everything if p <= 3.0 else len(seen) > 1


def test_brute_force_knows_the_whole_dual():
    """What the test above maximises is the oracle's dual but for a constant."""
    K, y = problem()
    alpha = np.where(y > 0, 0.2, 0.2 * np.sum(y > 0) / np.sum(y < 0))
    for p in (1.25, 2.0, 3.0):
        for i, j in ((0, 1), (1, 0), (2, 5), (3, 4)):
            x = 0.9 * alpha[j]
            cost = np.full(y.size, 0.8)
            difference = dual_objective(K, moved_to(alpha, y, i, j, x), y, cost, p)
            difference -= dual_objective(K, alpha, y, cost, p)
            pair, penalty = pair_of(K, y, alpha, i, j), Penalty(p, 0.8)
            found = value_along(pair, penalty, x) - value_along(pair, penalty, alpha[j])
            assert found == pytest.approx(difference, abs=1e-12)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_closed_forms_are_the_root_of_g(p):
    """Linear and quadratic solutions against Brent's method on g, for equal and unequal labels."""
    penalty = Penalty(p, 0.6)
    checked = {True: 0, False: 0}
    for pair in random_pairs(seed=5):
        low, high = domain(pair, Penalty(1.5, 0.6))  # without the box
        if psmo.g(low, pair, penalty) <= 0.0 or psmo.g(high, pair, penalty) >= 0.0:
            continue
        root = brentq(psmo.g, low, high, args=(pair, penalty), xtol=1e-15, rtol=1e-15)
        assert psmo.solve_g(pair, penalty, low, high) == pytest.approx(root, rel=1e-9, abs=1e-12)
        checked[pair.y_i == pair.y_j] += 1
    assert min(checked.values()) > 20


@pytest.mark.parametrize("p", [1.5, 2.0])
def test_closed_forms_continue_the_general_root(p):
    """Next to 1.5 and 2 the bracketed root takes over without a jump."""
    for pair in random_pairs(seed=6, count=100):
        here = psmo.update_pair(pair, Penalty(p, 0.6))
        for near in (p - 1e-9, p + 1e-9):
            assert psmo.update_pair(pair, Penalty(near, 0.6)) == pytest.approx(here, abs=1e-6)


def test_a_pair_without_distance_is_left_alone():
    """eta = 0: nothing to divide by in Eq. (eqsolve)."""
    pair = Pair(0.2, 0.1, 1.0, -1.0, 3.0, -2.0, 0.0)
    assert psmo.update_pair(pair, Penalty(1.5, 1.0)) == (0.2, 0.1)


# --- the loop ------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", EXPONENTS)
def test_every_step_is_feasible_and_climbs(p):
    """sum alpha y = 0, alpha >= 0 and a dual objective that never falls, over 200 steps."""
    K, y = problem()
    states = list(
        psmo.train(
            K, y, p=p, C=0.5, eps=0.0, max_steps=200, rng=random.Random(1), record_at=range(200)
        )
    )
    assert [state.n_steps for state in states] == list(range(1, 201))
    values = []
    for state in states:
        assert (state.alpha >= 0.0).all()
        assert abs(state.alpha @ y) < 1e-13
        assert np.allclose(state.decision, K @ (state.alpha * y), atol=1e-12)
        values.append(dual_objective(K, state.alpha, y, np.full(y.size, 0.5), p))
        own = psmo.objective(state.alpha, state.decision, y, p=p, C=0.5)
        assert own == pytest.approx(values[-1], abs=1e-12)
    assert all(later >= earlier - 1e-12 for earlier, later in pairwise(values))
    assert values[-1] > values[0] + 1e-3
    if p == 1.0:
        assert states[-1].alpha.max() == 0.5


@pytest.mark.parametrize("p", [*EXPONENTS, 1.01, 10.0])
def test_objective_approaches_the_certified_optimum(p):
    """The gap to PSVC's dual shrinks with every larger budget, to less than 1e-3 of it."""
    X, y = noisy(n=40, d=3, seed=3)
    K = rbf_kernel(X, gamma=0.3)
    exact = PSVC(p=p, C=1.0, kernel="precomputed", tol=1e-10).fit(K, y)
    optimum = exact.dual_objective_[0]
    gaps = []
    for budget in (100, 1_000, 10_000):
        state = fitted(K, y, p=p, max_steps=budget)
        gaps.append(1.0 - psmo.objective(state.alpha, state.decision, y, p=p, C=1.0) / optimum)
    assert gaps[0] > 3.0 * gaps[1] > 9.0 * gaps[2] > -1e-9
    assert gaps[2] < 1e-3


def test_without_bound_p_1_is_the_hard_margin():
    """C = inf at p = 1, as in Table 1."""
    X, y = separable(n=30)
    K = X @ X.T
    exact = PSVC(p=1, C=np.inf, kernel="precomputed", tol=1e-9).fit(K, y)
    state = fitted(K, y, p=1.0, C=np.inf, max_steps=60_000)
    found = psmo.objective(state.alpha, state.decision, y, p=1.0, C=np.inf)
    assert found == pytest.approx(exact.dual_objective_[0], rel=1e-3)
    assert (y * (state.decision + state.intercept)).min() > 0.95


def test_p_1_is_the_classic_machine():
    """Platt's box and intercept: the decision values of scikit-learn's SVC."""
    K, y = problem(n=40)
    state = fitted(K, y, p=1.0, C=0.7, max_steps=40_000)
    reference = SVC(C=0.7, kernel="precomputed", tol=1e-8).fit(K, y)
    assert np.allclose(state.decision + state.intercept, reference.decision_function(K), atol=2e-3)


@pytest.mark.parametrize("p", EXTREME)
def test_extreme_exponents_stay_finite(p):
    """No overflow near p = 1, where theta would, and none for large p."""
    K, y = problem()
    for C in (1e-3, 1.0, 1e3):
        state = fitted(K, y, p=p, C=C, max_steps=600)
        assert np.isfinite(state.alpha).all()
        assert np.isfinite(state.intercept)
        assert psmo.objective(state.alpha, state.decision, y, p=p, C=C) > 0.0


def test_near_1_it_is_the_soft_margin():
    """As p falls to 1 pSMO's iterates become those of p = 1 with the bound C."""
    K, y = problem()
    classic = fitted(K, y, p=1.0, C=0.7, max_steps=900)
    near = fitted(K, y, p=1.0 + 1e-7, C=0.7, max_steps=900)
    assert np.allclose(near.alpha, classic.alpha, atol=1e-4)


def test_seed():
    """The same seed gives the same alpha, another one another."""
    K, y = problem()
    first, again, other = (fitted(K, y, p=2.0, max_steps=100, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first.alpha, again.alpha)
    assert not np.array_equal(first.alpha, other.alpha)


def test_partners_come_from_the_published_stream():
    """randint(0, n - 1), drawn again while it is j itself: seen in the first rows that move."""
    K, y = problem()
    draws = random.Random(42)
    partner = draws.randint(0, y.size - 1)
    while partner == 0:
        partner = draws.randint(0, y.size - 1)
    y = y.copy()
    y[0], y[partner] = 1.0, -1.0  # so that the first step moves
    state = fitted(K, y, p=2.0, max_steps=1, seed=42)
    assert np.flatnonzero(state.alpha).tolist() == sorted([0, partner])


def test_the_budget_ends_in_mid_sweep():
    K, y = problem(n=30)
    state = fitted(K, y, p=2.0, max_steps=45)
    assert (state.n_steps, state.converged) == (45, False)


def test_a_quiet_sweep_ends_the_training():
    """After whole sweeps only, and the later the smaller eps is."""
    K, y = problem(n=30)
    states = [fitted(K, y, p=2.0, eps=eps, max_steps=100_000) for eps in (1e-2, 1e-4)]
    assert all(state.converged and state.n_steps % 30 == 0 for state in states)
    assert states[0].n_steps < states[1].n_steps < 100_000
    before = fitted(K, y, p=2.0, max_steps=states[1].n_steps - 30)
    assert np.linalg.norm(states[1].alpha - before.alpha) < 1e-4


def test_snapshots_do_not_disturb():
    """Looking on changes nothing, and what was recorded does not change later."""
    K, y = problem()
    states = list(
        psmo.train(
            K, y, p=1.5, C=1.0, eps=0.0, max_steps=500, rng=random.Random(0), record_at=[70, 7]
        )
    )
    assert [state.n_steps for state in states] == [7, 70, 500]
    for state in states:
        alone = fitted(K, y, p=1.5, max_steps=state.n_steps)
        assert np.array_equal(state.alpha, alone.alpha)
        assert state.intercept == alone.intercept


# --- the intercept -------------------------------------------------------------------------------


def test_intercept_is_the_average_over_the_support_vectors():
    """Eq. (updb3), written out."""
    K, y = problem()
    state = fitted(K, y, p=1.5, max_steps=2_000)
    support = [k for k in range(y.size) if state.alpha[k] > 0.0]
    assert 2 < len(support) < y.size
    terms = [y[k] - sum(state.alpha[j] * y[j] * K[j, k] for j in range(y.size)) for k in support]
    assert state.intercept == pytest.approx(sum(terms) / len(support))


def test_the_average_is_exact_at_p_2_only():
    """At p = 2 it is PSVC's intercept; at p = 1.5 it is not."""
    K, y = problem(n=40, seed=3)
    y[:8] = 1.0  # unbalanced, so that the slacks of the classes do not balance by chance
    for p, agrees in ((2.0, True), (1.5, False)):
        state = fitted(K, y, p=p, max_steps=60_000)
        exact = PSVC(p=p, kernel="precomputed", tol=1e-10).fit(K, y).intercept_[0]
        assert (abs(state.intercept - exact) < 1e-3) == agrees


def test_intercept_at_the_bounds():
    """With an upper bound only rows inside it count; if there are none, all support vectors."""
    alpha, decision = np.array([0.0, 0.4, 1.0, 1.0]), np.array([5.0, 0.1, 0.2, 0.3])
    y = np.array([1.0, -1.0, 1.0, -1.0])
    assert psmo.average_intercept(alpha, decision, y, upper=1.0) == pytest.approx(-1.1)
    alpha[1] = 0.0
    assert psmo.average_intercept(alpha, decision, y, upper=1.0) == pytest.approx((0.8 - 1.3) / 2)
    assert psmo.average_intercept(0.0 * alpha, decision, y) == 0.0


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [np.ones(30), np.arange(30.0), np.repeat([0.0, 1.0], 15)])
def test_labels_must_be_signs(labels):
    K, _ = problem(n=30)
    with pytest.raises(ValueError, match=r"labels -1 and \+1"):
        fitted(K, labels, p=2.0)


def test_a_budget_is_needed():
    K, y = problem()
    with pytest.raises(ValueError, match="max_steps"):
        fitted(K, y, p=2.0, max_steps=0)


def test_a_snapshot_is_frozen():
    K, y = problem()
    state = fitted(K, y, p=2.0, max_steps=10)
    assert replace(state, converged=True).n_steps == 10
    with pytest.raises(AttributeError):
        state.n_steps = 11
