"""The stages of a kernel solve see rows, of which several may share a kernel row."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from psvm.mathematics.certificate import certify
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem, feasible
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.solvers.kernel.candidate import Candidate
from psvm.solvers.kernel.choose import _KernelSolve
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
