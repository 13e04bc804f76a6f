"""Storage does not matter: sparse formats, index widths, float32, memory order, far from 0."""

import numpy as np
import pytest
import scipy.sparse as sp
from referee import SHAPES, check_certificate, dense, kernel_matrix
from small_data import blobs, noisy, real

from psvm import PSVC

KERNELS = ("linear", "rbf", "poly", "laplacian", "exponential")


@pytest.fixture(scope="module")
def thin():
    """60 rows with about 15 % of 40 columns filled, one row and one column empty."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40)) * (rng.random((60, 40)) < 0.15)
    X[5], X[:, 7] = 0.0, 0.0
    y = np.where(X @ rng.normal(size=40) + 0.5 * rng.normal(size=60) > 0, 1.0, -1.0)
    return X, y


@pytest.mark.parametrize("p", [1, 1.5, 3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_sparse_equals_dense(thin, kernel, p):
    """The same model from a CSR matrix, and the same values at dense and sparse test rows."""
    X, y = thin
    full = PSVC(p=p, kernel=kernel, **SHAPES).fit(X, y)
    thin_model = PSVC(p=p, kernel=kernel, **SHAPES).fit(sp.csr_matrix(X), y)
    assert thin_model.support_.tolist() == full.support_.tolist()
    assert dense(thin_model.dual_coef_) == pytest.approx(full.dual_coef_, abs=1e-5)
    expected = full.decision_function(X)
    for model in (full, thin_model):
        for rows in (X, sp.csr_matrix(X), sp.csc_array(X)):
            assert model.decision_function(rows) == pytest.approx(expected, abs=1e-5)
    assert sp.issparse(thin_model.support_vectors_)
    assert dense(thin_model.support_vectors_) == pytest.approx(X[full.support_])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse_formats(thin, form, kind):
    """Matrices and arrays of every format."""
    X, y = thin
    data = getattr(sp, f"{form}_{kind}")(X)
    expected = PSVC(gamma=0.4).fit(X, y).decision_function(X)
    model = PSVC(gamma=0.4).fit(data, y)
    assert model.decision_function(data) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_64_bit_indices(thin, kernel):
    """int64 indices and indptr, as very large matrices have."""
    X, y = thin
    data = sp.csr_matrix(X)
    data.indices, data.indptr = data.indices.astype(np.int64), data.indptr.astype(np.int64)
    expected = PSVC(kernel=kernel, **SHAPES).fit(X, y).decision_function(X)
    model = PSVC(kernel=kernel, **SHAPES).fit(data, y)
    assert data.indices.dtype == np.int64
    assert model.decision_function(data) == pytest.approx(expected, abs=1e-5)


def test_unsorted_indices_and_repeated_entries(thin):
    """A CSR matrix need not be canonical."""
    X, y = thin
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
    expected = PSVC(gamma=0.4).fit(X, y).decision_function(X)
    for data in (halves, messy):
        model = PSVC(gamma=0.4).fit(data, y)
        assert model.decision_function(data) == pytest.approx(expected, abs=1e-5)


def test_gamma_scale_of_sparse_data(thin):
    """The variance counts the zeros; a weight of 0 removes a row from it."""
    X, y = thin
    weights = np.random.default_rng(0).integers(0, 3, size=60).astype(float)
    for sample_weight in (None, weights):
        full = PSVC().fit(X, y, sample_weight=sample_weight)
        model = PSVC().fit(sp.csr_matrix(X), y, sample_weight=sample_weight)
        assert model.decision_function(X) == pytest.approx(full.decision_function(X), abs=1e-5)


def test_several_classes_sparse():
    X, y = blobs(n=90, classes=4, d=12)
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    for multi_class in ("ovo", "ovr"):
        full = PSVC(multi_class=multi_class, gamma=0.1).fit(X, y)
        model = PSVC(multi_class=multi_class, gamma=0.1).fit(sp.csr_matrix(X), y)
        assert model.decision_function(sp.csr_matrix(X)) == pytest.approx(
            full.decision_function(X), abs=1e-4
        )


def test_wide_sparse_data_are_not_densified():
    """200 rows, 20 million columns: a dense copy would take 32 GB."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 2 * 10**7, size=(200, 20))
    columns[:, :5] = np.arange(5)
    rows = np.repeat(np.arange(200), 20)
    y = np.where(np.arange(200) % 2 == 0, 1.0, -1.0)
    values = rng.normal(size=(200, 20)) + y[:, None]
    X = sp.csr_matrix((values.ravel(), (rows, columns.ravel())), shape=(200, 2 * 10**7))
    for kernel in ("rbf", "linear"):
        model = PSVC(kernel=kernel, gamma=0.05).fit(X, y)
        assert model.dual_gap_[0] <= model.tol
        assert model.score(X, y) > 0.9


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("sparse", [False, True])
def test_float32_and_float64(thin, kernel, sparse):
    """Input that float32 holds exactly gives the same model in both precisions."""
    X, y = thin
    narrow = X.astype(np.float32)
    wide = narrow.astype(np.float64)
    expected = PSVC(kernel=kernel, **SHAPES).fit(wide, y).decision_function(wide)
    data = sp.csr_matrix(narrow) if sparse else narrow
    model = PSVC(kernel=kernel, **SHAPES).fit(data, y)
    assert model.decision_function(data) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.bool_, np.float16])
def test_other_number_types(kind):
    """Integers, booleans and half floats are cast."""
    X, y = noisy(n=40, d=4)
    X = (X > 0).astype(kind) if kind is np.bool_ else np.abs(X * 3).astype(kind)
    expected = PSVC(gamma=0.4).fit(X.astype(float), y).decision_function(X.astype(float))
    assert PSVC(gamma=0.4).fit(X, y).decision_function(X) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("order", ["F", "strided", "reversed"])
def test_memory_order(order):
    """Fortran order, strides and negative strides."""
    X, y = noisy(n=40, d=4)
    expected = PSVC(gamma=0.4).fit(X, y).decision_function(X)
    if order == "F":
        view = np.asfortranarray(X)
    elif order == "strided":
        view = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    else:
        view = X[::-1].copy()[::-1]
    assert PSVC(gamma=0.4).fit(view, y).decision_function(view) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("shift", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential"])
def test_far_from_the_origin(kernel, shift):
    """Distances do not see a shift: centring keeps float32 rows and products accurate."""
    X, y = noisy(n=120, d=4, seed=3)
    X = np.round(X, 3)
    expected = PSVC(kernel=kernel, gamma=0.4).fit(X, y).decision_function(X)
    moved = PSVC(kernel=kernel, gamma=0.4).fit(X + shift, y)
    assert moved.dual_gap_[0] <= moved.tol
    assert moved.decision_function(X + shift) == pytest.approx(expected, abs=1e-4)
    check_certificate(moved, kernel_matrix(kernel, X + shift), y, np.ones(120))


@pytest.mark.parametrize("gamma", [1e-6, 1e-2, 1e2, 1e6])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential"])
def test_extreme_gamma(kernel, gamma):
    """Kernels close to all ones and close to the identity are certified alike."""
    X, y = noisy(n=80, d=3, seed=3)
    model = PSVC(kernel=kernel, gamma=gamma).fit(X, y)
    check_certificate(model, kernel_matrix(kernel, X, gamma=gamma), y, np.ones(80))


@pytest.mark.parametrize("kernel", KERNELS)
def test_medium_size_certificate(kernel):
    """Beyond the sizes that are polished, float32 rows or not, the claimed gap is the true gap."""
    X, y = noisy(n=1500, d=6, seed=5, noise=1.5)
    for p in (1, 1.5, 3):
        model = PSVC(p=p, kernel=kernel, C=3.0, **SHAPES).fit(X, y)
        check_certificate(model, kernel_matrix(kernel, X), y, np.full(1500, 3.0))


def test_medium_size_sparse_certificate():
    """The same through the sparse rows, on real sparse data with duplicated rows."""
    X, y = real("a9a", n=1500)
    for p in (1, 1.5, 3):
        model = PSVC(p=p, C=3.0, gamma=0.02).fit(X, y)
        check_certificate(model, kernel_matrix("rbf", X, gamma=0.02), y, np.full(y.size, 3.0))
