"""Properties of the linear model that hold for every data set, exponent and penalty."""

import warnings

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from estimators import SOLVERS, each_solver
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_referee import primal_of
from small_data import noisy
from strategies import costs, datasets, exponents, seeds

from psvm import LinearPSVC
from psvm.solvers.ledger import Status

solvers = st.sampled_from(SOLVERS)
TOL = 1e-9


def fit(X, y, p, C, solver, sample_weight=None, **parameters):
    model = LinearPSVC(p=p, C=C, solver=solver, tol=TOL, **parameters)
    return model.fit(X, y, sample_weight=sample_weight)


def weights_bound(*models):
    """How far apart two w can be: P is 1-strongly convex in w, so ||w - w*||^2 / 2 <= P - P*."""
    return 2.1 * np.sqrt(2 * TOL * max(model.primal_objective_[0] for model in models)) + 1e-9


def assert_same_optimum(one, two):
    """Equal objectives to the tolerance, and equal weights as far as that implies it."""
    assert two.primal_objective_ == pytest.approx(one.primal_objective_, rel=2 * TOL)
    assert np.linalg.norm(two.coef_ - one.coef_) <= weights_bound(one, two)


@given(datasets(), exponents(), costs, solvers, st.booleans(), st.booleans())
def test_the_gap_is_certified(data, p, C, solver, fit_intercept, sparse):
    """0 <= (P - D) / P <= tol on anything, duplicates and grids included; P is P(coef_, b)."""
    X, y = data
    model = LinearPSVC(p=p, C=C, solver=solver, fit_intercept=fit_intercept)
    model.fit(sp.csr_matrix(X) if sparse else X, y)
    assert model.status_ == [Status.CONVERGED]
    assert 0.0 <= model.dual_gap_[0] <= model.tol
    assert model.dual_objective_[0] <= model.primal_objective_[0] * (1 + 1e-12)
    cost = np.full(y.size, C)
    primal = primal_of(X, model.coef_[0], model.intercept_[0], y, cost, p)
    assert model.primal_objective_[0] == pytest.approx(primal, rel=1e-9)


@given(datasets(), exponents(), costs, solvers)
def test_label_flip(data, p, C, solver):
    """Exchanging the two labels changes the signs and nothing else."""
    X, y = data
    straight, flipped = fit(X, y, p, C, solver), fit(X, -y, p, C, solver)
    assert flipped.primal_objective_ == pytest.approx(straight.primal_objective_, rel=2 * TOL)
    bound = weights_bound(straight, flipped)
    assert np.linalg.norm(flipped.coef_ + straight.coef_) <= bound
    assert flipped.n_support_.shape == straight.n_support_.shape


@given(datasets(), exponents(), costs, solvers, seeds)
def test_row_order(data, p, C, solver, seed):
    """A permutation of the training rows gives the same optimum."""
    X, y = data
    order = np.random.default_rng(seed).permutation(y.size)
    assert_same_optimum(fit(X, y, p, C, solver), fit(X[order], y[order], p, C, solver))


@given(datasets(), exponents(), costs, solvers, seeds)
def test_weight_2_is_a_repeated_row(data, p, C, solver, seed):
    """Integer weights equal repetitions."""
    X, y = data
    times = np.random.default_rng(seed).integers(1, 4, size=y.size)
    weighted = fit(X, y, p, C, solver, sample_weight=times)
    repeated = fit(np.repeat(X, times, axis=0), np.repeat(y, times), p, C, solver)
    assert_same_optimum(repeated, weighted)


@given(datasets(), exponents(), costs, solvers, seeds)
def test_zero_weight_is_an_absent_row(data, p, C, solver, seed):
    """Rows that weigh nothing take no part, whatever they hold."""
    X, y = data
    weights = (np.random.default_rng(seed).random(y.size) < 0.6).astype(float)
    weights[:2] = 1.0
    kept = weights > 0
    wild = np.where(kept[:, None], X, 1e3)
    weighted = fit(wild, y, p, C, solver, sample_weight=weights)
    assert_same_optimum(fit(X[kept], y[kept], p, C, solver), weighted)
    assert weighted.n_support_.sum() <= kept.sum()


@given(datasets(), exponents(), costs, solvers, st.sampled_from([0.01, 0.5, 3.0, 100.0]))
def test_weights_scale_like_C(data, p, C, solver, factor):
    """Only the product C * weight matters."""
    X, y = data
    one = fit(X, y, p, C * factor, solver)
    assert_same_optimum(one, fit(X, y, p, C, solver, sample_weight=np.full(y.size, factor)))


@given(datasets(), exponents(), costs, solvers, seeds)
def test_columns_in_any_order_between_columns_of_zeros(data, p, C, solver, seed):
    """Zero columns get weight 0, and the others follow their columns."""
    X, y = data
    rng = np.random.default_rng(seed)
    places = rng.permutation(X.shape[1] + 3)[: X.shape[1]]
    padded = np.zeros((y.size, X.shape[1] + 3))
    padded[:, places] = X
    one, two = fit(X, y, p, C, solver), fit(padded, y, p, C, solver)
    assert np.all(np.delete(two.coef_[0], places) == 0.0)
    assert two.primal_objective_ == pytest.approx(one.primal_objective_, rel=2 * TOL)
    assert np.linalg.norm(two.coef_[0, places] - one.coef_[0]) <= weights_bound(one, two)


@given(datasets(), exponents(), costs, solvers, st.sampled_from([1e-2, 0.3, 10.0]))
def test_scaled_data(data, p, C, solver, scale):
    """X times s with C / s^2: w / s, and P / s^2."""
    X, y = data
    one, two = fit(X, y, p, C, solver), fit(X * scale, y, p, C * scale**-2, solver)
    assert two.primal_objective_ * scale**2 == pytest.approx(one.primal_objective_, rel=3 * TOL)
    assert np.linalg.norm(two.coef_ * scale - one.coef_) <= 2 * weights_bound(one)


@given(datasets(duplicates=False), exponents(), costs, solvers, seeds)
@settings(max_examples=30)
def test_rotation_and_translation(data, p, C, solver, seed):
    """Turning the data turns w; moving them moves only the intercept."""
    X, y = data
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))
    moved = X @ turn + rng.normal(size=X.shape[1])
    one, two = fit(X, y, p, C, solver), fit(moved, y, p, C, solver)
    assert two.primal_objective_ == pytest.approx(one.primal_objective_, rel=3 * TOL)
    assert np.linalg.norm(two.coef_ - one.coef_ @ turn) <= weights_bound(one, two)


@given(datasets(), costs, solvers)
def test_continuity_as_p_tends_to_1(data, C, solver):
    """The optimal value at p -> 1+ tends to that of the hinge, at a linear rate."""
    X, y = data

    def value(p):
        return LinearPSVC(p=p, C=C, solver=solver).fit(X, y).primal_objective_[0]

    hinge = value(1.0)
    for p in (1.01, 1.001, 1.0001):
        assert value(p) == pytest.approx(hinge, rel=20 * (p - 1) + 2e-4)


@given(datasets(), exponents(), solvers)
@settings(max_examples=30)
def test_objective_is_increasing_and_concave_in_C(data, p, solver):
    """P*(C) is a minimum of functions linear in C: it rises, and P*(C) / C falls."""
    X, y = data
    grid = np.array([0.01, 0.1, 1.0, 10.0, 100.0])
    value = np.array([fit(X, y, p, C, solver).primal_objective_[0] for C in grid])
    slack = 1 + 2 * TOL
    assert np.all(value[:-1] <= value[1:] * slack)
    assert np.all((value / grid)[1:] <= (value / grid)[:-1] * slack)


@given(datasets(min_rows=8), exponents(1.1), costs, solvers, seeds)
@settings(max_examples=40)
def test_no_other_point_is_better(data, p, C, solver, seed):
    """P rises in every direction from (coef_, intercept_)."""
    X, y = data
    model = fit(X, y, p, C, solver)
    w, b, cost = model.coef_[0], model.intercept_[0], np.full(y.size, C)
    here = primal_of(X, w, b, y, cost, p)
    rng = np.random.default_rng(seed)
    for size in (1e-6, 1e-3, 0.1, 1.0):
        for _ in range(5):
            step = rng.normal(size=w.size) * size
            there = primal_of(X, w + step, b + rng.normal() * size, y, cost, p)
            assert there >= here * (1 - TOL)


@given(datasets(), exponents(), costs, solvers, st.booleans())
@settings(max_examples=40)
def test_budgets_approach_the_optimum_from_above(data, p, C, solver, fit_intercept):
    """Whatever iteration a fit is cut off at: P >= P* >= D, and Newton's P falls to the optimum."""
    X, y = data
    model = LinearPSVC(p=p, C=C, solver=solver, tol=TOL, fit_intercept=fit_intercept)
    best = model.fit(X, y).primal_objective_[0]
    primal_of_records = [record["primal"] for record in model.history_[0]]
    primal, dual = [], []
    for limit in (1, 2, 4, 8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.set_params(max_iter=limit).fit(X, y)
        primal.append(model.primal_objective_[0])
        dual.append(model.dual_objective_[0])
        assert model.dual_gap_[0] >= 0.0
    assert np.all(np.array(primal) >= best * (1 - 2 * TOL))
    assert np.all(np.array(dual) <= best * (1 + 2 * TOL))
    if solver == "semismooth_newton":  # (the intercept of a small set is improved at the end)
        assert np.all(np.diff(primal_of_records) <= 0.0)


@each_solver
@pytest.mark.parametrize("p", [1, 1.001, 1.5, 2, 3, 50])
def test_duplicates_with_opposite_labels(p, solver):
    """Every point with both labels: nothing can be learnt, w = 0, and P* = sum of the costs."""
    X, _ = noisy(n=10)
    X, y = np.vstack([X, X]), np.repeat([1.0, -1.0], 10)
    model = LinearPSVC(p=p, C=3.0, solver=solver, tol=1e-8).fit(X, y)
    assert model.primal_objective_[0] == pytest.approx(60.0, rel=1e-7)
    assert model.decision_function(X) == pytest.approx(np.zeros(20), abs=2e-3)


@each_solver
@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_constant_columns(p, solver):
    """With an intercept a column of one value gets weight 0; constant data leave the majority."""
    X, y = noisy(n=20, d=2)
    wide = np.column_stack([X, np.full(20, 7.0)])
    one, two = fit(X, y, p, 1.0, solver), fit(wide, y, p, 1.0, solver)
    assert two.primal_objective_ == pytest.approx(one.primal_objective_, rel=2 * TOL)
    assert two.coef_[0, 2] == pytest.approx(0.0, abs=1e-4)
    y[:13] = 1.0
    flat = LinearPSVC(p=p, solver=solver).fit(np.full((20, 3), 7.0), y)
    assert flat.dual_gap_[0] <= 1e-4
    assert np.all(flat.predict(np.full((4, 3), 7.0)) == 1.0)


@each_solver
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, np.inf])
@pytest.mark.parametrize("p", [1, 1.001, 1.5, 2, 3, 50])
def test_two_rows(p, C, solver):
    """The smallest problem: symmetric, the boundary halfway, the objective of the oracle."""
    X, y = np.array([[1.0, 0.0], [3.0, 0.0]]), np.array([-1.0, 1.0])
    model = LinearPSVC(p=p, C=C, solver=solver, tol=1e-8).fit(X, y)
    best = oracle.solve_linear(X, y, C, p)
    assert model.primal_objective_[0] == pytest.approx(best.upper, rel=1e-6)
    assert model.decision_function([[2.0, 5.0]]) == pytest.approx([0.0], abs=1e-3)


@given(datasets(min_rows=8), st.floats(1.1, 2.0), costs, solvers)
@settings(max_examples=30)
def test_optimality_conditions(data, p, C, solver):
    """w = sum_i alpha_i y_i x_i and sum_i alpha_i y_i = 0 with alpha_i = p C xi_i^(p-1)."""
    X, y = data
    model = LinearPSVC(p=p, C=C, solver=solver, tol=1e-11).fit(X, y)
    xi = np.maximum(0.0, 1.0 - y * model.decision_function(X))
    alpha = p * C * xi ** (p - 1.0)
    size = 1e-3 * max(1.0, alpha.sum())
    assert (alpha * y) @ X == pytest.approx(model.coef_[0], abs=size)
    assert alpha @ y == pytest.approx(0.0, abs=size)
