"""Callable kernels see X as it is given: texts, series, tables; and once for many rows."""

import pickle
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.svm import SVC
from small_data import blobs, noisy

from psvm import PSVC, PSVCCV, psvm_path
from psvm.persistence import save
from psvm.persistence.errors import UnsupportedModelError


def pieces(text, n=3):
    return Counter(text[k : k + n] for k in range(len(text) - n + 1))


def common_pieces(A, B):
    """Cosine of the counts of all sequences of three letters: a kernel of strings."""
    assert all(isinstance(text, str) for text in A)
    left, right = [pieces(a) for a in A], [pieces(b) for b in B]
    size = lambda c: np.sqrt(sum(k * k for k in c.values())) or 1.0  # noqa: E731
    return np.array(
        [[sum(a[k] * b[k] for k in a) / (size(a) * size(b)) for b in right] for a in left]
    )


def texts(n=60, classes=("gattaca", "tagacat", "ccgtgag"), seed=0):
    """Letters at random around a word of each class; of different lengths."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % len(classes)
    noise = lambda: "".join(rng.choice(list("acgt"), rng.integers(2, 9)))  # noqa: E731
    return [noise() + classes[k] + noise() for k in y], y


def series_kernel(A, B):
    """Of arrays (n, time, channels): rbf of the first channel's differences in time."""
    assert A.ndim == B.ndim == 3
    return rbf_kernel(*(np.diff(some[..., 0], axis=1) for some in (A, B)), gamma=0.02)


def table_kernel(A, B):
    """Of frames with a column of words and one of numbers, by their names."""
    same = np.asarray(A["word"])[:, None] == np.asarray(B["word"])[None, :]
    apart = np.asarray(A["size"])[:, None] - np.asarray(B["size"])[None, :]
    return same + np.exp(-(apart**2))


def series(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 12, 2)) + 2 * y[:, None, None] * (np.arange(12)[:, None] % 2), y


def frame(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    words = np.where(rng.random(n) < 0.8, np.array(["up", "down"])[y], "sideways")
    return pd.DataFrame({"word": words, "size": rng.normal(size=n) + y}), y


def cases():
    X, y = texts()
    yield "list of texts", common_pieces, X, y
    yield "tuple of texts", common_pieces, tuple(X), y
    yield "object array", common_pieces, np.array(X, dtype=object), y
    yield "text array", common_pieces, np.array(X), y
    yield "series of texts", common_pieces, pd.Series(X, index=np.arange(60)[::-1]), y
    yield "3-D array", series_kernel, *series()
    yield "pandas", table_kernel, *frame()
    table, y = frame()
    yield "polars", table_kernel, pl.DataFrame(dict(table)), y


CASES = {name: rest for name, *rest in cases()}


def some(X, rows):
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[k] for k in rows]


@pytest.fixture(params=CASES, name="case")
def of_cases(request):
    return CASES[request.param]


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_the_model_of_svc(case, shape):
    """Rows as they are give what SVC makes of them, and what their matrix gives."""
    kernel, X, y = case
    train, test = np.arange(40), np.arange(40, 60)
    A, B = some(X, train), some(X, test)
    ours = PSVC(p=1, kernel=kernel, decision_function_shape=shape, tol=1e-8).fit(A, y[train])
    theirs = SVC(kernel="precomputed", decision_function_shape=shape, tol=1e-9)
    theirs.fit(kernel(A, A), y[train])
    expected = theirs.decision_function(kernel(B, A))
    assert ours.decision_function(B) == pytest.approx(expected, abs=1e-3)
    assert np.mean(ours.predict(B) == theirs.predict(kernel(B, A))) > 0.9
    matrix = PSVC(p=1, kernel="precomputed", decision_function_shape=shape, tol=1e-8)
    matrix.fit(kernel(A, A), y[train])
    assert ours.decision_function(B) == pytest.approx(matrix.decision_function(kernel(B, A)))


def test_support_vectors_are_rows_of_the_kind_given(case):
    kernel, X, y = case
    model = PSVC(kernel=kernel).fit(X, y)
    assert isinstance(model.support_vectors_, list if isinstance(X, tuple) else type(X))
    assert len(model.support_vectors_) == model.support_.size
    own, expected = model.support_vectors_, some(X, model.support_)
    assert np.array_equal(np.asarray(own), np.asarray(expected))
    assert model.shape_fit_ == getattr(X, "shape", (60,))
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_searches_and_cross_validation(case):
    kernel, X, y = case
    X = list(X) if isinstance(X, tuple) else X
    scores = cross_val_score(PSVC(kernel=kernel), X, y, cv=3)
    assert scores.mean() > 0.7
    assert cross_val_predict(PSVC(kernel=kernel), X, y, cv=3).shape == y.shape
    Cs = [0.1, 1.0]
    grid = GridSearchCV(PSVC(p=1.5, kernel=kernel), {"C": Cs}, cv=3).fit(X, y)
    search = PSVCCV((1.5,), Cs, kernel=kernel, cv=3).fit(X, y)
    assert search.best_score_ == pytest.approx(grid.best_score_)
    assert search.cv_results_["mean_test_score"] == pytest.approx(
        grid.cv_results_["mean_test_score"]
    )
    probabilities = search.predict_proba(X)
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert search.score(X, y) > 0.7
    path = psvm_path(X, y, ps=[1.5], Cs=Cs, kernel=kernel, X_val=X, y_val=y)
    assert path.score[0, 1] == pytest.approx(PSVC(p=1.5, kernel=kernel).fit(X, y).score(X, y))


def test_a_scorer_sees_the_rows_of_a_search():
    X, y = texts()
    seen = []

    def scorer(model, rows, labels):
        seen.append(rows)
        return float(np.mean(model.predict(rows) == labels))

    PSVCCV((1.5,), (1.0,), kernel=common_pieces, cv=3, scoring=scorer).fit(X, y)
    assert all(type(rows) is list and isinstance(rows[0], str) for rows in seen)


def test_a_search_without_room_for_a_matrix():
    """Fits split by split are given the rows, too."""
    X, y = texts(n=120)
    search = PSVCCV((1.5,), (1.0,), kernel=common_pieces, cv=3, cache_size=1e-3).fit(X, y)
    roomy = PSVCCV((1.5,), (1.0,), kernel=common_pieces, cv=3).fit(X, y)
    assert search.best_score_ == pytest.approx(roomy.best_score_)
    assert PSVC(kernel=common_pieces, cache_size=1e-3).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("n", [30, 200, 700])
def test_one_call_in_fit_and_one_in_predict(n, classes):
    X, y = blobs(n=n, classes=classes)
    calls = []

    def kernel(A, B):
        calls.append((len(A), len(B)))
        return rbf_kernel(A, B)

    model = PSVC(kernel=kernel).fit(X, y)
    assert calls == [(n, n)]
    calls.clear()
    model.predict(X)
    model.decision_function(X)
    assert calls == [(n, model.support_.size)] * 2


def test_the_kernel_is_given_what_the_user_gave():
    """Nothing is copied or converted on the way where all rows are used in their order."""
    X, y = np.arange(40).reshape(20, 2) % 7, np.arange(20) % 2
    given = []

    def kernel(A, B):
        given.append((A, B))
        return rbf_kernel(A, B)

    model = PSVC(kernel=kernel).fit(X, y)
    assert given[0][0] is X
    assert given[0][1] is X
    model.predict(X)
    assert given[1][0] is X
    assert model.support_vectors_.dtype == X.dtype


def test_weights_of_zero_and_missing_values():
    """Rows of weight 0 are never shown; what a row may hold is for the kernel to say."""
    X, y = texts(classes=("gattaca", "tagacat"))
    X[7] = None  # no text
    weight = np.ones(60)
    weight[7] = 0.0
    model = PSVC(kernel=common_pieces).fit(X, y, sample_weight=weight)
    assert 7 not in model.support_
    numbers, labels = noisy(30, 3)
    numbers[3, 1] = np.nan
    filled = PSVC(kernel=lambda A, B: rbf_kernel(np.nan_to_num(A), np.nan_to_num(B)))
    other = PSVC(kernel="rbf", gamma=1 / 3).fit(np.nan_to_num(numbers), labels)
    assert filled.fit(numbers, labels).decision_function(numbers) == pytest.approx(
        other.decision_function(np.nan_to_num(numbers)), abs=1e-2
    )


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_rows_come_as_csr(form):
    X, y = noisy(40, 4)

    def kernel(A, B):
        assert A.format == B.format == "csr"
        return (A @ B.T).toarray()

    model = PSVC(kernel=kernel).fit(sp.csr_matrix(X).asformat(form), y)
    expected = PSVC(kernel="linear").fit(X, y).decision_function(X)
    assert model.decision_function(sp.coo_matrix(X)) == pytest.approx(expected, abs=1e-2)


def test_columns_of_tables_are_known():
    X, y = frame()
    model = PSVC(kernel=table_kernel).fit(X, y)
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["word", "size"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"size": "weight"}))
    with pytest.raises(ValueError, match="features"):
        PSVC(kernel=rbf_kernel).fit(*noisy(30, 3)).predict(np.zeros((2, 2)))


def test_texts_have_no_columns():
    """Nor does a refit keep those of an earlier fit."""
    X, y = frame()
    model = PSVC(kernel=table_kernel).fit(X, y)
    model.set_params(kernel=common_pieces).fit(*texts())
    assert not hasattr(model, "n_features_in_")
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(["gattaca"]).shape == (1,)


def test_errors_say_what_is_wrong(tmp_path):
    X, y = texts()
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[59, 60\]"):
        PSVC(kernel=common_pieces).fit(X[1:], y)
    with pytest.raises(ValueError, match="could not convert string to float"):
        PSVC().fit(np.array(X).reshape(-1, 1), y)
    with pytest.raises(TypeError, match="sequence or array-like"):
        PSVC(kernel=common_pieces).fit((text for text in X), y)
    model = PSVC(kernel=common_pieces).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="kernel is a function, common_pieces"):
        save(model, tmp_path / "m.psvm")
    model.support_vectors_ = model.support_vectors_[1:]
    with pytest.raises(ValueError, match=r"support_vectors_` must be \d+ rows"):
        model.predict(X)


def test_tags_say_what_is_taken():
    tags = PSVC(kernel=common_pieces).__sklearn_tags__().input_tags
    assert tags.string
    assert tags.three_d_array
    assert not clone(PSVC()).__sklearn_tags__().input_tags.string
