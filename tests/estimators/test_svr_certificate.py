"""``dual_gap_`` bounds the true relative gap of the stored model, in the user's units."""

import warnings

import numpy as np
import pytest
from exact_regression import exact_objectives
from sklearn.exceptions import ConvergenceWarning
from small_data import curve

from psvm import PSVR
from psvm.solvers.ledger import Status

PS = (1.0, 1.25, 2.0, 3.0, 7.5)


def check(model, X, y, weight=None):
    """P is true, and the gap an upper bound of the true one."""
    primal, dual = exact_objectives(model, X, y, weight)
    gap = model.dual_gap_[0]
    assert float((primal - dual) / primal) <= gap
    assert model.primal_objective_[0] == pytest.approx(float(primal), rel=max(gap, 1e-12))
    assert (model.status_[0] is Status.CONVERGED) == (gap <= model.tol)
    return gap


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("p", PS)
def test_gaps_are_true(p, kernel, unit, seed):
    """For any quantile, tube, cost and offset."""
    rng = np.random.default_rng([seed, int(10 * p)])
    X, y = curve(int(rng.integers(5, 70)), d=2, seed=seed)
    y = unit * (y + rng.choice([0.0, 1e3, 1e7]))
    weight = rng.uniform(0.1, 3.0, y.size)
    model = PSVR(
        p=p,
        C=10 ** rng.uniform(-2, 2) * unit ** (2 - p),
        epsilon=unit * rng.choice([0.0, 0.1]),
        quantile=rng.choice([0.5, 0.9]),
        kernel=kernel,
        fit_intercept=True,
        tol=rng.choice([1e-2, 1e-4, 1e-6]),
    ).fit(X, y, weight)
    assert check(model, X, y, weight) <= model.tol


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("p", PS)
def test_gaps_of_large_fits_are_true(p, epsilon):
    """By working sets in float32, with both dual variables of a row above 0 on the way."""
    X, y = curve(700)
    model = PSVR(p=p, epsilon=epsilon).fit(X, y)
    check(model, X, y)


@pytest.mark.parametrize("max_iter", [1, 2, 3])
@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_gaps_of_unfinished_fits_are_true(p, max_iter):
    X, y = curve(700)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PSVR(p=p, epsilon=0, max_iter=max_iter, tol=1e-9).fit(X, y)
    primal, dual = exact_objectives(model, X, y)
    assert float((primal - dual) / primal) <= model.dual_gap_[0]


@pytest.mark.parametrize("offset", [1e10, 1e12, 1e14])
def test_gaps_count_the_digits_that_an_offset_takes(offset):
    X, y = curve(60)
    y = y + offset
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PSVR(p=1.0).fit(X, y)
    primal, dual = exact_objectives(model, X, y)
    assert float((primal - dual) / primal) <= model.dual_gap_[0]
    assert (model.status_[0] is Status.CONVERGED) == (model.dual_gap_[0] <= 1e-4)


@pytest.mark.parametrize("gamma", [0.5, 3.0])
@pytest.mark.parametrize("epsilon", [0.05, 0.5])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_gaps_without_slack_are_true(unit, epsilon, gamma):
    X, y = curve(30)
    model = PSVR(C=np.inf, epsilon=unit * epsilon, gamma=gamma).fit(X, unit * y)
    check(model, X, unit * y)


def test_equal_rows_whose_coefficients_are_shared_out():
    X, y = curve(60)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    weight = np.random.default_rng(0).uniform(0.1, 1.0, y.size)
    for p in PS:
        check(PSVR(p=p).fit(X, y, weight), X, y, weight)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("p", [1.0, 1.01, 2.0])
def test_many_targets_on_few_kernel_rows(p, seed):
    """Coefficients on one kernel row cancel to next to nothing; their rounding errors do not."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(1 + seed // 4, 2)), 16, axis=0)
    y = rng.normal(size=X.shape[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PSVR(p=p, C=7e6, quantile=0.9, epsilon=0.007, tol=1e-12).fit(X, y)
    primal, dual = exact_objectives(model, X, y)
    assert float((primal - dual) / primal) <= model.dual_gap_[0]


def test_an_objective_without_digits_proves_nothing():
    X, y = curve()
    with pytest.warns(ConvergenceWarning, match="rounding"):
        tiny = PSVR(p=2, C=1e-100, epsilon=0.0).fit(X, 1e-99 * y)
    assert tiny.primal_objective_[0] < 1e-290
    assert (tiny.status_, tiny.dual_gap_.tolist()) == ([Status.UNPROVEN], [1.0])
    assert PSVR(p=2, C=1e-80, epsilon=0.0).fit(X, 1e-99 * y).dual_gap_[0] <= 1e-4
