"""What a row is, and dual variables made feasible."""

import numpy as np
import pytest

from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem, feasible

Y = np.array([1.0, 1.0, -1.0, -1.0, -1.0])


def test_the_target_of_a_label_is_its_sign():
    problem = KernelProblem.classification([0], Y, np.ones(5), PNormHinge(2), False)
    assert np.array_equal(problem.target, Y)
    assert problem.balance == 0.0
    assert problem.kernel_row is None
    assert not problem.fit_intercept


@pytest.mark.parametrize(("C", "hard"), [(1.0, False), (np.inf, True)])
def test_an_infinite_cost_is_the_hard_margin(C, hard):
    problem = KernelProblem.classification([0], Y, np.full(5, C), PNormHinge(2))
    assert problem.hard_margin == hard


@pytest.mark.parametrize("p", [1, 1.5])
def test_feasible_variables_keep_their_bounds_and_balance(p):
    alpha, cost = np.array([3.0, 1.0, -2.0, 0.5, 0.25]), np.full(5, 2.0)
    found = feasible(alpha, Y, cost, PNormHinge(p), True)
    # Cut to [0, cost] at p = 1 and to [0, inf) above, then the heavier class scaled down.
    plus = (2.0 if p == 1 else 3.0) + 1.0
    expected = np.array([plus - 1.0, 1.0, 0.0, 0.5, 0.25]) * np.where(Y > 0, 0.75 / plus, 1.0)
    assert found == pytest.approx(expected)
    assert Y @ found == pytest.approx(0.0, abs=1e-15)


def test_without_an_intercept_nothing_is_balanced():
    alpha = np.array([3.0, 1.0, -2.0, 0.5, 0.25])
    found = feasible(alpha, Y, np.full(5, 2.0), PNormHinge(1), False)
    assert found.tolist() == [2.0, 1.0, 0.0, 0.5, 0.25]


def test_an_imbalance_of_rounding_is_left_alone():
    alpha = np.array([0.1, 0.2, 0.3, 0.0, 0.0])  # 0.1 + 0.2 is not quite 0.3
    assert feasible(alpha, Y, np.full(5, 0.3), PNormHinge(1), True).tolist() == alpha.tolist()
