"""A model kept from one prediction to the next is never out of date, nor in anybody's way."""

import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from small_data import blobs

from psvm import PSVC
from psvm.estimators import kept_models
from psvm.estimators.kept_models import _models

X, Y = blobs(n=90, classes=3, d=4, seed=0)
K = X @ X.T


@pytest.fixture
def made(monkeypatch):
    """How often a model was made anew."""
    count, plain = [], PSVC._checked_arrays

    def counting(self, threads):
        count.append(self)
        return plain(self, threads)

    monkeypatch.setattr(PSVC, "_checked_arrays", counting)
    return count


def plainly(model, rows):
    """Decision values of the attributes as they are, of pairs of classes."""
    if model.kernel == "precomputed":
        values = rows[:, model.support_]
    else:
        vectors = model.support_vectors_
        vectors = vectors.toarray() if sp.issparse(vectors) else vectors
        squares = ((np.asarray(rows)[:, None] - vectors[None]) ** 2).sum(axis=2)
        values = (
            np.exp(-model._kernel.gamma * squares) if model.kernel == "rbf" else rows @ vectors.T
        )
    ends = np.cumsum(model.n_support_)
    own = [slice(end - n, end) for n, end in zip(model.n_support_, ends, strict=True)]
    coef = model.dual_coef_
    columns = [
        values[:, own[i]] @ coef[j - 1, own[i]] + values[:, own[j]] @ coef[i, own[j]]
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    return np.column_stack(columns) + model.intercept_


CHANGES = {
    "a coefficient in place": lambda m: m.dual_coef_.__setitem__((1, 3), 0.7),
    "all coefficients in place": lambda m: np.multiply(m.dual_coef_, 0.5, out=m.dual_coef_),
    "other coefficients": lambda m: setattr(m, "dual_coef_", 2.0 * m.dual_coef_),
    "two coefficients swapped": lambda m: m.dual_coef_.__setitem__(
        (0, [0, 1]), m.dual_coef_[0, [1, 0]]
    ),
    "coefficients in another order": lambda m: setattr(
        m, "dual_coef_", np.asfortranarray(m.dual_coef_ * 3.0)
    ),
    "an intercept in place": lambda m: m.intercept_.__setitem__(2, 5.0),
    "other intercepts": lambda m: setattr(m, "intercept_", m.intercept_ + 1.0),
    "other counts": lambda m: setattr(m, "n_support_", m.n_support_ + np.array([1, -1, 0])),
    "counts in place": lambda m: np.add(
        m.n_support_, np.array([-1, 0, 1], np.int32), out=m.n_support_
    ),
}
OF_VECTORS = {
    "a vector in place": lambda m: m.support_vectors_.__setitem__((2, 1), 9.0),
    "other vectors": lambda m: setattr(m, "support_vectors_", m.support_vectors_ + 0.1),
    "vectors in another order": lambda m: setattr(
        m, "support_vectors_", np.asfortranarray(m.support_vectors_ + 0.1)
    ),
}


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed", "csr"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_changes_of_attributes_count(kernel, change):
    rows = K if kernel == "precomputed" else X
    model = PSVC(kernel="rbf" if kernel == "csr" else kernel)
    model.fit(sp.csr_matrix(rows) if kernel == "csr" else rows, Y)
    before = model._problem_decisions(rows[:5])
    np.testing.assert_allclose(before, plainly(model, rows[:5]), rtol=1e-8, atol=1e-8)
    change(model)
    after = model._problem_decisions(rows[:5])
    assert not np.array_equal(after, before)
    np.testing.assert_allclose(after, plainly(model, rows[:5]), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("change", OF_VECTORS.values(), ids=OF_VECTORS.keys())
def test_changes_of_vectors_count(kernel, change):
    model = PSVC(kernel=kernel).fit(X, Y)
    before = model._problem_decisions(X[:5])
    change(model)
    after = model._problem_decisions(X[:5])
    assert not np.array_equal(after, before)
    np.testing.assert_allclose(after, plainly(model, X[:5]), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("part", ["data", "indices"])
def test_changes_of_sparse_vectors_count(part):
    model = PSVC().fit(sp.csr_matrix(np.where(X > 0, X, 0.0)), Y)
    before = model._problem_decisions(X[:5])
    array = getattr(model.support_vectors_, part)
    ends = model.support_vectors_.indptr
    row = np.flatnonzero(np.diff(ends) == 1)[0]  # its only column, or value, becomes another
    array[ends[row]] = 2.5 if part == "data" else (array[ends[row]] + 1) % 4
    after = model._problem_decisions(X[:5])
    assert not np.array_equal(after, before)
    np.testing.assert_allclose(after, plainly(model, X[:5]), rtol=1e-8, atol=1e-8)


def test_changed_columns_of_a_precomputed_kernel_count():
    model = PSVC(kernel="precomputed").fit(K, Y)
    model._problem_decisions(K[:5])
    model.support_[0] = 89 - model.support_[0]
    np.testing.assert_allclose(
        model._problem_decisions(K[:5]), plainly(model, K[:5]), rtol=1e-8, atol=1e-8
    )


def test_another_fit_counts():
    model = PSVC().fit(X, Y)
    model.predict(X)
    again = PSVC().fit(2.0 * X, Y).decision_function(X)
    np.testing.assert_array_equal(model.fit(2.0 * X, Y).decision_function(X), again)


def test_a_model_is_made_once(made):
    model = PSVC().fit(X, Y)
    for rows in (X[:1], X, sp.csr_matrix(X[:3]), X.astype(np.float32)):
        model.predict(rows)
        model.decision_function(rows)
    assert len(made) == 1
    model.intercept_[0] += 1.0
    model.predict(X[:1])
    assert len(made) == 2
    model.n_jobs = 1 if model._as_arrays().threads != 1 else 2
    model.predict(X[:1])
    assert len(made) == 3


def test_a_large_model_is_not_kept(made, monkeypatch):
    monkeypatch.setattr(kept_models, "_MOST_BYTES", 1000)
    model = PSVC().fit(X, Y)
    model.predict(X[:1])
    model.predict(X[:1])
    assert len(made) == 2


def test_an_estimator_without_hash_predicts():
    class Equal(PSVC):
        def __eq__(self, other):
            return isinstance(other, Equal)

        __hash__ = None

    other = PSVC().fit(X, Y)
    other.predict(X)  # a model is kept, beside which this one cannot be
    model = Equal().fit(X, Y)
    assert np.array_equal(model.predict(X), other.predict(X))


def test_it_is_nobodys_attribute():
    model = PSVC().fit(X, Y)
    before, size = dict(vars(model)), len(pickle.dumps(model))
    decision = model.decision_function(X)
    assert vars(model) == before
    assert len(pickle.dumps(model)) == size
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert other not in _models
        np.testing.assert_array_equal(other.decision_function(X), decision)
    twin = copy.deepcopy(model)
    twin.intercept_ += 1.0
    assert not np.array_equal(twin.decision_function(X), decision)
    np.testing.assert_array_equal(model.decision_function(X), decision)
    assert clone(model) not in _models


def test_it_goes_with_the_estimator():
    model = PSVC().fit(X, Y)
    model.predict(X)
    kept = weakref.ref(_models[model].model)
    assert kept() is not None
    del model
    gc.collect()
    assert kept() is None


def test_weights_given_away_are_a_copy():
    model = PSVC(kernel="linear").fit(X, Y)
    before = model.decision_function(X)
    model.coef_[:] = 0.0
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_many_threads_predict_with_one_model():
    model = PSVC().fit(X, Y)
    alone = model.decision_function(X)
    fresh = copy.deepcopy(model)
    with ThreadPoolExecutor(8) as pool:
        for values in pool.map(lambda _: fresh.decision_function(X), range(40)):
            np.testing.assert_array_equal(values, alone)
