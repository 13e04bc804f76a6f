"""Rows stored the way that is fastest to compute with."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from psvm import _core

# A kernel is computed from CSR matrices where arrays have at least so many features and fewer than
# this share of nonzeros: a nonzero costs as much as two features of a dense row (mnist: 9 instead
# of 20 ns an entry), and a few features cost less than looking for zeros.
_MANY_FEATURES, _MOSTLY_ZERO = 128, 0.3
# All kernels of features but the exponential: the root of a difference of sparse rows cancels.
_AS_EXACT_IF_SPARSE = ("linear", "poly", "rbf", "sigmoid", "laplacian")
# Entries below which a conversion is not worth the look.
WORTH_CONVERTING = 1e5
# Rows looked at.
_SAMPLE = 1000


def mostly_zero_as_csr(X: Any, most: float, threads: int) -> Any:
    """A CSR matrix of the nonzeros of a dense array, if their share is below ``most``; else X.

    The share is judged by some of the rows.
    """
    if sp.issparse(X) or X.shape[0] * X.shape[1] < WORTH_CONVERTING:
        return X
    some = X[:: max(1, X.shape[0] // _SAMPLE)]
    if np.count_nonzero(some) >= most * some.size:
        return X
    if X.size >= 2**31:  # too many for 32-bit numbers, perhaps
        return sp.csr_matrix(X)
    # Eight times faster than SciPy's conversion on a9a.
    return sp.csr_matrix(_core.nonzeros_of(X, threads), shape=X.shape, copy=False)


def stored_for_kernel(X: Any, function: Any, threads: int) -> Any:
    """X as the kernel ``function`` is computed from it fastest: itself, or as a CSR matrix."""
    if function not in _AS_EXACT_IF_SPARSE or X.shape[1] < _MANY_FEATURES:
        return X
    return mostly_zero_as_csr(X, _MOSTLY_ZERO, threads)
