"""With p > 2, Newton steps on the slacks reach the last digits of a small problem."""

import numpy as np
import pytest
from referee import kernel_matrix
from small_data import noisy

from psvm import PSVC
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem
from psvm.solvers.kernel.slack_newton import newton_on_slacks


def problem_of(p, C, fit_intercept=True, kernel="rbf"):
    X, y = noisy(80, 4, seed=3)
    cost = C * np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    problem = KernelProblem.classification([0], y, cost, PNormHinge(p), fit_intercept)
    return problem, kernel_matrix(kernel, X)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("p", [2.01, 2.5, 3, 8])
def test_every_row_has_the_slope_of_its_loss(p, C, fit_intercept):
    """Stationarity: alpha is the slope at the slack that alpha itself leaves; rows balance."""
    problem, K = problem_of(p, C, fit_intercept)
    alpha = newton_on_slacks(problem, K, np.full(80, 1e-3))
    assert alpha is not None
    inside = alpha > 1e-6 * alpha.max()
    left = (
        problem.target
        - K @ (problem.y * alpha)
        - problem.y * problem.loss.slack_of(alpha, problem.cost)
    )
    b = left[inside].mean() if fit_intercept else 0.0
    assert left[inside] == pytest.approx(np.full(inside.sum(), b), abs=1e-7)
    assert np.all(problem.shortfall(K @ (problem.y * alpha) + b)[alpha == 0.0] <= 1e-9)
    if fit_intercept:
        assert abs(problem.y @ alpha) <= 1e-9 * alpha.sum()


def test_a_kernel_of_low_rank_has_no_singular_system():
    problem, K = problem_of(3, 10.0, kernel="linear")
    assert newton_on_slacks(problem, K, np.full(80, 1e-3)) is not None


def test_numbers_out_of_range_are_left_to_others():
    problem, K = problem_of(200.0, 1e300)
    assert newton_on_slacks(problem, K, np.full(80, 1e3)) is None


def test_small_fits_take_it_in_any_order_of_rows():
    X, y = noisy(200, 5)
    model = PSVC(3, C=3.0).fit(X, y)
    assert model.history_[0][-1]["solver"] == "slack_newton"
    assert model.dual_gap_[0] <= 1e-9
    order = np.random.default_rng(0).permutation(200)
    again = PSVC(3, C=3.0).fit(X[order], y[order])
    assert again.decision_function(X) == pytest.approx(model.decision_function(X), abs=1e-9)
