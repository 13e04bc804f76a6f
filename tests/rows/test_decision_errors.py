"""Decision values are within their bounds, whatever the kernel and the rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from torture.exact import Kernel as ExactKernel
from torture.exact import exactly

from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel

KERNELS = ["linear", "poly", "rbf", "sigmoid", "laplacian", "exponential"]


def training_kernel(name, X, gamma):
    kernel = Kernel(name, gamma, 1.0, 3)
    return TrainingKernel(kernel, X, [0, X.shape[0]], 1e7, 1, most_kept=0)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
@pytest.mark.parametrize("gamma", [1e-3, 0.3, 1e4])
@pytest.mark.parametrize("storage", ["dense", "float32", "csr"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_error_is_within_its_bound(name, storage, gamma, offset):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 7)) + offset
    if storage == "csr":
        X = sp.csr_matrix(X * (rng.random(X.shape) < 0.6))
    elif storage == "float32":
        X = X.astype(np.float32)
    dense = X.toarray() if sp.issparse(X) else X
    kernel = training_kernel(name, X, gamma)
    dual = np.where(rng.random(60) < 0.5, 1e3 * rng.normal(size=60), 0.0)
    found = kernel.decision([0], dual, 1)
    K = ExactKernel(name, gamma, 1.0, 3).matrix(dense, dense)
    error = np.abs(np.asarray(exactly(found) - K @ exactly(dual), dtype=np.float64))
    for tight in (False, True):
        bound = kernel.errors.bounds([0], dual, 1, tight=tight)
        assert np.all(error <= bound)
    assert np.all(error <= float(np.abs(dual).sum()) * kernel.errors.of_unit)
    assert kernel.errors.most >= float(np.abs(K).max()) * (1 - 1e-12)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "exponential"])
def test_ordinary_rows_have_small_bounds(name):
    """Bounds are of use: at most 1e-9 of the dual variables, and tighter where summed up."""
    X = np.random.default_rng(0).normal(size=(200, 10))
    kernel, dual = training_kernel(name, X, 0.1), np.full(200, 1.0)
    coarse = kernel.errors.bounds([0], dual, 1)
    tight = kernel.errors.bounds([0], dual, 1, tight=True)
    assert np.all(tight <= coarse)
    assert np.all(coarse <= 1e-9 * 200)


def test_a_matrix_is_what_it_is():
    """Entries that are given are not off; their sums are."""
    rng = np.random.default_rng(1)
    F = rng.normal(size=(50, 4))
    K, dual = F @ F.T, rng.normal(size=50)
    kernel = TrainingKernel(Kernel("precomputed"), K, [0, 50], 1e7, 1)
    error = np.abs(kernel.decision([0], dual, 1) - exactly(K) @ exactly(dual))
    assert np.all(error <= kernel.errors.bounds([0], dual, 1))
    assert np.all(kernel.errors.bounds([0], np.zeros(50), 1) == 0.0)


def test_the_rows_farthest_out_are_found():
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[[4, 17]] *= 100.0
    kernel = training_kernel("rbf", X, 0.1)
    far = kernel.errors.farthest([0], 2)
    assert np.flatnonzero(far).tolist() == [4, 17]
    assert kernel.errors.farthest([0], 99).all()
