"""Dual coordinate descent against the oracle, and its claims recomputed with NumPy.

tests: linear/coordinate_descent.hpp
tests: linear/descent_history.hpp
"""

import _thread
import threading
import time
import warnings

import cvxpy as cp
import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from small_data import noisy, real, separable

from psvm import _core
from psvm.solvers.ledger import Budget, Ledger, Status
from psvm.solvers.linear.coordinate_descent import solve_coordinate_descent

POWERS = [1.0, 1.05, 1.5, 2.0, 3.0, 10.0]


def text(n=40, d=120, seed=0):
    """Wide sparse counts with an empty row, an empty column and repeated rows."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.05, size=(n, d)).astype(float)
    y = np.where(X[:, : d // 4].sum(axis=1) + rng.normal(size=n) > 1.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X[3], X[:, 5], X[7] = 0.0, 0.0, X[8]
    return X, y


def solve(rows, y, cost, p, fit_intercept=True, start=None, cancel=None, on_round=None, **budget):
    """The answer of the solver, with its records as ``history``."""
    start = np.zeros(y.size) if start is None else start
    cost = np.broadcast_to(np.asarray(cost, dtype=float), y.shape).copy()
    problem = _core.CoordinateProblem(y, cost, p, fit_intercept)
    return solve_problem(rows, problem, start, on_round=on_round, cancel=cancel, **budget)


def solve_problem(rows, problem, start, on_round=None, cancel=None, **budget):
    ledger = Ledger(Budget(**budget), on_round=on_round, cancel=cancel)
    result = solve_coordinate_descent(rows, problem, start, ledger.stage("coordinate_descent"))
    result.history = ledger.records
    return result


def primal(X, y, cost, p, w, b):
    margin = y * (X @ w + b)
    if np.isinf(np.max(cost)):
        assert margin.min() >= 1.0 - 1e-9
        return 0.5 * w @ w
    return 0.5 * w @ w + np.sum(cost * np.maximum(0.0, 1.0 - margin) ** p)


def dual(X, y, cost, p, alpha):
    """By way of w: through the kernel matrix, huge alphas would leave no digits."""
    w = X.T @ (alpha * y)
    if p == 1.0 or np.isinf(cost[0]):
        return alpha.sum() - 0.5 * w @ w
    slack = (alpha / (p * cost)) ** (1.0 / (p - 1.0))
    return alpha.sum() - 0.5 * w @ w - (p - 1.0) / p * (alpha @ slack)


def check_claims(result, rows, y, cost, p, fit_intercept=True, tol=None):
    """alpha is feasible; primal, dual and gap are what NumPy makes of w, b and alpha."""
    X = (rows.toarray() if sp.issparse(rows) else np.asarray(rows)).astype(float)
    assert np.all(result.alpha >= 0.0)
    if p == 1.0:
        assert np.all(result.alpha <= cost)
    if fit_intercept:
        assert abs(result.alpha @ y) <= 1e-12 * result.alpha.sum()
    else:
        assert result.b == 0.0
    last = result.history[-1]
    P = primal(X, y, cost, p, result.w, result.b)
    D = dual(X, y, np.broadcast_to(cost, y.shape), p, result.alpha)
    assert last["primal"] == pytest.approx(P, rel=1e-10)
    assert last["dual"] == pytest.approx(D, rel=1e-9, abs=1e-9 * P)
    assert last["gap"] + 1e-9 >= (P - D) / P
    if tol is not None:
        assert result.status is Status.CONVERGED
        assert last["gap"] <= tol
    return P, D


def check_optimum(result, rows, y, cost, p, fit_intercept=True, tol=1e-6):
    """The claims hold, and both objectives are the oracle's."""
    X = (rows.toarray() if sp.issparse(rows) else np.asarray(rows)).astype(float)
    P, D = check_claims(result, rows, y, cost, p, fit_intercept, tol)
    best = oracle.solve(X @ X.T, y, cost, p, fit_intercept)
    assert best.upper * (1.0 + 2.0 * tol) >= P
    assert best.lower * (1.0 - 2.0 * tol) <= D <= best.upper * (1.0 + 1e-7)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("p", POWERS)
def test_optimum_of_dense_rows(p, C, fit_intercept):
    X, y = noisy(n=40, d=5, seed=3, shift=0.5)
    result = solve(X, y, C, p, fit_intercept, tol=1e-6)
    check_optimum(result, X, y, C, p, fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("p", POWERS)
def test_optimum_of_wide_sparse_rows(p, C, fit_intercept):
    """More columns than rows, separable at large C; empty and repeated rows."""
    X, y = text()
    rows = sp.csr_matrix(X)
    result = solve(rows, y, C, p, fit_intercept, tol=1e-6)
    check_optimum(result, rows, y, C, p, fit_intercept)


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_every_storage_gives_the_same_optimum(p, dtype, index):
    """Dense or CSR, float32 or float64, 32-bit or 64-bit indices: the values are the same."""
    X, y = text(seed=1)
    dense = solve(X, y, 0.5, p, tol=1e-9)
    rows = sp.csr_matrix(X.astype(dtype))
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    sparse = solve(rows, y, 0.5, p, tol=1e-9)
    check_claims(sparse, rows, y, 0.5, p, tol=1e-9)
    assert sparse.w == pytest.approx(dense.w, abs=1e-4)
    single = solve(X.astype(dtype), y, 0.5, p, tol=1e-9)
    assert single.w == pytest.approx(dense.w, abs=1e-4)


def test_features_keep_their_precision():
    """Numbers that need a conversion (p = 1, max_time = 5) do not drag the features into one."""
    X, y = noisy(n=40, d=5, seed=3)
    for rows in (X, sp.csr_matrix(X)):
        result = solve(rows, y, 1.0, 1, max_time=5)
        check_claims(result, rows, y, 1.0, 1)
    with pytest.raises(TypeError):
        solve(X.astype(np.float16), y, 1.0, 1.0)


@pytest.mark.parametrize("p", POWERS)
def test_weights(p):
    """A cost per row; a cost of 2C is a row given twice."""
    X, y = noisy(n=40, d=6, seed=7)
    cost = np.random.default_rng(0).integers(1, 4, size=40) * 0.3
    result = solve(X, y, cost, p, tol=1e-7)
    check_optimum(result, X, y, cost, p)
    repeated = np.repeat(np.arange(40), np.rint(cost / 0.3).astype(int))
    copies = solve(np.ascontiguousarray(X[repeated]), y[repeated], 0.3, p, tol=1e-7)
    assert copies.history[-1]["primal"] == pytest.approx(result.history[-1]["primal"], rel=3e-7)


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("name", ["a9a", "mushrooms", "cnae9"])
def test_real_sparse_sets(name, p):
    rows, y = real(name)
    rows = sp.csr_matrix(rows)
    result = solve(rows, y, 1.0, p, tol=1e-6)
    check_optimum(result, rows, y, 1.0, p)


@pytest.mark.parametrize("p", [1.0, 1.001, 1.25, 2.0, 50.0])
@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_extremes(p, C):
    """Whatever the status, the claims hold; and it ends."""
    X, y = noisy(n=30, d=4, seed=2)
    X[:, 0] *= 100.0
    result = solve(X, y, C, p, tol=1e-4, max_time=0.5)
    check_claims(result, X, y, C, p)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_hard_margin(p, fit_intercept):
    X, y = separable(n=40, d=4, seed=1)
    result = solve(X, y, np.inf, p, fit_intercept, tol=1e-6)
    check_claims(result, X, y, np.inf, p, fit_intercept, tol=1e-6)
    best = oracle.solve(X @ X.T, y, np.inf, p, fit_intercept)
    assert result.history[-1]["primal"] == pytest.approx(best.upper, rel=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_no_hard_margin(fit_intercept):
    X, y = noisy(n=40, d=3, seed=1, noise=3.0)
    result = solve(X, y, np.inf, 1.0, fit_intercept, max_time=20.0)
    assert result.status is Status.UNBOUNDED


def test_no_hard_margin_for_an_empty_row():
    """Without an intercept, nothing separates the origin."""
    X, y = separable(n=20)
    X[3] = 0.0
    result = solve(X, y, np.inf, 1.0, fit_intercept=False, max_time=20.0)
    assert result.status is Status.UNBOUNDED


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, 1.3])
def test_only_empty_rows(p, fit_intercept):
    """w = 0, and b balances the classes."""
    y = np.array([1.0, 1.0, 1.0, -1.0])
    result = solve(np.zeros((4, 3)), y, 0.7, p, fit_intercept, tol=1e-6)
    check_claims(result, np.zeros((4, 3)), y, 0.7, p, fit_intercept, tol=1e-6)
    assert np.all(result.w == 0.0)


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_one_row_per_class(p):
    X, y = np.array([[1.0, 0.0], [0.0, 3.0]]), np.array([1.0, -1.0])
    result = solve(X, y, 10.0, p, tol=1e-8)
    check_optimum(result, X, y, 10.0, p)


@pytest.mark.parametrize("p", POWERS)
def test_warm_start(p):
    """From its own solution a solve ends at once, from that of another cost sooner."""
    X, y = text(n=120, d=300, seed=4)
    rows = sp.csr_matrix(X)
    cold = solve(rows, y, 0.5, p, tol=1e-7)
    again = solve(rows, y, 0.5, p, start=cold.alpha, tol=1e-6)
    assert again.n_iter <= 1
    check_claims(again, rows, y, 0.5, p, tol=1e-6)


def test_infeasible_balance_of_the_start_is_repaired():
    X, y = noisy(n=40, d=5, seed=3)
    result = solve(X, y, 1.0, 1.0, start=np.where(y > 0, 1.0, 0.0), max_iter=0)
    check_claims(result, X, y, 1.0, 1.0)
    assert result.status is Status.MAX_ITER


@pytest.mark.parametrize("p", [1.0, 1.7])
def test_max_iter(p):
    X, y = text(seed=5)
    result = solve(sp.csr_matrix(X), y, 1.0, p, tol=1e-12, max_iter=3)
    assert (result.status, result.n_iter) == (Status.MAX_ITER, 3)
    check_claims(result, X, y, 1.0, p)


def test_max_time():
    """The clock is read within passes, so that one long pass cannot overrun."""
    began = time.perf_counter()
    result = solve(*endless(), tol=0.0, max_time=0.2)
    assert result.status is Status.MAX_TIME
    assert time.perf_counter() - began < 2.0


def test_callback_sees_every_record_and_stops():
    X, y = text(seed=6)
    seen = []

    def on_round(_, record):
        seen.append(record)
        return len(seen) == 2

    result = solve(sp.csr_matrix(X), y, 1.0, 1.0, tol=1e-14, on_round=on_round)
    assert result.status is Status.STOPPED
    assert result.history == seen
    keys = ["iteration", "seconds", "gap", "primal", "dual", "changed", "solver"]
    assert list(seen[0]) == keys
    assert [record["iteration"] for record in seen] == [0, result.n_iter]


def test_gap_never_rises():
    """The best primal and the best dual are kept."""
    X, y = noisy(n=60, d=5, seed=8)
    history = solve(X, y, 100.0, 1.0, tol=1e-9).history
    gaps = [record["gap"] for record in history]
    assert gaps == sorted(gaps, reverse=True)
    assert history[-1]["gap"] <= 1e-9


@pytest.mark.parametrize("p", [1.0, 1.3, 2.0])
def test_tolerance_beyond_rounding_stalls(p):
    X, y = noisy(n=30, d=3, seed=9)
    result = solve(X, y, 1.0, p, tol=0.0, max_time=20.0)
    assert result.status in (Status.STALLED, Status.CONVERGED)
    assert result.history[-1]["gap"] <= 1e-10


def test_same_answer_every_time():
    X, y = text(seed=10)
    first, second = (solve(sp.csr_matrix(X), y, 1.0, 1.5) for _ in range(2))
    assert np.array_equal(first.w, second.w)
    assert np.array_equal(first.alpha, second.alpha)


@pytest.mark.parametrize("p", [10.0, 3.0])
def test_slow_passes_are_helped_by_newton(p):
    """Without Newton steps on the face these took hundreds of thousands of passes."""
    X, y = noisy(n=40, d=5, seed=3, shift=0.5)
    assert solve(X, y, 1e3, p, tol=1e-6).n_iter < 5000


# --- rows with a target, two of them on one row of features ---------------------------------------


def regression(n=40, d=5, seed=0, scale=1.0, epsilon=0.1):
    """X and Y, and the signs, targets and places of their rows (+1, Y - eps) and (-1, Y + eps)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = scale * (X @ rng.normal(size=d) + 3.0 + 0.5 * rng.normal(size=n))
    y = np.tile([1.0, -1.0], n)
    place = np.repeat(np.arange(n), 2)
    return X, Y, y, Y[place] - y * scale * epsilon, place


def best_regression(X, Y, cost, p, epsilon, fit_intercept):
    """The minimum of 1/2 |w|^2 + sum_i cost max(0, |Y_i - <w, x_i> - b| - epsilon)^p, by CVXPY."""
    w, b, xi = cp.Variable(X.shape[1]), cp.Variable() if fit_intercept else 0.0, cp.Variable(Y.size)
    constraints = [xi >= 0, cp.abs(Y - X @ w - b) <= xi + epsilon]
    objective = 0.5 * cp.sum_squares(w) + cost * cp.sum(cp.power(xi, p))
    options = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cp.Problem(cp.Minimize(objective), constraints).solve(solver="CLARABEL", **options)


def check_regression(result, X, y, target, place, cost, p, fit_intercept, tol):
    """P and D recomputed from w, b and alpha; the gap between them is what was claimed."""
    alpha = result.alpha
    assert np.all(alpha >= 0.0)
    if p == 1.0:
        assert np.all(alpha <= cost)
    if fit_intercept:
        assert abs(alpha @ y) <= 1e-12 * alpha.sum()
    xi = np.maximum(y * (target - X[place] @ result.w - result.b), 0.0)
    P = 0.5 * result.w @ result.w + (cost * np.sum(xi**p) if np.isfinite(cost) else 0.0)
    w = (alpha * y) @ X[place]
    D = alpha @ (y * target) - 0.5 * w @ w
    if p > 1.0 and np.isfinite(cost):
        D -= (p - 1.0) / p * alpha @ (alpha / (p * cost)) ** (1.0 / (p - 1.0))
    assert result.status is Status.CONVERGED
    last = result.history[-1]
    assert last["primal"] == pytest.approx(P, rel=1e-9)
    assert last["dual"] == pytest.approx(D, rel=1e-9)
    assert (1.0 - 1e-12) * D <= P <= D + 1.01 * tol * P
    return P


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, 1.2])
def test_regression(p, C, fit_intercept, storage):
    """Rows with a target, two on one row of features: the epsilon-insensitive loss."""
    X, Y, y, target, place = regression()
    rows, cost = (sp.csr_matrix(X) if storage == "csr" else X), np.full(y.size, C)
    problem = _core.CoordinateProblem(y, cost, p, fit_intercept, target, place)
    result = solve_problem(rows, problem, np.zeros(y.size), tol=1e-7)
    P = check_regression(result, X, y, target, place, C, p, fit_intercept, 1e-7)
    assert np.all(np.minimum(result.alpha[::2], result.alpha[1::2]) == 0.0), "one side only"
    assert best_regression(X, Y, C, p, 0.1, fit_intercept) == pytest.approx(P, rel=1e-6)
    again = solve_problem(rows, problem, result.alpha, tol=1e-6)
    assert again.n_iter <= 1


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_units_of_the_targets_do_not_matter(p, scale):
    """Targets times a factor and costs to match: P times its square, in about as many passes."""
    ends = []
    for unit in (1.0, scale):
        X, _, y, target, place = regression(scale=unit)
        cost = unit ** (2.0 - p)
        problem = _core.CoordinateProblem(y, np.full(y.size, cost), p, True, target, place)
        result = solve_problem(X, problem, np.zeros(y.size), tol=1e-6)
        P = check_regression(result, X, y, target, place, cost, p, True, 1e-6)
        ends.append((P / unit**2, result.n_iter))
    assert ends[0][0] == pytest.approx(ends[1][0], rel=2e-6)
    assert ends[1][1] <= 2 * ends[0][1] + 20


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_tube_around_all_targets(fit_intercept):
    """Infinite cost: the flattest w within a tube around the targets."""
    epsilon = 2.5 if fit_intercept else 4.0
    X, Y, y, target, place = regression(epsilon=epsilon)
    problem = _core.CoordinateProblem(y, np.full(y.size, np.inf), 1.0, fit_intercept, target, place)
    result = solve_problem(X, problem, np.zeros(y.size), tol=1e-6)
    assert np.abs(Y - X @ result.w - result.b).max() <= epsilon + 1e-9
    check_regression(result, X, y, target, place, np.inf, 1.0, fit_intercept, 1e-6)


def test_no_tube():
    """Targets far from any line through the origin."""
    X, _, y, target, place = regression(epsilon=1.0)
    problem = _core.CoordinateProblem(y, np.full(y.size, np.inf), 1.0, False, target, place)
    result = solve_problem(X, problem, np.zeros(y.size), max_time=20.0)
    assert result.status is Status.UNBOUNDED


def test_targets_of_classification():
    """t = y given or not is the same problem, to the last bit."""
    X, y = noisy(n=40, d=5, seed=3)
    cost, start = np.ones(40), np.zeros(40)
    plain, given = (
        solve_problem(X, _core.CoordinateProblem(y, cost, 1.5, True, target), start)
        for target in (None, y)
    )
    assert np.array_equal(plain.w, given.w)


def endless():
    """A solve that goes on for minutes if nobody stops it."""
    X, y = noisy(n=3000, d=400, seed=5)
    return X, y, 1e6, 1.0


def test_cancel_from_another_thread():
    cancel = _core.Cancel()
    threading.Timer(0.1, cancel.set).start()
    with pytest.raises(InterruptedError):
        solve(*endless(), tol=0.0, cancel=cancel, max_time=60.0)


def test_interrupt():
    threading.Timer(0.1, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        solve(*endless(), tol=0.0, max_time=60.0)
