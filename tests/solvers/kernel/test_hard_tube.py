"""All rows inside the tube: optimal, strictly inside, or nowhere."""

import numpy as np
import pytest
import regression_oracle as oracle
from sklearn.metrics.pairwise import rbf_kernel
from small_data import curve

from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.solvers.kernel.hard_tube import _room, solve_hard_tube
from psvm.solvers.ledger import Budget, Ledger, Status


def posed(y, epsilon, fit_intercept=True, kernel_row=None):
    n = len(y)
    return KernelProblem(
        np.tile([1.0, -1.0], n),
        np.repeat(y, 2) + np.tile([-epsilon, epsilon], n),
        np.full(2 * n, np.inf),
        PNormHinge(1.5),
        fit_intercept,
        segments=[0],
        kernel_row=np.repeat(np.arange(n) if kernel_row is None else kernel_row, 2),
    )


def solved(X, problem, gamma=1.0, **limits):
    kernel = TrainingKernel(Kernel("rbf", gamma), X, [0, X.shape[0]], 1e7, 1)
    ledger = Ledger(Budget(**limits))
    return solve_hard_tube(problem, kernel, np.zeros(problem.y.size), ledger, threads=1)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
@pytest.mark.parametrize("n", [25, 120])
def test_the_solution_is_optimal_and_strictly_inside(n, tol, fit_intercept):
    X, y = curve(n, noise=0.05)
    problem = posed(y, 0.2, fit_intercept)
    found = solved(X, problem, tol=tol)
    assert found.status is Status.CONVERGED
    assert found.certificate.gap <= tol
    assert problem.shortfall(found.decision + found.certificate.intercept).max() < 0.0
    tube = oracle.Tube.of(n, 1.0, 0.2, C=np.inf)
    best = oracle.solve(rbf_kernel(X, gamma=1.0), y, tube, fit_intercept)
    assert found.certificate.dual <= best.upper * (1 + 1e-6)
    assert found.certificate.primal >= best.lower * (1 - 1e-6)
    assert found.n_iter == found.history[-1]["iteration"]


def test_rows_whose_tubes_do_not_meet():
    X, kernel_row = np.array([[0.0], [1.0]]), np.array([0, 0, 1])
    assert _room(posed([0.0, 1.0, 3.0], 0.4, kernel_row=kernel_row)) == pytest.approx(-0.1)
    assert _room(posed([0.0, 1.0, 3.0], 0.7, kernel_row=kernel_row)) == pytest.approx(0.2)
    found = solved(X, posed([0.0, 1.0, 3.0], 0.4, kernel_row=kernel_row))
    assert found.status is Status.UNBOUNDED
    found = solved(X, posed([0.0, 1.0, 3.0], 0.7, kernel_row=kernel_row))
    assert found.status is Status.CONVERGED


def test_limits_of_the_user_end_it():
    X, y = curve(60)
    found = solved(X, posed(y, 0.01), gamma=0.3, max_iter=3)
    assert found.status is Status.MAX_ITER
    assert found.n_iter == 3


def test_classes_are_not_its_business():
    y = np.array([1.0, -1.0])
    hard = KernelProblem.classification([0], y, np.full(2, np.inf), PNormHinge(1.0))
    assert not hard.hard_tube
    assert posed(np.zeros(2), 0.1).hard_tube
