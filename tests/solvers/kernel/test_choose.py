"""The stages of a kernel solve see rows, of which several may share a kernel row."""

import time

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from psvm import PSVC, PSVR
from psvm.mathematics.certificate import certify
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem, feasible
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.solvers.kernel.candidate import Candidate
from psvm.solvers.kernel.choose import _KernelSolve, solve_kernel
from psvm.solvers.kernel.whole import solve_slack_newton
from psvm.solvers.ledger import Budget, Ledger, Status


@pytest.mark.parametrize("n", [30, 700])
def test_rows_that_share_a_kernel_row(n):
    """Decision values, exact where the solver's are not, one for each row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    shared = np.concatenate([np.arange(n), rng.permutation(n)[: n // 2]])
    y = np.where(np.arange(shared.size) < n, 1.0, -1.0)
    target = rng.normal(size=shared.size)
    problem = KernelProblem(
        y, target, np.ones(shared.size), PNormHinge(1.5), segments=[0], kernel_row=shared
    )
    kernel = TrainingKernel(Kernel("rbf", 0.5), X, [0, n], 1e7, 1)
    solve = _KernelSolve(problem, kernel, Ledger(Budget()), threads=1)
    K = rbf_kernel(X, gamma=0.5)[np.ix_(shared, shared)]
    alpha = feasible(problem, rng.uniform(size=y.size))
    exact = K @ (y * alpha)
    some = rng.uniform(size=y.size) < 0.3
    assert solve.decision(alpha) == pytest.approx(exact, abs=1e-9)
    assert solve.decision(alpha, rows=some) == pytest.approx(exact[some], abs=1e-9)
    rounded = exact + 1e-4 * rng.uniform(-1, 1, y.size)
    solution = solve.certified(Candidate(alpha, rounded, Status.MAX_ITER))
    assert solution.certificate.gap == pytest.approx(certify(problem, alpha, exact).gap)
    # Rows of one kernel row have one value: whoever goes on from there takes any of them.
    assert problem.of_kernel_rows(solution.decision)[shared] == pytest.approx(
        solution.decision, abs=0.0
    )


@pytest.mark.parametrize("p", [2, 3, 6])
def test_newton_ends_what_pair_steps_take_long_for(p):
    """Targets that lie far out make slacks of very different curvatures."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1200, 4))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=1200)
    y[:30] += 20.0 * rng.normal(size=30)
    model = PSVR(p, C=1000.0, gamma=1.0).fit(X, y)
    solvers = [record["solver"] for record in model.history_[0]]
    assert solvers[0] == "working_set_float32"
    assert solvers[-1] == "slack_newton"
    assert model.dual_gap_[0] <= 1e-4
    residual = y - model.predict(X)
    slack = np.maximum(np.abs(residual) - 0.1, 0.0)
    w = model.dual_coef_[0] @ rbf_kernel(model.support_vectors_, gamma=1.0) @ model.dual_coef_[0]
    primal = 0.5 * w + 1000.0 * np.sum(slack**p)
    assert model.primal_objective_[0] == pytest.approx(primal, rel=1e-6)
    with_time = PSVR(p, C=1000.0, gamma=1.0, tol=1e-6).fit(X, y)
    assert with_time.dual_objective_[0] <= primal * (1 + 1e-9)
    assert with_time.primal_objective_[0] == pytest.approx(primal, rel=1e-4)


def test_newton_on_slacks_tells_of_its_end():
    """It is one round, heard of by whoever listens, and a candidate to be certified."""
    rng = np.random.default_rng(0)
    X, n = rng.normal(size=(600, 3)), 600
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    problem = KernelProblem.classification([0], y, np.full(n, 50.0), PNormHinge(2.0))
    kernel = TrainingKernel(Kernel("rbf", 0.5), X, [0, n], 1e7, 1)
    heard = []
    ledger = Ledger(Budget(), on_round=lambda t, record: heard.append(record) or False)
    found = solve_slack_newton(
        problem, kernel, np.zeros(n), ledger.stage("slack_newton", tol=1e-6), threads=1
    )
    assert found.status is Status.CONVERGED
    assert certify(problem, found.alpha, rbf_kernel(X, gamma=0.5) @ (y * found.alpha)).gap <= 1e-6
    assert [record["iteration"] for record in ledger.records] == [0, 1]
    assert heard == ledger.records


@pytest.mark.parametrize("p", [1.0001, 1.25])
def test_newton_ends_what_raw_columns_take_long_for(p):
    """Pair steps gain a little in each of hundreds of rounds, and so never count as stalled."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 18)) * np.exp(2.0 * rng.normal(size=18))
    y = np.sin(X @ rng.normal(size=18)) > 0.0
    model = PSVC(p, C=100.0, kernel="poly", degree=2, coef0=1.0, gamma=0.015).fit(X, y)
    solvers = [record["solver"] for record in model.history_[0]]
    assert solvers[-1] == "proximal_newton"
    assert solvers.count("working_set_float64") < 80
    assert model.dual_gap_[0] <= 1e-4


def test_a_small_matrix_is_looked_at_when_the_time_is_over():
    """One that is not positive semidefinite proves nothing, however small its gap."""
    rng = np.random.default_rng(0)
    n, y = 60, np.where(np.arange(60) % 2, 1.0, -1.0)
    A = rng.normal(size=(n, n))
    K = np.eye(n) + 0.1 * (A + A.T) / 2
    assert np.linalg.eigvalsh(K)[0] < -1e-3
    problem = KernelProblem.classification([0], y, np.full(n, 0.5), PNormHinge(1.5))
    kernel = TrainingKernel(Kernel("precomputed"), K, [0, n], 1e7, 1)
    ledger = Ledger(Budget())
    found = solve_kernel(problem, kernel, np.zeros(n), ledger, threads=1)
    assert found.status is Status.STATIONARY
    assert found.certificate.gap <= 1e-4
    late = Budget(max_time=1e-3, began=time.perf_counter() - 1.0)
    again = Ledger(late, records=ledger.records[:1])
    again = solve_kernel(problem, kernel, found.alpha, again, threads=1)
    assert again.certificate.gap <= 1e-4
    assert again.status is Status.STATIONARY
