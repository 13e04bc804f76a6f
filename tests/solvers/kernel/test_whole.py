"""All problems of a small fit at once: to the last digits, proved, or left to the other solvers."""

import numpy as np
import oracle
import pytest
from referee import kernel_matrix
from small_data import noisy

from psvm import PSVC
from psvm.mathematics.certificate import certify
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.rows.sizes import SMALL, WHOLE
from psvm.solvers.kernel.together import solve_together
from psvm.solvers.kernel.whole import are_small, solve_whole
from psvm.solvers.ledger import Budget, Status


def problem_of(p, C, fit_intercept=True, n=90, kernel="rbf"):
    X, y = noisy(n, 4, seed=3)
    cost = C * np.random.default_rng(1).uniform(0.5, 2.0, n)
    problem = KernelProblem.classification([0], y, cost, PNormHinge(p), fit_intercept)
    matrix = kernel_matrix(kernel, X)
    return problem, TrainingKernel(Kernel("precomputed"), matrix, [0, n], 1e7, 1), matrix


def solve(problem, kernel, start=None, budget=None, on_round=None):
    start = np.zeros(problem.y.size) if start is None else start
    return solve_whole([problem], [start], kernel, budget or Budget(), on_round, None)[0]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("p", [1, 1.1, 1.5, 2, 2.1, 3, 10])
def test_the_optimum_to_the_last_digits(p, C, fit_intercept):
    problem, kernel, K = problem_of(p, C, fit_intercept)
    found = solve(problem, kernel).solution
    assert found is not None
    assert found.status is Status.CONVERGED
    assert found.history[-1]["solver"] == ("slack_newton" if p > 2 else "face")
    assert found.certificate.measured == found.history[-1]["gap"] <= 1e-11
    assert found.certificate.measured <= found.certificate.gap <= 1e-9
    expected = oracle.solve(K, problem.y, problem.cost, p, fit_intercept)
    assert found.certificate.primal == pytest.approx(expected.upper, rel=1e-6)
    alpha = found.alpha
    assert np.all(alpha >= 0.0)
    if fit_intercept:
        assert abs(problem.y @ alpha) <= 1e-9 * alpha.sum()
    assert found.decision == pytest.approx(K @ (problem.y * alpha))
    again = certify(problem, alpha, K @ (problem.y * alpha))
    assert found.certificate.primal == pytest.approx(again.primal, rel=1e-12)
    assert found.certificate.dual == pytest.approx(again.dual, rel=1e-11)
    assert found.certificate.intercept == pytest.approx(again.intercept, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("p", [2.01, 2.5, 3, 8])
def test_every_row_has_the_slope_of_its_loss(p, C, fit_intercept):
    """Stationarity: alpha is the slope at the slack that alpha itself leaves; rows balance."""
    problem, kernel, K = problem_of(p, C, fit_intercept, n=80)
    alpha = solve(problem, kernel).solution.alpha
    inside = alpha > 1e-6 * alpha.max()
    left = (
        problem.target
        - K @ (problem.y * alpha)
        - problem.y * problem.loss.slack_of(alpha, problem.cost)
    )
    b = left[inside].mean() if fit_intercept else 0.0
    assert left[inside] == pytest.approx(np.full(inside.sum(), b), abs=1e-7)
    assert np.all(problem.shortfall(K @ (problem.y * alpha) + b)[alpha == 0.0] <= 1e-9)


@pytest.mark.parametrize("p", [1.5, 2, 3])
def test_a_start_from_nowhere_ends_at_the_same_optimum(p):
    problem, kernel, _ = problem_of(p, 10.0)
    expected = solve(problem, kernel).solution.decision
    for seed in range(5):
        alpha = np.random.default_rng(seed).uniform(0.0, 10.0, problem.y.size)
        for sign in (1.0, -1.0):
            alpha[problem.y == sign] /= alpha[problem.y == sign].sum()
        found = solve(problem, kernel, start=alpha).solution
        assert found.decision == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_fits_take_it_in_any_order_of_rows(p):
    X, y = noisy(200, 5)
    model = PSVC(p, C=3.0).fit(X, y)
    assert model.history_[0][-1]["solver"] in ("face", "slack_newton")
    assert model.dual_gap_[0] <= 1e-9
    order = np.random.default_rng(0).permutation(200)
    again = PSVC(p, C=3.0).fit(X[order], y[order])
    assert again.decision_function(X) == pytest.approx(model.decision_function(X), abs=1e-9)


def test_a_corner_may_be_the_optimum():
    """At a small C all alpha of two classes of one size are at the bound: no row is free."""
    X, y = noisy(60, 3)
    y = np.sort(y)[::-1]
    problem = KernelProblem.classification([0], y, np.full(60, 1e-4), PNormHinge(1.0))
    if (y > 0).sum() != 30:
        problem = KernelProblem.classification(
            [0], np.repeat([1.0, -1.0], 30), problem.cost, problem.loss
        )
    kernel = TrainingKernel(Kernel("rbf", 0.4), X, [0, 60], 1e7, 1)
    found = solve(problem, kernel).solution
    assert found.alpha == pytest.approx(problem.cost)
    assert found.certificate.gap <= 1e-9


def test_indefinite_kernels_are_not_polished():
    X, y = noisy(120, 3)
    model = PSVC(1, kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X, y)
    assert "face" not in {record["solver"] for record in model.history_[0]}
    assert model.status_[0] in (Status.STATIONARY, Status.STALLED)


def test_a_matrix_is_looked_at():
    """Semidefinite but for rounding, it is as good as any; with a negative eigenvalue it is not."""
    X, y = noisy(80, 3)
    K = X @ X.T
    assert PSVC(1.5, kernel="precomputed").fit(K, y).status_ == [Status.CONVERGED]
    turned = K - 0.05 * np.eye(80)
    assert PSVC(1, C=1e-3, kernel="precomputed").fit(turned, y).status_ == [Status.STATIONARY]


def test_equal_rows_of_a_small_training_set_are_merged_first():
    X, y = noisy(150, 3)
    X, y = np.vstack([X, X[:30]]), np.concatenate([y, y[:30]])
    model = PSVC(1).fit(X, y)
    assert model.history_[0][-1]["solver"] == "face"
    weight = np.where(np.arange(150) < 30, 2.0, 1.0)
    weighted = PSVC(1).fit(X[:150], y[:150], sample_weight=weight)
    assert weighted.decision_function(X) == pytest.approx(model.decision_function(X), abs=1e-9)


def regression_of(p, epsilon, quantile, C=1.5, beside=True, distinct=40, n=60, fit_intercept=True):
    """Two rows for each of n targets, on fewer kernel rows: equal rows of X share them."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, size=(distinct, 1))
    place = np.concatenate([np.arange(distinct), rng.integers(distinct, size=n - distinct)])
    values = np.sin(2 * X[place, 0]) + 0.3 * rng.normal(size=n)
    y = np.tile([1.0, -1.0], n)
    costs = C * np.array([2.0 * quantile, 2.0 * (1.0 - quantile)])
    problem = KernelProblem(
        y,
        np.repeat(values, 2) - epsilon * y,
        np.repeat(rng.uniform(1.0, 2.0, n), 2) * np.tile(costs, n),
        PNormHinge(p),
        fit_intercept,
        segments=[0],
        kernel_row=np.repeat(place, 2),
    )
    if not beside:
        problem = problem.in_order(np.arange(2 * n).reshape(n, 2).T.ravel())
    matrix = kernel_matrix("rbf", X)
    return problem, TrainingKernel(Kernel("precomputed"), matrix, [0, distinct], 1e7, 1), matrix


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("beside", [True, False], ids=["beside", "apart"])
@pytest.mark.parametrize(("epsilon", "quantile"), [(0.1, 0.5), (0.0, 0.5), (0.0, 0.9)])
@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_rows_with_targets_that_share_a_kernel_row(p, epsilon, quantile, beside, fit_intercept):
    """Regression: two rows of opposite signs for a target, and several targets on a kernel row."""
    problem, kernel, K = regression_of(
        p, epsilon, quantile, beside=beside, fit_intercept=fit_intercept
    )
    found = solve(problem, kernel).solution
    place = problem.kernel_row
    best = oracle.solve_rows(
        K[np.ix_(place, place)], problem.y, problem.target, problem.cost, p, 0.0, fit_intercept
    )
    assert found is not None
    assert found.certificate.gap <= 1e-9
    assert found.certificate.primal == pytest.approx(best.value, rel=1e-6)
    decision = problem.of_rows(K @ problem.summed(problem.y * found.alpha))
    assert found.decision == pytest.approx(decision, abs=1e-9)
    if beside:
        assert np.all(found.alpha.reshape(-1, 2).min(axis=1) == 0.0)


@pytest.mark.parametrize("C", [100.0, 1000.0])
@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_quantiles_at_a_large_cost(p, C):
    """No epsilon: every row is a support vector, and many pass 0 on their way."""
    problem, kernel, K = regression_of(p, 0.0, 0.9, C, distinct=150, n=150)
    (found,) = solve_together([problem], [np.zeros(300)], kernel, Budget(), None, in_order=True)
    assert found.status is Status.CONVERGED
    assert found.certificate.gap <= 1e-5
    decision = problem.of_rows(K @ problem.summed(problem.y * found.alpha))
    assert certify(problem, found.alpha, decision).gap <= 1e-5


def test_the_size_of_a_regression_is_that_of_its_targets():
    """Two rows of a target are one variable; targets that share a kernel row are several."""
    for n, distinct, small in ((WHOLE, WHOLE, True), (WHOLE + 1, WHOLE + 1, False)):
        problem, kernel, _ = regression_of(1.5, 0.1, 0.5, distinct=distinct, n=n)
        assert are_small([problem], kernel) is small
    problem, kernel, _ = regression_of(1.5, 0.1, 0.5, distinct=30, n=WHOLE + 1)
    assert not are_small([problem], kernel)


def test_what_is_not_for_it():
    """Hard margins, a balance, many rows, one problem of few features and many rows."""

    def asked(n=30, C=1.0, balance=0.0, kernel="rbf", features=4):
        X, y = noisy(n, features)
        problem = KernelProblem(y, y, np.full(n, C), PNormHinge(1.5), balance=balance, segments=[0])
        return are_small([problem], TrainingKernel(Kernel(kernel, 0.4), X, [0, n], 1e7, 1))

    assert asked()
    assert not asked(C=np.inf)
    assert not asked(balance=1.0)
    assert asked(n=WHOLE)
    assert not asked(n=WHOLE + 1)
    assert asked(n=SMALL, kernel="linear")
    assert not asked(n=SMALL + 1, kernel="linear")


def test_rounds_are_heard_and_counted():
    problem, kernel, _ = problem_of(1.5, 100.0)
    heard = []

    def on_round(t, record):
        heard.append(record)
        return False

    found = solve(problem, kernel, on_round=on_round).solution
    assert heard == found.history
    assert [record["iteration"] for record in heard] == list(range(len(heard)))
    assert found.n_iter == len(heard) - 1
    for rounds in range(1, len(heard) - 1):
        short = solve(problem, kernel, budget=Budget(max_iter=rounds)).solution
        assert short.n_iter == rounds
        within = short.certificate.gap <= 1e-4
        assert short.status is (Status.CONVERGED if within else Status.MAX_ITER)
    stopped = solve(problem, kernel, on_round=lambda t, record: record["iteration"] == 1).solution
    assert stopped.status is Status.STOPPED
    assert stopped.certificate.gap > 1e-4


def test_where_time_is_up_the_start_is_handed_on():
    problem, kernel, _ = problem_of(1.5, 1.0)
    start = np.full(problem.y.size, 1e-3)
    for sign in (1.0, -1.0):
        start[problem.y == sign] /= start[problem.y == sign].sum()
    begun = solve(problem, kernel, start=start, budget=Budget(max_time=0.0))
    assert begun.solution is None
    assert begun.records == []
    np.testing.assert_array_equal(begun.alpha, start)
