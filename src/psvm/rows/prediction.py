r"""A fitted model as arrays: decision values, labels faster, and what the exports write.

Decision values of a kernel model are computed with float64 kernel entries. A label needs only a
sign, so labels of the rbf kernel are read from float32 entries, at twice the speed, wherever a
decision is larger than a generous bound E of its rounding errors, and from the decision values of
the few other rows: ``codes`` agrees with ``decisions``.

**The bound.** With x and z shifted and scaled so that :math:`K = 2^{-\|x - z\|^2/2}`, let
:math:`h = \|x\|^2/2`, u = 2^-24, coefficients divided by the largest, and :math:`S = \sum_s |c_s|
K_s`, :math:`A = \sum_s |c_s|`. The exponent, of size at most :math:`H = h_x + h_z`, is a sum of
d + 2 rounded terms, and the same rounded x enters every entry. So an entry errs by at most about
:math:`u (4 + H)` of itself where errors are common to all entries (rounding of x, of the
polynomial for :math:`2^t`, of long sums), and by a random :math:`u (2 + \sqrt{d + 2}\, H)` of
itself where they are not (equal support vectors, which err alike, are merged before). Errors of
the first kind add up, those of the second add up as squares, :math:`\sum c^2 K^2 \le S`, of which
six deviations are allowed:

.. math:: E = u \bigl( (4 + H) S + 6 (2 + \sqrt{d + 2}\, H) \sqrt S \bigr) + 2^{-125} A .

The last term is for entries too small for float32. On twelve data sets with C = 1 and 100
the error was never above a ninth of E. Only z near x count: weighted by :math:`|c| K`, the
mean squared distance is at most :math:`\rho^2 = 2 \log_2(A/S)` (the function :math:`-K \log_2 K` is
concave), so :math:`h_z` is replaced by :math:`(\|x\| + \rho)^2/2` if
that is less than its maximum, where the maximum does not suffice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm.mathematics.multiclass import (
    certain_class,
    certain_largest,
    certain_side,
    class_pairs,
    pair_products,
)
from psvm.rows.blocks import split_rows
from psvm.rows.dense_or_sparse import stored_for_kernel
from psvm.rows.equal_rows import find_equal_rows
from psvm.rows.kernel import Kernel, dense_if_small, rows_to_pack, weights_of
from psvm.rows.sizes import CHUNK_ENTRIES

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

_UNIT = 2.0**-24  # unit roundoff of float32
_DEVIATIONS = 6.0
_SMALLEST = 2.0**-125  # twice the smallest entry of float32, to which smaller ones are clamped

# Entries (rows times support vectors) up to which float32 saves less than its bounds cost.
_FEW = 200_000
# Rows from which looking for equal support vectors costs little beside the kernel entries.
_MANY_ROWS = 512
# Rows whose partial sums are in memory at once, at least.
_ROWS = 1024


def _finite(values: Array, kernel: Kernel) -> Array:
    """Decision values, all finite, or an error that says why they are not."""
    if not np.isfinite(values).all():
        raise kernel.overflow()
    return np.asarray(values)


@dataclass(frozen=True)
class LinearModel:
    """``weights_t @ x + intercept_t`` for every binary problem t.

    Attributes
    ----------
    weights : ndarray of shape (n_problems, n_features)
    intercept : ndarray of shape (n_problems,)
    """

    weights: Array
    intercept: Array

    kernel: ClassVar[Kernel] = Kernel("linear")

    def decisions(self, X: Any) -> Array:
        """Decision value of every problem, shape (n, n_problems)."""
        # Block by block, because float32 rows become float64 in the product.
        rows = split_rows(X)
        with np.errstate(over="ignore", invalid="ignore"):
            values = [np.asarray(rows[k] @ self.weights.T) for k in range(len(rows))]
            return _finite(np.concatenate(values) + self.intercept, self.kernel)


@dataclass(frozen=True)
class KernelModel:
    """``sum_s dual_coef_ts K(vector_s, x) + intercept_t`` for every binary problem t.

    Attributes
    ----------
    kernel : Kernel
    vectors : array or CSR matrix of shape (n_SV, n_features), or ndarray of int
        Support vectors sorted by class; for a precomputed kernel their column numbers.
    dual_coef : ndarray of shape (n_classes - 1 or n_problems, n_SV)
        In SVC's layout if ``pairwise``, else one row per problem.
    intercept : ndarray of shape (n_problems,)
    n_support : list of int
        Number of support vectors per class.
    pairwise : bool
        Whether there is one problem for each of several pairs of classes.
    threads : int
    """

    kernel: Kernel
    vectors: Any
    dual_coef: Array
    intercept: Array
    n_support: list[int]
    pairwise: bool
    threads: int

    @property
    def weights(self) -> Array:
        """``sum_s dual_coef_ts vector_s`` for every problem t: a linear kernel as a LinearModel."""
        if self.dual_coef.shape[0] == 1 or sp.issparse(self.vectors):
            return np.array([weights_of(self.vectors[s], coef) for s, coef in self.terms()])
        # Around the mean, as in ``weights_of``, for all problems at once.
        centre = self.dense_vectors.mean(axis=0)
        centred = self.dense_vectors - centre
        if self.pairwise:
            products = pair_products(centred, self.dual_coef, self.n_support).T
        else:
            products = self.dual_coef @ centred
        totals = np.array([math.fsum(coef) for _, coef in self.terms()])
        return np.asarray(products + totals[:, None] * centre)

    @property
    def dense_vectors(self) -> Array:
        """The support vectors as a float64 array."""
        dense = self.vectors.toarray() if sp.issparse(self.vectors) else self.vectors
        return np.asarray(dense, dtype=np.float64)

    def terms(self) -> Iterator[tuple[Codes, Array]]:
        """For every problem the numbers of its support vectors, and their coefficients."""
        if not self.pairwise:
            for row in self.dual_coef:
                chosen = np.flatnonzero(row)
                yield chosen, row[chosen]
            return
        every, slices = np.arange(self.dual_coef.shape[1]), self._class_slices
        for i, j in class_pairs(len(slices)):
            vectors = np.concatenate([every[slices[i]], every[slices[j]]])
            coef = np.concatenate([self.dual_coef[j - 1, slices[i]], self.dual_coef[i, slices[j]]])
            yield vectors[coef != 0.0], coef[coef != 0.0]

    def decisions(self, X: Any) -> Array:
        """Decision value of every problem with float64 kernel entries, shape (n, n_problems)."""
        model, X = self._alike(X)
        return model._decisions(X)

    def codes(self, X: Any, of_decisions: Callable[[Array], Codes]) -> Codes:
        """The class number of every row: ``of_decisions(self.decisions(X))``, mostly faster."""
        model, X = self._alike(X)
        entries = X.shape[0] * model.vectors.shape[0]
        few = X.shape[0] < _MANY_ROWS or entries <= _FEW
        if few or not model._signed or model.kernel.function != "rbf":
            return of_decisions(model._decisions(X))
        codes = np.empty(X.shape[0], dtype=np.intp)
        sure = np.empty(X.shape[0], dtype=np.bool_)
        quick, stored = model._stored_well(X)
        for rows, parts, half_norms, terms in quick._float32_parts(stored):
            codes[rows], sure[rows] = quick._codes(parts, half_norms, terms)
        rest = np.flatnonzero(~sure)
        if rest.size:
            codes[rest] = of_decisions(model._decisions(X[rest]))
        return codes

    def _alike(self, X: Any) -> tuple[KernelModel, Any]:
        """The model and X both sparse or both dense, equal support vectors merged."""
        if not self.kernel.of_features:
            return self, X
        vectors = self.vectors
        # Of a sparse and a dense side the dense one is converted: nothing is densified.
        if sp.issparse(X) or sp.issparse(vectors):
            X, vectors = sp.csr_matrix(X), sp.csr_matrix(vectors)
        model = replace(self, vectors=vectors)
        return (model._merged() if X.shape[0] >= _MANY_ROWS else model), X

    def _merged(self) -> KernelModel:
        """Equal support vectors of a class as one: less to compute, and errors that differ."""
        same = find_equal_rows(self.vectors, self._classes, worth=0.0)
        if not same.merged:
            return self
        classes = self._classes[same.first]
        return replace(
            self,
            vectors=self.vectors[same.first],
            dual_coef=np.stack([same.totals(row) for row in self.dual_coef]),
            n_support=np.bincount(classes, minlength=len(self.n_support)).tolist(),
        )

    def _stored_well(self, X: Any) -> tuple[KernelModel, Any]:
        """The model and X, both as CSR matrices if both are mostly zero."""
        if sp.issparse(X):
            return self, X
        vectors, rows = (
            stored_for_kernel(some, self.kernel.function, self.threads)
            for some in (self.vectors, X)
        )
        alike = sp.issparse(vectors) and sp.issparse(rows)
        return (replace(self, vectors=vectors), rows) if alike else (self, X)

    @property
    def _classes(self) -> npt.NDArray[np.int32]:
        """The class of every support vector."""
        return np.repeat(np.arange(len(self.n_support), dtype=np.int32), self.n_support)

    @property
    def _class_slices(self) -> list[slice]:
        """The support vectors of every class."""
        ends = np.cumsum(self.n_support).tolist()
        return [slice(end - size, end) for size, end in zip(self.n_support, ends, strict=True)]

    # --- float64 ---------------------------------------------------------------------------------

    def _decisions(self, X: Any) -> Array:
        if self.dual_coef.shape[1] == 0:  # max_time was over before the first step
            return np.tile(self.intercept, (X.shape[0], 1))
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite(self._decision_values(X), self.kernel)

    def _decision_values(self, X: Any) -> Array:
        if self.dual_coef.shape[0] == 1:
            product = self.kernel.product(X, self.vectors, self.dual_coef[0], self.threads)
            return np.asarray(product[:, None] + self.intercept)
        few = self.intercept.size <= self.vectors.shape[0]
        if self.kernel.facts.is_product and few and not sp.issparse(dense_if_small(self.vectors)):
            return np.asarray(X @ self.weights.T + self.intercept)
        values = np.empty((self.intercept.size, X.shape[0]))
        if self.kernel.of_features:
            for rows, _, parts in self._parts(X, np.float64, self.dual_coef):
                values[:, rows] = self._sums(parts)
        else:
            for rows, block in self.kernel.blocks(X, self.vectors, self.threads):
                if self.pairwise:
                    values[:, rows] = pair_products(block, self.dual_coef, self.n_support).T
                else:
                    values[:, rows] = self.dual_coef @ block
        return np.ascontiguousarray((values + self.intercept[:, None]).T)

    def _parts(
        self, X: Any, dtype: type, dual_coef: Array
    ) -> Iterator[tuple[slice, Any, list[Array]]]:
        """Blocks of rows of X, packed, with the sums over the support vectors of every class.

        The sums of a class have one row for each row of ``dual_coef``.
        """
        kernel, vectors, shift = self.kernel, self.vectors, self._shift
        source = self._float32 if dtype == np.float32 else self._packed(dtype)
        every = np.arange(vectors.shape[0], dtype=np.int64)
        coef: list[npt.NDArray[Any]] = [
            np.ascontiguousarray(dual_coef[:, own], dtype=dtype) for own in self._class_slices
        ]
        sums = len(coef) * dual_coef.shape[0]
        step = min(rows_to_pack(X, dtype), max(_ROWS, CHUNK_ENTRIES // sums))
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, min(begin + step, X.shape[0]))
            block = kernel.narrow(X[rows], vectors)
            packed = kernel.points(block, dtype, shift, [0, block.shape[0]], source)
            parts = [
                packed.combine(every[own], some, self.threads, source)
                for own, some in zip(self._class_slices, coef, strict=True)
            ]
            yield rows, packed, parts

    @cached_property
    def _shift(self) -> Array | None:
        return self.kernel.shift(self.vectors)

    def _packed(self, dtype: type) -> Any:
        """The support vectors packed as columns of a kernel matrix of this type."""
        vectors = self.kernel.narrow(self.vectors, self.vectors)
        return self.kernel.points(vectors, dtype, self._shift, [0, vectors.shape[0]])

    def _sums(self, parts: list[Array]) -> Array:
        """The parts of every problem added up, one row per problem."""
        if not self.pairwise:
            return np.asarray(sum(parts))
        sums = np.empty((self.intercept.size, parts[0].shape[1]))
        for t, (i, j) in enumerate(class_pairs(len(parts))):
            np.add(parts[i][j - 1], parts[j][i], out=sums[t])
        return sums

    # --- float32 with bounds ---------------------------------------------------------------------

    @cached_property
    def _signed(self) -> bool:
        """Whether the coefficients of a class in a problem have one sign, as dual variables have.

        Then the sum of their absolute values times the kernel is that of their products.
        """
        signs = [np.sign(self.dual_coef[:, own]) for own in self._class_slices]
        alike = [not ((some > 0).any(axis=1) & (some < 0).any(axis=1)).any() for some in signs]
        return all(alike) and bool(np.isfinite(self.dual_coef).all())

    @cached_property
    def _largest_coef(self) -> float:
        return float(np.max(np.abs(self.dual_coef), initial=0.0)) or 1.0

    @cached_property
    def _weight(self) -> Array:
        """Sum of the absolute coefficients of every problem, the largest being 1."""
        scaled = np.abs(self.dual_coef) / self._largest_coef
        return self._sums([scaled[:, own].sum(axis=1, keepdims=True) for own in self._class_slices])

    @cached_property
    def _float32(self) -> Any:
        return self._packed(np.float32)

    @cached_property
    def _largest_half_norm(self) -> float:
        return float(self._float32.half_squared_norms().max())

    def _float32_parts(self, X: Any) -> Iterator[tuple[slice, list[Array], Array, Array]]:
        """Blocks of rows of X: the sums of every class, half norms, and terms of an exponent."""
        coef = self.dual_coef / self._largest_coef
        for rows, packed, parts in self._parts(X, np.float32, coef):
            terms = np.diff(X.indptr[rows.start : rows.stop + 1]) if sp.issparse(X) else X.shape[1]
            yield rows, parts, packed.half_squared_norms(), np.sqrt(terms + 2.0)

    def _codes(self, parts: list[Array], half_norms: Array, terms: Any) -> tuple[Codes, Mask]:
        """Class numbers from sums of float32 entries, and which of them are sure."""
        with np.errstate(all="ignore"):  # what is not finite is not sure
            values = self._sums(parts)
            size = self._sums([np.abs(part) for part in parts])
            bound = self._bound(size, half_norms + self._largest_half_norm, terms)
            codes, sure = self._rule(values, bound)
            rest = np.flatnonzero(~sure)
            if rest.size:
                some, half = size[:, rest], half_norms[rest]
                rho = np.sqrt(2.0 * np.log2(np.maximum(self._weight / some, 1.0)))
                near = (np.sqrt(2.0 * half) + rho) ** 2 / 2.0
                sizes = half + np.minimum(self._largest_half_norm, near)
                fewer = terms[rest] if np.ndim(terms) else terms
                again = self._bound(some, sizes, fewer)
                codes[rest], sure[rest] = self._rule(values[:, rest], again)
        return codes, sure

    def _bound(self, size: Array, exponent: Array, terms: Any) -> Array:
        """E of the module's formula, from S, H and the root of d + 2."""
        root = np.sqrt(size)
        bound = root * (_UNIT * (4.0 + exponent))
        bound += _UNIT * _DEVIATIONS * (2.0 + terms * exponent)
        bound *= root
        bound += _SMALLEST * self._weight
        return np.asarray(bound)

    def _rule(self, values: Array, bound: Array) -> tuple[Codes, Mask]:
        values = values + self.intercept[:, None] / self._largest_coef
        if len(self.n_support) == 2:
            return certain_side(values[0], bound[0])
        if self.pairwise:
            return certain_class(values, bound, len(self.n_support))
        return certain_largest(values, bound)
