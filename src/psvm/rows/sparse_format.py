"""Sparse matrices whose indices point where they should.

SciPy does not look at the index arrays of a matrix that is made of them, or that are changed later,
and compiled code, SciPy's too, would read and write wherever they point. One pass over the indices
(0.1 ns each) is a thousandth of a fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp


def sound_sparse(X: Any, name: str = "X") -> Any:
    """X itself if it is not sparse; else a sound sparse matrix of the same entries, or ValueError.

    A CSR matrix stays as it is, but for spare room at the end of its arrays and the types of its
    indices. Nothing is changed in place.
    """
    if not sp.issparse(X) or X.ndim != 2:
        return X
    if X.format == "coo":
        for axis, places in (("row", X.row), ("column", X.col)):
            _check_indices(X, name, axis, places, X.shape[axis == "column"])
            _check(len(places) == len(X.data), X, name, "indices and data must be equally many")
        return X
    if X.format not in ("csr", "csc", "bsr"):
        X = X.tocsr()
    rows, columns = X.shape[::-1] if X.format == "csc" else X.shape
    if X.format == "bsr":
        rows, columns = rows // X.blocksize[0], columns // X.blocksize[1]
    _check_pointers(X, name, rows)
    _check_indices(X, name, "row" if X.format == "csc" else "column", X.indices, columns)
    return _tidy(X) if X.format == "csr" else X


def _tidy(X: Any) -> Any:
    """The CSR matrix without spare room, its indices of one type that SciPy uses."""
    types = {X.indices.dtype, X.indptr.dtype}
    if len(X.data) == X.nnz and len(types) == 1 and types <= {np.dtype("i4"), np.dtype("i8")}:
        return X
    parts = X.data[: X.nnz], X.indices[: X.nnz], X.indptr
    return type(X)(parts, shape=X.shape)


def _check_pointers(X: Any, name: str, rows: int) -> None:
    pointers = X.indptr
    _check_integers(X, name, "indptr", pointers)
    fits = pointers.size == rows + 1
    _check(fits, X, name, f"indptr must have {rows + 1} entries, got {pointers.size}")
    _check(pointers[0] == 0, X, name, f"indptr must begin with 0, got {pointers[0]}")
    _check(bool((pointers[1:] >= pointers[:-1]).all()), X, name, "indptr must not decrease")
    stored = min(len(X.indices), len(X.data))
    enough = pointers[-1] <= stored
    _check(enough, X, name, f"indptr ends at {pointers[-1]}, but there are {stored} entries")


def _check_indices(X: Any, name: str, axis: str, indices: npt.NDArray[Any], end: int) -> None:
    _check_integers(X, name, f"{axis} indices", indices)
    if indices.size == 0:
        return
    # Negative numbers are the largest when read without a sign: one pass in place of two.
    unsigned = indices.view(f"u{indices.itemsize}") if indices.dtype.kind == "i" else indices
    if unsigned.max() >= end:
        wrong = indices.min() if indices.min() < 0 else indices.max()
        _check(False, X, name, f"{axis} indices must lie in [0, {end}), got {wrong}")


def _check_integers(X: Any, name: str, what: str, values: Any) -> None:
    integers = isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu"
    _check(integers, X, name, f"{what} must be a 1-D array of integers")


def _check(holds: Any, X: Any, name: str, expected: str) -> None:
    if not holds:
        raise ValueError(
            f"{name} is a malformed {X.format.upper()} matrix: {expected}. Build it anew, for "
            f"instance by scipy.sparse.coo_matrix((data, (row, column)), shape)."
        )
