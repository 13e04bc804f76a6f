"""Cholesky factors in blocks, and of matrices that rounding has made indefinite."""

import numpy as np
import pytest

from psvm.solvers.linear.cholesky import cholesky_in_place, damped_cholesky


def test_blocked_cholesky():
    """Small blocks, so that the blocked branch runs."""
    A = np.random.default_rng(0).normal(size=(50, 50))
    A = A @ A.T + np.eye(50)
    factor = np.tril(cholesky_in_place(A.copy(), block=8))
    assert factor @ factor.T == pytest.approx(A)
    with pytest.raises(np.linalg.LinAlgError):
        cholesky_in_place(-A, block=8)


def test_damping_holds_against_rounding():
    """A matrix whose smallest eigenvalue is just below 0 has a factor close by."""
    A = np.diag([1.0, 1.0, -1e-13])
    factor = damped_cholesky(A)
    assert factor @ factor.T == pytest.approx(A, abs=1e-9)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        damped_cholesky(np.diag([1.0, -1e-3]))
