"""Kernels of differences where norms cancel: far rows, clusters and large widths."""

import numpy as np
import pytest
import scipy.sparse as sp
from exact_kernels import exact_kernel, long

from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel

FUNCTIONS = ("rbf", "laplacian", "exponential")
STORAGES = {"dense": np.asarray, "csr": sp.csr_matrix}


def far_rows(layout, offset, rows=70, columns=9, seed=0):
    """Rows whose differences are about 1, at a distance ``offset`` from the origin."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    if layout == "offset":
        X += offset
    elif layout == "clusters":
        X += np.where(np.arange(rows) % 2, offset, -offset)[:, None]
    elif layout == "some columns":  # and implicit zeros in the others
        X *= rng.random(X.shape) < 0.4
        X[:, ::3] = rng.normal(size=X[:, ::3].shape) + offset
    else:  # in some rows only
        X[::5, 0] = offset
    X[7] = X[-30]
    return X


@pytest.mark.parametrize("gamma", [0.05, 3.0])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5, 1e7, 1e12])
@pytest.mark.parametrize("layout", ["offset", "clusters", "some columns", "some rows"])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_entries_keep_their_digits(function, storage, layout, offset, gamma):
    """Rows, applied sums, sums over all rows, and blocks, against extended precision."""
    X = far_rows(layout, offset)
    exact = exact_kernel(function, X, X, gamma)
    kernel, own = Kernel(function, gamma), STORAGES[storage](X)
    training = TrainingKernel(kernel, own, [0, 70], 1e6, 2, most_kept=0)
    every, coef = np.arange(70, dtype=np.int64), np.linspace(-1.0, 1.0, 70)
    values = training.float64.rows(every, 1)
    assert np.max(np.abs(values - exact)) <= 2e-10
    assert np.all(np.diag(values) == 1.0)
    assert values[7, 40] == values[40, 7] == 1.0
    sums = exact @ long(coef)
    for found in (
        training.float64.apply(every, coef, 1),
        training.float64.apply_all(coef, 2),
        kernel.product(own, own, coef, 1),
        kernel.own_product(own, coef, 1),
    ):
        assert np.max(np.abs(found - sums)) <= 70 * 2e-10
    _, block = next(kernel.blocks(own, own, 1))
    assert np.max(np.abs(block - exact)) <= 2e-10


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("gamma", [1e5, 1e11, 1e13, 1e300])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_row_with_itself_at_large_widths(function, gamma, storage):
    X = far_rows("offset", 0.0)
    training = TrainingKernel(Kernel(function, gamma), STORAGES[storage](X), [0, 70], 1e6, 1)
    values = training.gram([0], 1)
    expected = np.eye(70)
    expected[7, 40] = expected[40, 7] = 1.0
    assert np.all(values[expected == 1.0] == 1.0)
    assert np.max(values[expected == 0.0]) < 1e-100


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("size", [1e150, 1e160, 1e300, 1.7e308])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_distances_beyond_the_range(function, size, storage):
    """Rows so far apart that squares overflow have kernel 0, or what a small width makes of it."""
    rng = np.random.default_rng(0)
    unit = rng.uniform(-1.0, 1.0, size=(30, 4))
    X = STORAGES[storage](size * unit)
    expected = np.eye(30)
    for gamma in (1e-5, 1.0, 1e200):
        kernel = Kernel(function, gamma)
        values = TrainingKernel(kernel, X, [0, 30], 1e6, 1).gram([0], 1)
        assert np.max(np.abs(values - expected)) < 1e-300
        near = STORAGES[storage](unit)  # new rows far from the support vectors, and they from these
        for new, vectors in ((X, near), (near, X)):
            assert np.max(np.abs(kernel.product(new, vectors, np.ones(30), 1))) < 1e-300
    if function != "rbf":
        values = TrainingKernel(Kernel(function, 1.0 / size), X, [0, 30], 1e6, 1).gram([0], 1)
        assert values == pytest.approx(exact_kernel(function, unit, unit, 1.0).astype(float))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_new_rows_are_packed_like_the_rows_they_meet(function):
    """New rows of another size than the support vectors, in both ways of summing."""
    near, far = far_rows("offset", 0.0, rows=40), far_rows("some columns", 1e7, rows=40)[:30]
    coef = np.linspace(-1.0, 2.0, 30)
    for storage in STORAGES.values():
        for vectors, new in ((near[:30], np.vstack([near, far])), (far, np.vstack([near, far]))):
            exact = exact_kernel(function, new, vectors, 0.3) @ long(coef)
            kernel = Kernel(function, 0.3)
            found = kernel.product(storage(new), storage(vectors), coef, 1)
            assert np.max(np.abs(found - exact)) <= 30 * 2e-10
