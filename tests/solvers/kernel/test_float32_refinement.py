"""float32 kernel entries, corrected by exact decision values where their rounding shows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from small_data import noisy

from psvm import PSVC
from psvm.mathematics.certificate import certify
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.solvers.kernel import choose
from psvm.solvers.kernel.working_set import solve_working_set
from psvm.solvers.ledger import Budget, Ledger

N, C, TOL = 1500, 300.0, 2e-7


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 12))
    y = np.where(X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=N) > 0, 1.0, -1.0)
    kernel = TrainingKernel(Kernel("rbf", 0.1), X, [0, N], 1e8, 1)
    return KernelProblem.classification([0], y, np.full(N, C), PNormHinge(1.5), True), kernel


def exact(problem, kernel, alpha):
    decision = kernel.decision([0], problem.y * alpha, 1)
    certificate = certify(problem, alpha, decision)
    return decision, certificate.gap


def pair_steps(problem, kernel, alpha, decision=None):
    stage = Ledger(Budget(tol=TOL)).stage("working_set")
    return solve_working_set(
        problem, kernel, alpha, stage, float32=True, threads=1, decision=decision
    )


def test_rounding_only_touches_what_changes(problem):
    """The second run starts at values in float64, and its own account of the gap is true."""
    problem, kernel = problem
    first = pair_steps(problem, kernel, np.zeros(N))
    decision, gap = exact(problem, kernel, first.alpha)
    assert gap > 2 * TOL  # rounding showed
    for _ in range(3):
        again = pair_steps(problem, kernel, first.alpha, decision)
        decision, gap = exact(problem, kernel, again.alpha)
        first = again
    assert gap <= 2 * TOL


def test_a_fit_stays_in_float32(problem, monkeypatch):
    """Where float32 passes for converged and is not, it goes on from exact values."""
    problem, kernel = problem
    monkeypatch.setattr(TrainingKernel, "float32_is_safe", lambda self, tol: True)
    solved = choose.solve_kernel(problem, kernel, np.zeros(N), Ledger(Budget(tol=TOL)), threads=1)
    assert solved.certificate.gap <= TOL
    assert {record["solver"] for record in solved.history} == {"working_set_float32"}


@pytest.mark.parametrize("error", [0.0, 5e-4, 0.02, 0.5])
def test_the_certificate_is_exact_whatever_the_solver_says(problem, error, monkeypatch):
    """Rows that float32 puts outside the margin are believed only as far as its errors allow."""
    problem, kernel = problem

    def rounding(*arguments, **settings):
        result = solve_working_set(*arguments, **settings)
        result.decision += error * np.random.default_rng(1).uniform(-1, 1, N)
        return result

    monkeypatch.setattr(choose, "solve_working_set", rounding)
    monkeypatch.setattr(TrainingKernel, "float32_is_safe", lambda self, tol: True)
    solved = choose.solve_kernel(problem, kernel, np.zeros(N), Ledger(Budget(tol=1e-3)), threads=1)
    _, gap = exact(problem, kernel, solved.alpha)
    assert solved.certificate.measured == pytest.approx(gap, rel=1e-9)
    assert solved.certificate.gap == pytest.approx(gap, rel=1e-2)
    inside = problem.y * (solved.decision + solved.certificate.intercept) < 1.0
    decision, _ = exact(problem, kernel, solved.alpha)
    assert_allclose(solved.decision[inside], decision[inside], rtol=1e-9, atol=1e-9)


def test_records_go_on_through_refinements(monkeypatch):
    """Rounds are counted through, and seconds do not fall."""
    monkeypatch.setattr(TrainingKernel, "float32_is_safe", lambda self, tol: True)
    X, y = noisy(900)
    model = PSVC(1.5, C=C, tol=TOL).fit(X, y)
    rounds = [record["iteration"] for record in model.history_[0]]
    seconds = [record["seconds"] for record in model.history_[0]]
    assert rounds == list(range(len(rounds)))
    assert seconds == sorted(seconds)
    assert model.dual_gap_[0] <= TOL
