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

The last term is for entries too small for float32. An exponent that is off by more than 1/2 says
nothing of its entry, nor S of itself: then E is infinite. On twelve data sets with C = 1 and 100
the error was never above a ninth of E. Only z near x count: weighted by :math:`|c| K`, the
mean squared distance is at most :math:`\rho^2 = 2 \log_2(A/S)` (the function :math:`-K \log_2 K` is
concave), so :math:`h_z` is replaced by :math:`(\|x\| + \rho)^2/2` if
that is less than its maximum, where the maximum does not suffice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm import _core
from psvm.mathematics.cached import cached_property
from psvm.mathematics.multiclass import (
    certain_class,
    certain_largest,
    certain_side,
    class_pairs,
    pair_products,
    pair_sums,
)
from psvm.rows.blocks import split_rows
from psvm.rows.dense_or_sparse import stored_for_kernel
from psvm.rows.equal_rows import find_equal_rows
from psvm.rows.kernel import (
    Kernel,
    compact,
    dense_if_small,
    is_wide,
    rows_to_pack,
    weights_of,
)
from psvm.rows.sizes import CHUNK_ENTRIES

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

_UNIT = 2.0**-24  # unit roundoff of float32
_DEVIATIONS = 6.0
# Relative error of an entry up to which it says something of the entry without errors, and S of S.
_MOST_RELATIVE = 0.5
_SMALLEST = 2.0**-125  # twice the smallest entry of float32, to which smaller ones are clamped

# Entries (rows times support vectors) up to which float32 saves less than its bounds cost.
_FEW = 200_000
# Operations on kernel entries per row and pair below which bounds cost more than float32 saves
# (150 classes at 80: 1.4 times slower, 60 at 370: equal, 10 at 1,000: 2 times faster).
_WORTH_BOUNDS = 300
# Rows from which looking for equal support vectors costs little beside the kernel entries.
_MANY_ROWS = 512
# Sparse rows up to which each is scattered, not the support vectors (of 100,000 columns one took 20
# ms), and products that are done before a thread has woken up.
_ONE_BY_ONE, _BRIEF = 16, 4_000_000
# Weights (problems times features) that are made, and applied to a row, in a few microseconds.
_FEW_WEIGHTS = 2**16
# Rows whose decision values are in memory at once, at least, however many pairs of classes.
_FEWEST_ROWS = 64


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
        with np.errstate(over="ignore", invalid="ignore"):
            if X.shape[0] <= _MANY_ROWS:
                return _finite(X @ self.weights.T + self.intercept, self.kernel)
            # Block by block, because float32 rows become float64 in the product.
            rows = split_rows(X)
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

    @cached_property
    def weights(self) -> Array:
        """``sum_s dual_coef_ts vector_s`` for every problem t: a linear kernel as a LinearModel."""
        if self.dual_coef.shape[0] == 1 or sp.issparse(self.vectors):
            return np.array([weights_of(self.vectors[s], coef) for s, coef in self.terms()])
        # Around the mean, as in ``weights_of``, for all problems at once.
        centre = self.dense_vectors.mean(axis=0)
        centred = self.dense_vectors - centre
        if self.pairwise:
            products = pair_products(centred, self.dual_coef, self.n_support)
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
        return self.mapped(X, lambda values: values)

    def mapped(self, X: Any, of_decisions: Callable[[Array], Array]) -> Array:
        """``of_decisions(self.decisions(X))`` for a function of rows, block by block."""
        model, X = self._alike(X)
        return np.asarray(model._mapped(X, of_decisions))

    def codes(self, X: Any, of_decisions: Callable[[Array], Codes]) -> Codes:
        """The class number of every row: ``of_decisions(self.decisions(X))``, mostly faster."""
        model, X = self._alike(X)
        few = X.shape[0] < _MANY_ROWS or X.shape[0] * model.vectors.shape[0] <= _FEW
        if few or model.kernel.function != "rbf" or not (model._worth_bounds and model._signed):
            return np.asarray(model._mapped(X, of_decisions))
        codes = np.empty(X.shape[0], dtype=np.intp)
        sure = np.empty(X.shape[0], dtype=np.bool_)
        quick, stored = model._stored_well(X)
        for rows, values, sizes, half_norms, terms in quick._float32_sums(stored):
            codes[rows], sure[rows] = quick._codes(values, sizes, half_norms, terms)
        rest = np.flatnonzero(~sure)
        if rest.size:  # as `decisions` has them with all rows
            codes[rest] = model._mapped(X[rest], of_decisions, one_by_one=False)
        return codes

    def _alike(self, X: Any) -> tuple[KernelModel, Any]:
        """The model and X both sparse or both dense, equal support vectors merged."""
        if not self.kernel.of_features:
            return self, X
        model = self
        # Of a sparse and a dense side the dense one is converted: nothing is densified.
        if sp.issparse(X) != sp.issparse(self.vectors):
            if sp.issparse(X):
                model = self._sparse
            else:
                X = sp.csr_matrix(X)
        # Of weights rounded sums of coefficients would be another model: far from the origin large
        # terms cancel, and do so only where the coefficients sum to 0 as they are.
        merge = X.shape[0] >= _MANY_ROWS and not self.kernel.facts.is_product
        return (model._merged() if merge else model), X

    @cached_property
    def _sparse(self) -> KernelModel:
        return replace(self, vectors=sp.csr_matrix(self.vectors))

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

    def _blocks(self, X: Any, dtype: type) -> Iterator[slice]:
        """Rows of X to work on at once, so that neither they nor their sums take much memory."""
        room = max(_FEWEST_ROWS, CHUNK_ENTRIES // self.intercept.size)
        step = min(rows_to_pack(X, dtype), room)
        for begin in range(0, X.shape[0], step):
            yield slice(begin, min(begin + step, X.shape[0]))

    def _columns(self, X: Any, dtype: type, source: Any) -> Any:
        """Rows of X packed as the columns of a kernel matrix whose rows are support vectors."""
        X = self._narrow(X)
        return self.kernel.points(X, dtype, self._shift, [0, X.shape[0]], source)

    def _narrow(self, X: Any) -> Any:
        """X as ``Kernel.narrow`` makes it, with columns that are looked for once."""
        return compact(X, self._used_columns, self.kernel.facts.of_absolute) if is_wide(X) else X

    @cached_property
    def _used_columns(self) -> npt.NDArray[Any]:
        return np.unique(self.vectors.indices)

    @cached_property
    def _shift(self) -> Array | None:
        return self.kernel.shift(self.vectors)

    def _packed(self, dtype: type) -> Any:
        """The support vectors packed as points of a kernel matrix of this type."""
        vectors = self._narrow(self.vectors)
        return self.kernel.points(vectors, dtype, self._shift, [0, vectors.shape[0]])

    # --- float64 ---------------------------------------------------------------------------------

    def _mapped(
        self, X: Any, of_decisions: Callable[[Array], Any], one_by_one: bool | None = None
    ) -> Any:
        if one_by_one is None:
            one_by_one = X.shape[0] <= _ONE_BY_ONE
        if X.shape[0] <= _FEWEST_ROWS:
            return of_decisions(self._decisions(X, one_by_one))
        blocks = self._blocks(X, np.float64)
        return np.concatenate([of_decisions(self._decisions(X[rows], False)) for rows in blocks])

    def _decisions(self, X: Any, one_by_one: bool) -> Array:
        """Decision values of a block of rows."""
        if self.dual_coef.shape[1] == 0:  # max_time was over before the first step
            return np.tile(self.intercept, (X.shape[0], 1))
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite(self._decision_values(X, one_by_one), self.kernel)

    def _decision_values(self, X: Any, one_by_one: bool) -> Array:
        if self._has_weights:
            return np.asarray(X @ self.weights.T + self.intercept)
        if not self.kernel.of_features:
            blocks = self.kernel.blocks(X, self.vectors, self.threads)
            return np.concatenate([self._of_values(values) for _, values in blocks])
        columns = self._columns(X, np.float64, self._points)
        if one_by_one and sp.issparse(X):
            every = np.arange(X.shape[0], dtype=np.int64)
            brief = X.shape[0] * self.vectors.nnz < _BRIEF
            return self._of_values(
                self._points.rows(every, 1 if brief else self.threads, columns).T
            )
        return np.asarray(self._expansion.decisions(columns, self.intercept, self.threads))

    def _of_values(self, values: Array) -> Array:
        """Decision values from the kernel's, one row for each support vector."""
        return _core.decisions_of_values(
            np.ascontiguousarray(values),
            self.dual_coef,
            self.n_support,
            self.pairwise,
            self.intercept,
            self.threads,
        )

    @cached_property
    def _has_weights(self) -> bool:
        """Whether weights are fewer numbers than the support vectors, or soon made of them.

        They are summed around a mean: products with vectors far from the origin lose digits.
        """
        if not self.kernel.facts.is_product:
            return False
        problems, (size, features) = self.intercept.size, self.vectors.shape
        few = problems <= size or problems * features <= _FEW_WEIGHTS
        return self.intercept.size == 1 or (few and not sp.issparse(dense_if_small(self.vectors)))

    @cached_property
    def _points(self) -> Any:
        return self._packed(np.float64)

    @cached_property
    def _expansion(self) -> Any:
        return _core.Expansion64(self._points, self.dual_coef, self.n_support, self.pairwise)

    # --- float32 with bounds ---------------------------------------------------------------------

    @property
    def _worth_bounds(self) -> bool:
        """Whether kernel entries cost more than the bounds of all pairs."""
        size, vectors = self.vectors.shape[0], self.vectors
        features = vectors.nnz / max(size, 1) if sp.issparse(vectors) else vectors.shape[1]
        work = size * (features + 16.0 + self.dual_coef.shape[0])
        return not self.pairwise or bool(work >= _WORTH_BOUNDS * self.intercept.size)

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
        parts = np.stack([scaled[:, own].sum(axis=1, keepdims=True) for own in self._class_slices])
        return pair_sums(parts) if self.pairwise else parts.sum(axis=0)

    @cached_property
    def _points32(self) -> Any:
        return self._packed(np.float32)

    @cached_property
    def _expansion32(self) -> Any:
        coef = np.ascontiguousarray(self.dual_coef / self._largest_coef, dtype=np.float32)
        return _core.Expansion32(self._points32, coef, self.n_support, self.pairwise)

    @cached_property
    def _largest_half_norm(self) -> float:
        return float(self._points32.half_squared_norms().max())

    def _float32_sums(self, X: Any) -> Iterator[tuple[slice, Array, Array, Array, Any]]:
        """Blocks of rows of X: sums of all problems, S, half norms, and roots of d + 2."""
        for rows in self._blocks(X, np.float32):
            columns = self._columns(X[rows], np.float32, self._points32)
            terms = np.diff(X.indptr[rows.start : rows.stop + 1]) if sp.issparse(X) else X.shape[1]
            values, sizes = self._expansion32.sums_and_sizes(columns, self.threads)
            yield rows, values, sizes, columns.half_squared_norms(), np.sqrt(terms + 2.0)

    def _codes(
        self, values: Array, size: Array, half_norms: Array, terms: Any
    ) -> tuple[Codes, Mask]:
        """Class numbers from sums of float32 entries, and which of them are sure."""
        with np.errstate(all="ignore"):  # what is not finite is not sure
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
        random = _UNIT * _DEVIATIONS * (2.0 + terms * exponent)
        random = np.where(random > _MOST_RELATIVE, np.inf, random)
        bound = root * (_UNIT * (4.0 + exponent))
        bound += random
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
