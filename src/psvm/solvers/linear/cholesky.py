"""Cholesky factors of matrices that are positive definite up to rounding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.linalg.lapack import dpotrf

Array = npt.NDArray[np.float64]


def damped_cholesky(matrix: Array) -> Array:
    """The lower Cholesky factor of a matrix that is positive definite up to rounding.

    Only the lower triangles of the matrix and of what is returned, in C order, count.
    Weights of many orders of magnitude can make rounding win; a diagonal just large enough to hold
    against it still gives a direction of descent.
    """
    largest = float(np.max(np.diag(matrix)))
    for damping in (0.0, 1e-14, 1e-12, 1e-10):
        damped = np.array(matrix, order="C")
        damped[np.diag_indices(matrix.shape[0])] += damping * largest
        try:
            return cholesky_in_place(damped)
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("the system of the Newton step is not positive definite")


def cholesky_in_place(matrix: Array, block: int = 1024) -> Array:
    """The lower Cholesky factor of a symmetric matrix in C order, over its lower triangle.

    In blocks short enough for Ctrl-C: one LAPACK call on very many rows would answer only seconds
    later. Raises LinAlgError if the matrix is not positive definite.
    """
    n = matrix.shape[0]
    if n <= 4 * block:
        # To LAPACK, which counts by columns, it is an upper triangle: no copy is made (1,577 rows:
        # 27 ms instead of 80).
        _, failed = dpotrf(matrix.T, lower=0, overwrite_a=1, clean=0)
        if failed:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        return matrix
    for begin in range(0, n, block):
        end = min(begin + block, n)
        own = scipy.linalg.cholesky(matrix[begin:end, begin:end], lower=True)
        matrix[begin:end, begin:end] = own
        below = scipy.linalg.solve_triangular(own, matrix[end:, begin:end].T, lower=True).T
        matrix[end:, begin:end] = below
        for column in range(end, n, 4 * block):
            last = min(column + 4 * block, n)
            matrix[column:, column:last] -= (
                below[column - end :] @ below[column - end : last - end].T
            )
    return matrix
