"""What the kernel solvers hand on: a feasible alpha and the decision values that belong to it."""

import numpy as np
import pytest
from referee import kernel_matrix
from small_data import noisy

from psvm.mathematics.certificate import certify
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.solvers.kernel.newton import factor_of, solve_proximal_newton
from psvm.solvers.kernel.working_set import solve_working_set
from psvm.solvers.ledger import Budget, Ledger, Solution, Status


@pytest.mark.parametrize("solver", ["working_set", "newton"])
@pytest.mark.parametrize("max_iter", [1, -1])
def test_decision_values_are_those_of_alpha(solver, max_iter):
    X, y = noisy(80, 4)
    K, start = kernel_matrix("rbf", X), np.zeros(80)
    problem = KernelProblem.classification([0], y, np.ones(80), PNormHinge(1.5))
    stage = Ledger(Budget(max_iter=max_iter)).stage(solver)
    if solver == "newton":
        at = Solution(
            lambda: start, certify(problem, start, start), Status.MAX_ITER, decision=start
        )
        found = solve_proximal_newton(problem, factor_of(K, True), at, stage, polish=False)
    else:
        kernel = TrainingKernel(Kernel("rbf", 0.4), X, [0, 80], 1e7, 1)
        found = solve_working_set(problem, kernel, start, stage, float32=False, threads=1)
    assert found.status is (Status.CONVERGED if max_iter < 0 else Status.MAX_ITER)
    assert np.all(found.alpha >= 0.0)
    assert found.alpha.any()
    assert abs(y @ found.alpha) <= 1e-9 * found.alpha.sum()
    assert found.decision == pytest.approx(K @ (y * found.alpha), abs=1e-9)
