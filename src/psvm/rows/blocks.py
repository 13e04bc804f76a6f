"""Rows in blocks: an array, a memory map or a CSR matrix cut without copying.

The linear solvers see the training set as a sequence of blocks, each a C-contiguous array or a
canonical CSR matrix. A block is used and let go before the next one is asked for, so a sequence
may load its blocks on demand.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
import scipy.sparse as sp

from psvm.rows.sizes import BLOCK_ENTRIES


class ArrayBlocks(Sequence[Any]):
    """Consecutive blocks of rows of an array or CSR matrix, as views."""

    def __init__(self, X: Any, rows_per_block: int) -> None:
        self.X = X
        self.cuts = [*range(0, X.shape[0], rows_per_block), X.shape[0]]
        self.sizes = [end - begin for begin, end in pairwise(self.cuts)]
        # Pages of a file mapped into memory are handed back once used: they can be read again.
        self.mapping = None if sp.issparse(X) else _mapping_of(X)

    @property
    def in_memory(self) -> bool:
        """Whether the rows lie in memory, to be read in any order."""
        return self.mapping is None

    def __len__(self) -> int:
        return len(self.cuts) - 1

    @overload
    def __getitem__(self, k: int) -> Any: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[Any]: ...
    def __getitem__(self, k: Any) -> Any:
        if not 0 <= k < len(self):
            raise IndexError(k)
        begin, end = self.cuts[k], self.cuts[k + 1]
        if sp.issparse(self.X):
            return _csr_rows(self.X, begin, end)
        if self.mapping is not None:
            self.mapping.madvise(mmap.MADV_DONTNEED)
        return self.X[begin:end]


def split_rows(X: Any, rows_per_block: int | None = None) -> ArrayBlocks:
    """Blocks of a dense C-contiguous array, a memory map of one, or a CSR matrix."""
    if rows_per_block is None:
        entries = X.nnz / max(X.shape[0], 1) if sp.issparse(X) else X.shape[1]
        rows_per_block = max(1000, int(BLOCK_ENTRIES / max(entries, 8)))
    return ArrayBlocks(X, rows_per_block)


def _csr_rows(X: Any, begin: int, end: int) -> Any:
    """Rows of a CSR matrix; the entries are not copied."""
    if (begin, end) == (0, X.shape[0]):
        return X
    first, last = X.indptr[begin], X.indptr[end]
    block = sp.csr_matrix((end - begin, X.shape[1]), dtype=X.dtype)
    block.data, block.indices = X.data[first:last], X.indices[first:last]
    block.indptr = X.indptr[begin : end + 1] - first
    return block


def _mapping_of(X: Any) -> mmap.mmap | None:
    """The memory map of a file that an array is a view of, if any.

    Only a map shared with its file will do: handing back pages of a private one ("c") would lose
    what was written to them.
    """
    shared = False
    while isinstance(X, np.ndarray):
        shared = shared or (isinstance(X, np.memmap) and X.mode in ("r", "r+", "w+"))
        X = X.base
    return X if shared and isinstance(X, mmap.mmap) and hasattr(X, "madvise") else None
