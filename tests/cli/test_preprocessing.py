"""What goes before a classifier, by the kind of its columns."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from psvm import PSVC
from psvm.cli.files.training_set import TrainingSet
from psvm.cli.preprocessing import with_preprocessing

Y = np.array(["p", "q", "p", "q"])


def training(X, numbers=(), texts=()):
    return TrainingSet(X=X, y=Y, numbers=list(numbers), texts=list(texts))


def table():
    frame = pl.DataFrame({"a": [1.0, 2.0, None, 5.0], "kind": ["x", "y", None, "x"]})
    return training(frame, ["a"], ["kind"])


def rows_after(model, X):
    return np.asarray(model[:-1].fit_transform(X, Y), dtype=float)


def test_numbers_are_scaled_unless_told_otherwise():
    data = training(np.arange(8.0).reshape(4, 2))
    model = with_preprocessing(PSVC(), data, scale=None, impute=False)
    assert [name for name, _ in model.steps] == ["scale", "classifier"]
    found = rows_after(model, data.X)
    assert found.mean(axis=0) == pytest.approx([0.0, 0.0])
    assert found.std(axis=0) == pytest.approx([1.0, 1.0])
    plain = PSVC()
    assert with_preprocessing(plain, data, scale=False, impute=False) is plain


def test_zeros_stay_zeros():
    data = training(sp.csr_array(np.eye(4)))
    plain = PSVC()
    assert with_preprocessing(plain, data, scale=None, impute=False) is plain
    model = with_preprocessing(plain, data, scale=True, impute=False)
    assert model[:-1].fit_transform(data.X).nnz == 4


def test_missing_numbers_and_texts_are_filled_in():
    data = table()
    model = with_preprocessing(PSVC(), data, scale=False, impute=True)
    assert rows_after(model, data.X).tolist() == [
        [1.0, 1.0, 0.0],
        [2.0, 0.0, 1.0],
        [2.0, 1.0, 0.0],  # the median, and the text that is there most often
        [5.0, 1.0, 0.0],
    ]


def test_a_text_that_is_new_is_none_of_the_others():
    texts = training(pl.DataFrame({"kind": ["x", "y", "y", "x"]}), [], ["kind"])
    model = with_preprocessing(PSVC(), texts, scale=None, impute=False)
    model[:-1].fit(texts.X, Y)
    new = model[:-1].transform(pl.DataFrame({"kind": ["z", "y"]}))
    assert (new.toarray() if sp.issparse(new) else new).tolist() == [[0.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(("most", "columns"), [(2, 2), (3, 3), (4, 4), (9, 4), (None, 4)])
def test_rare_texts_share_a_column(most, columns):
    X = pl.DataFrame({"kind": ["x", "x", "x", "y", "y", "z", "w"]})
    texts = TrainingSet(X=X, y=Y, numbers=[], texts=["kind"], max_categories=most)
    model = with_preprocessing(PSVC(), texts, scale=None, impute=False)
    assert model[:-1].fit_transform(X).shape == (7, columns)
    new = model[:-1].transform(pl.DataFrame({"kind": ["new"]}))
    assert new.sum() == (1 if columns < 4 else 0)  # like the rare ones, or none


def test_only_columns_with_rare_texts_are_counted():
    """scikit-learn counts texts one by one: seconds for each fold of a long table."""
    few, many = ["x", "y"] * 4, ["a", "a", "a", "b", "b", "b", "c", "d"]
    X = pl.DataFrame({"few": few, "many": many})
    data = TrainingSet(X=X, y=Y, numbers=[], texts=["few", "many"], max_categories=3)
    model = with_preprocessing(PSVC(), data, scale=None, impute=True)
    found = {columns[0]: part[-1].max_categories for _, part, columns in model[0].transformers}
    assert found == {"few": None, "many": 3}
    assert model[:-1].fit_transform(X).shape == (8, 5)
    new = model[:-1].transform(pl.DataFrame({"few": ["new"], "many": ["new"]}))
    assert np.asarray(new.todense() if sp.issparse(new) else new).sum() == 1  # one of the rare
