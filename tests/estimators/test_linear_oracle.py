"""LinearPSVC reaches the optimum of an independent conic solver, and its certificate is true."""

import itertools

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from estimators import SOLVERS, each_solver
from linear_referee import check_linear_optimum, check_solutions, primal_of, weights_of
from small_data import REAL_SETS, blobs, noisy, real, separable

from psvm import LinearPSVC
from psvm.solvers.ledger import Status

EXPONENTS = (1, 1.001, 1.05, 1.25, 1.5, 2, 3, 10, 50)
PENALTIES = (1e-3, 0.03, 1.0, 30.0, 1e3)
TOL = 1e-6


def random_cases():
    """Every (p, C) with both solvers, taking storage, weights and the intercept in turn."""
    for number, (p, C) in enumerate(itertools.product(EXPONENTS, PENALTIES)):
        for turn in range(4):
            solver = SOLVERS[turn % 2]
            sparse, weighted = (number + turn // 2) % 2 == 1, (number // 2 + turn) % 2 == 1
            intercept = (number + turn) % 3 != 0
            label = f"p{p}-C{C:g}-{solver}" + ("-csr" if sparse else "")
            label += ("-weights" if weighted else "") + ("" if intercept else "-b0")
            seed = 4 * number + turn
            yield pytest.param(p, C, solver, sparse, weighted, intercept, seed, id=label)


@pytest.mark.parametrize(
    ("p", "C", "solver", "sparse", "weighted", "intercept", "seed"), list(random_cases())
)
def test_random_problem(p, C, solver, sparse, weighted, intercept, seed, heard):
    """The oracle's objective; P, D and gap as claimed, from coef_, intercept_ and alpha."""
    X, y = noisy(n=12 + seed % 40, d=1 + seed % 7, seed=seed, noise=(0.2, 1.0, 2.0)[seed % 3])
    rng = np.random.default_rng(seed)
    if sparse:
        X = X * (rng.random(X.shape) < 0.5)
    weights = rng.exponential(size=y.size) if weighted else None
    cost = np.full(y.size, C) if weights is None else C * weights
    model = LinearPSVC(p=p, C=C, solver=solver, fit_intercept=intercept, tol=TOL)
    model.fit(sp.csr_matrix(X) if sparse else X, y, sample_weight=weights)
    assert model.status_ == [Status.CONVERGED]
    assert model.history_[0][0]["solver"] == solver
    check_solutions(model, heard)
    check_linear_optimum(model, X, y, cost, tolerance=2 * TOL)


@pytest.mark.parametrize("p", [1, 1.05, 1.5, 2, 3])
@pytest.mark.parametrize("name", REAL_SETS)
def test_real_problem(name, p, heard):
    """The same on real data, sparse where the data are, at the default tol; C and solver vary."""
    X, y = real(name)
    turn = REAL_SETS.index(name) + EXPONENTS.index(p)
    C, solver = (0.1, 1.0, 100.0)[turn % 3], SOLVERS[turn % 2]
    model = LinearPSVC(p=p, C=C, solver=solver).fit(X, y)
    assert model.status_ == [Status.CONVERGED]
    check_solutions(model, heard)
    check_linear_optimum(model, X, y, C, tolerance=1.1e-4)


@each_solver
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("p", [1, 1.25, 2, 3])
def test_float32(p, sparse, solver, heard):
    """float32 rows are read as they are: the optimum is that of the same numbers in float64."""
    X, y = noisy(n=60, d=5, seed=3)
    X = (X * (np.abs(X) > 0.4)).astype(np.float32)
    model = LinearPSVC(p=p, solver=solver, tol=1e-7).fit(sp.csr_matrix(X) if sparse else X, y)
    check_solutions(model, heard)
    check_linear_optimum(model, X.astype(float), y, 1.0, tolerance=2 * TOL)
    assert model.coef_.dtype == np.float64


@each_solver
@pytest.mark.parametrize("class_weight", ["balanced", {-1.0: 0.2, 1.0: 7.0}])
@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_class_weight_times_sample_weight(p, class_weight, solver, heard):
    """cost_i = C * class weight * sample weight; "balanced" counts rows by their weight."""
    X, y = noisy(n=70, d=4, seed=5, shift=0.5)
    weights = np.random.default_rng(1).exponential(size=70)
    model = LinearPSVC(p=p, C=0.7, class_weight=class_weight, solver=solver, tol=TOL)
    model.fit(X, y, sample_weight=weights)
    if class_weight == "balanced":
        class_weight = {side: weights.sum() / (2 * weights[y == side].sum()) for side in (-1, 1)}
    cost = 0.7 * weights * np.where(y > 0, class_weight[1], class_weight[-1])
    assert heard.problems.cost == pytest.approx(cost)
    check_solutions(model, heard)
    check_linear_optimum(model, X, y, cost, tolerance=2 * TOL)


@each_solver
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("p", [1, 1.5, 2, 10])
def test_hard_margin(p, intercept, solver, heard):
    """C = inf on separable data: the margin is at least 1 everywhere and the norm is least."""
    X, y = separable(seed=3)
    model = LinearPSVC(p=p, C=np.inf, fit_intercept=intercept, solver=solver).fit(X, y)
    best = oracle.solve_linear(X, y, np.inf, p, intercept)
    assert model.status_ == [Status.CONVERGED]
    assert np.min(y * model.decision_function(X)) >= 1 - 1e-4
    norm = 0.5 * model.coef_[0] @ model.coef_[0]
    assert norm == pytest.approx(best.upper, rel=2e-4)
    assert model.primal_objective_[0] == pytest.approx(norm, rel=1e-6)
    assert 0.0 <= model.dual_gap_[0] <= model.tol
    assert model.dual_objective_[0] <= best.upper * (1 + oracle.BRACKET)


@each_solver
@pytest.mark.parametrize("p", [1, 1.001, 1.05, 1.25, 1.5, 2, 3, 10, 50])
def test_tight_tolerance(p, solver, heard):
    """tol = 1e-8 is reached and true on ordinary data, not only claimed."""
    X, y = noisy(n=400, d=6, seed=4)
    model = LinearPSVC(p=p, solver=solver, tol=1e-8).fit(X, y)
    assert model.status_ == [Status.CONVERGED]
    (gap,) = check_solutions(model, heard)
    assert gap <= 1.1e-8


@each_solver
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_every_problem_of_a_multiclass_fit(multi_class, p, solver, heard):
    """Each of the k(k-1)/2 or k binary problems has the oracle's objective at its own row."""
    X, y = blobs(n=60, classes=4)
    model = LinearPSVC(p=p, multi_class=multi_class, solver=solver, tol=TOL).fit(X, y)
    if multi_class == "ovo":
        parts = [(np.isin(y, pair), pair[0]) for pair in itertools.combinations(range(4), 2)]
    else:
        parts = [(np.ones(60, bool), label) for label in range(4)]
    coef, intercept = weights_of(model)
    assert coef.shape == (len(parts), 3)
    assert intercept.shape == (len(parts),)
    check_solutions(model, heard)
    for number, (rows, first) in enumerate(parts):
        signs = np.where(y[rows] == first, 1.0, -1.0)
        best = oracle.solve_linear(X[rows], signs, 1.0, p)
        found = primal_of(X[rows], coef[number], intercept[number], signs, np.ones(signs.size), p)
        assert found == pytest.approx(best.upper, rel=2 * TOL)
        assert model.primal_objective_[number] == pytest.approx(best.upper, rel=2 * TOL)


@each_solver
@pytest.mark.parametrize("p", [1, 1.5, 3])
def test_support(p, solver, heard):
    """n_support_ counts the rows with alpha > 0 in some problem, by class."""
    X, y = blobs(n=90, classes=3)
    model = LinearPSVC(p=p, multi_class="ovo", solver=solver).fit(X, y)
    used = np.any([solution.alpha > 0 for solution in heard.solutions], axis=0)
    assert model.n_support_.tolist() == [int(used[y == label].sum()) for label in range(3)]
    assert np.issubdtype(model.n_support_.dtype, np.integer)
    assert 0 < model.n_support_.sum() < 90
