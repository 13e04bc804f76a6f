"""Properties that hold for every data set, exponent and penalty."""

import warnings

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referee import SHAPES, kernel_matrix
from sklearn.exceptions import ConvergenceWarning
from small_data import noisy
from strategies import costs, datasets, exponents, kernels, seeds

from psvm import PSVC
from psvm.solvers.ledger import Status

EXACT = 1e-6


def assert_same_decision(one, two, X, tolerance=EXACT):
    """Equal decision values, relative to the largest of them (and to 1)."""
    expected = one.decision_function(X)
    size = max(1.0, np.abs(expected).max())
    assert two.decision_function(X) == pytest.approx(expected, abs=tolerance * size)


@given(datasets(), exponents(), costs, kernels(), st.booleans())
def test_the_gap_is_certified(data, p, C, kernel, fit_intercept):
    """0 <= (P - D) / P <= tol on anything, duplicates and grids included."""
    X, y = data
    model = PSVC(p=p, C=C, kernel=kernel, fit_intercept=fit_intercept, **SHAPES).fit(X, y)
    assert model.status_ == [Status.CONVERGED]
    assert 0.0 <= model.dual_gap_[0] <= model.tol
    assert model.dual_objective_[0] <= model.primal_objective_[0] * (1 + 1e-12)


@given(datasets(), exponents(), costs, kernels())
def test_label_flip(data, p, C, kernel):
    """Exchanging the two labels changes the sign of the decision function and nothing else."""
    X, y = data
    model = PSVC(p=p, C=C, kernel=kernel, **SHAPES)
    straight, flipped = model.fit(X, y).decision_function(X), model.fit(X, -y).decision_function(X)
    size = max(1.0, np.abs(straight).max())
    assert flipped == pytest.approx(-straight, abs=EXACT * size)


@given(datasets(), exponents(), costs, kernels(), seeds)
def test_row_order(data, p, C, kernel, seed):
    """A permutation of the training rows gives the same decision function."""
    X, y = data
    order = np.random.default_rng(seed).permutation(y.size)
    one = PSVC(p=p, C=C, kernel=kernel, **SHAPES).fit(X, y)
    two = PSVC(p=p, C=C, kernel=kernel, **SHAPES).fit(X[order], y[order])
    assert_same_decision(one, two, X)


@pytest.mark.parametrize("gamma", ["scale", 0.4])
@given(data=datasets(), p=exponents(), C=costs, kernel=kernels(), seed=seeds)
@settings(max_examples=40)
def test_weight_2_is_a_repeated_row(gamma, data, p, C, kernel, seed):
    """Integer weights equal repetitions, also through gamma="scale"."""
    X, y = data
    times = np.random.default_rng(seed).integers(1, 4, size=y.size)
    parameters = {"p": p, "C": C, "kernel": kernel, **SHAPES, "gamma": gamma}
    weighted = PSVC(**parameters).fit(X, y, sample_weight=times)
    repeated = PSVC(**parameters).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_same_decision(repeated, weighted, X)


@pytest.mark.parametrize("gamma", ["scale", 0.4])
@given(data=datasets(), p=exponents(), C=costs, kernel=kernels(), seed=seeds)
@settings(max_examples=40)
def test_zero_weight_is_an_absent_row(gamma, data, p, C, kernel, seed):
    """Rows that weigh nothing take no part, not even in gamma="scale", and are never support."""
    X, y = data
    weights = (np.random.default_rng(seed).random(y.size) < 0.6).astype(float)
    weights[:2] = 1.0
    kept = weights > 0
    parameters = {"p": p, "C": C, "kernel": kernel, **SHAPES, "gamma": gamma}
    weighted = PSVC(**parameters).fit(X, y, sample_weight=weights)
    without = PSVC(**parameters).fit(X[kept], y[kept])
    assert np.all(weights[weighted.support_] > 0)
    assert_same_decision(without, weighted, X)


@given(datasets(), exponents(), costs, kernels(), st.sampled_from([0.01, 0.5, 3.0, 100.0]))
def test_weights_scale_like_C(data, p, C, kernel, factor):
    """Only the product C * weight matters."""
    X, y = data
    one = PSVC(p=p, C=C * factor, kernel=kernel, **SHAPES).fit(X, y)
    two = PSVC(p=p, C=C, kernel=kernel, **SHAPES)
    two.fit(X, y, sample_weight=np.full(y.size, factor))
    assert_same_decision(one, two, X)


@given(datasets(), costs, kernels())
def test_continuity_as_p_tends_to_1(data, C, kernel):
    """The optimal value at p -> 1+ tends to that of the hinge, at a linear rate."""
    X, y = data

    def value(p):
        return PSVC(p=p, C=C, kernel=kernel, **SHAPES).fit(X, y).primal_objective_[0]

    hinge = value(1.0)
    for p in (1.01, 1.001, 1.0001):
        assert value(p) == pytest.approx(hinge, rel=20 * (p - 1) + 1e-4)


@given(datasets(), exponents(), kernels())
@settings(max_examples=30)
def test_objective_is_increasing_and_concave_in_C(data, p, kernel):
    """P*(C) is a minimum of functions linear in C: it rises, and P*(C) / C falls."""
    X, y = data
    grid = np.array([0.01, 0.1, 1.0, 10.0, 100.0])
    value = np.array(
        [PSVC(p=p, C=C, kernel=kernel, **SHAPES).fit(X, y).primal_objective_[0] for C in grid]
    )
    slack = 1 + 2e-4
    assert np.all(value[:-1] <= value[1:] * slack)
    assert np.all((value / grid)[1:] <= (value / grid)[:-1] * slack)


@given(datasets(duplicates=False), exponents(), costs, seeds)
@settings(max_examples=30)
def test_rotation_and_translation(data, p, C, seed):
    """rbf depends on distances only: moving and turning the data changes nothing."""
    X, y = data
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))
    moved = X @ turn + rng.normal(size=X.shape[1])
    one, two = (PSVC(p=p, C=C, gamma=0.4).fit(Z, y) for Z in (X, moved))
    assert two.decision_function(moved) == pytest.approx(one.decision_function(X), abs=1e-5)


@pytest.mark.parametrize("p", [1, 1.001, 1.5, 2, 3, 50])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_duplicates_with_opposite_labels(kernel, p):
    """Every point with both labels: nothing can be learnt, w = 0, and P* = sum of the costs."""
    X, _ = noisy(n=10)
    X, y = np.vstack([X, X]), np.repeat([1.0, -1.0], 10)
    model = PSVC(p=p, C=3.0, kernel=kernel, gamma=0.4).fit(X, y)
    assert model.primal_objective_[0] == pytest.approx(60.0, rel=1e-6)
    assert model.decision_function(X) == pytest.approx(np.zeros(20), abs=1e-4)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian", "exponential"])
def test_constant_columns(kernel, p):
    """Columns of one value do not disturb; all columns constant leaves the intercept alone."""
    X, y = noisy(n=20, d=2)
    wide = np.column_stack([X, np.full(20, 7.0)])
    assert PSVC(p=p, kernel=kernel).fit(wide, y).dual_gap_[0] <= 1e-4
    y[:13] = 1.0
    flat = PSVC(p=p, kernel=kernel).fit(np.full((20, 3), 7.0), y)
    assert flat.dual_gap_[0] <= 1e-4
    assert np.ptp(flat.decision_function(np.full((4, 3), 7.0))) == 0.0
    assert np.all(flat.predict(np.full((4, 3), 7.0)) == 1.0)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, np.inf])
@pytest.mark.parametrize("p", [1, 1.001, 1.5, 2, 3, 50])
def test_two_rows(p, C):
    """The smallest problem: symmetric, the boundary halfway, the objective of the oracle."""
    X, y = np.array([[1.0, 0.0], [3.0, 0.0]]), np.array([-1.0, 1.0])
    model = PSVC(p=p, C=C, kernel="linear").fit(X, y)
    best = oracle.solve(X @ X.T, y, C, p)
    assert model.primal_objective_[0] == pytest.approx(best.upper, rel=1e-5)
    assert model.decision_function([[2.0, 5.0]]) == pytest.approx([0.0], abs=1e-6)


@pytest.mark.parametrize("p", [1, 1.5, 3])
def test_few_rows_many_columns(p):
    """n = 8, d = 3000: certified, and equal to the oracle's value."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 3000)), np.repeat([1.0, -1.0], 4)
    for kernel in ("linear", "rbf"):
        model = PSVC(p=p, kernel=kernel, gamma=1e-4).fit(X, y)
        K = kernel_matrix(kernel, X, gamma=1e-4)
        best = oracle.solve(K, y, 1.0, p)
        assert model.primal_objective_[0] == pytest.approx(best.upper, rel=1e-5)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
@pytest.mark.timeout(60)
def test_unscaled_columns(kernel, p, C):
    """Columns of 1e6 beside 1e-6: a certified answer, or a warning that says it is not."""
    X, y = noisy(n=80, d=3, seed=1)
    X = X * np.array([1e6, 1.0, 1e-6])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PSVC(p=p, C=C, kernel=kernel, max_time=20).fit(X, y)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert model.dual_gap_[0] <= model.tol or warned
    assert np.all(np.isfinite(model.decision_function(X)))


@given(datasets(min_rows=8), exponents(1.1), costs)
@settings(max_examples=30)
def test_optimality_conditions(data, p, C):
    """alpha_i = p C xi_i^(p-1) for every row, hence b is exact for every support vector."""
    X, y = data
    model = PSVC(p=p, C=C, gamma=0.4).fit(X, y)
    alpha = np.zeros(y.size)
    alpha[model.support_] = model.dual_coef_[0] * y[model.support_]
    xi = np.maximum(0.0, 1.0 - y * model.decision_function(X))
    if p <= 2:  # each side of the equation where it is the better conditioned one
        assert (alpha / (p * C)) ** (1.0 / (p - 1.0)) == pytest.approx(xi, abs=1e-6)
    else:
        expected = p * C * xi ** (p - 1.0)
        assert alpha == pytest.approx(expected, abs=1e-6 * expected.max())
