"""The proof that no hard margin exists, in both solvers that look for one."""

import numpy as np
import pytest

from psvm import LinearPSVC, _core


def kernel_status(X, y):
    """How the kernel solver ends at infinite cost, with a linear kernel."""
    n = len(y)
    kernel = _core.Kernel64.matrix(X @ X.T, [0, n])
    problem = _core.KernelProblem(
        segments=[0], y=y, target=y, cost=np.full(n, np.inf), p=1.0, fit_intercept=True
    )
    budget = _core.Budget(tol=1e-6, max_iter=10_000)
    return _core.solve_working_set(kernel, None, problem, np.zeros(n), budget)["status"]


def linear_status(X, y):
    model = LinearPSVC(C=np.inf, solver="coordinate_descent", max_iter=10_000)
    try:
        return str(model.fit(X, y).status_[0])
    except ValueError as error:
        return "unbounded" if "separable" in str(error) else str(error)


@pytest.mark.parametrize("status", [kernel_status, linear_status])
def test_separable_or_not(status):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    X[:, 0] += 0.2 * y
    assert status(X, y) == "converged"
    y[:3] *= -1.0
    assert status(X, y) == "unbounded"
