"""Rows stored the way that is fastest to compute with."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from psvm import _core
from psvm.rows.kernel import facts_of
from psvm.rows.sizes import MANY_FEATURES, MOSTLY_ZERO, WORTH_CONVERTING

# Rows looked at (mnist, a9a, usps, spambase: the share of nonzeros is true to 0.012, in up to 2 ms
# where converting takes some 100).
_SAMPLE = 1000


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


def stored_for_kernel(X: Any, function: Any, threads: int) -> Any:
    """X as the kernel ``function`` is computed from it fastest: itself, or as a CSR matrix."""
    if not facts_of(function).of_features or X.shape[1] < MANY_FEATURES:
        return X
    return mostly_zero_as_csr(X, threads)
