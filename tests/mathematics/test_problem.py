"""Rows with targets: their certificates at the optimum of a conic solver, and feasible points."""

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel
from strategies import exponents, seeds

from psvm.mathematics.certificate import DualRows, best_intercept, certify
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem, LinearProblems, feasible

POWERS = [1.0, 1.2, 1.5, 2.0, 3.0]


def regression(p, n=20, epsilon=0.1, quantile=0.7, C=2.0, seed=0):
    """Two rows per kernel row: below the tube and above it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 1))
    values = 5.0 + np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)
    y = np.repeat([1.0, -1.0], n)
    cost = np.repeat([2 * quantile * C, 2 * (1 - quantile) * C], n)
    target = np.concatenate([values - epsilon, values + epsilon])
    shared = np.tile(np.arange(n), 2)
    problem = KernelProblem(y, target, cost, PNormHinge(p), segments=[0], kernel_row=shared)
    return problem, problem.of_rows(rbf_kernel(X))[:, shared], X


def one_class(p, n=25, C=0.2, sign=1.0):
    """One sign, targets 0 and a balance: b is minus the threshold."""
    X = np.random.default_rng(1).normal(size=(n, 2))
    y = np.full(n, sign)
    return DualRows(y, np.zeros(n), np.full(n, C), PNormHinge(p), balance=sign), rbf_kernel(X)


def objectives(rows, K, alpha, b):
    """P and D, written out."""
    coef = rows.y * alpha
    f = K @ coef
    xi = np.maximum(rows.y * (rows.target - f - b), 0.0)
    primal = 0.5 * coef @ f + np.sum(rows.cost * xi**rows.loss.p) + rows.balance * b
    conjugate = 0.0
    if rows.loss.p > 1:
        ratio = (alpha / (rows.loss.p * rows.cost)) ** (1 / (rows.loss.p - 1))
        conjugate = (rows.loss.p - 1) / rows.loss.p * alpha @ ratio
    return primal, alpha @ (rows.y * rows.target) - 0.5 * coef @ f - conjugate


PROBLEMS = {
    "regression": lambda p: regression(p)[:2],
    "one class": one_class,
    "one class of the other sign": lambda p: one_class(p, sign=-1.0),
}


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_is_certified(name, p):
    rows, K = PROBLEMS[name](p)
    best = oracle.solve_rows(K, rows.y, rows.target, rows.cost, p, rows.balance)
    alpha = feasible(rows, best.alpha)
    proof = certify(rows, alpha, K @ (rows.y * alpha))
    assert proof.gap <= 1e-5
    assert proof.primal == pytest.approx(best.value, rel=1e-5)
    assert proof.dual <= best.value + 1e-7 * abs(best.value)
    if p > 1:  # unique
        assert proof.intercept == pytest.approx(best.intercept, abs=1e-3)


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_any_feasible_point_brackets_the_optimum(name, p):
    """And its objectives are those written out; the gap is not small."""
    rows, K = PROBLEMS[name](p)
    best = oracle.solve_rows(K, rows.y, rows.target, rows.cost, p, rows.balance)
    alpha = feasible(rows, rows.cost * np.random.default_rng(2).uniform(size=rows.y.size))
    proof = certify(rows, alpha, K @ (rows.y * alpha))
    assert (proof.primal, proof.dual) == pytest.approx(objectives(rows, K, alpha, proof.intercept))
    assert proof.primal >= best.value - 1e-7
    assert proof.dual <= best.value + 1e-7
    assert proof.gap > 1e-2


@given(exponents(), seeds, st.sampled_from([-1.0, 0.0, 0.5]), st.booleans())
def test_no_other_intercept_is_better(p, seed, balance, two_signs):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], size=12) if two_signs or not balance else np.full(12, balance)
    y = np.sign(y)
    y[0] = np.sign(balance) or 1.0
    y[1] = -1.0 if two_signs or not balance else y[0]
    rows = DualRows(y, rng.normal(size=12), rng.uniform(0.2, 2, 12), PNormHinge(p), True, balance)
    decision = rng.normal(size=12)

    def total(b):
        xi = np.maximum(rows.shortfall(decision + b), 0.0)
        return np.sum(rows.cost * xi**p) + balance * b

    b = best_intercept(rows, decision)
    for other in (b - 1e-3, b + 1e-3, b - 1.0, b + 1.0):
        assert total(b) <= total(other) + 1e-9 * abs(total(other))


@given(seeds, st.sampled_from([1.0, 1.5]), st.sampled_from([-2.0, 0.0, 2.0]), st.booleans())
def test_feasible_points_are_balanced_and_within_bounds(seed, p, balance, empty):
    rng = np.random.default_rng(seed)
    y = np.concatenate([rng.choice([-1.0, 1.0], size=10), [1.0, -1.0]])
    y = np.concatenate([y, np.repeat([1.0, -1.0], 5)])
    rows = DualRows(y, y, rng.uniform(0.5, 2.0, y.size), PNormHinge(p), True, balance)
    alpha = np.zeros(y.size) if empty else rng.normal(size=y.size)
    found = feasible(rows, alpha)
    assert y @ found == pytest.approx(balance, abs=1e-12)
    assert np.all(found >= 0.0)
    if p == 1:
        assert np.all(found <= rows.cost * (1 + 1e-15))


def test_feasible_points_without_an_intercept_keep_their_sums():
    rows = DualRows(np.ones(3), np.ones(3), np.ones(3), PNormHinge(1.0), fit_intercept=False)
    assert feasible(rows, np.array([0.5, 3.0, -1.0])).tolist() == [0.5, 1.0, 0.0]


def test_a_hard_tube_is_feasible_or_not():
    """Infinite cost and targets: w cannot be scaled, and any slack is infinitely dear."""
    y, K = np.repeat([1.0, -1.0], 2), np.tile(np.eye(2), (2, 2))
    target = np.array([1.0, 3.0, 1.5, 3.5])
    rows = DualRows(y, target, np.full(4, np.inf), PNormHinge(2.0))
    assert certify(rows, np.zeros(4), np.zeros(4)).primal == np.inf
    alpha = np.array([0.0, 0.75, 0.75, 0.0])  # f = (-0.75, 0.75): both values are met
    proof = certify(rows, alpha, K @ (y * alpha))
    assert proof.primal == pytest.approx(0.5625)
    assert proof.gap <= 1e-12


def test_rows_of_a_linear_problem():
    signs = np.array([[1, -1, 0]], dtype=np.int8)
    codes, cost = np.array([0, 2, 1], dtype=np.int32), np.array([1.0, 2.0, 3.0])
    problems = LinearProblems(signs, codes, cost, PNormHinge(2.0), False)
    rows = problems.rows_of(0, np.array([0, 2]))
    assert rows.y.tolist() == rows.target.tolist() == [1.0, -1.0]
    assert rows.cost.tolist() == [1.0, 3.0]
    assert not rows.fit_intercept
    with_target = LinearProblems(signs, codes, cost, PNormHinge(2.0), target=cost)
    assert with_target.rows_of(0).target.tolist() == [1.0, 2.0, 3.0]


# --- labels -------------------------------------------------------------------------------------

Y = np.array([1.0, 1.0, -1.0, -1.0, -1.0])


def labelled(cost, p, fit_intercept=True):
    return KernelProblem.classification([0], Y, cost, PNormHinge(p), fit_intercept)


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
    found = feasible(labelled(cost, p), alpha)
    # Cut to [0, cost] at p = 1 and to [0, inf) above, then the heavier class scaled down.
    plus = (2.0 if p == 1 else 3.0) + 1.0
    expected = np.array([plus - 1.0, 1.0, 0.0, 0.5, 0.25]) * np.where(Y > 0, 0.75 / plus, 1.0)
    assert found == pytest.approx(expected)
    assert Y @ found == pytest.approx(0.0, abs=1e-15)


def test_without_an_intercept_nothing_is_balanced():
    alpha = np.array([3.0, 1.0, -2.0, 0.5, 0.25])
    found = feasible(labelled(np.full(5, 2.0), 1, False), alpha)
    assert found.tolist() == [2.0, 1.0, 0.0, 0.5, 0.25]


def test_an_imbalance_of_rounding_is_left_alone():
    alpha = np.array([0.1, 0.2, 0.3, 0.0, 0.0])  # 0.1 + 0.2 is not quite 0.3
    assert feasible(labelled(np.full(5, 0.3), 1), alpha).tolist() == alpha.tolist()


def test_what_is_lost_where_many_rows_share_a_kernel_row():
    """The two rows of a target lose nothing: their difference is what is meant."""
    y, alpha = np.tile([1.0, -1.0], 4), np.arange(1.0, 9.0)
    parts = (y, y, np.ones(8), PNormHinge(1.0))
    pairs = KernelProblem(*parts, segments=[0], kernel_row=np.repeat(np.arange(4), 2))
    assert pairs.rounded_in_sums(alpha) == 0.0
    assert KernelProblem(*parts, segments=[0]).rounded_in_sums(alpha) == 0.0
    shared = KernelProblem(*parts, segments=[0], kernel_row=np.repeat([0, 0, 0, 1], 2))
    assert shared.rounded_in_sums(alpha) == 6 * 21.0


def test_rows_on_shared_kernel_rows():
    """Three targets of two rows each, two of them on kernel row 1."""
    place = np.array([1, 1, 0, 0, 1, 1])
    y = np.tile([1.0, -1.0], 3)
    target = np.repeat([2.0, -1.0, 0.5], 2) - 0.1 * y
    problem = KernelProblem(
        y, target, np.arange(1.0, 7.0), PNormHinge(1.5), segments=[0], kernel_row=place
    )
    assert problem.n_kernel_rows == 2
    assert problem.n_variables == 3
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    np.testing.assert_array_equal(problem.summed(values), [12.0, 51.0])
    np.testing.assert_array_equal(problem.of_rows(np.array([5.0, 7.0])), [7, 7, 5, 5, 7, 7])
    one = np.arange(6) == 4
    np.testing.assert_array_equal(problem.sharing_with(one), place == 1)
    order = np.array([2, 3, 0, 1, 4, 5])
    moved = problem.in_order(order)
    np.testing.assert_array_equal(moved.kernel_row, [0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(moved.target, target[order])
    np.testing.assert_array_equal(moved.cost, problem.cost[order])
    alpha = feasible(problem, values)
    decision = problem.of_rows(np.array([0.3, -0.2]))
    expected = certify(problem, alpha, decision)
    again = certify(moved, alpha[order], decision[order])
    assert again.gap == pytest.approx(expected.gap)
    assert again.primal == pytest.approx(expected.primal)


def test_rows_of_their_own():
    """Without shared kernel rows all of them are what they are."""
    y = np.array([1.0, -1.0, 1.0])
    problem = KernelProblem.classification([0], y, np.ones(3), PNormHinge(1.0))
    assert problem.n_kernel_rows == problem.n_variables == 3
    some = np.array([True, False, True])
    assert problem.sharing_with(some) is some
    np.testing.assert_array_equal(problem.in_order(np.array([2, 0, 1])).kernel_row, [2, 0, 1])
