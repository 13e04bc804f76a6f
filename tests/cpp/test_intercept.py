"""The minimiser over b in C++, against the one of the certificate."""

import numpy as np
import pytest
from small_data import noisy

from psvm import LinearPSVC, _core
from psvm.mathematics.certificate import DualRows, best_intercept
from psvm.mathematics.loss import PNormHinge


def solve_one_cell(K, y, cost, p):
    """Dual variables, decision values and intercept of a path of one cell, solved loosely."""
    every, n = np.arange(len(y)), len(y)
    columns = np.array([[0, n]])
    problem = _core.FoldProblem(
        train=every,
        y=y,
        cost=cost,
        held_out=every,
        train_columns=columns,
        held_out_columns=columns,
        fit_intercept=True,
    )
    precision = _core.Precision(tol=1e-2, keep_alpha=True)
    outcome = _core.solve_fold_path(K, problem, np.array([p]), np.ones(1), precision)
    decision = K @ (y * outcome["alpha"][0])
    shifts = outcome["decision"][0] - decision
    assert np.ptp(shifts) < 1e-9
    return decision, shifts.mean()


@pytest.mark.parametrize("p", [1.0, 1.1, 1.5, 2.0, 3.0])
def test_the_minimiser_is_that_of_the_certificate(p):
    X, y = noisy(n=150, d=3, seed=1)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    cost = np.random.default_rng(0).uniform(0.5, 3.0, len(y))
    decision, b = solve_one_cell(K, y, cost, p)
    assert b == pytest.approx(
        best_intercept(DualRows(y, y, cost, PNormHinge(p)), decision), abs=1e-8
    )


def test_the_middle_of_an_interval():
    """At p = 1 two rows of equal cost far apart cost the same for every b between them."""
    y, K = np.array([1.0, -1.0]), 1e-3 * np.eye(2)
    decision, b = solve_one_cell(K, y, np.ones(2), 1.0)
    assert decision == pytest.approx([1e-3, -1e-3])
    assert b == pytest.approx(0.0, abs=1e-12)
    decision, b = solve_one_cell(K + 0.5, y, np.ones(2), 1.0)
    assert b == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_the_intercept_of_coordinate_descent_is_a_minimiser(p):
    X, y = noisy(n=200, d=4, seed=2)
    model = LinearPSVC(p, solver="coordinate_descent", tol=1e-6).fit(X, y)
    decision = X @ model.coef_[0]
    best = best_intercept(DualRows(y, y, np.ones(200), PNormHinge(p)), decision)

    def lost(b):
        return np.sum(np.maximum(1.0 - y * (decision + b), 0.0) ** p)

    assert lost(model.intercept_[0]) <= lost(best) * (1.0 + 1e-6)
