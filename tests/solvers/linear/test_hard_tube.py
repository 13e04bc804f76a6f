"""C = inf with targets: all rows inside the tube, certified, or nothing."""

import numpy as np
import pytest
from linear_regression_oracle import Regression, noisy_line

from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import LinearProblems
from psvm.rows.blocks import split_rows
from psvm.solvers.ledger import Budget, Status
from psvm.solvers.linear.choose import solve_linear
from psvm.solvers.linear.hard_tube import is_hard_tube


def tube(X, y, epsilon, kept=None, fit_intercept=True):
    n = y.size
    cost = np.full(2 * n, np.inf)
    if kept is not None:
        cost[~np.repeat(kept, 2)] = 0.0
    return LinearProblems(
        signs=np.array([[1, -1]], dtype=np.int8),
        codes=np.tile(np.array([0, 1], dtype=np.int32), n),
        cost=cost,
        loss=PNormHinge(2.0),
        fit_intercept=fit_intercept,
        target=np.column_stack([y - epsilon, y + epsilon]).ravel(),
        feature_row=np.repeat(np.arange(n), 2),
    )


def solve(X, problems, on_round=None, tol=1e-5, **limits):
    rows = X if isinstance(X, list) else split_rows(X)
    (found,) = solve_linear(
        rows,
        problems,
        [None],
        Budget(tol=tol, **limits),
        on_round,
        solver="auto",
        threads=1,
        in_order=False,
    )
    return found


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_no_row_is_outside_and_the_gap_is_true(tol, fit_intercept):
    X, y = noisy_line(n=60, d=4, seed=0, noise=0.2)
    epsilon = 1.5 if fit_intercept else 5.0
    problem = Regression(X, y, np.full(60, np.inf), 2.0, epsilon, fit_intercept=fit_intercept)
    found = solve(X, tube(X, y, epsilon, fit_intercept=fit_intercept), tol=tol)
    w, b = found.w, found.certificate.intercept
    assert found.status is Status.CONVERGED
    assert found.certificate.scale == 1.0
    assert problem.worst_residual(w, b) <= epsilon
    primal, dual = problem.primal(w, b), problem.dual(*found.alpha.reshape(-1, 2).T)
    assert found.certificate.primal == pytest.approx(primal, rel=1e-12)
    assert primal - dual <= found.certificate.gap * primal * (1 + 1e-12)
    assert found.certificate.gap <= tol
    best, _, _ = problem.optimum()
    assert primal == pytest.approx(best, rel=tol + 1e-6)


def test_blocks_and_rows_that_are_absent():
    X, y = noisy_line(n=60, d=4, seed=0, noise=0.2)
    kept = np.arange(60) % 4 != 0
    far = np.where(kept, y, 1e3)
    parts = [np.ascontiguousarray(part) for part in np.array_split(X, 5)]
    blocks = solve(parts, tube(X, far, 1.5, kept))
    alone = solve(X[kept], tube(X[kept], y[kept], 1.5))
    assert blocks.w == pytest.approx(alone.w, abs=1e-2)
    assert blocks.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-5)
    assert np.all(blocks.alpha[~np.repeat(kept, 2)] == 0.0)


@pytest.mark.parametrize("epsilon", [0.01, 0.3])
def test_where_there_is_no_model(epsilon):
    X, y = noisy_line(n=60, d=2, seed=1)
    found = solve(X, tube(X, y, epsilon))
    assert found.status is Status.UNBOUNDED
    assert np.isinf(found.certificate.gap)
    equal = solve(np.zeros((2, 3)), tube(np.zeros((2, 3)), np.array([0.0, 5.0]), epsilon))
    assert equal.status is Status.UNBOUNDED


def test_limits_hold_for_all_tubes_together():
    """Rounds are counted through; who is told may stop it."""
    X, y = noisy_line(n=60, d=4, seed=0, noise=0.2)
    told = []
    whole = solve(
        X, tube(X, y, 1.5), lambda t, record: bool(told.append(record["iteration"])), tol=1e-7
    )
    assert told == sorted(told)
    assert whole.n_iter == len(whole.history) - 1 or whole.n_iter == told[-1]
    few = solve(X, tube(X, y, 1.5), tol=1e-9, max_iter=3)
    assert few.n_iter <= 3
    assert few.status is Status.MAX_ITER
    stopped = solve(X, tube(X, y, 1.5), lambda t, record: record["iteration"] >= 2, tol=1e-9)
    assert stopped.status is Status.STOPPED


def test_only_targets_have_a_tube():
    X, y = noisy_line(n=10, d=2)
    assert is_hard_tube(tube(X, y, 0.1))
    classes = LinearProblems(
        np.array([[1, -1]], np.int8), np.zeros(4, np.int32), np.full(4, np.inf), PNormHinge(1.0)
    )
    assert not is_hard_tube(classes)
