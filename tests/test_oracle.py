"""The oracle is itself checked: its bracket holds by weak duality and is narrow everywhere."""

import numpy as np
import oracle
import pytest
from sklearn.metrics.pairwise import pairwise_kernels
from strategies import LISTED_P

from psvm.mathematics.certificate import DualRows, certify
from psvm.mathematics.loss import PNormHinge


def noisy(n=30, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("p", LISTED_P)
def test_bracket_is_narrow_and_the_certificate_agrees(p, C):
    """psvm's certificate of the oracle's alpha brackets the same value to 1e-5."""
    X, y = noisy()
    K, cost = pairwise_kernels(X, metric="rbf", gamma=0.3), np.full(30, C)
    best = oracle.solve(K, y, cost, p)
    assert abs(best.width) <= oracle.BRACKET
    proof = certify(DualRows(y, y, cost, PNormHinge(p)), best.alpha, K @ (best.alpha * y))
    assert proof.primal >= best.lower * (1 - 1e-9)
    assert proof.dual <= best.upper * (1 + 1e-9)
    assert proof.dual == pytest.approx(best.lower, rel=1e-9)


def test_known_solution():
    """Two points at -1 and +1 on a line: w = 1, b = 0, alpha = 1/2 for a hard margin."""
    K, y = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([1.0, -1.0])
    best = oracle.solve(K, y, np.inf, 1.0)
    assert best.upper == pytest.approx(0.5)
    assert best.alpha == pytest.approx([0.5, 0.5])
    assert best.intercept == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_known_soft_solution(p):
    """Two points on a line: w solves w = 2 C p (1 - w)^(p-1), found here by bisection."""
    K, y, C = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([1.0, -1.0]), 0.3
    low, high = 0.0, 1.0
    for _ in range(100):
        w = 0.5 * (low + high)
        low, high = (w, high) if w < 2 * C * p * (1 - w) ** (p - 1) else (low, w)
    best = oracle.solve(K, y, C, p)
    assert best.upper == pytest.approx(0.5 * w**2 + 2 * C * (1 - w) ** p, rel=1e-8)


def test_without_intercept_the_optimum_is_higher():
    """Fixing b = 0 is a constraint: it cannot lower the optimum, and here it raises it."""
    X, y = noisy(seed=3)
    K = (X + 1.0) @ (X + 1.0).T
    free, fixed = (oracle.solve(K, y, 1.0, 1.5, fit_intercept=b) for b in (True, False))
    assert fixed.intercept == 0.0
    assert fixed.upper > free.upper * (1 + 1e-3)


def test_not_separable():
    """The same point with both labels has no hard margin."""
    with pytest.raises(oracle.NotSeparable):
        oracle.solve(np.ones((2, 2)), np.array([1.0, -1.0]), np.inf, 1.0)


def test_rows_without_cost_are_absent():
    """A zero cost leaves the row out and gives it alpha = 0."""
    X, y = noisy()
    K, cost = X @ X.T, np.ones(30)
    cost[[4, 9]] = 0.0
    kept = cost > 0
    best = oracle.solve(K, y, cost, 1.5)
    part = oracle.solve(K[np.ix_(kept, kept)], y[kept], 1.0, 1.5)
    assert best.upper == pytest.approx(part.upper)
    assert best.alpha[[4, 9]].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("p", [1.0, 1.05, 2.0, 10.0])
def test_linear_form_has_the_optimum_of_the_linear_kernel(p, fit_intercept):
    """Features or their kernel matrix: one optimum, and u is w; also with an absent row."""
    X, y = noisy()
    cost = np.where(np.arange(30) == 7, 0.0, 2.0)
    one = oracle.solve(X @ X.T, y, cost, p, fit_intercept)
    two = oracle.solve_linear(X, y, cost, p, fit_intercept)
    assert two.upper == pytest.approx(one.upper, rel=2 * oracle.BRACKET)
    assert two.decision == pytest.approx(X @ two.u)
    assert two.alpha[7] == 0.0
    primal = 0.5 * two.u @ two.u + cost @ (
        np.maximum(0.0, 1.0 - y * (two.decision + two.intercept)) ** p
    )
    assert primal == pytest.approx(two.upper)
