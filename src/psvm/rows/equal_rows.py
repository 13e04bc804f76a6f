r"""Equal training rows as one row whose cost is their sum.

Rows with the same features and the same label have the same margin and slack, so for every p

.. math:: \sum_i C_i \xi^p = \Bigl(\sum_i C_i\Bigr) \xi^p .

In the dual :math:`\alpha = \sum_i \alpha_i` of the merged row belongs to
:math:`\alpha_i = \alpha\, C_i / \sum_j C_j`: P, D and the gap are those of the rows one by one. Of
a9a's rows a quarter vanish, of w8a's a third, of skin_nonskin's four fifths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm import _core
from psvm.rows.sizes import SMALL

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint64]

# Share of the rows that must vanish for merging to pay: at 0.02 and 0.05 fits of 3,000 and 6,000
# rows take as long as with all of them, at 0.1 up to 1.3 times less. Of a small set it always pays:
# without equal rows it is solved at once (see ``cpp/smo/face.hpp``).
_WORTH = 0.05


@dataclass(frozen=True)
class EqualRows:
    """Which rows are equal.

    Attributes
    ----------
    first : ndarray of int, shape (n_groups,)
        The first row of every group of equal rows, ascending.
    group : ndarray of int, shape (n,)
        The group of every row.
    """

    first: npt.NDArray[np.intp]
    group: npt.NDArray[np.intp]

    @property
    def merged(self) -> bool:
        """Whether there are fewer groups than rows."""
        return self.first.size < self.group.size

    def totals(self, values: Array) -> Array:
        """Sum of the values of every group."""
        if not self.merged:
            return values
        sums: Array = np.zeros(self.first.size)
        np.add.at(sums, self.group, values)
        return sums

    def shares(self, values: Array) -> Array:
        """The part of every row in the sum of its group."""
        if not self.merged:
            return np.ones(values.size)
        return np.asarray(values / self.totals(values)[self.group])


def no_equal_rows(n: int) -> EqualRows:
    """Every row by itself."""
    every = np.arange(n)
    return EqualRows(every, every)


def find_equal_rows(X: Any, codes: Codes, worth: float = _WORTH) -> EqualRows:
    """Group the rows of X with the same features and class, if enough rows vanish.

    Enough are the share ``worth`` of many rows, and any of few. X is an array or a canonical CSR
    matrix, ``codes`` are the numbers of the classes.
    """
    n = X.shape[0]
    if n == 0:
        return no_equal_rows(0)
    found = EqualRows(*_core.group_equal(_hashed_rows(X, codes)))
    vanish = n - found.first.size
    if vanish == 0 or (n > SMALL and vanish < worth * n):
        return no_equal_rows(n)
    others = np.flatnonzero(found.first[found.group] != np.arange(n))
    same_as = found.first[found.group[others]]
    if not (_equal(X[others], X[same_as]) and np.array_equal(codes[others], codes[same_as])):
        return no_equal_rows(n)  # rows of equal hash that differ: once in 1e9 data sets
    return found


def _equal(A: Any, B: Any) -> bool:
    return (A != B).nnz == 0 if sp.issparse(A) else np.array_equal(A, B)


def _hashed_rows(X: Any, codes: Codes) -> Hashes:
    """A number for each row and its class."""
    codes = np.ascontiguousarray(codes)
    if sp.issparse(X):
        index = np.promote_types(X.indices.dtype, X.indptr.dtype)
        indices, indptr = (one.astype(index, copy=False) for one in (X.indices, X.indptr))
        return _core.hash_sparse_rows(X.data, indices, indptr, codes, 1)
    return _core.hash_rows(X, codes, 1)
