"""Dual rows of kernel regressions: equal rows of X share a kernel row, equal targets are one."""

import numpy as np
import pytest

from psvm.estimators.target_rows import TargetRows
from psvm.estimators.target_starts import ColdTargetStart, TargetWarmStart
from psvm.estimators.targets import encode_targets
from psvm.estimators.training_rows import TrainingRows
from psvm.mathematics.loss import PNormHinge
from psvm.solvers.ledger import Solution

X = np.array([[0.0], [1.0], [0.0], [2.0], [0.0], [1.0]])
Y = np.array([1.0, 2.0, 1.0, 3.0, 5.0, 9.0])
WEIGHT = np.array([1.0, 1.0, 3.0, 1.0, 1.0, 0.0])


def made(merge=True, p=1.5):
    targets = encode_targets(Y, WEIGHT, 2.0, 0.25, 0.5, p, True)
    rows = TrainingRows.of_targets(X, targets.cost, WEIGHT, merge=merge)
    rows = TargetRows.of(rows, targets, WEIGHT)
    return targets, rows, rows.problem(targets, PNormHinge(p), True)


def test_rows_and_groups():
    targets, rows, problem = made()
    assert rows.rows.kept.tolist() == [0, 1, 2, 3, 4]
    assert rows.rows.rows.tolist() == [0, 1, 3]  # kernel rows
    assert rows.groups.group.tolist() == [0, 1, 0, 2, 3]
    assert problem.kernel_row.tolist() == [0, 0, 1, 1, 2, 2, 0, 0]
    np.testing.assert_array_equal(problem.y, [1, -1] * 4)
    y = targets.y[[0, 1, 3, 4]]
    np.testing.assert_array_equal(problem.target[::2], y - targets.epsilon)
    np.testing.assert_array_equal(problem.target[1::2], y + targets.epsilon)
    assert problem.cost[0] == pytest.approx(4 * problem.cost[2])
    assert rows.shares.tolist() == [0.25, 1.0, 0.75, 1.0, 1.0]


def test_nothing_is_merged_where_that_is_not_asked_for():
    _, rows, problem = made(merge=False)
    assert problem.y.size == 10
    assert problem.kernel_row.tolist() == np.repeat(np.arange(5), 2).tolist()
    assert rows.shares.tolist() == [1.0] * 5


def test_values_go_to_the_rows_of_X_and_back():
    _, rows, _ = made()
    values = np.arange(1.0, 9.0)
    everywhere = rows.scatter(values)
    assert everywhere.tolist() == [[1, 2], [3, 4], [1, 2], [5, 6], [7, 8], [0, 0]]
    np.testing.assert_array_equal(rows.pick(everywhere), values)
    shared = rows.split(values)
    assert shared[0].tolist() == [0.25, 0.5]
    np.testing.assert_allclose(rows.gather(shared), values)


def test_a_start_remembers_targets_and_brings_alpha_to_any_unit():
    targets, rows, problem = made()
    alpha = np.array([0.5, 0.0, 0.0, 0.25, 0.0, 0.5, 0.25, 0.0])
    inside = Solution(lambda: alpha, *_proof(problem, alpha))
    found = targets.in_users_units(inside, problem, 1.0)
    warm = TargetWarmStart.of(problem, found, rows, targets)
    assert warm.fits(rows, targets)
    np.testing.assert_allclose(warm.alpha(problem, rows, targets), alpha)
    other = encode_targets(Y + (np.arange(6) == 1), WEIGHT, 2.0, 0.25, 0.5, 1.5, True)
    assert not warm.fits(rows, other)
    ignored = encode_targets(Y + (np.arange(6) == 5), WEIGHT, 2.0, 0.25, 0.5, 1.5, True)
    assert warm.fits(rows, ignored)  # its weight is 0
    assert not ColdTargetStart().alpha(problem, rows, targets).any()


def test_a_start_for_another_p_has_the_old_slacks():
    targets, rows, problem = made()
    alpha = problem.loss.alpha_of(np.linspace(0, 0.7, 8), problem.cost)
    inside = Solution(lambda: alpha, *_proof(problem, alpha))
    warm = TargetWarmStart.of(problem, targets.in_users_units(inside, problem, 1.0), rows, targets)
    other, others, posed = made(p=2.0)
    values = inside.decision + inside.certificate.intercept
    slack = np.maximum(problem.shortfall(values), 0.0) * targets.scale / other.scale
    started, wanted = warm.alpha(posed, others, other), 2.0 * posed.cost * slack
    lighter = min(wanted[::2].sum(), wanted[1::2].sum())
    np.testing.assert_allclose(started[::2], wanted[::2] * lighter / wanted[::2].sum())


def _proof(problem, alpha):
    """A certificate, a status, and what else a solution has."""
    from psvm.mathematics.certificate import certify
    from psvm.solvers.ledger import Status

    K = np.exp(-0.5 * (X[[0, 1, 3]] - X[[0, 1, 3]].T) ** 2)
    decision = problem.of_rows(K @ problem.summed(problem.y * alpha))
    return certify(problem, alpha, decision), Status.CONVERGED, 1, [], decision
