"""Rows of any kind are counted and chosen from, and stay what they are."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from psvm.rows.given_rows import GivenRows, as_given

KINDS = {
    "list": list("abcd"),
    "array": np.arange(4),
    "3-D": np.arange(24).reshape(4, 3, 2),
    "objects": np.array([{}, None, "a", 1], dtype=object),
    "series": pd.Series(list("abcd"), index=[3, 2, 1, 0]),
    "pandas": pd.DataFrame({"a": list("abcd")}, index=[3, 2, 1, 0]),
    "polars": pl.DataFrame({"a": list("abcd")}),
}


def listed(X):
    """The rows as a list of plain values."""
    return X.to_numpy().tolist() if hasattr(X, "to_numpy") else np.asarray(X, object).tolist()


@pytest.mark.parametrize("X", KINDS.values(), ids=KINDS)
def test_rows_by_number_and_by_slice(X):
    rows = GivenRows.of(X)
    assert rows.shape == (4, 1)
    assert len(rows) == 4
    for chosen in (np.array([2, 0, 2]), slice(1, 3), np.array([], dtype=np.intp)):
        some = rows[chosen]
        assert type(some.X) is type(X)
        assert listed(some.X) == [listed(X)[k] for k in np.arange(4)[chosen]]


@pytest.mark.parametrize("X", KINDS.values(), ids=KINDS)
def test_all_rows_are_what_was_given(X):
    rows = GivenRows.of(X)
    assert GivenRows.of(rows) is rows
    assert rows[:] is rows[0:4] is rows
    assert as_given(rows) is X
    assert as_given(X) is X


@pytest.mark.parametrize("X", [*KINDS.values(), pl.Series(list("abcd"))], ids=[*KINDS, "pl"])
def test_one_after_the_other(X):
    rows = GivenRows.of(X)
    both = rows[np.array([2, 0])].followed_by(rows[1:])
    assert type(both.X) is type(X)
    assert listed(both.X) == [listed(X)[k] for k in (2, 0, 1, 2, 3)]


def test_sparse_rows_one_after_the_other():
    rows = GivenRows.of(sp.csr_matrix(np.eye(4)))
    both = rows[1:3].followed_by(rows[:1])
    assert both.X.format == "csr"
    assert np.array_equal(both.X.toarray(), np.eye(4)[[1, 2, 0]])


def test_rows_of_two_kinds_one_after_the_other():
    both = GivenRows.of(np.zeros((2, 3))).followed_by(GivenRows.of([[1.0, 2.0, 3.0]]))
    assert listed(both.X) == [[0.0] * 3, [0.0] * 3, [1.0, 2.0, 3.0]]
    assert GivenRows.of(["a"]).followed_by(GivenRows.of(np.array(["b"]))).X == ["a", "b"]


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dia"])
def test_sparse_rows_become_csr(form):
    X = np.eye(4)
    some = GivenRows.of(sp.csr_matrix(X).asformat(form))[np.array([3, 1])]
    assert some.X.format == "csr"
    assert np.array_equal(some.X.toarray(), X[[3, 1]])


def test_a_malformed_sparse_matrix_is_refused():
    X = sp.csr_matrix(np.eye(4))
    X.indices[0] = 9
    with pytest.raises(ValueError, match="indices"):
        GivenRows.of(X)


def test_what_has_no_rows_is_refused():
    with pytest.raises(TypeError, match="sequence or array-like"):
        GivenRows.of(iter("abcd"))
