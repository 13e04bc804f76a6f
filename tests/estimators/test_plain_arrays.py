"""What scikit-learn's validation would leave as it is, and what it must see."""

import numpy as np
import pytest
from sklearn.utils.validation import validate_data

from psvm import PSVC, PSVR
from psvm.estimators.plain_arrays import need_no_conversion

X, Y = np.arange(12.0).reshape(6, 2), np.linspace(-1.0, 1.0, 6)
TYPES = (np.float64, np.float32)


@pytest.mark.parametrize(
    ("rows", "y"),
    [
        (X, Y),
        (X.astype(np.float32), Y),
        (np.asfortranarray(X), Y),
        (X[::2], np.array([1, 0, 1])),
        (X, Y > 0.0),
    ],
)
def test_arrays_that_stay_as_they_are(rows, y):
    assert need_no_conversion(rows, y, TYPES)
    seen = PSVR()
    as_before, y_as_before = validate_data(seen, rows, y, dtype=TYPES)
    assert as_before is rows or np.shares_memory(as_before, rows)
    assert (as_before.dtype, y_as_before.dtype) == (rows.dtype, y.dtype)
    model = (PSVR if y.dtype.kind == "f" else PSVC)().fit(rows, y)
    assert model.n_features_in_ == seen.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")


def changed(values, place, value):
    values = values.copy()
    values[place] = value
    return values


class Unitful(np.ndarray):
    """A subclass, as arrays of other packages are."""


@pytest.mark.parametrize(
    ("rows", "y"),
    [
        (X.tolist(), Y),
        (X, Y.tolist()),
        (X.astype(np.float16), Y),
        (X.astype(int), Y),
        (X.astype(">f8"), Y),
        (X.astype(object), Y),
        (X.view(Unitful), Y),
        (X, Y.view(Unitful)),
        (X[:, 0], Y),
        (X[:, :0], Y),
        (X[:0], Y[:0]),
        (X, Y[:-1]),
        (X, Y[:, None]),
        (X, np.repeat(Y, 2)[::2]),
        (X, Y.astype(str)),
        (X, Y + 0j),
        (changed(X, (1, 1), np.nan), Y),
        (changed(X, (1, 1), np.inf), Y),
        (changed(changed(X, (1, 1), np.inf), (2, 0), -np.inf), Y),
        (X, changed(Y, 3, np.nan)),
        (X, changed(Y, 3, -np.inf)),
    ],
    ids=range(21),
)
def test_whatever_is_not_surely_in_order_is_left_to_scikit_learn(rows, y):
    assert not need_no_conversion(rows, y, TYPES)


def test_names_of_an_earlier_fit_are_gone():
    pandas = pytest.importorskip("pandas")
    model = PSVR().fit(pandas.DataFrame(X, columns=["a", "b"]), Y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert not hasattr(model.fit(X, Y), "feature_names_in_")
