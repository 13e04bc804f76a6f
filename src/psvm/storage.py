"""Rows stored the way that is fastest to compute with."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from psvm import _core

# Entries below which a conversion is not worth the look.
_WORTH_CONVERTING = 1e5
# Rows looked at.
_SAMPLE = 1000


def mostly_zero_as_csr(X: Any, most: float, threads: int) -> Any:
    """A CSR matrix of the nonzeros of a dense array, if their share is below ``most``; else X.

    The share is judged by some of the rows.
    """
    if sp.issparse(X) or X.shape[0] * X.shape[1] < _WORTH_CONVERTING:
        return X
    some = X[:: max(1, X.shape[0] // _SAMPLE)]
    if np.count_nonzero(some) >= most * some.size:
        return X
    if X.size >= 2**31:  # too many for 32-bit numbers, perhaps
        return sp.csr_matrix(X)
    # Eight times faster than SciPy's conversion on a9a.
    return sp.csr_matrix(_core.nonzeros_of(X, threads), shape=X.shape, copy=False)
