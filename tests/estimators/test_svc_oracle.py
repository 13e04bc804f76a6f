"""PSVC reaches the optimum of an independent conic solver, and its certificate is true."""

import itertools

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from referee import SHAPES, check_against_oracle, check_certificate, dense, judge, kernel_matrix
from sklearn.exceptions import ConvergenceWarning
from small_data import REAL_SETS, noisy, real, separable

from psvm import PSVC
from psvm.solvers.ledger import Status

EXPONENTS = (1, 1.001, 1.01, 1.25, 1.5, 2, 3, 10, 50)
PENALTIES = (1e-6, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e6)
KERNELS = ("linear", "rbf", "poly", "laplacian", "exponential")


def random_cases():
    """Every (p, C) with four of the five kernels, taking weights and the intercept in turn."""
    for number, (p, C) in enumerate(itertools.product(EXPONENTS, PENALTIES)):
        for turn in range(4):
            kernel = KERNELS[(number + turn) % 5]
            weighted, intercept = turn % 2 == 1, (number + turn) % 3 != 0
            label = f"p{p}-C{C:g}-{kernel}-{'weights' if weighted else 'plain'}"
            label += "" if intercept else "-b0"
            yield pytest.param(p, C, kernel, weighted, intercept, 4 * number + turn, id=label)


@pytest.mark.parametrize(
    ("p", "C", "kernel", "weighted", "intercept", "seed"), list(random_cases())
)
def test_random_problem(p, C, kernel, weighted, intercept, seed):
    """Objective within 1e-5 of the oracle's, at the default tolerance; P and D as claimed."""
    X, y = noisy(n=16 + seed % 25, d=1 + seed % 5, seed=seed, noise=(0.2, 1.0, 2.0)[seed % 3])
    weights = np.random.default_rng(seed).exponential(size=y.size) if weighted else None
    cost = np.full(y.size, C) if weights is None else C * weights
    model = PSVC(p=p, C=C, kernel=kernel, fit_intercept=intercept, **SHAPES)
    model.fit(X, y, sample_weight=weights)
    K = kernel_matrix(kernel, X)
    assert model.status_ == [Status.CONVERGED]
    check_certificate(model, K, y, cost)
    check_against_oracle(model, K, y, cost)


@pytest.mark.parametrize("p", [1, 1.01, 1.5, 2, 3])
@pytest.mark.parametrize("name", REAL_SETS)
def test_real_problem(name, p):
    """The same on real data, sparse where the data are; kernel and C change with the set."""
    X, y = real(name)
    turn = REAL_SETS.index(name) + EXPONENTS.index(p)
    kernel, C = KERNELS[turn % 5], (0.1, 1.0, 100.0)[turn % 3]
    gamma = 1.0 / X.shape[1]
    model = PSVC(p=p, C=C, kernel=kernel, gamma=gamma, coef0=1.0).fit(X, y)
    K, cost = kernel_matrix(kernel, dense(X), gamma=gamma), np.full(y.size, C)
    assert model.status_ == [Status.CONVERGED]
    check_certificate(model, K, y, cost)
    check_against_oracle(model, K, y, cost)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("p", [1, 1.5, 2, 10])
def test_hard_margin(p, kernel, intercept):
    """C = inf on separable data: the margin is at least 1 everywhere and the norm is least."""
    X, y = separable(seed=3)
    model = PSVC(p=p, C=np.inf, kernel=kernel, fit_intercept=intercept, **SHAPES).fit(X, y)
    K, cost = kernel_matrix(kernel, X), np.full(y.size, np.inf)
    best = oracle.solve(K, y, cost, p, intercept)
    found = judge(model, K, y, cost)
    assert np.min(y * model.decision_function(X)) >= 1 - 1e-4
    assert found.primal == pytest.approx(best.upper, rel=2e-4)
    assert found.dual <= best.upper * (1 + 1e-6)
    assert model.dual_gap_[0] <= model.tol
    assert model.primal_objective_[0] == pytest.approx(best.upper, rel=2e-4)


@pytest.mark.parametrize("p", [1, 1.25, 1.5, 2, 3])
@pytest.mark.parametrize("kernel", ["precomputed", "callable"])
def test_kernels_given_by_the_user(kernel, p):
    """A matrix and a function reach the same optimum as the built-in kernel they equal."""
    X, y = noisy(n=35, seed=5)
    K, cost = kernel_matrix("rbf", X), np.full(y.size, 2.0)
    model = PSVC(p=p, C=2.0, kernel=kernel if kernel == "precomputed" else gaussian)
    model.fit(K if kernel == "precomputed" else X, y)
    check_certificate(model, K, y, cost)
    check_against_oracle(model, K, y, cost)


def gaussian(X, Z):
    return kernel_matrix("rbf", X, Z)


@pytest.mark.parametrize("balance", ["balanced", {-1.0: 3.0, 1.0: 0.5}])
def test_class_weight_multiplies_the_cost(balance):
    """C_i = C * class_weight * sample_weight, as the oracle is told."""
    X, y = noisy(n=40, seed=8, noise=0.5)
    y[:14] = 1.0
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 2.0, size=y.size) if balance != "balanced" else np.ones(y.size)
    share = {label: 40 / (2 * np.sum(y == label)) for label in (-1.0, 1.0)}
    per_class = share if balance == "balanced" else balance
    cost = 0.7 * weights * np.vectorize(per_class.get)(y)
    model = PSVC(p=1.5, C=0.7, gamma=0.4, class_weight=balance).fit(X, y, sample_weight=weights)
    K = kernel_matrix("rbf", X)
    check_certificate(model, K, y, cost)
    check_against_oracle(model, K, y, cost)


@pytest.mark.parametrize("p", [1, 1.5, 3])
def test_tight_tolerance(p):
    """tol = 1e-10 is reached and true, not only claimed."""
    X, y = noisy(n=60, seed=4)
    model = PSVC(p=p, gamma=0.4, tol=1e-10).fit(X, y)
    check_certificate(model, kernel_matrix("rbf", X), y, np.ones(y.size))


@pytest.mark.parametrize("p", [1, 1.001, 1.25, 2, 3, 50])
@pytest.mark.parametrize("kernel", KERNELS)
def test_small_problems_are_polished(kernel, p):
    """A small problem is solved far beyond the default tol, at no request."""
    X, y = noisy(n=120, d=4, seed=2)
    model = PSVC(p=p, kernel=kernel, **SHAPES).fit(X, y)
    found = judge(model, kernel_matrix(kernel, X), y, np.ones(y.size))
    assert found.gap <= 1e-9 + found.slop


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_every_problem_of_a_multiclass_fit(multi_class):
    """Each of the k(k-1)/2 or k binary problems has the oracle's objective."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 4
    X = rng.normal(size=(4, 3))[y] * 2 + rng.normal(size=(60, 3))
    model = PSVC(p=1.5, gamma=0.4, multi_class=multi_class).fit(X, y)
    if multi_class == "ovo":
        parts = [(np.isin(y, pair), pair[0]) for pair in itertools.combinations(range(4), 2)]
    else:
        parts = [(np.ones(60, bool), label) for label in range(4)]
    assert len(model.primal_objective_) == len(parts)
    for number, (rows, first) in enumerate(parts):
        signs = np.where(y[rows] == first, 1.0, -1.0)
        best = oracle.solve(kernel_matrix("rbf", X[rows]), signs, 1.0, 1.5)
        assert model.primal_objective_[number] == pytest.approx(best.upper, rel=1e-5)
        assert model.dual_objective_[number] == pytest.approx(best.upper, rel=1e-5)
        assert model.dual_gap_[number] <= model.tol


@pytest.mark.parametrize(
    ("p", "C"),
    [(1, 0.01), (1, 1.0), (1, 100.0), (1.25, 0.01), (1.25, 1.0), (1.25, 100.0), (2, 0.01)],
)
def test_indefinite_kernel_ends_at_a_stationary_point(p, C):
    """Sigmoid: the fit ends, says what it certifies, and satisfies the optimality conditions.

    The conditions of MATH section 3 do not need a positive semidefinite kernel: the sum of the
    Fenchel-Young terms is zero exactly where they hold.
    """
    X, y = noisy(n=40, seed=6)
    K = kernel_matrix("sigmoid", X, gamma=0.5, coef0=-0.5)
    assert np.linalg.eigvalsh(K)[0] < -10.0
    model = PSVC(p=p, C=C, kernel="sigmoid", gamma=0.5, coef0=-0.5).fit(X, y)
    assert model.status_[0] in (Status.CONVERGED, Status.STATIONARY)
    cost = np.full(y.size, C)
    found = judge(model, K, y, cost)
    size = abs(found.primal) + abs((found.alpha * y) @ K @ (found.alpha * y))
    assert abs(found.primal - found.dual) <= model.tol * size
    if p > 1:
        margin = y * (K @ (found.alpha * y) + found.intercept)
        alpha = p * cost * np.maximum(0.0, 1.0 - margin) ** (p - 1.0)
        assert found.alpha == pytest.approx(alpha, abs=0.05 * alpha.max())


@pytest.mark.parametrize(("p", "C"), [(2, 1.0), (2, 100.0), (3, 1.0), (3, 100.0)])
def test_indefinite_kernel_without_a_maximum(p, C):
    """For p >= 2 the negative eigenvalues win over the conjugate: the dual is unbounded.

    The fit ends, with a warning and a status that does not claim an optimum.
    """
    X, y = noisy(n=40, seed=6)
    with pytest.warns(ConvergenceWarning, match="gap"):
        model = PSVC(p=p, C=C, kernel="sigmoid", gamma=0.5, coef0=-0.5).fit(X, y)
    assert model.status_[0] in (Status.UNBOUNDED, Status.STALLED)
    assert np.all(np.isfinite(model.decision_function(X)))


def test_sparse_and_dense_reach_the_same_objective():
    """CSR input solves the same problem as its dense copy."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 30)) * (rng.random((50, 30)) < 0.2)
    y = np.where(X.sum(axis=1) + rng.normal(size=50) > 0, 1.0, -1.0)
    for kernel in KERNELS:
        model = PSVC(kernel=kernel, **SHAPES).fit(sp.csr_array(X), y)
        check_against_oracle(model, kernel_matrix(kernel, X), y, np.ones(50))
