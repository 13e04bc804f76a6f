"""Every kernel from any storage: sparse rows, index widths, float32, rows far from 0."""

import numpy as np
import pytest
import scipy.sparse as sp
from referee import SHAPES, check_certificate, dense, kernel_matrix
from small_data import noisy, real, thin

from psvm import PSVC

KERNELS = ("linear", "rbf", "poly", "laplacian", "exponential")


@pytest.mark.parametrize("p", [1, 1.5, 3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_sparse_equals_dense(kernel, p):
    """The same model from a CSR matrix, and the same values at dense and sparse test rows."""
    X, y = thin()
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


@pytest.mark.parametrize("kernel", [*KERNELS, "sigmoid"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_wide_array_that_is_mostly_zero(kernel, classes):
    """Computed with as a CSR matrix, which must not show."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 160)) * (rng.random((700, 160)) < 0.1)
    y = np.digitize(X[:, :20].sum(axis=1) + 0.3 * rng.normal(size=700), [-0.5, 0.5][: classes - 1])
    settings = {"kernel": kernel, "gamma": 0.02, "coef0": 0.3, "degree": 2, "tol": 1e-6}
    model, of_csr = PSVC(**settings).fit(X, y), PSVC(**settings).fit(sp.csr_matrix(X), y)
    assert isinstance(model.support_vectors_, np.ndarray)
    assert model.support_vectors_.tolist() == X[model.support_].tolist()
    assert np.max(model.dual_gap_) <= 1e-6 or kernel == "sigmoid"
    assert model.primal_objective_ == pytest.approx(of_csr.primal_objective_, rel=1e-5)
    assert np.mean(model.predict(X) == of_csr.predict(X)) > 0.995


@pytest.mark.parametrize("kernel", KERNELS)
def test_64_bit_indices(kernel):
    """int64 indices and indptr, as very large matrices have."""
    X, y = thin()
    data = sp.csr_matrix(X)
    data.indices, data.indptr = data.indices.astype(np.int64), data.indptr.astype(np.int64)
    expected = PSVC(kernel=kernel, **SHAPES).fit(X, y).decision_function(X)
    model = PSVC(kernel=kernel, **SHAPES).fit(data, y)
    assert data.indices.dtype == np.int64
    assert model.decision_function(data) == pytest.approx(expected, abs=1e-5)


def test_gamma_scale_of_sparse_data():
    """The variance counts the zeros; a weight of 0 removes a row from it."""
    X, y = thin()
    weights = np.random.default_rng(0).integers(0, 3, size=60).astype(float)
    for sample_weight in (None, weights):
        full = PSVC().fit(X, y, sample_weight=sample_weight)
        model = PSVC().fit(sp.csr_matrix(X), y, sample_weight=sample_weight)
        assert model.decision_function(X) == pytest.approx(full.decision_function(X), abs=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("sparse", [False, True])
def test_float32_and_float64(kernel, sparse):
    """Input that float32 holds exactly gives the same model in both precisions."""
    X, y = thin()
    narrow = X.astype(np.float32)
    wide = narrow.astype(np.float64)
    expected = PSVC(kernel=kernel, **SHAPES).fit(wide, y).decision_function(wide)
    data = sp.csr_matrix(narrow) if sparse else narrow
    model = PSVC(kernel=kernel, **SHAPES).fit(data, y)
    assert model.decision_function(data) == pytest.approx(expected, abs=1e-4)


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
