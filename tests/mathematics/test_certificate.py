"""The certificate is a proof: weak duality, the exact intercept, and no trust in any solver."""

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.metrics.pairwise import rbf_kernel
from strategies import costs, datasets, dual_points, exponents, seeds

from psvm.mathematics.certificate import DualRows, best_intercept, certify, may_be_separable
from psvm.mathematics.loss import PNormHinge


def overlapping(n=24, seed=0):
    """Two noisy classes of unequal size; no separating hyperplane."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.8 * rng.normal(size=n) > 0.4, 1.0, -1.0)


@given(dual_points(), exponents(), costs, st.booleans())
def test_weak_duality(point, p, C, fit_intercept):
    """For any feasible alpha: gap >= 0, and the two objectives equal the written-out formulas."""
    K, y, alpha = point
    cost = np.full(y.size, C)
    if p == 1:
        alpha = np.minimum(alpha * C / alpha.max(), C)
    decision = K @ (alpha * y)
    proof = certify(DualRows(y, y, cost, PNormHinge(p), fit_intercept), alpha, decision)
    primal = oracle.primal_objective(K, alpha * y, proof.intercept, y, cost, p)
    assert proof.primal == pytest.approx(primal, rel=1e-9)
    assert proof.gap >= 0.0
    dual = oracle.dual_objective(K, alpha, y, cost, p)
    if np.isfinite(dual):
        assert proof.dual == pytest.approx(dual, rel=1e-7, abs=1e-9 * primal)
        assert dual <= primal * (1 + 1e-9)


@given(dual_points(max_rows=10), st.sampled_from([1.0, 1.25, 1.5, 2.0, 3.0]), costs)
def test_every_certificate_brackets_the_true_optimum(point, p, C):
    """P(any feasible alpha) >= P* >= D(any feasible alpha), with P* from the oracle."""
    K, y, alpha = point
    cost = np.full(y.size, C)
    alpha = oracle.feasible(alpha * C, y, cost, p)
    best = oracle.solve(K, y, cost, p)
    proof = certify(DualRows(y, y, cost, PNormHinge(p)), alpha, K @ (alpha * y))
    assert proof.primal >= best.lower * (1 - 1e-7)
    assert proof.dual <= best.upper * (1 + 1e-7)


@given(datasets(), exponents(), costs, seeds)
def test_intercept_minimises_the_loss(data, p, C, seed):
    """No b found by scipy's scalar minimiser is better than the certificate's."""
    _, y = data
    rng = np.random.default_rng(seed)
    decision, cost = rng.normal(size=y.size), C * rng.exponential(size=y.size)

    def total(b):
        return np.sum(cost * np.maximum(0.0, 1.0 - y * (decision + b)) ** p)

    ours = total(best_intercept(DualRows(y, y, cost, PNormHinge(p)), decision))
    found = minimize_scalar(total, bounds=(-10, 10), method="bounded", options={"xatol": 1e-10})
    assert ours <= found.fun * (1 + 1e-12) + 1e-300


@given(st.integers(2, 6), st.floats(0.1, 1.9))
def test_intercept_is_the_midpoint_where_it_is_not_unique(count, distance):
    """p = 1 with as many rows on each side: every b between the classes' thresholds is optimal."""
    y = np.repeat([1.0, -1.0], count)
    decision = np.repeat([distance, -distance], count) / 2
    b = best_intercept(DualRows(y, y, np.ones(y.size), PNormHinge(1.0)), decision)
    assert b == pytest.approx(0.0, abs=1e-12)


@given(datasets(), exponents(), costs, seeds)
def test_order_of_rows_does_not_matter(data, p, C, seed):
    """A permutation of the rows leaves P, D, gap and b as they are (to rounding)."""
    X, y = data
    K = rbf_kernel(X)
    rng = np.random.default_rng(seed)
    cost = C * rng.exponential(size=y.size)
    alpha = oracle.feasible(cost * rng.random(y.size), y, cost, p)
    order = rng.permutation(y.size)
    one, two = (
        certify(DualRows(y[i], y[i], cost[i], PNormHinge(p)), alpha[i], (K @ (alpha * y))[i])
        for i in (np.arange(y.size), order)
    )
    assert two.primal == pytest.approx(one.primal, rel=1e-12)
    assert two.intercept == pytest.approx(one.intercept, rel=1e-9, abs=1e-9)
    assert two.gap == pytest.approx(one.gap, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("p", [1.25, 1.5, 2.0, 3.0])
def test_exact_intercept_from_any_support_vector(p):
    """MATH section 3: b = y_k (1 - slack_of(alpha_k)) - f_k for every support vector k."""
    X, y = overlapping()
    cost, loss = np.ones(y.size), PNormHinge(p)
    best = oracle.solve(rbf_kernel(X), y, cost, p)
    decision = rbf_kernel(X) @ (best.alpha * y)
    support = best.alpha > 1e-4
    b = y * (1 - loss.slack_of(best.alpha, cost)) - decision
    assert np.ptp(b[support]) < 1e-4
    ours = best_intercept(DualRows(y, y, cost, loss), decision)
    assert ours == pytest.approx(b[support].mean(), abs=1e-4)


def test_the_papers_averaging_rules_are_not_optimal():
    """Averages of y_k - f_k and of y_k - sign(f_k) miss b at p = 1.5; the first is right at 2."""
    X, y = overlapping()
    cost = np.ones(y.size)
    miss = {}
    for p in (1.5, 2.0):
        best = oracle.solve(rbf_kernel(X), y, cost, p)
        decision = rbf_kernel(X) @ (best.alpha * y)
        support = best.alpha > 1e-6
        exact = best_intercept(DualRows(y, y, cost, PNormHinge(p)), decision)
        miss[p] = (
            abs(np.mean((y - decision)[support]) - exact),
            abs(np.mean((y - np.sign(decision))[support]) - exact),
        )
    assert min(miss[1.5]) > 1e-2
    assert miss[2.0][0] < 1e-5
    assert miss[2.0][1] > 1e-2


def test_gap_is_nearly_zero_at_the_optimum_and_large_elsewhere():
    """The certificate tells an optimum from a point that is merely feasible."""
    X, y = overlapping()
    K, cost = rbf_kernel(X), np.ones(y.size)
    rows = DualRows(y, y, cost, PNormHinge(1.5))
    best = oracle.solve(K, y, cost, 1.5).alpha
    assert certify(rows, best, K @ (best * y)).gap < 1e-9
    worse = oracle.feasible(0.5 * best, y, cost, 1.5)
    assert certify(rows, worse, K @ (worse * y)).gap > 1e-2


def test_alpha_beyond_its_bound_proves_nothing():
    """At p = 1, alpha > C is infeasible: the dual is -inf and the gap infinite."""
    y, alpha = np.array([1.0, -1.0]), np.array([2.0, 2.0])
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    proof = certify(DualRows(y, y, np.ones(2), PNormHinge(1.0)), alpha, K @ (alpha * y))
    assert proof.gap == np.inf


def test_hard_margin_known_solution():
    """Points -1 and +1: P = D = 1/2, b = 0. A scaled alpha is rescaled to be primal feasible."""
    y = np.array([1.0, -1.0])
    K, rows = np.outer(y, y), DualRows(y, y, np.full(2, np.inf), PNormHinge(1.0))
    exact, short = (certify(rows, np.full(2, a), K @ (a * y)) for a in (0.5, 0.25))
    assert (exact.primal, exact.dual, exact.gap) == pytest.approx((0.5, 0.5, 0.0))
    assert short.scale == pytest.approx(2.0)
    assert short.primal == pytest.approx(0.5)
    assert short.dual == pytest.approx(0.375)


def test_a_hard_margin_is_not_a_matter_of_the_first_row():
    """A row of cost 0 is absent; of the others all costs are infinite, or none is."""
    y = np.array([1.0, -1.0, 1.0])
    absent_first = np.array([0.0, np.inf, np.inf])
    assert DualRows(y, y, absent_first, PNormHinge(1.5)).hard_margin
    assert not DualRows(y, y, np.array([0.0, 1.0, 1e300]), PNormHinge(1.5)).hard_margin


def test_hard_margin_without_separation_has_no_primal():
    """alpha = 0 separates nothing: the primal is infinite, and so is the gap."""
    y = np.array([1.0, -1.0])
    proof = certify(DualRows(y, y, np.full(2, np.inf), PNormHinge(1.0)), np.zeros(2), np.zeros(2))
    assert proof.primal == np.inf
    assert proof.gap == np.inf


@given(datasets(duplicates=False), st.booleans())
def test_hard_margin_agrees_with_the_oracle(data, fit_intercept):
    """On separable data (rbf of distinct rows) the certificate of the oracle's alpha is tight."""
    X, y = data
    K = rbf_kernel(X, gamma=5.0) + 1e-3 * np.eye(y.size)
    cost = np.full(y.size, np.inf)
    best = oracle.solve(K, y, cost, 1.0, fit_intercept)
    proof = certify(
        DualRows(y, y, cost, PNormHinge(1.0), fit_intercept), best.alpha, K @ (best.alpha * y)
    )
    assert proof.gap < 1e-5
    assert proof.primal == pytest.approx(best.upper, rel=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_a_narrow_margin_is_ruled_out_by_alpha_alone(scale):
    """Two rows of opposite labels: the margin is half their distance, whatever the units."""
    for distance, possible in ((1e-7, False), (1e-5, True)):
        x = scale * np.array([1.0, 1.0 - distance])
        alpha, y = np.full(2, 3.0), np.array([1.0, -1.0])
        w = float(np.sum(alpha * y * x))
        assert may_be_separable(w**2, alpha.sum(), scale**2) == possible


def test_no_alpha_rules_nothing_out():
    assert may_be_separable(0.0, 0.0, 1.0)


@pytest.mark.parametrize("size", [1e-130, 1e200])
def test_a_hard_margin_is_ruled_out_at_any_size_of_alpha(size):
    """The square of a gain beyond 1e154 was an OverflowError."""
    assert may_be_separable(1e300, size, 1.0) == (size < 1e155)
    assert not may_be_separable(0.0, size, 1.0)
