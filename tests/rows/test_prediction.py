"""Labels are those of the decision values, also where they come from float32 entries."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from psvm import PSVC, LinearPSVC, _core
from psvm.mathematics.multiclass import certain_class, certain_largest, certain_side, votes_of_pairs
from psvm.rows import prediction as module
from psvm.rows.kernel import Kernel

KERNELS = ("linear", "poly", "rbf", "sigmoid", "laplacian", "exponential")


def blobs(rng, n, d, k, spread=1.0):
    y = rng.integers(k, size=n)
    y[:k] = np.arange(k)
    return rng.normal(size=(k, d))[y] + spread * rng.normal(size=(n, d)), y


def many(model, X):
    """X so often that it pays to read labels from float32 entries."""
    arrays = model._as_arrays()
    vectors = (arrays._merged() if arrays.kernel.of_features else arrays).vectors.shape[0]
    rows = max(module._MANY_ROWS, module._FEW // vectors + 1)
    numbers = np.arange(-(-rows // X.shape[0]) * X.shape[0]) % X.shape[0]
    return X[numbers]


def labels_of(model, X):
    scores = model.decision_function(X)
    codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    return model.classes_[codes]


class Counted:
    """How many rows got float64 entries."""

    def __init__(self, monkeypatch):
        self.rows, plain = 0, module.KernelModel._decisions

        def counting(model, X, one_by_one):
            self.rows += X.shape[0]
            return plain(model, X, one_by_one)

        monkeypatch.setattr(module.KernelModel, "_decisions", counting)


@pytest.fixture
def counted(monkeypatch):
    return Counted(monkeypatch)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("storage", ["dense", "csr", "csr rows, dense model"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("k", "multi_class"), [(2, "ovo"), (4, "ovo"), (4, "ovr")])
def test_labels_are_those_of_the_decision_values(kernel, storage, dtype, k, multi_class):
    rng = np.random.default_rng(0)
    X, y = blobs(rng, 120, 5, k, spread=2.0)
    X = np.where(rng.random(X.shape) < 0.4, 0.0, X).astype(dtype)
    gamma = 0.01 if kernel in ("poly", "sigmoid") else 0.3
    model = PSVC(1.5, kernel=kernel, gamma=gamma, C=1.0, coef0=1.0, multi_class=multi_class)
    model.fit(sp.csr_matrix(X) if storage == "csr" else X, y)
    new = (2 * rng.normal(size=(700, 5))).astype(dtype)
    new = many(model, new if storage == "dense" else sp.csr_matrix(new))
    assert np.array_equal(model.predict(new), labels_of(model, new))
    assert model.predict(new[:1]) == labels_of(model, new[:1])


@pytest.mark.parametrize("kernel", ["rbf", lambda A, B: np.exp(-0.3 * abs(A @ B.T))])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_the_shape_of_the_decision_function_does_not_matter(kernel, shape):
    rng = np.random.default_rng(1)
    X, y = blobs(rng, 90, 3, 5, spread=1.5)
    model = PSVC(kernel=kernel, decision_function_shape=shape, gamma=0.5).fit(X, y)
    new = many(model, rng.normal(size=(500, 3)))
    predicted = model.predict(new)
    model.decision_function_shape = "ovr"
    assert np.array_equal(predicted, labels_of(model, new))


@pytest.mark.parametrize("k", [2, 3])
def test_precomputed(k):
    rng = np.random.default_rng(2)
    X, y = blobs(rng, 80, 3, k)
    model = PSVC(kernel="precomputed").fit(X @ X.T, y)
    new = rng.normal(size=(300, 3)) @ X.T
    assert np.array_equal(model.predict(new), labels_of(model, new))


def test_rows_on_the_boundary_are_decided_in_float64(counted):
    """By symmetry F(0, t) = 0 but for rounding: float32 alone cannot decide."""
    rng = np.random.default_rng(3)
    half = rng.normal(loc=(0.5, 0.0), size=(200, 2))
    X = np.vstack([half, half * [-1.0, 1.0]])
    y = np.repeat([0, 1], 200)
    model = PSVC(1.0, C=10.0, gamma=0.7, tol=1e-8, fit_intercept=False).fit(X, y)
    on = np.column_stack([np.zeros(400), np.linspace(-3, 3, 400)])
    near = on + np.column_stack([np.repeat([1e-9, -1e-9, 1e-7, -1e-7], 100), np.zeros(400)])
    off = rng.normal(size=(400, 2))
    X = many(model, np.vstack([on, near, off]))
    counted.rows = 0
    predicted = model.predict(X)
    assert 800 <= counted.rows / (len(X) / 1200) < 1000
    assert np.array_equal(predicted, labels_of(model, X))


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("C", [1e-38, 1e-3, 1e4, 1e38])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_extreme_scales(gamma, C, offset):
    rng = np.random.default_rng(4)
    X, y = blobs(rng, 100, 2, 2, spread=2.0)
    model = PSVC(1.0, C=C, gamma=gamma, max_iter=50, tol=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if C > 1e30 else "error", ConvergenceWarning)
        model.fit(X + offset, y)
    new = np.vstack([3 * rng.normal(size=(300, 2)), [[1e3, 0.0], [1e18, 1e18], [1e90, 0.0]]])
    new = many(model, new + offset)
    assert np.array_equal(model.predict(new), labels_of(model, new))


def test_far_rows_without_intercept_are_not_left_to_float32():
    """All entries are below the smallest float32."""
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 1, 0]
    model = PSVC(1.0, gamma=1.0, fit_intercept=False).fit(X, y)
    new = many(model, np.linspace(11.0, 25.0, 300)[:, None])
    assert np.array_equal(model.predict(new), labels_of(model, new))


def test_few_rows_need_float64(counted):
    rng = np.random.default_rng(5)
    X, y = blobs(rng, 400, 10, 2)
    model = PSVC(1.0, C=10.0).fit(X, y)
    new = many(model, blobs(rng, 4000, 10, 2)[0])
    counted.rows = 0
    model.predict(new)
    assert counted.rows < 0.01 * len(new)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_no_rows(storage):
    rng = np.random.default_rng(6)
    X, y = blobs(rng, 50, 3, 3)
    model = PSVC().fit(X, y)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(storage(np.empty((0, 3))))
    expansion = model._as_arrays()
    assert expansion.decisions(storage(np.empty((0, 3)))).shape == (0, 3)
    assert expansion.codes(storage(np.empty((0, 3))), model._codes_of).shape == (0,)


def test_coefficients_of_either_sign_are_not_left_to_float32(counted):
    """Such as of a model that was changed by hand: the bound would not hold."""
    rng = np.random.default_rng(7)
    X, y = blobs(rng, 60, 2, 2)
    model = PSVC(1.0).fit(X, y)
    model.dual_coef_[0, 0] *= -1.0
    counted.rows = 0
    new = many(model, rng.normal(size=(200, 2)))
    assert np.array_equal(model.predict(new), labels_of(model, new))
    assert counted.rows == 2 * len(new)


def test_equal_support_vectors_are_merged():
    rng = np.random.default_rng(8)
    X, y = blobs(rng, 300, 4, 3, spread=3.0)
    X = np.where(rng.random(X.shape) < 0.5, 0.0, X)
    repeated = np.repeat(np.arange(300), 8)
    model = PSVC(1.0, gamma=0.2).fit(sp.csr_matrix(X[repeated]), y[repeated])
    merged, _ = model._as_arrays()._alike(sp.csr_matrix(X[repeated]))
    distinct = np.unique(model.support_vectors_.toarray(), axis=0)  # zeros in several classes
    assert distinct.shape[0] <= merged.vectors.shape[0] <= distinct.shape[0] + 2
    assert merged.vectors.shape[0] * 8 <= model.support_.size
    new = many(model, rng.normal(size=(400, 4)))
    expected = PSVC(1.0, gamma=0.2).fit(X[repeated], y[repeated]).decision_function(new)
    np.testing.assert_allclose(model.decision_function(sp.csr_matrix(new)), expected, atol=1e-3)
    assert np.array_equal(model.predict(sp.csr_matrix(new)), labels_of(model, sp.csr_matrix(new)))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("core", ["Kernel32", "Kernel64"])
@pytest.mark.parametrize("function", KERNELS)
@pytest.mark.parametrize("m", [1, 7, 96, 205])
def test_combinations_of_rows(storage, core, function, m):
    rng = np.random.default_rng(9)
    dtype = np.float32 if core == "Kernel32" else np.float64
    Z, X = rng.normal(size=(m, 6)), rng.normal(size=(41, 6))
    kernel = Kernel(function, 0.2, 0.5)
    source = kernel.points(storage(Z), dtype, None, [0, m])
    columns = kernel.points(storage(X), dtype, None, [0, 30, 41])
    assert type(source) is getattr(_core, core)
    every = np.arange(m, dtype=np.int64)
    coef = rng.normal(size=(5, m)).astype(dtype)
    answer = columns.combine(every, coef, 2, source)
    expected = coef.astype(float) @ columns.rows(every, 1, source).astype(float)
    tolerance = (1e-5 if dtype == np.float32 else 1e-13) * m
    np.testing.assert_allclose(answer, expected, rtol=0, atol=tolerance * abs(expected).max())
    np.testing.assert_allclose(
        answer[0], columns.apply(every, coef[0], 1, source), atol=tolerance * abs(expected).max()
    )
    assert columns.combine(every, coef[:0], 1, source).shape == (0, 41)
    with pytest.raises(ValueError, match="differ in length"):
        columns.combine(every, coef[:, :-1].copy(), 1, source)


def test_a_column_does_not_depend_on_the_others():
    """So that a decision is the same whether its row is asked for alone or with others."""
    rng = np.random.default_rng(10)
    X, y = blobs(rng, 300, 7, 4, spread=2.0)
    model = PSVC().fit(X, y)
    new = rng.normal(size=(50, 7))
    whole = model._problem_decisions(new)
    some = [3, 17, 18, 49]
    assert np.array_equal(model._problem_decisions(new[some]), whole[some])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("columns", [6, 70_000])
def test_few_sparse_rows_have_the_decisions_of_many(kernel, columns):
    """Few are scattered one by one, of many the support vectors; also where columns are many."""
    rng = np.random.default_rng(20)
    X, y = blobs(rng, 80, 6, 3)
    X = sp.csr_matrix(np.where(rng.random(X.shape) < 0.4, 0.0, X))
    X = sp.csr_matrix((X.data, X.indices * (columns // 6), X.indptr), shape=(80, columns))
    model = PSVC(kernel=kernel, gamma=0.05, coef0=0.5, tol=1e-2).fit(X, y)
    whole = model._problem_decisions(X)
    np.testing.assert_allclose(model._problem_decisions(X[:1]), whole[:1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        model._problem_decisions(X[5:20]), whole[5:20], rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_half_squared_norms(storage):
    X = np.random.default_rng(11).normal(size=(37, 4))
    points = Kernel("linear").points(storage(X), np.float64, None, [0, 20, 37])
    np.testing.assert_allclose(points.half_squared_norms(), (X**2).sum(axis=1) / 2, rtol=1e-14)


def test_what_is_certain_holds_for_every_error_within_the_bound():
    rng = np.random.default_rng(12)
    decisions = rng.normal(size=(6, 4000))
    bound = 0.3 * rng.random(size=(6, 4000))
    votes, sure_votes = certain_class(decisions, bound, 4)
    largest, sure_largest = certain_largest(decisions, bound)
    side, sure_side = certain_side(decisions[0], bound[0])
    for share in (sure_votes, sure_largest, sure_side):
        assert 0.3 < share.mean() < 0.95
    for _ in range(50):
        true = decisions + bound * rng.choice([-1.0, 1.0, 0.5], size=bound.shape)
        scores = votes_of_pairs(true.T, 4)
        assert np.array_equal(scores.argmax(axis=1)[sure_votes], votes[sure_votes])
        assert np.array_equal(true.argmax(axis=0)[sure_largest], largest[sure_largest])
        assert np.array_equal((true[0] > 0)[sure_side], side[sure_side] == 1)


def test_nothing_is_certain_of_what_is_not_a_number():
    for value, bound in [(np.nan, 1.0), (1.0, np.nan), (np.nan, np.nan)]:
        decisions, bounds = np.full((3, 2), value), np.full((3, 2), bound)
        assert not certain_side(decisions[0], bounds[0])[1].any()
        assert not certain_largest(decisions, bounds)[1].any()
        assert not certain_class(decisions, bounds, 3)[1].any()


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("d", [1, 8, 200])
@pytest.mark.parametrize("gamma", [1e-5, 1.0, 30.0])
@pytest.mark.parametrize("levels", [None, 2, 5])
def test_errors_of_float32_are_well_within_the_bound(storage, d, gamma, levels, monkeypatch):
    """Also on few levels of features, where many roundings are alike."""
    rng = np.random.default_rng(13)
    X, y = blobs(rng, 250, d, 2)
    X = X if levels is None else np.round(X * levels / 4)
    model = PSVC(1.0, C=100.0, gamma=gamma / d, tol=1e-2).fit(storage(X), y)
    new = blobs(rng, 500, d, 2)[0]
    new = many(model, storage(new if levels is None else np.round(new * levels / 4)))
    seen = []

    def watch(expansion, values, bound):
        seen.append((values[0].copy(), bound[0].copy()))
        return certain_side(values[0], bound[0])

    monkeypatch.setattr(module.KernelModel, "_rule", watch)
    model.predict(new)
    values, bound = seen[0]
    expansion, new = model._as_arrays()._alike(new)  # as it was used
    exact = (expansion.decisions(new)[:, 0] - model.intercept_[0]) / expansion._largest_coef
    assert np.max(abs(values - exact[: values.size]) / bound) <= 0.5


@pytest.mark.parametrize("k", [2, 4])
def test_rows_that_are_mostly_zero(k, monkeypatch, counted):
    """Stored as CSR matrices for float32, and only then."""
    rng = np.random.default_rng(14)
    X, y = blobs(rng, 900, 160, k, spread=2.0)
    X = np.where(rng.random(X.shape) < 0.8, 0.0, X)
    model = PSVC(1.0, gamma=0.01, tol=1e-2).fit(X[:800], y[:800])
    stored = []
    plain = module.KernelModel._float32_sums

    def watch(model, rows):
        stored.append(sp.issparse(rows))
        return plain(model, rows)

    monkeypatch.setattr(module.KernelModel, "_float32_sums", watch)
    new = np.repeat(X, 2, axis=0)
    counted.rows = 0
    predicted = model.predict(new)
    assert stored == [True]
    assert counted.rows < 100
    assert np.array_equal(predicted, labels_of(model, new))
    dense = rng.normal(size=(900, 160))
    assert np.array_equal(model.predict(dense), labels_of(model, dense))
    assert stored == [True, False]


def test_many_pairs_of_classes(monkeypatch):
    """Of 780 pairs float32 would cost more in bounds than it saves; rows are taken in blocks."""
    rng = np.random.default_rng(19)
    X, y = blobs(rng, 160, 3, 40)
    model = PSVC(1.0, tol=1e-1).fit(X, y)
    new = rng.normal(size=(5000, 3))
    monkeypatch.setattr(module, "CHUNK_ENTRIES", 2**16)
    monkeypatch.delattr(module.KernelModel, "_codes")
    assert np.array_equal(model.predict(new), labels_of(model, new))
    whole = model._problem_decisions(new)
    some = [3, 1700, 4999]
    assert np.array_equal(model._problem_decisions(new[some]), whole[some])


def test_indices_of_64_bits():
    rng = np.random.default_rng(15)
    X, y = blobs(rng, 300, 4, 2)
    X = sp.csr_matrix(X)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    model = PSVC().fit(X, y)
    assert np.array_equal(model.predict(wide), model.predict(X))
    again = PSVC().fit(wide, y)
    assert np.array_equal(again.decision_function(X), model.decision_function(wide))


# --- the model as arrays -------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
@pytest.mark.parametrize(("k", "multi_class"), [(2, "ovo"), (3, "ovo"), (3, "ovr")])
def test_the_terms_of_a_problem_add_up_to_its_decisions(kernel, k, multi_class):
    X, y = blobs(np.random.default_rng(16), 60, 3, k)
    given = Kernel("rbf", 0.3)
    values = np.vstack([block.T for _, block in given.blocks(X, X, 1)])
    rows = values if kernel == "precomputed" else X
    fitted = PSVC(kernel=kernel, gamma=0.3, multi_class=multi_class).fit(rows, y)
    arrays = fitted._as_arrays()
    places = arrays.vectors if kernel == "precomputed" else fitted.support_
    sums = [values[:, places[chosen]] @ coef for chosen, coef in arrays.terms()]
    assert all((coef != 0.0).all() for _, coef in arrays.terms())
    expected = np.column_stack(sums) + arrays.intercept
    np.testing.assert_allclose(arrays.decisions(rows), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(("k", "multi_class"), [(2, "ovo"), (3, "ovo"), (3, "ovr")])
def test_a_linear_kernel_is_a_linear_model(storage, k, multi_class):
    X, y = blobs(np.random.default_rng(17), 60, 3, k)
    X = storage(X)
    arrays = PSVC(kernel="linear", multi_class=multi_class).fit(X, y)._as_arrays()
    linear = module.LinearModel(arrays.weights, arrays.intercept)
    np.testing.assert_allclose(linear.decisions(X), arrays.decisions(X), rtol=1e-9, atol=1e-12)


def test_a_linear_model_gives_what_linear_psvc_decides():
    X, y = blobs(np.random.default_rng(18), 60, 3, 3)
    model = LinearPSVC(multi_class="ovr").fit(X, y)
    decisions = module.LinearModel(model.coef_, model.intercept_).decisions(X.astype(np.float32))
    assert decisions.dtype == np.float64
    np.testing.assert_array_equal(decisions, model.decision_function(X.astype(np.float32)))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed"])
def test_without_support_vectors_the_intercept_decides(kernel, k, multi_class, sparse):
    """What max_time may leave, on few rows and on the 512 from which equal vectors are merged."""
    rng = np.random.default_rng(0)
    X, y = blobs(rng, 600, 3, k)
    X = X @ X.T if kernel == "precomputed" else X
    X = sp.csr_matrix(X) if sparse else X
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = PSVC(kernel=kernel, multi_class=multi_class, max_time=1e-9).fit(X, y)
    assert model.n_support_.sum() == 0
    for rows in (X[:1], X):
        decision = model.decision_function(rows)
        assert np.isfinite(decision).all()
        assert (decision == decision[0]).all()
        np.testing.assert_array_equal(model.predict(rows), labels_of(model, rows))
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0])
