"""Rows stored the way that is fastest to compute with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm import _core
from psvm.rows.kernel import facts_of
from psvm.rows.sizes import BLOCK_ENTRIES, MANY_FEATURES, MOSTLY_ZERO, WORTH_CONVERTING

# Rows looked at (mnist, a9a, usps, spambase: the share of nonzeros is true to 0.012, in up to 2 ms
# where converting takes some 100).
_SAMPLE = 1000
# Of these, rows whose middle value of a column is taken for its commonest one.
_FEW = 101


def mostly_zero_as_csr(X: Any, threads: int) -> Any:
    """A CSR matrix of the nonzeros of a dense array, if they are few by some of the rows; or X."""
    if sp.issparse(X) or X.shape[0] * X.shape[1] < WORTH_CONVERTING:
        return X
    some = X[:: max(1, X.shape[0] // _SAMPLE)]
    if np.count_nonzero(some) >= MOSTLY_ZERO * some.size:
        return X
    if X.size >= 2**31:  # too many for 32-bit numbers, perhaps
        return sp.csr_matrix(X)
    # Eight times faster than SciPy's conversion on a9a.
    return sp.csr_matrix(_core.nonzeros_of(X, threads), shape=X.shape, copy=False)


def commonest_values(X: Any) -> npt.NDArray[np.float64] | None:
    """What to subtract from the columns of a dense array so that it is mostly zero.

    None unless that halves the entries to be stored, by some of the rows. A value that more than
    half of a column has is its middle one: so it is with one-hot columns that were scaled. The
    other columns stay as they are.
    """
    if sp.issparse(X) or X.shape[0] * X.shape[1] < WORTH_CONVERTING:
        return None
    some = X[:: max(1, X.shape[0] // _SAMPLE)]
    few = some[:: max(1, some.shape[0] // _FEW)]
    middle = np.partition(few, few.shape[0] // 2, axis=0)[few.shape[0] // 2]
    same = np.count_nonzero(some == middle, axis=0)
    zero = np.count_nonzero(some == 0, axis=0)
    moved = same > np.maximum(zero, some.shape[0] // 2)
    stored = some.size - int(np.where(moved, same, zero).sum())
    if stored >= min(MOSTLY_ZERO * some.size, 0.5 * (some.size - int(zero.sum()))):
        return None
    return np.where(moved, middle, 0.0).astype(np.float64)


def nonzeros_beside(X: Any, offset: npt.NDArray[np.float64], threads: int) -> Any:
    """A CSR matrix of what a dense array less an offset of its columns is."""
    step = max(1, BLOCK_ENTRIES // X.shape[1])
    blocks = []
    for begin in range(0, X.shape[0], step):
        block = X[begin : begin + step] - offset
        nonzeros = _core.nonzeros_of(block, threads)
        blocks.append(sp.csr_matrix(nonzeros, shape=block.shape, copy=False))
    return sp.vstack(blocks, format="csr") if len(blocks) > 1 else blocks[0]


def stored_for_kernel(X: Any, function: Any, threads: int) -> Any:
    """X as the kernel ``function`` is computed from it fastest: itself, or as a CSR matrix."""
    if not facts_of(function).of_features or X.shape[1] < MANY_FEATURES:
        return X
    return mostly_zero_as_csr(X, threads)
