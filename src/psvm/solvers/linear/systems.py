"""The linear systems ``H s = v`` of the Newton step, over the features and the intercept.

    H = diag(1, ..., 1, damping) + sum_i W_i z_i z_i',   z = [x - shift, 1]

Three ways: from the Gram matrix over the features, from the rows with W > 0 where these are fewer,
and by conjugate gradients where both are many. Without an intercept the last unknown is 0.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrs

from psvm.solvers.linear.cholesky import damped_cholesky

Array = npt.NDArray[np.float64]

# Unknowns up to which a system is factored; beyond, d^3 / 3 outgrows conjugate gradients.
MAX_FACTORED = 1000
# Features from which the rows may be the better unknowns; below, the Gram matrix is cheap.
_MANY_FEATURES = 64
# Against a precision out of reach (news20, 7,000 rows, p = 2, C = 1: no system needs more than 507;
# at most 100 make a quarter fewer products but a quarter more systems, 2000 are alike).
_MAX_CONJUGATE_GRADIENTS = 500


def best_system(features: int, entries: float, active: int, inner_products: bool) -> str:
    """The cheapest way for so many rows with W > 0: "features", "rows" or "gradients".

    With known inner products of the rows their system has only to be factored, whatever its size.
    """
    d, k = float(features), float(active)
    of_features = 0.5 * k * entries**2 + d**3 / 3.0
    if inner_products:
        return "rows" if k**3 / 3.0 < of_features else "features"
    of_rows = k * k * entries + k**3 / 3.0
    if features <= MAX_FACTORED:
        return "rows" if features >= _MANY_FEATURES and of_rows < 0.5 * of_features else "features"
    return "rows" if active <= MAX_FACTORED else "gradients"


class System(Protocol):
    """A system that can be solved for any right-hand side."""

    def solve(self, v: Array) -> Array:
        """``H^-1 v``."""
        ...


class Factor:
    """The Cholesky factor of a positive definite matrix, of which the lower triangle counts."""

    def __init__(self, matrix: Array) -> None:
        self.upper = damped_cholesky(matrix).T

    def solve(self, v: Array) -> Array:
        """The inverse times v."""
        # LAPACK directly: scipy's wrapper costs more than a small system.
        solution, _ = dpotrs(self.upper, v, lower=0)
        return np.asarray(solution)


class FeatureSystem:
    """The factor of H itself, from the lower triangle of the Gram matrix."""

    def __init__(self, gram: Array, damping: float, fit_intercept: bool) -> None:
        system = gram.copy()
        system[np.diag_indices(system.shape[0] - 1)] += 1.0
        system[-1, -1] += damping
        if not fit_intercept:
            system[-1, :-1] = 0.0
            system[-1, -1] = 1.0
        self.factor = Factor(system)

    def solve(self, v: Array) -> Array:
        """``H^-1 v``."""
        return self.factor.solve(v)


@dataclass(frozen=True)
class ActiveRows:
    """Rows with W > 0 of some block, their W, and their inner products where these are known."""

    rows: Any
    weight: Array
    inner_products: Array | None = None


class RowSystem:
    """The factor of ``M = I + Z Z'``, where the rows of Z are ``sqrt(W_i) (x_i - shift)``.

    With ``A = I + Z' Z``, ``A^-1 v = v - Z' M^-1 Z v``. The intercept borders A by ``Z' r``,
    ``r_i = sqrt(W_i)``, and its Schur complement is ``r' M^-1 r + damping``.
    """

    def __init__(
        self, parts: Sequence[ActiveRows], shift: Array, damping: float, fit_intercept: bool
    ) -> None:
        self.root = np.sqrt(np.concatenate([part.weight for part in parts]))
        self.rows: Any
        self.scale: Array | float = 1.0  # Z is the rows times this
        known = parts[0].inner_products
        if known is not None:  # of rows that are not shifted, in one block
            self.rows, self.scale = parts[0].rows, self.root
            gram = known * self.root[:, None] * self.root
        elif sp.issparse(parts[0].rows):
            rows = sp.vstack([part.rows for part in parts], format="csr")
            size = len(self.root)  # SciPy 1.11 has no diags_array
            self.rows = sp.dia_array((self.root[None], [0]), shape=(size, size)) @ rows
            gram = np.asarray((self.rows @ self.rows.T).toarray(), dtype=np.float64)
        else:
            rows = np.concatenate([part.rows for part in parts])
            self.rows = (rows - shift) * self.root[:, None]
            gram = self.rows @ self.rows.T
        gram[np.diag_indices(self.root.size)] += 1.0
        self.factor = Factor(gram)
        self.fit_intercept = fit_intercept
        self.border = self.factor.solve(self.root)
        self.schur = float(self.root @ self.border) + damping

    def solve(self, v: Array) -> Array:
        """``H^-1 v``."""
        inner = self.factor.solve(self.scale * (self.rows @ v[:-1]))
        if not self.fit_intercept:
            return np.append(v[:-1] - self.rows.T @ (self.scale * inner), v[-1])
        # r' Z A^-1 v = r' M^-1 Z v, and Z' M^-1 r is A^-1 of the border.
        b = (float(v[-1]) - float(self.root @ inner)) / self.schur
        return np.append(v[:-1] - self.rows.T @ (self.scale * (inner + b * self.border)), b)


def conjugate_gradients(
    v: Array, diagonal: Array, precision: float
) -> Generator[Array, Array, Array]:
    """``H^-1 v`` to a relative precision; yields vectors and is sent their products with H."""
    x, r = np.zeros_like(v), v
    z = r / diagonal
    direction, rz = z, float(r @ z)
    first = rz
    for _ in range(_MAX_CONJUGATE_GRADIENTS):
        if rz <= precision**2 * first or rz <= 0.0:
            break
        image = yield direction
        step = rz / float(direction @ image)
        x = x + step * direction
        r = r - step * image
        z = r / diagonal
        last, rz = rz, float(r @ z)
        direction = z + (rz / last) * direction
    return x
