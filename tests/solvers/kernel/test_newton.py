"""The proximal step solves its equation, and the method reaches machine precision."""

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from referee import kernel_matrix
from small_data import noisy
from strategies import costs, exponents, seeds

from psvm.mathematics.certificate import certify
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem
from psvm.solvers.cholesky import cholesky_in_place
from psvm.solvers.kernel.newton import prox_dual, solve_proximal_newton
from psvm.solvers.kernel.newton_spaces import FeatureSpace, KernelSpace, space_of
from psvm.solvers.ledger import Budget, Ledger, Status


@given(exponents(1.001), costs, costs, seeds)
def test_prox_solves_its_equation(p, C, sigma, seed):
    """alpha = sigma (t - slack_of(alpha)) for t > 0, and alpha = 0 for t <= 0."""
    t = np.random.default_rng(seed).normal(size=40) * 3
    cost, loss = np.full(40, C), PNormHinge(p)
    alpha, weight = prox_dual(t, sigma, cost, loss)
    assert np.all(alpha >= 0.0)
    assert np.all(alpha[t <= 0] == 0.0)
    inside = t > 0
    slack = loss.slack_of(alpha[inside], cost[inside])
    assert alpha[inside] / sigma + slack == pytest.approx(t[inside], rel=1e-9 + 1e-12 / (p - 1))
    assert np.all(weight >= 0.0)
    assert np.all(weight <= sigma * (1 + 1e-12))


@given(st.sampled_from([1.25, 1.5, 2.0, 3.0]), costs, costs)
def test_prox_slope_is_a_derivative(p, C, sigma):
    """W = d alpha / d t, by central differences."""
    t, cost, loss = np.linspace(0.2, 3.0, 12), np.full(12, C), PNormHinge(p)
    step = 1e-6
    high, low = (prox_dual(t + sign * step, sigma, cost, loss)[0] for sign in (1, -1))
    _, weight = prox_dual(t, sigma, cost, loss)
    assert weight == pytest.approx((high - low) / (2 * step), rel=1e-4)


def test_prox_of_the_hinge_is_a_clip():
    """At p = 1: sigma t clipped to [0, cost]."""
    alpha, weight = prox_dual(np.array([-1.0, 0.3, 2.0]), 2.0, np.ones(3), PNormHinge(1.0))
    assert alpha.tolist() == [0.0, 0.6, 1.0]
    assert weight.tolist() == [0.0, 2.0, 0.0]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("p", [1.0, 1.01, 1.5, 2.0, 3.0, 10.0])
def test_cold_start_reaches_machine_precision(p, fit_intercept):
    """From alpha = 0, without any pair step before, the gap falls to 1e-9 and below."""
    X, y = noisy(n=50, seed=4)
    K, cost = kernel_matrix("rbf", X), np.full(50, 2.0)
    problem = KernelProblem.classification([0], y, cost, PNormHinge(p), fit_intercept)
    result = solve_proximal_newton(
        problem, space_of(K, y), np.zeros(50), Ledger(Budget()).stage("newton")
    )
    assert result is not None
    assert result.status is Status.CONVERGED
    proof = certify(problem, result.alpha, K @ (result.alpha * y))
    assert proof.gap <= 1e-9
    best = oracle.solve(K, y, cost, p, fit_intercept)
    assert proof.primal == pytest.approx(best.upper, rel=1e-6)


@pytest.mark.parametrize("p", [1.0, 1.25, 2.0, 3.0])
def test_both_spaces_give_the_same_solution(p):
    """Few features or their kernel matrix: one optimum."""
    X, y = noisy(n=60, seed=5)
    problem = KernelProblem.classification([0], y, np.full(60, 3.0), PNormHinge(p))
    among_rows, among_features = (
        solve_proximal_newton(problem, space, np.zeros(60), Ledger(Budget()).stage("newton"))
        for space in (KernelSpace(X @ X.T, y), FeatureSpace(X, y))
    )
    assert among_rows.decision == pytest.approx(among_features.decision, rel=1e-6, abs=1e-6)


def test_low_rank_matrix_becomes_features():
    """A linear kernel is factored; a full-rank one stays a matrix."""
    X, y = noisy(n=60, seed=5)
    assert isinstance(space_of(X @ X.T, y), FeatureSpace)
    assert isinstance(space_of(kernel_matrix("rbf", X, gamma=5.0), y), KernelSpace)


def test_indefinite_kernel_is_refused():
    """A matrix that is not positive semidefinite has no w."""
    X, y = noisy(n=40, seed=6)
    K = kernel_matrix("sigmoid", X, gamma=0.5, coef0=-0.5)
    with pytest.raises(np.linalg.LinAlgError, match="not positive semidefinite"):
        space_of(K, y)


def test_blocked_cholesky():
    """Small blocks, so that the blocked branch runs."""
    A = np.random.default_rng(0).normal(size=(50, 50))
    A = A @ A.T + np.eye(50)
    factor = np.tril(cholesky_in_place(A.copy(), block=8))
    assert factor @ factor.T == pytest.approx(A)
    with pytest.raises(np.linalg.LinAlgError):
        cholesky_in_place(-A, block=8)
