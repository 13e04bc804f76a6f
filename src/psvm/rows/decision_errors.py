"""How far rounding may have moved decision values ``sum_j dual_j K(x_i, x_j)``, row by row.

An entry is off by a multiple of the unit roundoff u that depends on how it is computed
(``kernel_functions.hpp``; m: features, or nonzeros of a row that has the most). Sums of differences
(a distance D of sparse rows is the cheap sum from norms where that is at least 1/64 of the norms)
have a relative error, so that the entry exp(-D) is off by ``m D exp(-D) <= 0.37 m``:

=====================  ==========================================================================
kernel                 at most, in units of u
=====================  ==========================================================================
rbf, from norms        ``8 + (3 m + 12) gamma (|x|^2 + |z|^2)``, x and z as centred; never above
                       ``4 ln 2`` times ``MOST_CANCELLED`` for rows among those packed, four times
                       that and ``6 (m + 2)`` for others: beyond that, differences are summed
of differences         ``8 + 0.37 (m + 6)``; of sparse rows with ``128 (m + 2)``
sigmoid                ``8 + (m + 6) (gamma |x| |z| + |coef0|)``
poly                   ``degree (m + 8) (gamma |x| |z| + |coef0|)^degree``
others                 0: a matrix or a callable gives the entries that are meant
=====================  ==========================================================================

and a sum of n products by n times u of their magnitudes. These are bounded by norms, which costs
next to nothing, or for ``tight`` bounds of kernels that are not negative summed up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm import _core
from psvm.mathematics.cached import cached_property
from psvm.mathematics.rounding import UNIT
from psvm.rows.kernel import dense_if_small, weights_of

if TYPE_CHECKING:
    from psvm.rows.kernel_matrix import TrainingKernel

Array = npt.NDArray[np.float64]

_TINY = float(np.finfo(np.float64).tiny)
# Roundoff of extended precision, where there is one, and products up to which it is used: 10 ms.
_EPS = float(np.finfo(np.longdouble).eps)
_PRECISE_WORK = 2_000_000


@dataclass(frozen=True)
class Precise:
    """Values ``f + b``, rounded once, what they may be off by, and ``||w||^2``."""

    values: Array
    errors: Array
    squared_norm: float


@dataclass
class DecisionErrors:
    """Bounds for the decision values of one training set."""

    kernel: TrainingKernel

    @cached_property
    def _norms(self) -> Array:
        """Of every row: squared and centred for rbf, or as the kernel's entries need them."""
        facts, X = self.kernel.kernel.facts, self.kernel.X
        if not facts.of_features:
            return np.asarray(np.sqrt(np.abs(self.kernel.float64.diagonal())))
        if sp.issparse(X):
            powers = np.abs(X.data) if facts.of_absolute else np.square(X.data, dtype=np.float64)
            of_entries = sp.csr_array((powers, X.indices, X.indptr), shape=X.shape)
            norms = np.asarray(of_entries.sum(axis=1), dtype=np.float64)
        else:
            shift = self.kernel.shift
            rows = X if shift is None else X - shift
            squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
            norms = np.abs(rows).sum(axis=1) if facts.of_absolute else squares
        return norms if facts.of_absolute or facts.of_squares else np.sqrt(norms)

    @cached_property
    def _terms(self) -> float:
        """Terms of a sum over the features of a row, at most."""
        X = self.kernel.X
        if sp.issparse(X):
            return float(np.diff(X.indptr).max(initial=0))
        return float(X.shape[1])

    def farthest(self, segments: Sequence[int], count: int) -> npt.NDArray[np.bool_]:
        """Which rows of the segments have the largest norms: their entries are the least exact."""
        norms = self._norms[self.kernel.columns(segments)]
        count = min(count, norms.size)
        far = np.zeros(norms.size, dtype=np.bool_)
        far[np.argpartition(norms, -count)[-count:]] = True
        return far

    @cached_property
    def of_unit(self) -> float:
        """How far the decision values of dual variables that sum up to 1 may be off, any row's."""
        n, most = float(self.kernel.size), self.most
        if not most < np.inf:
            return np.inf
        if self.kernel.kernel.facts.is_product:
            return 1.01 * most * UNIT * (3.0 * n + self._terms + 32.0)
        relative, absolute = self._entry_errors(self._largest_norm, self._largest_norm)
        return float(1.01 * (relative * most + absolute + (n + 16.0) * UNIT * most))

    @cached_property
    def _largest_norm(self) -> Any:
        """A number of numpy's, whose powers may be infinite."""
        return self._norms.max(initial=0.0)

    @cached_property
    def most(self) -> float:
        """The largest ``|K(x, z)|``, at most."""
        return float(self._sizes(self._largest_norm, self._largest_norm))

    def bounds(
        self,
        segments: Sequence[int],
        dual: Array,
        threads: int,
        *,
        tight: bool = False,
        scaled: bool = False,
    ) -> Array:
        """What ``TrainingKernel.decision`` may be off by, for all rows of the segments.

        Of dual variables that are ``scaled`` before they are stored, and rounded once more.
        """
        facts, columns = self.kernel.kernel.facts, self.kernel.columns(segments)
        norms, chosen = self._norms[columns], np.flatnonzero(dual)
        if chosen.size == 0:
            return np.zeros(dual.size)
        if facts.is_product:
            moved = scaled or self.kernel.split
            return self._of_product(norms, columns[chosen], dual[chosen], moved)
        largest, total = float(norms[chosen].max()), float(np.abs(dual).sum())
        relative, absolute = self._entry_errors(norms, largest)
        relative = relative + self._depth(chosen.size) * UNIT
        if tight and facts.of_difference:
            sums = self.kernel.decision(segments, np.abs(dual), threads)
            return np.asarray(1.01 * (sums * relative + self._at_most(absolute, total, sums)))
        error = 1.01 * total * (absolute + relative * self._sizes(norms, largest))
        return np.asarray(np.broadcast_to(error, norms.shape))

    def _depth(self, terms: int) -> float:
        """Additions one after the other in a sum over so many support vectors, at most."""
        if sp.issparse(self.kernel.X) or self.kernel.size <= self.kernel.most_kept:
            return terms + 8.0
        return min(terms, terms / 4.0 + 128.0) + 8.0  # in tiles of at least four rows

    def _at_most(self, absolute: Any, total: float, sums: Array) -> Array:
        """The sum of errors of ``0.37 c``, which are ``c`` times the logarithm of K beside K.

        Entries below the smallest normal number, of logarithm -709, are clamped to it.
        """
        return np.asarray(np.minimum(total, 709.0 / 0.37 * sums) * absolute + total * _TINY)

    def precise(self, segments: Sequence[int], dual: Array, intercept: float) -> Precise | None:
        """Values ``f + b`` summed in extended precision.

        None where that would take long, or the platform has no such numbers.
        """
        facts, rows = self.kernel.kernel.facts, self.kernel.columns(segments).size
        support = np.flatnonzero(dual)
        if _EPS >= UNIT or support.size == 0:
            return None
        if facts.is_product:
            X = dense_if_small(self.kernel.rows(segments))
            if sp.issparse(X) or X.size > _PRECISE_WORK:
                return None
            f, error, squared_norm = self._precise_product(X.astype(np.longdouble), dual, support)
        elif self.kernel.size <= self.kernel.most_kept and rows * support.size <= _PRECISE_WORK:
            f, error, squared_norm = self._precise_sums(segments, dual, support)
        else:
            return None
        values = f + np.longdouble(intercept)
        error = 1.01 * (error + 4.0 * _EPS * (np.abs(values) + abs(intercept)))
        return Precise(values.astype(np.float64), error.astype(np.float64), float(squared_norm))

    def _precise_product(self, X: Any, dual: Array, support: npt.NDArray[np.intp]) -> Any:
        """``<x, w>`` and its error, and ``||w||^2``."""
        coef, vectors = dual[support].astype(np.longdouble), X[support]
        centre, total = X.mean(axis=0), np.longdouble(math.fsum(dual))
        w = coef @ (vectors - centre) + total * centre
        size = np.abs(coef) @ np.abs(vectors - centre) + abs(total) * np.abs(centre)
        of_w = (support.size + 8.0) * _EPS * size
        if self.kernel.split:
            of_w = of_w + 2.0 * UNIT * (np.abs(coef) @ np.abs(vectors))
        error = np.abs(X) @ ((X.shape[1] + 8.0) * _EPS * np.abs(w) + of_w)
        return X @ w, error, w @ w

    def _precise_sums(
        self, segments: Sequence[int], dual: Array, support: npt.NDArray[np.intp]
    ) -> Any:
        """The sum over kernel entries in float64 and its error, and ``||w||^2``."""
        coef = dual[support].astype(np.longdouble)
        K = self.kernel.gram(segments, 1)[:, support].astype(np.longdouble)
        f, sums, total = K @ coef, np.abs(K) @ np.abs(coef), float(np.abs(dual).sum())
        norms = self._norms[self.kernel.columns(segments)]
        relative, absolute = self._entry_errors(norms, float(norms[support].max()))
        relative = relative + (support.size + 8.0) * _EPS + 2.0 * UNIT * self.kernel.split
        if self.kernel.kernel.facts.of_difference:
            top = self._at_most(absolute, total, sums.astype(np.float64))
        else:
            top = total * absolute
        return f, relative * sums + top, coef @ f[support]

    def _sizes(self, norms: Any, largest: float) -> Any:
        """``|K(x, z)|`` at most, for rows x and z of the given norms; one number if it is one."""
        kernel = self.kernel.kernel
        if kernel.facts.of_difference or kernel.function == "sigmoid":
            return 1.0
        with np.errstate(over="ignore"):
            if kernel.function == "poly":
                return (kernel.gamma * norms * largest + abs(kernel.coef0)) ** kernel.degree
            return norms * largest

    def _entry_errors(self, norms: Any, largest: float) -> tuple[Any, Any]:
        """How far ``K(x, z)`` may be off: relative to K, and what comes on top of that.

        For rows of the given norms, or one number for all of them.
        """
        kernel, m = self.kernel.kernel, self._terms
        if not kernel.of_features:
            return 0.0, 0.0
        if kernel.facts.of_difference:
            sparse = sp.issparse(self.kernel.X)
            summed = 0.37 * UNIT * (128.0 * (m + 2.0) if sparse else m + 6.0)
            if not kernel.facts.of_squares:
                return 8.0 * UNIT, summed
            most = _core.MOST_CANCELLED_SPARSE if sparse else _core.MOST_CANCELLED
            with np.errstate(over="ignore"):
                from_norms = (3.0 * m + 12.0) * kernel.gamma * (norms + largest)
            # Differences are summed where norms would cancel, which 1/2 of these says for certain.
            if from_norms.max() <= 0.5 * most:
                summed = 0.0
            summed = summed + 6.0 * UNIT * (m + 2.0) * (norms > 4.0 * largest)
            return UNIT * (8.0 + np.minimum(from_norms, 16.0 * math.log(2.0) * most)), summed
        if kernel.function == "sigmoid":
            inner = kernel.gamma * norms * largest + abs(kernel.coef0)
            return 0.0, UNIT * (8.0 + (m + 6.0) * inner)
        return 0.0, UNIT * kernel.degree * (m + 8.0) * self._sizes(norms, largest)

    def _of_product(
        self, norms: Array, support: npt.NDArray[np.int64], coef: Array, moved: bool
    ) -> Array:
        """``<x, w>``, w summed around the mean of the support vectors (``weights_of``)."""
        rows: Any = dense_if_small(self.kernel.X[support])
        w = weights_of(rows, coef)
        if sp.issparse(rows):
            spread, offset = norms_of(rows), 0.0
        else:
            centre = rows.mean(axis=0, dtype=np.float64)
            spread = norms_of(rows - centre)
            offset = abs(float(np.sum(coef))) + 32.0 * UNIT * float(np.abs(coef).sum())
            offset *= float(np.linalg.norm(centre))
        of_w = (coef.size + 4.0) * float(np.abs(coef) @ spread) + 4.0 * offset
        if moved:
            # What splitting or scaling rounds off are rows as they are, not around their mean.
            of_w += 2.0 * float(np.abs(coef) @ norms_of(rows))
        size = (self._terms + 4.0) * float(np.linalg.norm(w))
        return np.asarray(1.01 * UNIT * norms * (of_w + size))


def norms_of(rows: Any) -> Array:
    """Euclidean norms of rows."""
    if sp.issparse(rows):
        return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64)).ravel()
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)))
