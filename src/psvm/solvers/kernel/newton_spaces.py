"""Where ``w`` lives while Newton's method runs: in the span of the rows, or among the features.

Both answer the same few questions, so that one loop (``proximal_newton``) serves both:

=====================  ==============================  =========================
question               KernelSpace (few rows)          FeatureSpace (few features)
=====================  ==============================  =========================
``w`` is               beta, w = sum beta_i y_i phi_i  the vector itself
``image(alpha)``       alpha                           X' (alpha y)
``margins(w)``         Q w                             y * (X w)
``inner(v, w)``        v' Q w                          v' w
``newton(...)``        one unknown per active row      one unknown per feature
=====================  ==============================  =========================

``newton`` solves for the direction (dw, db) of the system

    dw + sum_i W_i r_i dm_i = error,    sum_i W_i y_i dm_i + h db = unbalanced,
    dm_i = <r_i, dw> + y_i db

where ``r_i = y_i phi(x_i)``, and h keeps the step finite where no row answers to b.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from psvm.solvers.cholesky import damped_cholesky

Array = npt.NDArray[np.float64]

# Rows whose weight is this far below rounding do not enter a system.
_NEGLIGIBLE = 1e-14


class Space(Protocol):
    """What the Newton loop asks of the space of w."""

    largest: float  # largest K(x, x)

    def image(self, alpha: Array) -> Array:
        """``sum_i alpha_i r_i``."""
        ...

    def margins(self, w: Array) -> Array:
        """``<r_i, w>`` for every row."""
        ...

    def inner(self, v: Array, w: Array) -> float:
        """Inner product."""
        ...

    def newton(
        self, error: Array, weight: Array, unbalanced: float | None, damping: float
    ) -> tuple[Array, float]:
        """Newton direction; ``unbalanced`` is None where b is fixed."""
        ...


class KernelSpace:
    """The span of the rows, given their kernel matrix."""

    def __init__(self, gram: Array, y: Array) -> None:
        self.Q = y[:, None] * gram * y[None, :]
        self.y = y
        self.largest = float(np.max(np.diag(gram))) or 1.0

    def image(self, alpha: Array) -> Array:
        """``sum_i alpha_i r_i``."""
        return alpha

    def margins(self, w: Array) -> Array:
        """``<r_i, w>`` for every row."""
        return np.asarray(self.Q @ w)

    def inner(self, v: Array, w: Array) -> float:
        """Inner product."""
        return float(v @ (self.Q @ w))

    def newton(
        self, error: Array, weight: Array, unbalanced: float | None, damping: float
    ) -> tuple[Array, float]:
        """Newton direction.

        With ``dw_A = S z``, S = diag(sqrt(W)), on the active rows A the matrix of the system is
        ``I + S Q S``: as well conditioned for tiny weights as for large ones.
        """
        y, Q = self.y, self.Q
        active = np.flatnonzero(weight * self.largest > _NEGLIGIBLE)
        direction = error.copy()
        direction[active] = 0.0
        if not active.size:
            db = 0.0 if not unbalanced else unbalanced / damping
            return direction, db
        root = np.sqrt(weight[active])
        system = Q[np.ix_(active, active)] * root[:, None] * root[None, :]
        system[np.diag_indices(active.size)] += 1.0
        factor = (damped_cholesky(system), True)
        right = error[active] / root - root * (Q[active] @ direction)
        solution = scipy.linalg.cho_solve(factor, right)
        db = 0.0
        if unbalanced is not None:
            border = root * y[active]
            along_b = scipy.linalg.cho_solve(factor, border)
            wanted = float(y[active] @ error[active]) - unbalanced
            db = (float(border @ solution) - wanted) / (float(border @ along_b) + damping)
            solution = solution - db * along_b
        direction[active] = root * solution
        return direction, db


class FeatureSpace:
    """The features themselves (linear kernel), dense or sparse."""

    def __init__(self, X: Any, y: Array) -> None:
        self.X, self.y = X, y
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
        self.largest = float(np.max(np.asarray(squares))) or 1.0

    def image(self, alpha: Array) -> Array:
        """``sum_i alpha_i r_i``."""
        return np.asarray(self.X.T @ (self.y * alpha), dtype=np.float64)

    def margins(self, w: Array) -> Array:
        """``<r_i, w>`` for every row."""
        return np.asarray(self.y * (self.X @ w), dtype=np.float64)

    def inner(self, v: Array, w: Array) -> float:
        """Inner product."""
        return float(v @ w)

    def newton(
        self, error: Array, weight: Array, unbalanced: float | None, damping: float
    ) -> tuple[Array, float]:
        """Newton direction, from the Gram matrix of the active rows over the features."""
        active = np.flatnonzero(weight * self.largest > _NEGLIGIBLE)
        d = error.size
        system = np.zeros((d + 1, d + 1))
        # In blocks of rows, so that the scaled copy stays small.
        step = max(1, 2**22 // (d + 1))
        for begin in range(0, active.size, step):
            rows = active[begin : begin + step]
            root = np.sqrt(weight[rows])
            block = self.X[rows]
            if sp.issparse(block):
                scaled = sp.diags_array(root) @ block
                system[:d, :d] += (scaled.T @ scaled).toarray()
            else:
                scaled = block * root[:, None]
                system[:d, :d] += scaled.T @ scaled
            system[:d, d] += scaled.T @ root
        system[np.diag_indices(d)] += 1.0
        right = np.append(error, 0.0 if unbalanced is None else unbalanced)
        if unbalanced is None:
            system[:d, d] = 0.0
            system[d, d] = 1.0
        else:
            system[d, d] = float(weight[active].sum()) + damping
        system[d, :d] = system[:d, d]
        solution = scipy.linalg.cho_solve((damped_cholesky(system), True), right)
        return solution[:d], float(solution[d])


def space_of(gram: Array, y: Array) -> KernelSpace | FeatureSpace:
    """The better space for a kernel matrix: a factor of low rank has few features, and digits.

    A linear or polynomial kernel has the rank of its features, and with a large C the solution is
    a small difference of large multiples of nearly dependent rows: among features it is not.

    Raises LinAlgError if the matrix is not positive semidefinite.
    """
    n = gram.shape[0]
    tolerance = n * float(np.finfo(np.float64).eps) * float(np.max(np.diag(gram), initial=0.0))
    factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(gram, tol=tolerance, lower=1)
    if rank == n:
        return KernelSpace(gram, y)
    features = np.empty((n, rank))
    features[pivots - 1] = np.tril(factor)[:, :rank]
    # What the factor leaves out is rounding, or a part of the matrix that is not positive.
    probe = np.cos(np.arange(1.0, n + 1.0))
    left_out = gram @ probe - features @ (features.T @ probe)
    if np.linalg.norm(left_out) > 1e3 * tolerance * np.linalg.norm(probe):
        raise np.linalg.LinAlgError("the kernel matrix is not positive semidefinite")
    return FeatureSpace(features, y) if rank <= n // 2 else KernelSpace(gram, y)
