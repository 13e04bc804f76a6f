"""Small problems are solved to the last digits on the face of their optimum, or left to others."""

import numpy as np
import oracle
import pytest
from referee import kernel_matrix
from small_data import noisy

from psvm import PSVC
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.solvers.kernel.face import solve_on_face
from psvm.solvers.kernel.working_set import solve_working_set
from psvm.solvers.ledger import Budget, Ledger


def problem_of(p, C, fit_intercept=True, n=90, kernel="rbf"):
    X, y = noisy(n, 4, seed=3)
    cost = C * np.random.default_rng(1).uniform(0.5, 2.0, n)
    K = kernel_matrix(kernel, X)
    return KernelProblem.classification([0], y, cost, PNormHinge(p), fit_intercept), K, X


def near_the_optimum(problem, X):
    kernel = TrainingKernel(Kernel("rbf", 0.4), X, [0, len(X)], 1e7, 1)
    start = np.zeros(len(X))
    stage = Ledger(Budget(tol=1e-4)).stage("working_set")
    return solve_working_set(problem, kernel, start, stage, float32=False, threads=1).alpha


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("p", [1, 1.1, 1.5, 2, 2.1, 3, 10])
def test_the_optimum_to_the_last_digits(p, C, fit_intercept):
    problem, K, X = problem_of(p, C, fit_intercept)
    ledger = Ledger(Budget())
    found = solve_on_face(problem, K, near_the_optimum(problem, X), ledger)
    assert found is not None
    assert found.certificate.gap == ledger.records[0]["gap"] <= 1e-11
    expected = oracle.solve(K, problem.y, problem.cost, p, fit_intercept)
    assert found.certificate.primal == pytest.approx(expected.upper, rel=1e-6)
    alpha = found.alpha
    assert np.all(alpha >= 0.0)
    if fit_intercept:
        assert abs(problem.y @ alpha) <= 1e-9 * alpha.sum()
    assert found.decision == pytest.approx(K @ (problem.y * alpha))


def test_equal_rows_have_no_unique_face():
    problem, _, X = problem_of(1, 1.0)
    alpha = near_the_optimum(problem, X)
    free = np.flatnonzero((alpha > 0) & (alpha < problem.cost))
    X[free[1]] = X[free[0]]
    assert solve_on_face(problem, kernel_matrix("rbf", X), alpha, Ledger(Budget())) is None


@pytest.mark.parametrize("p", [1, 3])
def test_hard_margins_are_left_to_others(p):
    problem, K, _ = problem_of(p, np.inf)
    assert solve_on_face(problem, K, np.full(problem.y.size, 0.5), Ledger(Budget())) is None


@pytest.mark.parametrize("p", [1.5, 2, 3])
def test_a_start_from_nowhere_ends_at_the_same_optimum(p):
    problem, K, X = problem_of(p, 10.0)
    start = near_the_optimum(problem, X)
    expected = solve_on_face(problem, K, start, Ledger(Budget())).alpha
    for seed in range(10):
        alpha = np.random.default_rng(seed).uniform(0.0, 10.0, problem.y.size)
        found = solve_on_face(problem, K, alpha, Ledger(Budget()))
        assert found is not None
        assert found.alpha == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_small_fits_take_it(p):
    X, y = noisy(200, 5)
    model = PSVC(p, C=3.0).fit(X, y)
    assert model.history_[0][-1]["solver"] == "face"
    assert model.dual_gap_[0] <= 1e-9
    order = np.random.default_rng(0).permutation(200)
    again = PSVC(p, C=3.0).fit(X[order], y[order])
    assert again.decision_function(X) == pytest.approx(model.decision_function(X), abs=1e-9)


def test_indefinite_kernels_do_not():
    X, y = noisy(120, 3)
    model = PSVC(1, kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X, y)
    assert "face" not in {record["solver"] for record in model.history_[0]}


def test_equal_rows_of_a_small_training_set_are_merged_first():
    X, y = noisy(150, 3)
    X, y = np.vstack([X, X[:30]]), np.concatenate([y, y[:30]])
    model = PSVC(1).fit(X, y)
    assert model.history_[0][-1]["solver"] == "face"
    weight = np.where(np.arange(150) < 30, 2.0, 1.0)
    weighted = PSVC(1).fit(X[:150], y[:150], sample_weight=weight)
    assert weighted.decision_function(X) == pytest.approx(model.decision_function(X), abs=1e-9)


@pytest.mark.parametrize("p", [1, 1.5, 2])
@pytest.mark.parametrize("balance", [0.0, 3.0])
def test_rows_with_targets_and_a_balance(p, balance):
    """From a conic solver's alpha to the last digits, two rows on every kernel row."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, size=(40, 1))
    values = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=40)
    y, shared = np.repeat([1.0, -1.0], 40), np.tile(np.arange(40), 2)
    problem = KernelProblem(
        y,
        np.concatenate([values - 0.1, values + 0.1]),
        rng.uniform(1.0, 2.0, 80),
        PNormHinge(p),
        balance=balance,
        segments=[0],
        kernel_row=shared,
    )
    K = kernel_matrix("rbf", X)[np.ix_(shared, shared)]
    best = oracle.solve_rows(K, y, problem.target, problem.cost, p, balance)
    near = np.where(best.alpha < 1e-5, 0.0, best.alpha)
    if p == 1:
        near = np.where(near > problem.cost - 1e-5, problem.cost, near)
    found = solve_on_face(problem, K, near, Ledger(Budget()))
    assert found is not None
    assert found.certificate.gap <= 1e-11
    assert found.certificate.primal == pytest.approx(best.value, rel=1e-6)
    assert y @ found.alpha == pytest.approx(balance)
