"""Fits of few rows end soon, whatever they are asked for, and say truthfully how."""

import time
import warnings
from numbers import Real

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from psvm import PSVC, LinearPSVC
from psvm.rows.sizes import FEW_ROWS
from psvm.solvers.ledger import Status

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

KERNELS = ("linear", "poly", "rbf", "sigmoid", "laplacian", "exponential", "precomputed")
PS = (1.0, 1.0 + 1e-12, 1.0001, 1.01, 1.5, 2.0, 3.0, 10.0, 50.0, 200.0)
# What under 1,000 rows nothing takes, in seconds of work.
MOST = 5.0


def two_classes(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def effort(model, X, y):
    began = time.process_time()
    model.fit(X, y)
    return time.process_time() - began


def test_steps_below_the_last_digit_end():
    """Near p = 1 the best gap in double precision is above 1e-16: steps changed nothing."""
    for seed in range(6):
        X = np.random.default_rng(seed).normal(size=(8, 2))
        model = PSVC(p=1.0001, kernel="sigmoid", tol=1e-16)
        assert effort(model, X, np.arange(8) % 2) < 1.0
        assert model.status_[0] in (Status.STALLED, Status.STATIONARY, Status.UNPROVEN)
        assert model.dual_gap_[0] < 1e-11


def test_a_gap_that_goes_up_and_down_ends():
    """Of 975 rows at p = 1.01 and C = 2e9 the dual stood still while the gap jumped about 1e-7."""
    X, y = two_classes(975, 5)
    model = PSVC(p=1.01, kernel="linear", C=2e9, tol=1e-9)
    assert effort(model, X, y) < MOST
    assert model.status_[0] is Status.STALLED
    assert model.history_[0][-1]["gap"] < 1e-5


@pytest.mark.slow
def test_a_column_of_huge_entries_ends():
    """Pair steps of 1e-160 raise the dual for thousands of rounds before that could be seen."""
    X, y = two_classes(764, 5)
    X[:, 2] *= 1e80
    model = PSVC(kernel="linear")
    assert effort(model, X, y) < MOST
    assert model.status_[0] is Status.STALLED
    assert np.isfinite(model.dual_gap_[0])


def test_newton_ends_where_numbers_leave_their_range():
    """A direction that is not finite was taken for progress, 2,000 times in every problem."""
    rng = np.random.default_rng(9)
    X = 1e12 * rng.normal(size=(80, 100))
    model = LinearPSVC(p=200.0, solver="semismooth_newton", tol=1e-16)
    assert effort(model, X, np.arange(80) % 5) < MOST
    assert not np.isnan(model.coef_).any()
    assert not np.isnan(model.dual_gap_).any()


def test_newton_ends_where_no_margin_comes_near():
    """A hard margin that stays infinitely far is no progress."""
    rng = np.random.default_rng(0)
    X = 1e-9 * rng.normal(size=(200, 100))
    model = PSVC(kernel="linear", C=np.inf, tol=1e-9)
    assert effort(model, X, rng.integers(0, 2, 200)) < MOST
    assert model.dual_gap_[0] <= 1e-8


@pytest.mark.parametrize(("p", "C"), [(2.0, 30.0), (3.0, 30.0), (10.0, 1.0), (50.0, 1.0)])
def test_a_dual_without_bound_is_called_so(p, C):
    """Sigmoid on scaled data: the negative eigenvalues win, and there is no stationary point."""
    X, y = two_classes(120, 4)
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite.*no optimum") as caught:
        model = PSVC(p=p, C=C, kernel="sigmoid", gamma=1.0).fit(X, y)
    assert "precision" not in str(caught[0].message)
    assert model.status_[0] is Status.UNBOUNDED
    assert model.dual_gap_[0] > model.tol
    assert not has_nan(model.history_)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("p", PS)
def test_minus_the_identity_never_converges(p, multi_class):
    y = np.arange(15) % 5
    for s in (1e-3, 1.0, 1e3):
        for C in (1e-6, 1.0, 1e6):
            model = PSVC(p=p, C=C, kernel="precomputed", multi_class=multi_class)
            model.fit(-s * np.eye(15), y)
            assert Status.CONVERGED not in model.status_
            assert not has_nan(model.history_)


def has_nan(history):
    records = [one for records in history for one in records]
    values = [value for one in records for value in (one | one.get("phases", {})).values()]
    return any(np.isnan(value) for value in values if isinstance(value, Real))


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_record_is_not_a_number(kernel):
    rng = np.random.default_rng(KERNELS.index(kernel))
    for p in PS:
        X = rng.normal(size=(30, 3)) * 10.0 ** rng.integers(-8, 9)
        y = np.arange(30) % 3
        if kernel == "precomputed":
            X = X @ X.T - rng.integers(0, 2) * np.eye(30)
        C = 10.0 ** rng.integers(-8, 9)
        model = PSVC(p=p, C=C, kernel=kernel, coef0=float(rng.integers(-1, 2)), tol=1e-9)
        assert effort(model, X, y) < MOST
        assert not has_nan(model.history_)


@pytest.mark.slow
def test_random_fits_of_few_rows_end_soon():
    """Estimators, p, C, tol, scales, offsets and equal rows at random."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, d, k = rng.integers(6, FEW_ROWS), rng.integers(1, 40), rng.integers(2, 5)
        X = rng.normal(size=(n, d)) * 10.0 ** rng.choice([-9, 0, 0, 6])
        X += rng.choice([0.0, 0.0, 1e4])
        y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
        if rng.random() < 0.3:
            X = np.round(X)
        options = {"p": rng.choice(PS), "C": 10.0 ** rng.uniform(-12, 12), "tol": 1e-16}
        if rng.random() < 0.4:
            model = LinearPSVC(**options)
        else:
            model = PSVC(kernel=str(rng.choice(KERNELS[:-1])), **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert effort(model, X, y) < MOST, (seed, model)
        assert not has_nan(model.history_), (seed, model)
