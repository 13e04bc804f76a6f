"""Indices that point outside are refused before anybody follows them."""

import numpy as np
import pytest
import scipy.sparse as sp
from small_data import noisy

from psvm import PSVC, PSVCCV, LinearPSVC, psvm_path
from psvm.bounds import generalization_bound
from psvm.rows.sparse_format import sound_sparse

X, Y = noisy(n=40, d=5, seed=0)


def broken(how, format="csr"):
    """A matrix whose arrays were changed by hand."""
    matrix = sp.csr_matrix(X).asformat(format)
    if how == "index too large":
        matrix.indices[7] = 10**6
    elif how == "index just outside":
        matrix.indices[-1] = matrix.indices.max() + 1
    elif how == "negative index":
        matrix.indices[7] = -3
    elif how == "indptr goes back":
        matrix.indptr[3] = matrix.indptr[5]
    elif how == "indptr beyond the data":
        matrix.indptr[-1] += 100
    elif how == "negative indptr":
        matrix.indptr[0] = -5
    elif how == "indptr too short":
        matrix.indptr = matrix.indptr[:-2]
    elif how == "data too short":
        matrix.data = matrix.data[:-4]
    elif how == "indices too short":
        matrix.indices = matrix.indices[:-4]
    elif how == "indices of floats":
        matrix.indices = matrix.indices.astype(float)
    return matrix


HOW = [
    "index too large", "index just outside", "negative index", "indptr goes back",
    "indptr beyond the data", "negative indptr", "indptr too short", "data too short",
    "indices too short", "indices of floats",
]  # fmt: skip


@pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("how", HOW)
def test_a_malformed_matrix_is_refused(how, format):
    with pytest.raises(ValueError, match=f"malformed {format.upper()} matrix: .*Build it anew"):
        sound_sparse(broken(how, format))


@pytest.mark.parametrize(("axis", "wrong"), [("row", 40), ("col", 5), ("row", -1), ("col", -1)])
def test_a_malformed_coo_matrix_is_refused(axis, wrong):
    matrix = sp.coo_matrix(X)
    getattr(matrix, axis)[3] = wrong
    with pytest.raises(ValueError, match=rf"malformed COO matrix: .* got {wrong}\."):
        sound_sparse(matrix)


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array])
def test_a_sound_matrix_keeps_its_entries(format, make):
    matrix = make(np.where(X > 0.5, X, 0.0)).asformat(format)
    np.testing.assert_array_equal(sound_sparse(matrix).toarray(), np.where(X > 0.5, X, 0.0))


def test_a_sound_csr_matrix_is_not_copied():
    matrix = sp.csr_matrix(X)
    assert sound_sparse(matrix) is matrix
    assert sound_sparse(X) is X


def test_spare_room_and_other_index_types_are_fine():
    """SciPy allows both; the matrix that was given stays as it is."""
    matrix = sp.csr_matrix(X)
    matrix.data = np.append(matrix.data, [np.nan, np.inf])
    matrix.indices = np.append(matrix.indices, [99, -99]).astype(np.int64)
    with pytest.raises(ValueError, match="column indices"):
        sound_sparse(matrix)
    matrix.indices[-2:] = 0
    tidy = sound_sparse(matrix)
    assert tidy.data.size == tidy.indices.size == tidy.nnz == X.size
    assert tidy.indices.dtype == tidy.indptr.dtype
    assert matrix.data.size == X.size + 2
    expected = PSVC().fit(sp.csr_matrix(X), Y).decision_function(X)
    np.testing.assert_array_equal(PSVC().fit(matrix, Y).decision_function(X), expected)


DOORS = {
    "PSVC.fit": lambda bad: PSVC().fit(bad, Y),
    "LinearPSVC.fit": lambda bad: LinearPSVC().fit(bad, Y),
    "LinearPSVC.fit_blocks": lambda bad: LinearPSVC().fit_blocks([(X, Y), (bad, Y)]),
    "PSVCCV.fit": lambda bad: PSVCCV([1.5], [1.0], [1.0], cv=2).fit(bad, Y),
    "psvm_path": lambda bad: psvm_path(bad, Y, ps=[1.5], Cs=[1.0]),
    "linear psvm_path": lambda bad: psvm_path(bad, Y, ps=[1.5], Cs=[1.0], kernel="linear"),
    "PSVC.predict": lambda bad: PSVC().fit(X, Y).predict(bad),
    "PSVC.decision_function": lambda bad: PSVC().fit(X, Y).decision_function(bad),
    "LinearPSVC.predict": lambda bad: LinearPSVC().fit(X, Y).predict(bad),
    "LinearPSVC.decision_function": lambda bad: LinearPSVC().fit(X, Y).decision_function(bad),
    "PSVCCV.predict": lambda bad: PSVCCV([1.5], [1.0], [1.0], cv=2).fit(X, Y).predict(bad),
    "bound": lambda bad: generalization_bound(PSVC().fit(X, Y), bad, Y),
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS.keys())
def test_every_door_refuses(door, how):
    with pytest.raises(ValueError, match="malformed CSR matrix"):
        door(broken(how))


def test_blocks_are_looked_at_every_time():
    """A block that is sound when it is first read may not be later."""

    class Turning:
        reads = 0

        def __len__(self):
            return 1

        def __getitem__(self, k):
            self.reads += 1
            return (sp.csr_matrix(X) if self.reads == 1 else broken("index too large")), Y

    with pytest.raises(ValueError, match="malformed CSR matrix"):
        LinearPSVC().fit_blocks(Turning())
