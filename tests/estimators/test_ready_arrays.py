"""Arrays that need no checks, and what scikit-learn's checks make of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from psvm import LinearPSVC, LinearPSVR
from psvm.estimators.ready_arrays import are_ready

X = np.random.default_rng(0).normal(size=(40, 3))
TARGETS = X @ np.array([1.0, -2.0, 0.5])
LABELS = (TARGETS > 0).astype(np.int64)


@pytest.mark.parametrize("rows", [X, X.astype(np.float32), X[:1], X[::1]])
@pytest.mark.parametrize("y", [TARGETS, LABELS, LABELS.astype(bool), TARGETS.astype(np.float32)])
def test_what_is_ready_is_left_as_it_is_by_scikit_learn(rows, y):
    y = y[: rows.shape[0]]
    assert are_ready(rows, y)
    model = LinearPSVR()
    checked, labels = validate_data(
        model, rows, y, dtype=(np.float64, np.float32), order="C", accept_sparse="csr"
    )
    assert checked is rows or checked.base is rows or np.shares_memory(checked, rows)
    assert labels.dtype == y.dtype
    np.testing.assert_array_equal(labels, y)
    assert model.n_features_in_ == rows.shape[1]


class Table(np.ndarray):
    """An array that may be more than one."""


@pytest.mark.parametrize(
    ("rows", "y"),
    [
        (X.tolist(), TARGETS),
        (sp.csr_matrix(X), TARGETS),
        (X.view(Table), TARGETS),
        (X.astype(np.float16), TARGETS),
        (X.astype(np.int64), TARGETS),
        (X.astype(">f8"), TARGETS),
        (X.astype(object), TARGETS),
        (np.asfortranarray(X), TARGETS),
        (X[:, ::2], TARGETS),
        (X[:, :0], TARGETS),
        (X[:0], TARGETS[:0]),
        (X[:, 0], TARGETS),
        (X[None], TARGETS),
        (X, TARGETS[:-1]),
        (X, TARGETS[:, None]),
        (X, TARGETS.tolist()),
        (X, None),
        (X, np.array(["a", "b"])[LABELS]),
        (X, TARGETS.astype(object)),
        (X, TARGETS.astype(complex)),
        (X, np.where(LABELS > 0, np.nan, TARGETS)),
        (X, np.where(LABELS > 0, np.inf, TARGETS)),
    ],
)
def test_anything_else_is_for_scikit_learn(rows, y):
    assert not are_ready(rows, y)


@pytest.mark.parametrize("model", [LinearPSVC(), LinearPSVR()])
def test_a_fit_of_ready_arrays_is_that_of_checked_ones(model):
    y = LABELS if isinstance(model, LinearPSVC) else TARGETS
    ready = model.fit(X, y).coef_.copy()
    names = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c"])
    checked = model.fit(names, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(checked.coef_, ready, rtol=1e-12)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_the_entries_of_ready_arrays_are_still_looked_at(bad):
    rows = X.copy()
    rows[3, 1] = bad
    assert are_ready(rows, TARGETS)
    with pytest.raises(ValueError, match=r"NaN|infinity|range of float64"):
        LinearPSVR().fit(rows, TARGETS)
