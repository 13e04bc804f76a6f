"""Many rows: a sample gives the start, and at p = 1 most rows are sifted out. Nothing shows."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from linear_referee import check_solutions, primal_of
from sklearn.base import clone
from sklearn.svm import LinearSVC
from small_data import noisy

from psvm import PSVC, LinearPSVC, _core
from psvm.solvers.ledger import Status

pytestmark = pytest.mark.timeout(120)

# n >= 400 (d + 1) and n d >= 5e6: the sizes from which a sample is solved first.
ROWS, COLUMNS = 450_000, 12


@pytest.fixture(scope="module")
def many():
    X, y = noisy(n=ROWS, d=COLUMNS, seed=0, noise=2.0)
    return X.astype(np.float32), y


@pytest.mark.parametrize("p", [1, 1.01, 1.5, 2, 3])
def test_certified(many, p, heard):
    """At the default tol, from the sample on."""
    X, y = many
    model = LinearPSVC(p=p).fit(X, y)
    assert model.status_ == [Status.CONVERGED]
    check_solutions(model, heard)
    assert model.history_[0][0]["solver"] == "semismooth_newton"


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_the_sample_does_not_change_the_optimum(many, p):
    """The same objective as from a cold start without a sample: just below the threshold."""
    X, y = many
    few = 416_000  # n d < 5e6
    weights = np.ones(ROWS)
    weights[few:] = 1e-12  # there, but without influence
    small = LinearPSVC(p=p, tol=1e-7).fit(X[:few], y[:few])
    large = LinearPSVC(p=p, tol=1e-7).fit(X, y, sample_weight=weights)
    assert large.primal_objective_ == pytest.approx(small.primal_objective_, rel=1e-6)
    assert large.coef_ == pytest.approx(small.coef_, abs=2e-3 * np.abs(small.coef_).max())


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_imbalanced_and_weighted(many, p, heard):
    """One row in a thousand is positive, and the weights span four decades."""
    X, y = many
    rng = np.random.default_rng(1)
    y = np.where(rng.random(ROWS) < 1e-3, 1.0, -1.0)
    X = X.copy()
    X[y > 0, 0] += 2.0
    weights = 10.0 ** rng.uniform(-2, 2, size=ROWS)
    model = LinearPSVC(p=p, C=0.1).fit(X, y, sample_weight=weights)
    assert model.status_ == [Status.CONVERGED]
    check_solutions(model, heard)


@pytest.mark.parametrize("C", [1e-4, 100.0])
@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_other_penalties(many, p, C, heard):
    X, y = many
    check_solutions(LinearPSVC(p=p, C=C).fit(X, y), heard)


@pytest.mark.parametrize("p", [1, 1.5, 3])
def test_without_intercept(many, p, heard):
    X, y = many
    model = LinearPSVC(p=p, fit_intercept=False).fit(X, y)
    assert model.intercept_.tolist() == [0.0]
    assert model.status_ == [Status.CONVERGED]
    check_solutions(model, heard)


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_separable(p, heard):
    """No row costs anything at the solution of the sample, nor of the whole."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += y * 0.5
    check_solutions(LinearPSVC(p=p, C=10.0).fit(X, y), heard)


@pytest.mark.parametrize("p", [1, 2])
def test_sorted_rows(many, p, heard):
    """All of one class first, and sorted by a feature: a sample must still be one."""
    X, y = many
    order = np.lexsort((X[:, 0], y))
    check_solutions(LinearPSVC(p=p).fit(X[order], y[order]), heard)


def test_a_class_too_rare_for_a_sample(many, heard):
    """Five rows of a class among hundreds of thousands."""
    X, y = many
    y = np.full(ROWS, -1.0)
    y[:: ROWS // 5] = 1.0
    for p in (1, 1.5, 2):
        check_solutions(LinearPSVC(p=p, class_weight="balanced").fit(X, y), heard)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_liblinear(loss):
    """60,000 rows without intercept: never above LIBLINEAR, and equal where that converges."""
    X, y = noisy(n=60_000, d=12, seed=3, noise=1.0)
    p = 1 if loss == "hinge" else 2
    theirs = LinearSVC(loss=loss, C=0.01, fit_intercept=False, tol=1e-4, dual=p == 1, max_iter=5000)
    theirs.fit(X, y)
    ours = LinearPSVC(p=p, C=0.01, fit_intercept=False, tol=1e-6).fit(X, y)
    cost = np.full(y.size, 0.01)
    one, two = (primal_of(X, model.coef_[0], 0.0, y, cost, p) for model in (ours, theirs))
    assert one <= two * (1 + 1e-6)
    assert one == pytest.approx(two, rel=1e-4)


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_the_linear_kernel(p):
    """60,000 rows: PSVC's linear kernel has the same objective."""
    X, y = noisy(n=60_000, d=12, seed=4, noise=1.0)
    kernel = PSVC(p=p, kernel="linear", C=0.01).fit(X, y)
    linear = LinearPSVC(p=p, C=0.01).fit(X, y)
    assert linear.primal_objective_ == pytest.approx(kernel.primal_objective_, rel=1e-4)
    assert np.mean(linear.predict(X) == kernel.predict(X)) > 0.995


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1000, 7), (3, 0), (1, 5)])
def test_nonzeros_of_dense_rows(shape, dtype):
    """As SciPy finds them, whatever the stride between rows."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(2 * shape[0], shape[1])) * rng.integers(0, 2, shape[1])).astype(dtype)
    for rows in (X[: shape[0]], X[::2]):
        data, indices, indptr = _core.nonzeros_of(rows, 2)
        expected = sp.csr_matrix(rows)
        assert data.dtype == dtype
        np.testing.assert_array_equal(data, expected.data)
        np.testing.assert_array_equal(indices, expected.indices)
        np.testing.assert_array_equal(indptr, expected.indptr)


def test_dense_data_that_are_mostly_zeros():
    """Whether they are turned into CSR or not, the model is that of the sparse matrix."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40_000, 60)) * (rng.random((40_000, 60)) < 0.05)
    y = np.where(X @ rng.normal(size=60) + rng.normal(size=40_000) > 0, 1.0, -1.0)
    for p in (1, 1.5, 2):
        full, thin = (LinearPSVC(p=p, tol=1e-7).fit(Z, y) for Z in (X, sp.csr_matrix(X)))
        assert full.primal_objective_ == pytest.approx(thin.primal_objective_, rel=2e-7)
        assert full.coef_ == pytest.approx(thin.coef_, abs=0.02)


def test_sparse_data_that_are_well_filled():
    """They are turned into an array; the model is the one of the array, offset and all."""
    rng = np.random.default_rng(6)
    X = (rng.normal(size=(10_000, 20)) + 3.0) * (rng.random((10_000, 20)) < 0.6)
    y = np.where(X @ rng.normal(size=20) + rng.normal(size=10_000) > 0, 1.0, -1.0)
    for p in (1, 1.5, 2):
        full, thin = (LinearPSVC(p=p, tol=1e-7).fit(Z, y) for Z in (X, sp.csr_matrix(X)))
        assert full.coef_ == pytest.approx(thin.coef_, rel=1e-12)
        assert full.intercept_ == pytest.approx(thin.intercept_, rel=1e-12)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes(multi_class):
    """Problems that share their passes are each certified, and equal a fit alone."""
    rng = np.random.default_rng(6)
    y = rng.integers(0, 4, size=100_000)
    X = rng.normal(size=(4, 20))[y] + 2.0 * rng.normal(size=(100_000, 20))
    model = LinearPSVC(p=1.5, multi_class=multi_class).fit(X, y)
    assert set(model.status_) == {Status.CONVERGED}
    assert np.all(model.dual_gap_ <= 1e-4)
    rows = np.isin(y, (0, 1)) if multi_class == "ovo" else np.ones(y.size, dtype=bool)
    alone = clone(model).fit(X[rows], y[rows] == 0)
    assert model.primal_objective_[0] == pytest.approx(alone.primal_objective_[0], rel=1e-4)


def test_the_time_grows_with_the_rows():
    """Twice the rows, about twice the time: far from the square (best of three)."""
    X, y = noisy(n=400_000, d=10, seed=7, noise=2.0)

    def seconds(n):
        best = np.inf
        for _ in range(3):
            start = time.perf_counter()
            LinearPSVC(p=2, n_jobs=1).fit(X[:n], y[:n])
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(400_000) < 12 * seconds(100_000)
