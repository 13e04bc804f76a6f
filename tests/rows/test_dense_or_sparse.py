"""Storage does not matter: sparse formats, index widths, float32, number types, memory order."""

import numpy as np
import pytest
import scipy.sparse as sp
from estimators import WAYS, each_way
from sklearn.base import clone
from small_data import blobs, noisy, thin

from psvm.rows.dense_or_sparse import commonest_values, nonzeros_beside
from psvm.rows.sizes import MOSTLY_ZERO

TIGHT = 1e-9


def fit(estimator, X, y, **parameters):
    """A fit so exact that decision values can be compared."""
    return clone(estimator).set_params(tol=TIGHT, **parameters).fit(X, y)


@each_way
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse_formats(estimator, form, kind):
    """Matrices and arrays of every format."""
    X, y = thin()
    data = getattr(sp, f"{form}_{kind}")(X)
    expected = fit(estimator, X, y).decision_function(X)
    model = fit(estimator, data, y)
    assert model.decision_function(data) == pytest.approx(expected, abs=1e-5)
    assert model.decision_function(X) == pytest.approx(expected, abs=1e-5)


@each_way
@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_sparse_equals_dense(estimator, p):
    """The same model from a CSR matrix, and the same values at dense and sparse test rows."""
    X, y = thin()
    full, other = fit(estimator, X, y, p=p), fit(estimator, sp.csr_matrix(X), y, p=p)
    expected = full.decision_function(X)
    for model in (full, other):
        for rows in (X, sp.csr_matrix(X), sp.csc_array(X)):
            assert model.decision_function(rows) == pytest.approx(expected, abs=1e-5)
    assert other.primal_objective_ == pytest.approx(full.primal_objective_, rel=1e-8)


@each_way
def test_64_bit_indices(estimator):
    """int64 indices and indptr, as very large matrices have."""
    X, y = thin()
    data = sp.csr_matrix(X)
    data.indices, data.indptr = data.indices.astype(np.int64), data.indptr.astype(np.int64)
    expected = fit(estimator, X, y).decision_function(X)
    model = fit(estimator, data, y)
    assert data.indices.dtype == np.int64
    assert model.decision_function(data) == pytest.approx(expected, abs=1e-5)


@each_way
def test_unsorted_indices_and_repeated_entries(estimator):
    """A CSR matrix need not be canonical, and is left as it was."""
    X, y = thin()
    tidy = sp.csr_matrix(X)
    halves = sp.coo_matrix(
        (
            np.concatenate([tidy.data, tidy.data]) / 2,
            (np.tile(tidy.tocoo().row, 2), np.tile(tidy.tocoo().col, 2)),
        ),
        shape=X.shape,
    )
    messy = sp.csr_matrix(X)
    for row in range(60):
        part = slice(messy.indptr[row], messy.indptr[row + 1])
        messy.indices[part], messy.data[part] = messy.indices[part][::-1], messy.data[part][::-1]
    messy.has_sorted_indices = False
    twice = sp.csr_matrix(  # every entry stored as two halves
        (np.repeat(tidy.data / 2, 2), np.repeat(tidy.indices, 2), 2 * tidy.indptr), shape=X.shape
    )
    expected = fit(estimator, X, y).decision_function(X)
    for data in (halves, messy, twice):
        before = data.copy()
        model = fit(estimator, data, y)
        assert model.decision_function(data) == pytest.approx(expected, abs=1e-5)
        assert data.nnz == before.nnz
        assert np.array_equal(data.data, before.data)


@each_way
def test_explicit_zeros_and_empty_rows(estimator):
    """Stored zeros, a row without entries and a column without entries."""
    X, y = thin()
    data = sp.csr_matrix(X)
    data.data[::5] = 0.0
    expected = fit(estimator, data.toarray(), y).decision_function(data.toarray())
    assert fit(estimator, data, y).decision_function(data) == pytest.approx(expected, abs=1e-5)


@each_way
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes_sparse(estimator, multi_class):
    X, y = blobs(n=90, classes=4, d=12)
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    full = fit(estimator, X, y, multi_class=multi_class)
    model = fit(estimator, sp.csr_matrix(X), y, multi_class=multi_class)
    assert model.decision_function(sp.csr_matrix(X)) == pytest.approx(
        full.decision_function(X), abs=1e-4
    )


@pytest.mark.parametrize(
    ("way", "parameters", "width"),
    [
        ("kernel", {"kernel": "rbf", "gamma": 0.05}, 2 * 10**7),
        ("kernel", {"kernel": "linear"}, 2 * 10**7),
        ("newton", {}, 10**6),
        ("descent", {}, 10**7),
        ("descent", {"solver": "auto"}, 10**7),
    ],
)
def test_wide_sparse_data_are_not_densified(way, parameters, width):
    """200 rows, 20 million columns: a dense copy would take 32 GB."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, width, size=(200, 20))
    columns[:, :5] = np.arange(5)
    rows = np.repeat(np.arange(200), 20)
    y = np.where(np.arange(200) % 2 == 0, 1.0, -1.0)
    values = rng.normal(size=(200, 20)) + y[:, None]
    X = sp.csr_matrix((values.ravel(), (rows, columns.ravel())), shape=(200, width))
    model = clone(WAYS[way]).set_params(**parameters).fit(X, y)
    assert model.dual_gap_[0] <= model.tol
    assert model.score(X, y) > 0.9


@each_way
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("p", [1, 1.5, 3])
def test_float32_and_float64(estimator, sparse, p):
    """Input that float32 holds exactly gives the same model in both precisions."""
    X, y = thin()
    narrow = X.astype(np.float32)
    wide = narrow.astype(np.float64)
    expected = fit(estimator, wide, y, p=p).decision_function(wide)
    data = sp.csr_matrix(narrow) if sparse else narrow
    model = fit(estimator, data, y, p=p)
    assert model.decision_function(data) == pytest.approx(expected, abs=1e-4)
    assert model.decision_function(wide) == pytest.approx(expected, abs=1e-4)


@each_way
@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.bool_, np.float16])
def test_other_number_types(estimator, kind):
    """Integers, booleans and half floats are cast."""
    X, y = noisy(n=40, d=4)
    X = (X > 0).astype(kind) if kind is np.bool_ else np.abs(X * 3).astype(kind)
    expected = fit(estimator, X.astype(float), y).decision_function(X.astype(float))
    assert fit(estimator, X, y).decision_function(X) == pytest.approx(expected, abs=1e-5)


@each_way
@pytest.mark.parametrize("order", ["F", "strided", "reversed"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_memory_order(estimator, order, dtype):
    """Fortran order, strides and negative strides."""
    X, y = noisy(n=40, d=4)
    X = X.astype(dtype)
    expected = fit(estimator, X, y).decision_function(X)
    if order == "F":
        view = np.asfortranarray(X)
    elif order == "strided":
        view = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    else:
        view = X[::-1].copy()[::-1]
    assert fit(estimator, view, y).decision_function(view) == pytest.approx(expected, abs=1e-5)


def one_hot(n=2000, groups=10, categories=8, seed=0):
    """One column per category, and a column of numbers."""
    rng = np.random.default_rng(seed)
    parts = [np.eye(categories)[rng.integers(0, categories, n)] for _ in range(groups)]
    return np.hstack([*parts, rng.normal(size=(n, 1))])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scaled_one_hot_columns_are_few_numbers_beside_a_value(dtype):
    """What is stored is what differs from the commonest value, and nothing is lost."""
    X = one_hot()
    scaled = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(dtype)
    offset = commonest_values(scaled)
    assert offset is not None
    assert offset[-1] == 0.0, "numbers stay as they are"
    assert np.array_equal(offset[:-1], scaled[:, :-1].min(axis=0).astype(np.float64))
    few = nonzeros_beside(scaled, offset, 2)
    assert few.nnz < MOSTLY_ZERO * scaled.size
    assert few.has_canonical_format
    assert few.toarray() + offset == pytest.approx(scaled.astype(np.float64), abs=1e-14)


def test_rows_that_are_not_moved():
    """Zero as it is, no commonest value, sparse already, or too small to be worth a look."""
    X = one_hot()
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    numbers = np.random.default_rng(0).normal(size=X.shape)
    half = np.hstack([scaled[:, :40], numbers[:, :40]])
    for other in (X, numbers, half, sp.csr_matrix(scaled), scaled[:100]):
        assert commonest_values(other) is None


def test_moved_in_blocks(monkeypatch):
    X = one_hot(n=500) + 3.0
    offset = np.full(X.shape[1], 3.0)
    whole = nonzeros_beside(X, offset, 1)
    monkeypatch.setattr("psvm.rows.dense_or_sparse.BLOCK_ENTRIES", 60 * X.shape[1])
    assert abs(nonzeros_beside(X, offset, 1) - whole).nnz == 0
