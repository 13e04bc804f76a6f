"""Rows of any kind, which only a callable kernel looks into.

A kernel of texts, series or graphs takes lists of strings, arrays of three dimensions or data
frames. Everything here needs only to count such rows and to choose among them.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from psvm.rows.sparse_format import sound_sparse


class GivenRows:
    """Rows as the user gave them, counted and indexed like an array of one column.

    Attributes
    ----------
    X : object
        The rows: a list, an array of any dimension and type, a data frame, a CSR matrix.
    shape : tuple of int
        Their number, and 1: what a row consists of is not known.
    """

    def __init__(self, X: Any) -> None:
        if sp.issparse(X):  # of which only this one has rows to choose
            X = sound_sparse(X).tocsr()
        self.X = X
        self.shape = (int(_num_samples(X)), 1)

    @classmethod
    def of(cls, X: Any) -> GivenRows:
        """The rows of X, also if they are wrapped already."""
        return X if isinstance(X, cls) else cls(X)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> GivenRows:
        """Some rows, by slice or by number, of the kind that they were; all of them as they are."""
        if isinstance(rows, slice) and rows.indices(len(self)) == (0, len(self), 1):
            return self
        return GivenRows(_safe_indexing(self.X, rows))

    def followed_by(self, more: GivenRows) -> GivenRows:
        """These rows and then others, of the kind that they are."""
        first, second = self.X, more.X
        if sp.issparse(first) or sp.issparse(second):
            return GivenRows(sp.vstack([first, second], format="csr"))
        if type(first) is type(second) and hasattr(first, "iloc"):  # pandas
            return GivenRows(sys.modules["pandas"].concat([first, second]))
        if type(first) is type(second) and hasattr(first, "gather_every"):  # polars
            return GivenRows(sys.modules["polars"].concat([first, second]))
        if hasattr(first, "__array__"):
            return GivenRows(np.concatenate([np.asarray(first), np.asarray(second)]))
        return GivenRows([*first, *second])


def as_given(X: Any) -> Any:
    """What the user gave."""
    return X.X if isinstance(X, GivenRows) else X
