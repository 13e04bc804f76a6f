"""LinearPSVR against CVXPY, its own promises in extended precision, and other libraries."""

import numpy as np
import pytest
import scipy.sparse as sp
from estimators import each_solver
from linear_regression_oracle import Regression, noisy_line
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import LinearSVR

from psvm import PSVR, LinearPSVR
from psvm.solvers.ledger import Status

POWERS = (1, 1.25, 1.5, 2, 3)


def problem_of(model, X, y, weight=None):
    """The problem that a model is to solve, in the user's units."""
    cost = model.C * (np.ones(y.size) if weight is None else np.asarray(weight, float))
    return Regression(
        X, y, cost, model.p, model.epsilon, model.quantile, fit_intercept=model.fit_intercept
    )


@pytest.fixture
def duals(monkeypatch):
    """The dual variables of the last fit, in the user's units."""
    found = {}
    real = LinearPSVR._solved

    def listen(self, *arguments):
        solution = real(self, *arguments)
        found["above"], found["below"] = solution.alpha.reshape(-1, 2).T
        return solution

    monkeypatch.setattr(LinearPSVR, "_solved", listen)
    return found


def check_promises(model, problem, duals, digits=1e-9):
    """P, D and the gap are those of the stored model, whatever was rounded."""
    primal = problem.primal(model.coef_, model.intercept_[0])
    dual = problem.dual(duals["above"], duals["below"])
    assert model.primal_objective_[0] == pytest.approx(primal, rel=digits)
    assert model.dual_objective_[0] == pytest.approx(
        dual, rel=10 * digits, abs=10 * digits * primal
    )
    assert primal - dual <= model.dual_gap_[0] * primal * (1 + 1e-12)
    assert model.dual_gap_[0] <= model.tol
    assert model.status_ == [Status.CONVERGED]
    sides = duals["above"] != duals["below"]
    assert model.n_support_.tolist() == [np.count_nonzero(sides)]


@each_solver
@pytest.mark.parametrize("epsilon", [0.0, 0.4])
@pytest.mark.parametrize("p", POWERS)
def test_the_optimum_is_that_of_the_oracle(p, epsilon, solver, duals):
    """Quantiles, costs, weights (some 0), with and without an intercept."""
    X, y = noisy_line(n=70, d=4, seed=7)
    weight = np.random.default_rng(1).integers(0, 3, size=y.size).astype(float)
    for C, quantile, free, weights in (
        (1.0, 0.5, True, None),
        (0.05, 0.9, True, weight),
        (20.0, 0.2, False, weight),
    ):
        model = LinearPSVR(
            p, C=C, epsilon=epsilon, quantile=quantile, fit_intercept=free, solver=solver
        ).fit(X, y, weights)
        problem = problem_of(model, X, y, weights)
        check_promises(model, problem, duals)
        best, w, b = problem.optimum()
        assert model.primal_objective_[0] == pytest.approx(best, rel=1.1e-4)
        if free is False:
            assert model.intercept_.tolist() == [0.0]
        if p > 1:
            size = np.abs(X @ w + b).max()
            assert model.predict(X) == pytest.approx(X @ w + b, abs=0.02 * size)


@pytest.mark.parametrize("unit", [1e9, 1e-9, 3.0])
@pytest.mark.parametrize("p", POWERS)
def test_the_unit_of_y_does_not_matter(p, unit, duals):
    """Where epsilon and C follow it; gaps are true in any unit."""
    X, y = noisy_line(n=90, d=3, seed=2)
    one = LinearPSVR(p, C=0.7, epsilon=0.2, quantile=0.6).fit(X, y)
    other = LinearPSVR(p, C=0.7 * unit ** (2 - p), epsilon=0.2 * unit, quantile=0.6)
    other.fit(X, unit * y)
    check_promises(other, problem_of(other, X, unit * y), duals)
    assert other.coef_ == pytest.approx(unit * one.coef_, rel=1e-6)
    assert other.predict(X) == pytest.approx(unit * one.predict(X), rel=1e-6)
    assert other.primal_objective_ == pytest.approx(unit**2 * one.primal_objective_, rel=1e-4)


@pytest.mark.parametrize("p", POWERS)
def test_an_offset_of_y_moves_the_intercept_only(p, duals):
    """A target of 1e9 and something: the gap counts what its units round off."""
    X, y = noisy_line(n=80, d=3, seed=4)
    near = LinearPSVR(p).fit(X, y)
    far = LinearPSVR(p).fit(X, y + 1e9)
    check_promises(far, problem_of(far, X, y + 1e9), duals, digits=1e-7)
    assert far.coef_ == pytest.approx(near.coef_, abs=1e-4)
    assert far.intercept_ == pytest.approx(near.intercept_ + 1e9, abs=1e-3)


@pytest.mark.parametrize("p", POWERS)
def test_both_solvers_and_the_kernel_agree(p):
    X, y = noisy_line(n=150, d=5, seed=5)
    settings = {"C": 2.0, "epsilon": 0.3, "quantile": 0.35, "tol": 1e-9}
    newton = LinearPSVR(p, solver="semismooth_newton", **settings).fit(X, y)
    descent = LinearPSVR(p, solver="coordinate_descent", **settings).fit(X, y)
    kernel = PSVR(p, kernel="linear", **settings).fit(X, y)
    assert descent.coef_ == pytest.approx(newton.coef_, abs=1e-6)
    assert kernel.coef_.ravel() == pytest.approx(newton.coef_, abs=1e-4)
    assert kernel.predict(X) == pytest.approx(newton.predict(X), abs=1e-4)
    assert kernel.primal_objective_ == pytest.approx(newton.primal_objective_, rel=1e-8)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize(
    ("p", "loss"), [(1, "epsilon_insensitive"), (2, "squared_epsilon_insensitive")]
)
def test_linear_svr_solves_the_same_problem_without_an_intercept(p, loss, epsilon):
    X, y = noisy_line(n=120, d=4, seed=6)
    y = y - 3.0
    ours = LinearPSVR(p, C=0.3, epsilon=epsilon, fit_intercept=False, tol=1e-8).fit(X, y)
    theirs = LinearSVR(
        C=0.3,
        epsilon=epsilon,
        loss=loss,
        fit_intercept=False,
        dual=True,
        tol=1e-10,
        max_iter=100_000,
        random_state=0,
    ).fit(X, y)
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-5)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=1e-4)
    free = LinearSVR().fit(X, y)
    assert LinearPSVR().fit(X, y).intercept_.shape == free.intercept_.shape == (1,)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_quantiles_without_regularisation_are_those_of_a_linear_program(quantile):
    X, y = noisy_line(n=400, d=4, seed=8)
    ours = LinearPSVR(1, C=1e4, epsilon=0, quantile=quantile, tol=1e-7).fit(X, y)
    theirs = QuantileRegressor(quantile=quantile, alpha=0.0).fit(X, y)

    def pinball(model):
        residual = y - model.predict(X)
        return np.mean(np.maximum(quantile * residual, (quantile - 1.0) * residual))

    assert pinball(ours) == pytest.approx(pinball(theirs), rel=2e-6)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=0.01)
    # As many rows below as asked for, but for those on the plane itself.
    on_it = np.abs(y - ours.predict(X)) < 1e-6 * np.abs(y).max()
    below = (y < ours.predict(X)) & ~on_it
    assert below.sum() <= quantile * y.size <= below.sum() + on_it.sum() + 1


def test_expectiles():
    """p = 2, epsilon = 0: where weighted residuals balance."""
    X, y = noisy_line(n=300, d=2, seed=9)
    model = LinearPSVR(2, C=1e3, epsilon=0, quantile=0.8, tol=1e-10).fit(X, y)
    residual = y - model.predict(X)
    above, below = residual[residual > 0].sum(), -residual[residual < 0].sum()
    assert 0.8 * above == pytest.approx(0.2 * below, rel=1e-5)


@each_solver
@pytest.mark.parametrize("p", [1, 1.5, 3])
def test_all_rows_inside_the_tube(p, solver, duals):
    """C = inf: no row is outside, not even by rounding, and the gap is true; p does not matter."""
    X, y = noisy_line(n=80, d=3, seed=3)
    model = LinearPSVR(p, C=np.inf, epsilon=4.0, solver=solver).fit(X, y)
    problem = problem_of(model, X, y)
    assert problem.worst_residual(model.coef_, model.intercept_[0]) <= 4.0
    check_promises(model, problem, duals)
    best, _, _ = problem.optimum()
    assert model.primal_objective_[0] == pytest.approx(best, rel=1.1e-4)


def test_rows_that_are_absent_may_be_outside():
    X, y = noisy_line(n=80, d=3, seed=3)
    weight = (np.arange(80) % 5 != 0).astype(float)
    far = np.where(weight == 0, 1e9, y)
    model = LinearPSVR(C=np.inf, epsilon=4.0).fit(X, far, weight)
    alone = LinearPSVR(C=np.inf, epsilon=4.0).fit(X[weight > 0], y[weight > 0])
    assert model.coef_ == pytest.approx(alone.coef_, abs=1e-2)
    assert model.dual_gap_[0] <= 1e-4


def test_no_tube_is_an_error():
    X, y = noisy_line(n=80, d=3, seed=3)
    for solver in ("auto", "semismooth_newton", "coordinate_descent"):
        with pytest.raises(ValueError, match="no such model was found that is linear in X"):
            LinearPSVR(C=np.inf, epsilon=0.1, solver=solver).fit(X, y)
    with pytest.raises(ValueError, match="`epsilon` must be > 0 for C=inf"):
        LinearPSVR(C=np.inf, epsilon=0).fit(X, y)
    equal = np.zeros((2, 3))
    with pytest.raises(ValueError, match="no such model was found"):
        LinearPSVR(C=np.inf, epsilon=0.1).fit(equal, np.array([0.0, 1.0]))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_tube_that_holds_all_rows_needs_no_weights(fit_intercept):
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.full(30, 0.05)
    model = LinearPSVR(fit_intercept=fit_intercept).fit(X, y)
    assert model.coef_.tolist() == [0.0, 0.0, 0.0]
    assert model.dual_gap_.tolist() == model.primal_objective_.tolist() == [0.0]
    assert model.n_support_.tolist() == [0]
    assert model.predict(X[:2]) == pytest.approx([0.05, 0.05] if fit_intercept else [0.0, 0.0])


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_rows_of_any_storage(p, duals):
    X, y = noisy_line(n=200, d=30, seed=1)
    X = np.where(np.abs(X) > 1.2, X, 0.0)
    dense = LinearPSVR(p, tol=1e-7).fit(X, y)
    for rows in (sp.csr_matrix(X), sp.csc_array(X), np.asfortranarray(X)):
        other = LinearPSVR(p, tol=1e-7).fit(rows, y)
        check_promises(other, problem_of(other, X, y), duals)
        assert other.coef_ == pytest.approx(dense.coef_, abs=1e-4)
        assert other.predict(rows) == pytest.approx(dense.predict(X), abs=1e-3)
    single = X.astype(np.float32)
    other = LinearPSVR(p, tol=1e-7).fit(single, y.astype(np.float32))
    check_promises(
        other, problem_of(other, single.astype(float), y.astype(np.float32).astype(float)), duals
    )


def test_a_weight_of_two_is_a_repeated_row():
    X, y = noisy_line(n=60, d=3, seed=0)
    weight = np.random.default_rng(0).integers(0, 4, size=60)
    for p in POWERS:
        weighted = LinearPSVR(p, tol=1e-9).fit(X, y, weight)
        repeated = LinearPSVR(p, tol=1e-9).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
        assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-6)
        assert weighted.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=1e-9)


@pytest.mark.parametrize("p", [1, 1.5, 2])
@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_a_gap_out_of_reach_is_not_claimed(p, scale, duals):
    """Unscaled features and a large cost: what is claimed is true, or it is warned of."""
    X, y = noisy_line(n=60, d=3, seed=1, noise=1e-9)
    model = LinearPSVR(p, C=1e8, epsilon=0, tol=1e-6)
    try:
        model.fit(scale * X + 1e3, y)
    except ConvergenceWarning:
        return
    problem = problem_of(model, scale * X + 1e3, y)
    primal = problem.primal(model.coef_, model.intercept_[0])
    dual = problem.dual(duals["above"], duals["below"])
    assert primal - dual <= model.dual_gap_[0] * primal * (1 + 1e-12)
