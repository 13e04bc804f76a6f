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
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm import _core
from psvm.mathematics.rounding import UNIT
from psvm.rows.kernel import weights_of

if TYPE_CHECKING:
    from psvm.rows.kernel_matrix import TrainingKernel

Array = npt.NDArray[np.float64]

_TINY = float(np.finfo(np.float64).tiny)
# Roundoff of extended precision, where there is one, and products up to which it is used: 10 ms.
_EPS = float(np.finfo(np.longdouble).eps)
_PRECISE_WORK = 2_000_000
# What norms may take from the exponent of rbf before differences are summed instead.
_MOST_FROM_NORMS = 16.0 * math.log(2.0) * _core.MOST_CANCELLED


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
            powers = abs(X) if facts.of_absolute else X.multiply(X)
            norms = np.asarray(powers.sum(axis=1), dtype=np.float64).ravel()
        else:
            shift = self.kernel.kernel.shift(X)
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

    def coarse(self, total: float) -> float:
        """A bound for all rows and all dual variables whose magnitudes sum up to ``total``."""
        return total * self._of_all

    @cached_property
    def _of_all(self) -> float:
        """How far the decision values of dual variables that sum up to 1 may be off."""
        n, norm = float(self.kernel.size), float(self._norms.max(initial=0.0))
        if self.kernel.kernel.facts.is_product:
            return 1.01 * self.most * UNIT * (3.0 * n + self._terms + 32.0)
        entry = float(self._entry_errors(np.array([norm]), norm)[0])
        return 1.01 * (entry + (n + 16.0) * UNIT * self.most)

    @cached_property
    def most(self) -> float:
        """The largest ``|K(x, z)|``, at most."""
        norm = float(self._norms.max(initial=0.0))
        return float(self._sizes(np.array([norm]), norm)[0])

    def bounds(
        self, segments: Sequence[int], dual: Array, threads: int, *, tight: bool = False
    ) -> Array:
        """What ``TrainingKernel.decision`` may be off by, for all rows of the segments."""
        facts, columns = self.kernel.kernel.facts, self.kernel.columns(segments)
        norms, chosen = self._norms[columns], np.flatnonzero(dual)
        if chosen.size == 0:
            return np.zeros(dual.size)
        if facts.is_product:
            return self._of_product(norms, columns[chosen], dual[chosen])
        largest, total = float(norms[chosen].max()), float(np.abs(dual).sum())
        entries = self._entry_errors(norms, largest)
        depth = (chosen.size + 8.0) * UNIT
        if tight and facts.of_difference:
            sums = self.kernel.decision(segments, np.abs(dual), threads)
            # An error of 0.37 m is one of at most 745 m of the entry: below lie no normal numbers,
            # to the smallest of which entries are clamped.
            of_entries = np.minimum(total * entries, 2_100.0 * sums * entries)
            return np.asarray(1.01 * (of_entries + sums * depth) + total * _TINY)
        return np.asarray(1.01 * total * (entries + depth * self._sizes(norms, largest)))

    def precise(
        self, segments: Sequence[int], dual: Array, intercept: float
    ) -> tuple[Array, Array, float] | None:
        """Values ``f + b`` summed in extended precision, their errors, and ``||w||^2``.

        None where that would take long, or the platform has no such numbers.
        """
        facts, columns = self.kernel.kernel.facts, self.kernel.columns(segments)
        chosen = np.flatnonzero(dual)
        work = columns.size * (self.kernel.X.shape[1] if facts.is_product else chosen.size)
        if work > _PRECISE_WORK or chosen.size == 0 or sp.issparse(self.kernel.X) or _EPS >= UNIT:
            return None
        coef = dual[chosen].astype(np.longdouble)
        if facts.is_product:
            X = self.kernel.X[columns].astype(np.longdouble)
            centre = X.mean(axis=0)
            total = np.longdouble(math.fsum(dual))
            w = coef @ (X[chosen] - centre) + total * centre
            size = np.abs(coef) @ np.abs(X[chosen] - centre) + abs(total) * np.abs(centre)
            of_w = (chosen.size + 8) * _EPS * size
            values = X @ w + np.longdouble(intercept)
            error = np.abs(X) @ ((X.shape[1] + 8) * _EPS * np.abs(w) + of_w)
            if self.kernel.split:
                error = error + 2.0 * UNIT * np.abs(X) @ (np.abs(coef) @ np.abs(X[chosen]))
            squared_norm = float(w @ w)
        elif self.kernel.size <= self.kernel.most_kept:
            K = self.kernel.gram(segments, 1)[:, chosen].astype(np.longdouble)
            f = K @ coef
            values, sums = f + np.longdouble(intercept), np.abs(K) @ np.abs(coef)
            norms = self._norms[columns]
            entries = self._entry_errors(norms, float(norms[chosen].max()))
            total = np.abs(coef).sum()
            error = total * entries + (chosen.size + 8) * _EPS * sums
            if facts.of_difference:
                error = np.minimum(error, sums * (2_100.0 * entries + 2.0 * UNIT)) + total * _TINY
            error = error + 2.0 * UNIT * sums * self.kernel.split
            squared_norm = float(dual[chosen].astype(np.longdouble) @ f[chosen])
        else:
            return None
        error = error + 4 * _EPS * (np.abs(values) + abs(intercept))
        return values.astype(np.float64), 1.01 * error.astype(np.float64), squared_norm

    def _sizes(self, norms: Array, largest: float) -> Array:
        """``|K(x, z)|`` at most, for rows x and z of the given norms."""
        kernel = self.kernel.kernel
        if kernel.facts.of_difference or kernel.function == "sigmoid":
            return np.ones_like(norms)
        with np.errstate(over="ignore"):
            if kernel.function == "poly":
                size: Array = (kernel.gamma * norms * largest + abs(kernel.coef0)) ** kernel.degree
                return size
            return norms * largest

    def _entry_errors(self, norms: Array, largest: float) -> Array:
        """How far ``K(x, z)`` may be off."""
        kernel, m = self.kernel.kernel, self._terms
        if not kernel.of_features:
            return np.zeros_like(norms)
        if kernel.facts.of_difference:
            summed = 0.37 * (128.0 * (m + 2.0) if sp.issparse(self.kernel.X) else m + 6.0)
            if not kernel.facts.of_squares:
                return np.full_like(norms, UNIT * (8.0 + summed))
            with np.errstate(over="ignore"):
                from_norms = (3.0 * m + 12.0) * kernel.gamma * (norms + largest)
            from_norms = np.minimum(from_norms, _MOST_FROM_NORMS) + 6.0 * (m + 2.0)
            return UNIT * (8.0 + summed + from_norms)
        if kernel.function == "sigmoid":
            return UNIT * (8.0 + (m + 6.0) * (kernel.gamma * norms * largest + abs(kernel.coef0)))
        return UNIT * kernel.degree * (m + 8.0) * self._sizes(norms, largest)

    def _of_product(self, norms: Array, support: npt.NDArray[np.int64], coef: Array) -> Array:
        """``<x, w>``, w summed around the mean of the support vectors (``weights_of``)."""
        rows: Any = self.kernel.X[support]
        w = weights_of(rows, coef)
        if sp.issparse(rows):
            spread, offset = norms_of(rows), 0.0
        else:
            centre = rows.mean(axis=0, dtype=np.float64)
            spread = norms_of(rows - centre)
            offset = abs(float(np.sum(coef))) + 32.0 * UNIT * float(np.abs(coef).sum())
            offset *= float(np.linalg.norm(centre))
        of_w = (coef.size + 4.0) * float(np.abs(coef) @ spread) + 4.0 * offset
        if self.kernel.split:
            # What splitting rounds off is a sum of rows as they are, not around their mean.
            of_w += 2.0 * float(np.abs(coef) @ norms_of(rows))
        size = (self._terms + 4.0) * float(np.linalg.norm(w))
        return np.asarray(1.01 * UNIT * norms * (of_w + size))


def norms_of(rows: Any) -> Array:
    """Euclidean norms of rows."""
    if sp.issparse(rows):
        return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64)).ravel()
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)))
