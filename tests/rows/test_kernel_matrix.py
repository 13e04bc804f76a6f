"""The matrix of a kernel that the user gives: a function is asked once, a matrix not copied."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from small_data import blobs

from psvm import PSVC, PSVCCV, _core
from psvm.rows import kernel_matrix as module
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel

X, Y = blobs(n=120, classes=4, d=3)
K = rbf_kernel(X, gamma=0.4)


class Counted:
    """A kernel function that remembers the shapes it was asked for."""

    def __init__(self):
        self.calls = []

    def __call__(self, A, B):
        self.calls.append((A.shape[0], B.shape[0]))
        return rbf_kernel(A, B, gamma=0.4)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_function_is_asked_once_for_all_pairs(storage, multi_class):
    kernel = Counted()
    model = PSVC(kernel=kernel, multi_class=multi_class, max_time=60).fit(storage(X), Y)
    assert kernel.calls == [(120, 120)]
    given = PSVC(kernel="precomputed", multi_class=multi_class).fit(K, Y)
    np.testing.assert_allclose(model.dual_gap_, given.dual_gap_, atol=1e-6)
    np.testing.assert_allclose(
        model._problem_decisions(storage(X)), given._problem_decisions(K), atol=1e-6
    )


def test_a_large_matrix_is_asked_for_in_blocks_of_rows(monkeypatch):
    monkeypatch.setattr(module, "_CALL_ENTRIES", 50 * 120)
    kernel = Counted()
    training = TrainingKernel(Kernel(kernel), X, [0, 120], 1e6, 1)
    np.testing.assert_allclose(training.gram([0], 1), K, atol=1e-12)
    assert kernel.calls == [(50, 120), (50, 120), (20, 120)]


@pytest.mark.parametrize("p", [1.0, 1.5])
def test_without_room_rows_are_asked_for_in_blocks(p):
    """The cache has room for a tenth: more calls, but none for a single row."""
    X, y = blobs(n=900, classes=3, d=3, spread=2.0)
    kernel = Counted()
    model = PSVC(p, kernel=kernel, cache_size=0.65).fit(X, y)
    assert (900, 900) not in kernel.calls
    rows = sum(a for a, _ in kernel.calls)
    assert rows / len(kernel.calls) > 30
    known = PSVC(p, gamma=0.4).fit(X, y)
    np.testing.assert_allclose(model.primal_objective_, known.primal_objective_, rtol=2e-4)
    assert (model.dual_gap_ <= 1e-4).all()


def test_a_search_asks_for_few_blocks():
    kernel = Counted()
    search = PSVCCV([1.0, 2.0], [0.1, 1.0, 10.0], kernel=kernel, cv=3).fit(X, Y)
    assert len(kernel.calls) < 10  # the matrix of the search, and that of the refit
    given = PSVCCV([1.0, 2.0], [0.1, 1.0, 10.0], kernel="precomputed", cv=3).fit(K, Y)
    assert search.best_params_ == given.best_params_


def test_decisions_of_some_rows():
    """Also of a matrix that is given, from which they are read."""
    dual = np.random.default_rng(0).normal(size=120)
    some = np.arange(120) % 3 == 0
    for kernel, rows in ((Kernel("precomputed"), K), (Kernel(Counted()), X)):
        training = TrainingKernel(kernel, rows, [0, 120], 1e6, 1)
        np.testing.assert_allclose(training.decision([0], dual, 1, some), (K @ dual)[some])


@pytest.mark.parametrize("room", [1e6, 1e4])
def test_an_asymmetric_function_is_refused(room):
    """By its whole matrix, or by some of the rows."""
    kernel = Kernel(lambda A, B: A @ B.T + 1e-3 * np.arange(len(B)))
    with pytest.raises(ValueError, match="must be symmetric"):
        _ = TrainingKernel(kernel, X, [0, 120], room, 1).float64


def test_asymmetry_anywhere_is_found():
    """Where the matrix is asked for as a whole, one entry is enough."""

    def kernel(A, B):
        values = rbf_kernel(A, B, gamma=0.4)
        values[-1, 1] += 1e-3
        return values

    with pytest.raises(ValueError, match=r"differ by 1\.0e-03"):
        PSVC(kernel=kernel).fit(X, Y)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, MemoryError])
def test_what_a_function_raises_leaves_the_estimator_as_it_was(error):
    model = PSVC(kernel=Counted()).fit(X, Y)
    before = {name: value for name, value in vars(model).items() if name != "kernel"}

    def failing(A, B):
        raise error("mine")

    model.kernel = failing
    with pytest.raises(error, match="mine"):
        model.fit(X[:50], Y[:50])
    after = {name: value for name, value in vars(model).items() if name != "kernel"}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


# --- matrices ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_symmetry_of(n, order, dtype):
    rng = np.random.default_rng(n)
    values = rng.normal(size=(n, n)).astype(dtype)
    given = values.copy(order="F" if order == "F" else "C")
    if order == "strided":
        given = np.repeat(np.repeat(given, 2, axis=0), 2, axis=1)[::2, ::2]
    largest, difference = _core.symmetry_of(given, 2)
    exact = values.astype(np.float64)
    assert largest == np.abs(exact).max()
    assert difference == np.abs(exact - exact.T).max()
    for wrong in (np.nan, np.inf):
        given[n // 2, n // 3] = wrong
        assert _core.symmetry_of(given, 1)[0] == np.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_submatrix_of(order, dtype):
    rng = np.random.default_rng(0)
    values = np.asarray(rng.normal(size=(90, 90)), dtype=dtype, order=order)
    rows = rng.permutation(90)[:70]
    out = np.empty((70, 70))
    _core.submatrix_of(values, rows, out, 2)
    np.testing.assert_array_equal(out, values[np.ix_(rows, rows)].astype(np.float64))
    with pytest.raises(IndexError, match="out of range"):
        _core.submatrix_of(values, rows + 90, out, 1)
    with pytest.raises(ValueError, match="one row and column"):
        _core.submatrix_of(values, rows[:3], out, 1)
    with pytest.raises(ValueError, match="square"):
        _core.submatrix_of(values[:5], rows, out, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_given_matrix_of_any_type_and_order(order, dtype):
    given = np.asarray(K, dtype=dtype, order=order)
    model = PSVC(kernel="precomputed").fit(given, Y)
    known = PSVC(kernel="precomputed").fit(given.astype(np.float64, order="C"), Y)
    np.testing.assert_allclose(model.dual_coef_, known.dual_coef_, atol=1e-6)
