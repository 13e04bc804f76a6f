"""A kernel matrix becomes features, and Newton's method reaches machine precision among them."""

import numpy as np
import oracle
import pytest
from referee import kernel_matrix
from small_data import noisy

from psvm.mathematics.certificate import certify
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem
from psvm.solvers.kernel.newton import (
    Features,
    factor_of,
    features_of,
    solve_proximal_newton,
)
from psvm.solvers.ledger import Budget, Ledger, Solution, Status


def solve(problem, features, alpha, polish=True, **budget):
    """What the solver found, with its rounds and records."""
    ledger = Ledger(Budget(**budget))
    decision = features.of_rows(problem, alpha)
    start = Solution(
        lambda: alpha, certify(problem, alpha, decision), Status.MAX_ITER, decision=decision
    )
    stage = ledger.stage("proximal_newton")
    found = solve_proximal_newton(problem, features, start, stage, polish=polish)
    found.n_iter, found.history = ledger.rounds, ledger.records
    return found


def linear_features(X):
    """The features of a linear kernel with an intercept."""
    return features_of(X, True, lambda dual: X @ (X.T @ dual))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("p", [1.0, 1.01, 1.5, 2.0, 3.0, 10.0])
def test_cold_start_reaches_machine_precision(p, fit_intercept):
    """From alpha = 0, without any pair step before, the gap falls to 1e-12 and below."""
    X, y = noisy(n=50, seed=4)
    K, cost = kernel_matrix("rbf", X), np.full(50, 2.0)
    problem = KernelProblem.classification([0], y, cost, PNormHinge(p), fit_intercept)
    features = factor_of(K, fit_intercept)
    result = solve(problem, features, np.zeros(50))
    proof = certify(problem, result.alpha, K @ (result.alpha * y))
    assert proof.gap <= 1e-12
    best = oracle.solve(K, y, cost, p, fit_intercept)
    assert proof.primal == pytest.approx(best.upper, rel=1e-6)
    assert result.history[-1]["gap"] == pytest.approx(proof.gap, abs=1e-12)
    assert result.n_iter == result.history[-1]["iteration"]


@pytest.mark.parametrize("p", [1.0, 1.25, 2.0, 3.0])
def test_few_features_or_inner_products(p):
    """Systems among the features or among the rows: one optimum."""
    X, y = noisy(n=60, seed=5)
    problem = KernelProblem.classification([0], y, np.full(60, 3.0), PNormHinge(p))
    features = solve(problem, linear_features(X), np.zeros(60))
    K = X @ X.T
    rows = solve(problem, Features(X, K.dot, K), np.zeros(60))
    assert rows.decision == pytest.approx(features.decision, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_alpha_is_judged_with_its_own_w(p):
    """At a large C a pair of w and alpha is long optimal when w(alpha) is not yet."""
    X, y = noisy(n=80, seed=7)
    K, cost = kernel_matrix("rbf", X), np.full(80, 1e4)
    problem = KernelProblem.classification([0], y, cost, PNormHinge(p))
    result = solve(problem, factor_of(K, True), np.zeros(80))
    proof = certify(problem, result.alpha, K @ (result.alpha * y))
    assert proof.gap <= 1e-10


def test_stops_at_tol_without_polish():
    """Larger sets go no further than they are asked to."""
    X, y = noisy(n=60, seed=5)
    problem = KernelProblem.classification([0], y, np.full(60, 3.0), PNormHinge(1.5))
    features, start = linear_features(X), np.zeros(60)
    short = solve(problem, features, start, tol=1e-2, polish=False)
    whole = solve(problem, features, start, tol=1e-2)
    assert short.status is Status.CONVERGED
    assert short.n_iter < whole.n_iter
    assert short.history[-1]["gap"] > whole.history[-1]["gap"]


def test_a_warm_start_takes_fewer_iterations():
    """From the solution itself, the next solve has little to do."""
    X, y = noisy(n=60, seed=5)
    problem = KernelProblem.classification([0], y, np.full(60, 3.0), PNormHinge(1.5))
    features = linear_features(X)
    cold = solve(problem, features, np.zeros(60))
    warm = solve(problem, features, cold.alpha)
    assert warm.n_iter < cold.n_iter / 2
    assert warm.alpha == pytest.approx(cold.alpha, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_low_rank_matrix_becomes_features(fit_intercept):
    """A linear kernel has few features; of a full-rank one the inner products are kept."""
    X, y = noisy(n=60, seed=5)
    K = X @ X.T
    linear = factor_of(K, fit_intercept)
    assert linear.rows.shape == (60, X.shape[1])
    assert linear.inner_products is None
    centred = X - fit_intercept * X.mean(axis=0)
    assert linear.rows @ linear.rows.T == pytest.approx(centred @ centred.T, rel=1e-9, abs=1e-9)
    assert linear.decision(y) == pytest.approx(K @ y)
    K = kernel_matrix("rbf", X, gamma=5.0)
    full = factor_of(K, fit_intercept)
    assert full.rows @ full.rows.T == pytest.approx(K)
    assert full.inner_products is not None


def test_indefinite_kernel_is_refused():
    """A matrix that is not positive semidefinite has no w."""
    X, _ = noisy(n=40, seed=6)
    K = kernel_matrix("sigmoid", X, gamma=0.5, coef0=-0.5)
    with pytest.raises(np.linalg.LinAlgError, match="not positive semidefinite"):
        factor_of(K, True)


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("few", [True, False], ids=["features", "matrix"])
def test_rows_with_targets_on_shared_kernel_rows(p, few, in_order):
    """The epsilon-insensitive regression of MATH section 9, two rows per kernel row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    wanted = X @ rng.normal(size=3) + 0.3 * rng.normal(size=40) + 2.0
    K = X @ X.T if few else kernel_matrix("rbf", X)
    y, place = np.tile([1.0, -1.0], 40), np.repeat(np.arange(40), 2)
    problem = KernelProblem(
        y,
        wanted[place] - 0.1 * y,
        np.full(80, 2.0),
        PNormHinge(p),
        segments=[0],
        kernel_row=place,
    )
    if not in_order:
        problem = problem.in_order(rng.permutation(80))
        y, place = problem.y, problem.kernel_row
    features = linear_features(X) if few else factor_of(K, True)
    found = solve(problem, features, np.zeros(80))
    decision = (K @ np.bincount(place, weights=y * found.alpha))[place]
    assert certify(problem, found.alpha, decision).gap <= 1e-9
    assert found.decision == pytest.approx(decision, rel=1e-9, abs=1e-9)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-318, 1e-200, 1.0, 1e200])
def test_a_factor_at_any_scale(scale):
    """Squares of the rest were 0 below 1e-162, any matrix definite; above 1e154 they overflowed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    K = X @ X.T
    with pytest.raises(np.linalg.LinAlgError):
        factor_of(scale * (K - 0.1 * np.eye(40)), True)
    if scale > 1e-300:
        assert factor_of(scale * K, False).rows.shape[1] == 3
