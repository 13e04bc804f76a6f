"""Rows that are more than labels: targets, shared kernel rows and a balance (MATH, section 9)."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.svm import OneClassSVM

from psvm import _core


def curve(n=80, seed=0):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3.0, 3.0, n))
    return x, np.sin(2.0 * x) + 0.3 * rng.normal(size=n)


def rbf(x, gamma=1.0):
    x = x.reshape(len(x), -1)
    return np.exp(-gamma * ((x[:, None] - x[None]) ** 2).sum(axis=2))


def regression_rows(target, C, tau=0.5, epsilon=0.1, beside=True):
    """Two rows per kernel row: above the tube and below it, one beside the other or far apart."""
    n = target.size
    rows = {
        "y": np.repeat([1.0, -1.0], n),
        "target": np.concatenate([target - epsilon, target + epsilon]),
        "cost": np.repeat([2.0 * tau * C, 2.0 * (1.0 - tau) * C], n),
        "kernel_row": np.tile(np.arange(n), 2),
    }
    order = np.arange(2 * n).reshape(2, n).T.ravel()
    return {name: values[order] for name, values in rows.items()} if beside else rows


def sides(alpha, beside=True):
    """The alpha above the tube and below it, by kernel row."""
    n = alpha.size // 2
    return alpha.reshape(n, 2).T if beside else alpha.reshape(2, n)


def regression_optimum(K, target, C, p, tau, fit_intercept, epsilon=0.1):
    """The primal, ``1/2 |u|^2 + sum cost slack^p`` with ``f = L u``, by a conic solver."""
    n = target.size
    L = np.linalg.cholesky(K + 1e-10 * np.eye(n))
    u, b = cp.Variable(n), cp.Variable() if fit_intercept else 0.0
    f = L @ u + b
    above, below = cp.pos(target - epsilon - f), cp.pos(f - target - epsilon)
    loss = 2.0 * tau * cp.sum(cp.power(above, p)) + 2.0 * (1.0 - tau) * cp.sum(cp.power(below, p))
    return cp.Problem(cp.Minimize(0.5 * cp.sum_squares(u) + C * loss)).solve(solver="CLARABEL")


def solve(kernel, problem, alpha, tol=1e-7, cache=None, **options):
    return _core.solve_working_set(
        kernel, cache, problem, alpha, _core.Budget(tol=tol, max_iter=2000), **options
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("tau", "beside"), [(0.5, True), (0.8, True), (0.8, False)])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_epsilon_insensitive_regression(p, tau, beside, fit_intercept):
    x, target = curve()
    K, n = rbf(x), x.size
    rows = regression_rows(target, C=2.0, tau=tau, beside=beside)
    problem = _core.KernelProblem(segments=[0], p=p, fit_intercept=fit_intercept, **rows)
    outcome = solve(_core.Kernel64.matrix(K, [0, n]), problem, np.zeros(2 * n))
    assert outcome["status"] == "converged"
    last = outcome["history"][-1]
    expected = regression_optimum(K, target, 2.0, p, tau, fit_intercept)
    assert last["primal"] == pytest.approx(expected, rel=1e-5)
    assert last["dual"] == pytest.approx(expected, rel=1e-5)
    # One coefficient per kernel row, and the decision values that belong to them.
    alpha = sides(outcome["alpha"], beside)
    assert np.all(alpha.min(axis=0) == 0.0)
    assert outcome["decision"] == pytest.approx(K @ (alpha[0] - alpha[1]), abs=1e-9)
    if fit_intercept:
        assert alpha[0].sum() == pytest.approx(alpha[1].sum(), rel=1e-10)


@pytest.mark.parametrize(
    ("way", "features", "p", "C", "epsilon"),
    [("left behind", 2, 1.0, 30, 0.1), ("part", 2, 1.5, 30, 0.1), ("stored", 80, 1.5, 1000, 0.8)],
)
def test_shared_kernel_rows_as_copies_of_the_points(way, features, p, C, epsilon):
    """Each of the solver's ways gives the objective of rows with a kernel row of their own."""
    rng = np.random.default_rng(1)
    n = 4500
    X = rng.normal(size=(n, features)).astype(np.float32)
    target = np.sin(X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=n)
    rows = regression_rows(target, C=C, epsilon=epsilon)
    rbf_of = {"name": "rbf", "gamma": 0.2 / features, "coef0": 0.0, "degree": 3}
    shared = _core.Kernel32.dense(X, None, starts=[0, n], **rbf_of)
    twice = np.repeat(X, 2, axis=0)
    copies = _core.Kernel32.dense(twice, None, starts=[0, 2 * n], **rbf_of)
    found = []
    for kernel, own in ((shared, rows), (copies, {**rows, "kernel_row": None})):
        problem = _core.KernelProblem(segments=[0], p=p, fit_intercept=True, **own)
        cache = _core.Cache32(kernel, 3e8)
        found.append(solve(kernel, problem, np.zeros(2 * n), tol=1e-3, cache=cache))
        assert found[-1]["status"] == "converged"
    history = found[0]["history"]
    assert (min(record["current"] for record in history) < n) == (way == "left behind")
    assert (max(record["part"] for record in history) > 0) == (way != "left behind")
    lower, upper = found[1]["history"][-1]["dual"], found[1]["history"][-1]["primal"]
    assert history[-1]["primal"] >= lower * (1.0 - 1e-6)
    assert history[-1]["dual"] <= upper * (1.0 + 1e-6)
    # The values at the end are those of the coefficients, though rows were left behind.
    alpha = sides(found[0]["alpha"])
    decision = shared.apply(np.arange(n), (alpha[0] - alpha[1]).astype(np.float32))
    assert found[0]["decision"] == pytest.approx(decision, abs=1e-3 * np.abs(decision).max())


def test_decision_values_to_start_from():
    """Known values of a start, by kernel row, give the same first record."""
    x, target = curve()
    n = x.size
    K, rows = rbf(x), regression_rows(target, C=2.0)
    problem = _core.KernelProblem(segments=[0], p=1.5, fit_intercept=True, **rows)
    kernel = _core.Kernel64.matrix(K, [0, n])
    first = solve(kernel, problem, np.zeros(2 * n), tol=1e-2)
    second = solve(kernel, problem, first["alpha"], decision=first["decision"])
    third = solve(kernel, problem, first["alpha"])
    for key in ("primal", "dual", "gap"):
        assert second["history"][0][key] == pytest.approx(third["history"][0][key], rel=1e-8)
        # The intercept is as good as the tolerance asks for.
        assert second["history"][0][key] == pytest.approx(first["history"][-1][key], rel=1e-4)


@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_one_class(nu):
    """y = +1, t = 0 and a balance of 1: the novelty detector, whose rho is minus the intercept."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    n = len(X)
    K = rbf(X, 0.7)
    problem = _core.KernelProblem(
        segments=[0],
        y=np.ones(n),
        target=np.zeros(n),
        cost=np.full(n, 1.0 / (nu * n)),
        p=1.0,
        fit_intercept=True,
        balance=1.0,
    )
    outcome = solve(_core.Kernel64.matrix(K, [0, n]), problem, np.full(n, 1.0 / n))
    assert outcome["status"] == "converged"
    alpha = outcome["alpha"]
    assert alpha.sum() == pytest.approx(1.0, rel=1e-12)
    reference = OneClassSVM(kernel="rbf", gamma=0.7, nu=nu, tol=1e-9).fit(X)
    other = np.zeros(n)
    other[reference.support_] = reference.dual_coef_[0] / (nu * n)
    last = outcome["history"][-1]
    assert last["dual"] == pytest.approx(-0.5 * other @ K @ other, rel=1e-6)
    # P has the term balance b: it vanishes with the gap only if b is right.
    assert last["primal"] == pytest.approx(last["dual"], rel=1e-5)


@pytest.mark.parametrize("p", [1.5, 2.0])
def test_balance_with_a_smooth_loss(p):
    """A non-zero balance at p > 1, against a conic solver on the primal with its term b."""
    x, target = curve(n=40)
    n, K = x.size, rbf(x)
    balance, alpha = 3.0, np.full(n, 3.0 / n)
    problem = _core.KernelProblem(
        segments=[0],
        y=np.ones(n),
        target=target,
        cost=np.full(n, 0.5),
        p=p,
        fit_intercept=True,
        balance=balance,
    )
    outcome = solve(_core.Kernel64.matrix(K, [0, n]), problem, alpha)
    L = np.linalg.cholesky(K + 1e-10 * np.eye(n))
    u, b = cp.Variable(n), cp.Variable()
    xi = cp.pos(target - L @ u - b)
    cost = 0.5 * cp.sum_squares(u) + 0.5 * cp.sum(cp.power(xi, p)) + balance * b
    expected = cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL")
    assert outcome["status"] == "converged"
    assert outcome["history"][-1]["primal"] == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert outcome["alpha"].sum() == pytest.approx(balance, rel=1e-12)


def test_wrong_shapes_are_refused():
    kernel = _core.Kernel64.matrix(np.eye(3), [0, 3])
    ones = np.ones(3)

    def problem(**changes):
        rows = {"y": ones, "target": ones, "cost": ones, "kernel_row": None, **changes}
        return _core.KernelProblem(segments=[0], p=1.0, fit_intercept=True, **rows)

    with pytest.raises(ValueError, match="one value per row"):
        solve(kernel, problem(target=np.ones(2)), np.zeros(3))
    with pytest.raises(IndexError, match="row out of range"):
        solve(kernel, problem(kernel_row=np.array([0, 1, 3])), np.zeros(3))
    with pytest.raises(ValueError, match="one per kernel row"):
        solve(kernel, problem(), np.zeros(3), decision=np.zeros(2))
