"""Equal training rows are merged, and nobody can tell but by the clock."""

import numpy as np
import pytest
import scipy.sparse as sp

from psvm import PSVC
from psvm.rows.equal_rows import find_equal_rows
from psvm.rows.kernel import Kernel


def repeated(n=1200, distinct=400, d=3, n_classes=2, seed=0):
    """Rows of which most occur several times, some of them with more than one label."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(distinct, d)) * (rng.random((distinct, d)) < 0.7)
    rows = rng.integers(0, distinct, size=n)
    score = base @ rng.normal(size=d) + 0.3 * rng.normal(size=distinct)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)[rows]
    flipped = rng.random(n) < 0.1
    return base[rows], np.where(flipped, (y + 1) % n_classes, y)


def matrix(X, kernel="rbf"):
    """The kernel matrix of gamma 0.7: rows of a precomputed kernel are never merged."""
    return np.vstack([block.T for _, block in Kernel(kernel, 0.7).blocks(X, X, 1)])


def dual_of_all_rows(model, n):
    dual = np.zeros((model.dual_coef_.shape[0], n))
    dual[:, model.support_] = model.dual_coef_
    return dual


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_groups_are_those_of_numpy(storage, dtype):
    X, y = repeated()
    X = X.astype(dtype)
    same = find_equal_rows(storage(X), y.astype(np.int32))
    _, first, group = np.unique(
        np.column_stack([X, y]), axis=0, return_index=True, return_inverse=True
    )
    assert same.merged
    np.testing.assert_array_equal(same.first, np.sort(first))
    np.testing.assert_array_equal(same.first[same.group], first[group.ravel()])


def test_index_arrays_of_two_kinds():
    """Selecting rows of a matrix with int32 indices may leave it with an int64 indptr."""
    X, y = repeated()
    X, codes = sp.csr_matrix(X), y.astype(np.int32)
    expected = find_equal_rows(X, codes)
    X.indptr = X.indptr.astype(np.int64)
    np.testing.assert_array_equal(find_equal_rows(X, codes).group, expected.group)


def test_small_integers_are_told_apart():
    """Their bits are mostly zero, which a hash that only multiplies would not survive."""
    X = np.stack(np.meshgrid(*[np.arange(16.0)] * 3), axis=-1).reshape(-1, 3)
    assert not find_equal_rows(X, np.zeros(len(X), dtype=np.int32)).merged
    assert not find_equal_rows(sp.csr_matrix(X), np.zeros(len(X), dtype=np.int32)).merged
    twice = find_equal_rows(np.vstack([X, X]), np.zeros(2 * len(X), dtype=np.int32))
    np.testing.assert_array_equal(twice.first, np.arange(len(X)))


def test_few_equal_rows_are_left_alone():
    X, y = np.random.default_rng(0).normal(size=(2000, 2)), np.zeros(2000, dtype=np.int32)
    X[:50] = X[50:100]
    assert not find_equal_rows(X, y).merged
    X[:200] = X[200:400]
    assert find_equal_rows(X, y).merged


def test_any_equal_rows_of_a_small_set_are_merged():
    X, y = np.random.default_rng(0).normal(size=(200, 2)), np.zeros(200, dtype=np.int32)
    assert not find_equal_rows(X, y).merged
    X[7] = X[3]
    assert find_equal_rows(X, y).first.size == 199


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_model_is_that_of_the_rows_one_by_one(p, kernel, fit_intercept):
    X, y = repeated()
    weight = np.random.default_rng(1).uniform(0.0, 2.0, size=len(y))
    weight[::17] = 0.0
    settings = {"p": p, "C": 2.0, "tol": 1e-7, "fit_intercept": fit_intercept}
    merged = PSVC(kernel=kernel, gamma=0.7, **settings).fit(X, y, sample_weight=weight)
    K = matrix(X, kernel)
    plain = PSVC(kernel="precomputed", **settings).fit(K, y, sample_weight=weight)
    assert merged.primal_objective_ == pytest.approx(plain.primal_objective_, rel=2e-7)
    assert merged.decision_function(X) == pytest.approx(plain.decision_function(K), abs=5e-3)
    assert merged.dual_gap_ <= 1e-7


@pytest.mark.parametrize("p", [1, 1.5])
def test_the_certificate_holds_for_all_rows(p):
    """P and D from the attributes alone, over every row, and bounds that every row keeps."""
    X, y = repeated()
    model = PSVC(p=p, C=1.5, gamma=0.7).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    assert (np.sign(model.dual_coef_[0]) == signs[model.support_]).all()
    if p == 1:
        assert alpha.max() <= 1.5 * (1.0 + 1e-12)
    K = np.exp(-0.7 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    decision = K @ (alpha * signs)
    half_norm = 0.5 * (alpha * signs) @ decision
    slack = np.maximum(0.0, 1.0 - signs * (decision + model.intercept_[0]))
    conjugate = (
        0.0 if p == 1 else np.sum(alpha * (alpha / (p * 1.5)) ** (1 / (p - 1))) * (1 - 1 / p)
    )
    assert half_norm + 1.5 * np.sum(slack**p) == pytest.approx(model.primal_objective_[0], rel=1e-6)
    assert alpha.sum() - half_norm - conjugate == pytest.approx(model.dual_objective_[0], rel=1e-6)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_several_classes(multi_class, storage):
    X, y = repeated(n=2000, n_classes=3)
    settings = {"p": 1.5, "tol": 1e-9, "multi_class": multi_class}
    merged = PSVC(gamma=0.7, **settings).fit(storage(X), y)
    K = matrix(X)
    plain = PSVC(kernel="precomputed", **settings).fit(K, y)
    duals = dual_of_all_rows(merged, len(y)), dual_of_all_rows(plain, len(y))
    assert duals[0] == pytest.approx(duals[1], abs=1e-2)
    assert merged.decision_function(X) == pytest.approx(plain.decision_function(K), abs=5e-3)


def test_hard_margin():
    X, y = repeated(distinct=300)
    X[:, 0] += 5.0 * y  # separable, and so no row has two labels
    X = np.repeat(X[:600], 2, axis=0)
    y = np.repeat(y[:600], 2)
    merged = PSVC(C=np.inf, kernel="linear", tol=1e-7).fit(X, y)
    plain = PSVC(C=np.inf, kernel="precomputed", tol=1e-7).fit(matrix(X, "linear"), y)
    assert merged.primal_objective_ == pytest.approx(plain.primal_objective_, rel=1e-6)
    coef = plain.dual_coef_ @ X[plain.support_]
    assert merged.coef_ == pytest.approx(coef, rel=1e-3)


def test_warm_start_of_merged_rows():
    X, y = repeated()
    model = PSVC(p=1.5, C=1.0, warm_start=True).fit(X, y)
    again = model.n_iter_[0]
    model.set_params(C=1.001).fit(X, y)
    assert model.n_iter_[0] <= again
    assert model.dual_gap_[0] <= 1e-4


@pytest.mark.parametrize("sparse", [False, True])
def test_no_rows_are_no_groups(sparse):
    X = np.empty((0, 3))
    found = find_equal_rows(sp.csr_matrix(X) if sparse else X, np.empty(0, dtype=np.int32))
    assert found.first.size == found.group.size == 0
    assert not found.merged


def test_very_many_columns_take_no_table():
    """Wide rows are hashed without a number for each of their columns."""
    rng = np.random.default_rng(0)
    columns = rng.integers(10**9, size=(40, 3))[rng.integers(40, size=100)]
    rows = np.repeat(np.arange(100), 3)
    X = sp.csr_matrix((np.ones(300), (rows, columns.ravel())), shape=(100, 10**9))
    found = find_equal_rows(X, np.zeros(100, dtype=np.int32))
    _, first = np.unique(columns, axis=0, return_index=True)
    np.testing.assert_array_equal(found.first, np.sort(first))
    assert (columns[found.first[found.group]] == columns).all()
