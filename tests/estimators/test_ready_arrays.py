"""Arrays that need no checks, and what scikit-learn's checks make of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from psvm import PSVC, PSVR, LinearPSVC, LinearPSVR
from psvm.estimators.ready_arrays import are_ready, sums_are_finite

X = np.random.default_rng(0).normal(size=(40, 3))
TARGETS = X @ np.array([1.0, -2.0, 0.5])
LABELS = (TARGETS > 0).astype(np.int64)


@pytest.mark.parametrize(
    "rows", [X, X.astype(np.float32), X[:1], X[::2], X[:, ::2], np.asfortranarray(X)]
)
@pytest.mark.parametrize("y", [TARGETS, LABELS, LABELS.astype(bool), TARGETS.astype(np.float32)])
def test_what_is_ready_is_left_as_it_is_by_scikit_learn(rows, y):
    y = y[: rows.shape[0]]
    assert are_ready(rows, y)
    model = LinearPSVR()
    checked, labels = validate_data(
        model, rows, y, dtype=(np.float64, np.float32), accept_sparse="csr"
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
        (X, np.repeat(TARGETS, 2)[::2]),
        (X, TARGETS.view(Table)),
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


@pytest.mark.parametrize("model", [LinearPSVC(), LinearPSVR(), PSVC(), PSVR()])
def test_a_fit_of_ready_arrays_is_that_of_checked_ones(model):
    y = LABELS if isinstance(model, LinearPSVC | PSVC) else TARGETS
    ready = model.fit(X, y).predict(X)
    names = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c"])
    checked = model.fit(names, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(checked.predict(names), ready, rtol=1e-12)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3


@pytest.mark.parametrize("model", [LinearPSVR(), PSVR()])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_the_entries_of_ready_arrays_are_still_looked_at(model, bad):
    rows = X.copy()
    rows[3, 1] = bad
    assert are_ready(rows, TARGETS)
    with pytest.raises(ValueError, match=r"NaN|infinity|range of float64"):
        model.fit(rows, TARGETS)


def test_rows_in_another_order_are_fitted_alike():
    other = np.asfortranarray(X)
    assert are_ready(other, TARGETS)
    for model in (LinearPSVR(), PSVR()):
        ready = model.fit(X, TARGETS).predict(X)
        np.testing.assert_allclose(model.fit(other, TARGETS).predict(X), ready, rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "finite"),
    [
        ([1.0, 2.0], True),
        ([1.0, np.nan], False),
        ([np.inf, 1.0], False),
        ([np.inf, -np.inf], False),
        ([1e308, 1e308], False),  # not known by its sum
    ],
)
def test_a_sum_tells_of_its_terms(values, finite):
    assert sums_are_finite(np.array(values)) == finite
