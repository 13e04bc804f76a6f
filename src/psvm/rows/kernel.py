"""Kernels: their names, properties and parameters, and products with support vectors.

==================  =====================================
name                K(x, z)
==================  =====================================
``"linear"``        ``<x, z>``
``"poly"``          ``(gamma <x, z> + coef0) ** degree``
``"rbf"``           ``exp(-gamma ||x - z||_2 ** 2)``
``"sigmoid"``       ``tanh(gamma <x, z> + coef0)``
``"laplacian"``     ``exp(-gamma ||x - z||_1)``
``"exponential"``   ``exp(-gamma ||x - z||_2)``
``"precomputed"``   X holds the kernel matrix itself
a callable          ``kernel(X, Z)`` returns the matrix
==================  =====================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm import _core
from psvm.rows.given_rows import as_given
from psvm.rows.sizes import BLOCK_ENTRIES, CHUNK_ENTRIES

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class KernelFacts:
    """What is true of a kernel function whatever its parameters are.

    Attributes
    ----------
    parameters : tuple of str
        Which of gamma (a width), coef0 and degree it has.
    of_features : bool
        Values are computed here from features, not given as a matrix or by a callable.
    is_product : bool
        ``K(x, z) = <x, z>``: a model is a vector of weights.
    definite : bool
        Every kernel matrix is positive semidefinite.
    of_difference : bool
        A function of x - z with values in [0, 1] and K(x, x) = 1. A common shift of all rows
        changes nothing but the rounding errors, so rows are centred first.
    of_squares : bool
        Computed from ``|x|^2 + |z|^2 - 2 <x, z>`` while that cancels little enough: else, as
        other distances, from the differences of features.
    of_absolute : bool
        The norm of a row that enters is the sum of its absolute values.
    """

    parameters: tuple[str, ...] = ()
    of_features: bool = True
    is_product: bool = False
    definite: bool = False
    of_difference: bool = False
    of_squares: bool = False
    of_absolute: bool = False


_FACTS = {
    "linear": KernelFacts(is_product=True, definite=True),
    "poly": KernelFacts(("gamma", "coef0", "degree")),
    "rbf": KernelFacts(("gamma",), definite=True, of_difference=True, of_squares=True),
    "sigmoid": KernelFacts(("gamma", "coef0")),
    "laplacian": KernelFacts(("gamma",), definite=True, of_difference=True, of_absolute=True),
    "exponential": KernelFacts(("gamma",), definite=True, of_difference=True),
    "precomputed": KernelFacts(of_features=False),
}
_OF_CALLABLES = KernelFacts(of_features=False)

KERNELS = tuple(_FACTS)


def facts_of(function: str | Callable[[Any, Any], Any]) -> KernelFacts:
    """What is true of a kernel, given by name or as a callable."""
    return _FACTS[function] if isinstance(function, str) else _OF_CALLABLES


# Sparse rows worked on at once, and rows centred for gamma="scale"; packed rows at least.
_MANY_ROWS, _FEW_ROWS = 2**14, 2**10

# Kernel values up to which sums of a few of them are finite, too.
_LARGEST = 2.0**1020

# Variances so small, or smaller, have lost digits.
_TINY = 1e-300

# Entries of an array that is made of sparse rows in a millisecond.
_SMALL_ARRAY = 2**18

# Sparse columns beyond which unused ones are dropped first: a buffer of 4 MB of float32.
_WIDE = 2**16


def resolve_gamma(gamma: float | str, X: Any, weight: Array) -> float:
    """Kernel width as a number.

    ``"scale"`` is ``1 / (n_features * Var[X])`` with the sample-weighted variance of all entries,
    so that a weight of 2 equals a repeated row; ``"auto"`` is ``1 / n_features``.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    n_features = X.shape[1]
    if gamma == "auto":
        return 1.0 / int(n_features)
    share = weight / (weight.sum() * n_features)
    with np.errstate(over="ignore", invalid="ignore"):
        return _inverse_variance(X, share)


def _inverse_variance(X: Any, share: Array) -> float:
    """``1 / (n_features * Var[X])``, or 1 for a constant X, with the share of an entry by row."""
    n_features = X.shape[1]
    # By einsum: the threads of BLAS would spin on a core that the solver needs next.
    mean = float(np.einsum("i,i->", share, np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()))
    variance = 0.0
    # In blocks: a centred copy of X may not fit in memory.
    for begin in range(0, X.shape[0], _MANY_ROWS):
        rows = slice(begin, begin + _MANY_ROWS)
        block = X[rows]
        if sp.issparse(block):
            # The zeros that are not stored deviate by the mean, too.
            stored = np.diff(block.indptr)
            block.data = (block.data - mean) ** 2
            squares = np.asarray(block.sum(axis=1)).ravel() + (n_features - stored) * (mean * mean)
        else:
            deviation = block - mean
            squares = np.einsum("ij,ij->i", deviation, deviation, dtype=np.float64)
        variance += float(np.einsum("i,i->", share[rows], squares))
    # What is left of a constant X is the rounding of its mean.
    rounding = 8.0 * float(np.finfo(np.float64).eps) * mean
    in_range = _TINY < variance < math.inf
    if variance <= rounding * rounding if in_range else X.max() == X.min():
        return 1.0
    width = 1.0 / (n_features * variance) if in_range else 0.0
    if not 0.0 < width < math.inf:
        raise ValueError(
            f"gamma='scale' is 1 / (n_features * Var[X]), but the squares of X, with entries up to "
            f"{float(abs(X).max()):.1e}, leave the range of float64; scale X, for instance with "
            f"StandardScaler."
        )
    return width


@dataclass(frozen=True)
class Kernel:
    """A kernel function with its parameters, as numbers."""

    function: str | Callable[[Any, Any], Any]
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3

    @property
    def facts(self) -> KernelFacts:
        """What is true of the function, whatever the parameters."""
        return facts_of(self.function)

    @property
    def definite(self) -> bool:
        """Whether every matrix of it is positive semidefinite, as far as its parameters tell."""
        powers = self.function == "poly" and self.gamma >= 0.0 and self.coef0 >= 0.0
        return self.facts.definite or powers

    @property
    def of_features(self) -> bool:
        """Whether values are computed here from features."""
        return self.facts.of_features

    def rank(self, features: int) -> float:
        """The rank of a matrix of it at most, of rows of so many features; infinite for most."""
        if self.facts.is_product:
            return features
        if self.function != "poly":
            return math.inf
        # The monomials of this degree, or up to it.
        variables = features + (self.coef0 != 0.0)
        return math.comb(variables + int(self.degree) - 1, int(self.degree))

    def points(
        self,
        X: Any,
        dtype: type,
        shift: Array | None,
        starts: Sequence[int],
        source: Any = None,
    ) -> Any:
        """X packed as the columns of a kernel matrix with entries of type ``dtype``.

        ``source`` are the points that are to be its rows, if not these: of the same kind.
        """
        core = _core.Kernel32 if dtype == np.float32 else _core.Kernel64
        parameters = (
            str(self.function),
            self.gamma,
            self.coef0,
            int(self.degree),
            list(starts),
            None if source is None else source.by_differences,
        )
        if sp.issparse(X):
            # Of one type wherever they fit: rows of one matrix meet columns of another.
            index = np.int32 if max(X.nnz, X.shape[1]) < 2**31 else np.int64
            indices = X.indices.astype(index, copy=False)
            indptr = X.indptr.astype(index, copy=False)
            return core.csr(X.data, indices, indptr, X.shape[1], *parameters)
        return core.dense(X, shift, *parameters)

    def shift(self, X: Any) -> Array | None:
        """What to subtract from every row to lose the fewest digits, or None."""
        if not self.facts.of_difference or sp.issparse(X):
            return None
        with np.errstate(over="ignore"):  # what is too large to be summed is not centred
            return np.asarray(X.mean(axis=0, dtype=np.float64))

    def check_range(self, X: Any) -> None:
        """Raise ValueError where kernel values of rows of X may not be finite.

        ``|<x, z>|`` is at most the largest squared norm, and that norm is a value of the kernel.
        Kernels of differences have values in [0, 1], and others are checked when they are given.
        """
        if not self.of_features or self.facts.of_difference:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            # The sum over all rows is enough if it is in range; only else rows are looked at.
            values = X.data if sp.issparse(X) else X
            axes = "ij,ij->" if values.ndim == 2 else "i,i->"
            squared = np.einsum(axes, values, values, dtype=np.float64)
            if not self._largest_value(float(squared)) <= _LARGEST:
                X = X.astype(np.float64)
                squared = (X.multiply(X) if sp.issparse(X) else X * X).sum(axis=1).max()
            largest = self._largest_value(float(squared))
        if not largest <= _LARGEST:
            raise self.overflow()

    def _largest_value(self, squared: float) -> float:
        """A bound of the kernel's values, and of what they are computed from, by squared norms."""
        if self.facts.is_product:
            return squared
        inner = self.gamma * squared + abs(self.coef0)
        return float(np.float64(inner) ** self.degree) if self.function == "poly" else inner

    def overflow(self) -> ValueError:
        """The error of values that are not finite."""
        return ValueError(
            f"The values of the {self.function} kernel leave the range of float64 for these rows; "
            f"scale X, for instance with StandardScaler"
            + (", or choose a smaller gamma." if "gamma" in self.facts.parameters else ".")
        )

    def narrow(self, X: Any, support: Any) -> Any:
        """X with the columns that no row of ``support`` has merged, where there are very many.

        The work on sparse rows is proportional to their nonzeros, but takes a buffer as wide as X.
        """
        if not is_wide(X):
            return X
        return compact(X, np.unique(support.indices), self.facts.of_absolute)

    def blocks(self, X: Any, support: Any, threads: int) -> Iterator[tuple[slice, Array]]:
        """Blocks ``K(support, X[rows])`` in float64, of bounded memory, with their ``rows``.

        For a precomputed kernel X has one column per training row, and ``support`` holds the
        column numbers of the support vectors.
        """
        m = support.shape[0]
        step = max(1, BLOCK_ENTRIES // max(m, 1))
        packed = self._packed(support) if self.of_features else None
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, min(begin + step, X.shape[0]))
            block = X[rows]
            if packed is not None:
                source, every, shift = packed
                block = self.narrow(block, support)
                columns = self.points(block, np.float64, shift, [0, block.shape[0]], source)
                yield rows, columns.rows(every, threads, source)
            elif callable(self.function):
                yield rows, kernel_values(self.function, block, support).T
            else:
                yield rows, np.asarray(block[:, support], dtype=np.float64).T

    def product(
        self,
        X: Any,
        support: Any,
        coef: Array,
        threads: int,
        pause: Callable[[], None] | None = None,
    ) -> Array:
        """``K(X, support) @ coef`` for one vector ``coef``, in float64 and bounded memory.

        ``pause`` is called now and then, and may give up by raising.
        """
        if self.facts.is_product:
            with np.errstate(over="ignore", invalid="ignore"):  # for the caller to find
                product = np.asarray(X @ weights_of(support, coef))
            return product.astype(np.float64, copy=False)
        out = np.zeros(X.shape[0])
        if support.shape[0] == 0:
            return out
        if not self.of_features:
            for rows, values in self.blocks(X, support, threads):
                out[rows] = coef @ values
                if pause is not None:
                    pause()
            return out
        source, every, shift = self._packed(support)
        step = rows_to_pack(X)  # entries are never stored here
        if pause is not None:
            step = min(step, max(64, BLOCK_ENTRIES // support.shape[0]))
        for begin in range(0, X.shape[0], step):
            block = self.narrow(X[begin : begin + step], support)
            columns = self.points(block, np.float64, shift, [0, block.shape[0]], source)
            out[begin : begin + step] = columns.apply(every, coef, threads, source)
            if pause is not None:
                pause()
        return out

    def own_product(self, support: Any, coef: Array, threads: int) -> Array:
        """``K(support, support) @ coef`` in float64, from half of the entries if rows are dense."""
        return np.asarray(self._packed(support)[0].apply_all(coef, threads))

    def _packed(self, support: Any) -> tuple[Any, Indices, Array | None]:
        m, shift = support.shape[0], self.shift(support)
        return (
            self.points(self.narrow(support, support), np.float64, shift, [0, m]),
            np.arange(m, dtype=np.int64),
            shift,
        )


def is_wide(X: Any) -> bool:
    """Whether sparse rows have so many columns that those without use are dropped first."""
    return bool(sp.issparse(X) and X.shape[1] > _WIDE)


def dense_if_small(X: Any) -> Any:
    """Sparse rows as an array, which can be centred, where it takes no time."""
    return X.toarray() if sp.issparse(X) and X.shape[0] * X.shape[1] <= _SMALL_ARRAY else X


def weights_of(support: Any, coef: Array) -> Array:
    """``sum_i coef_i support_i``, summed around the mean where X is dense.

    The coefficients of a model with intercept sum to 0: far from the origin large terms cancel.
    """
    support = dense_if_small(support)
    if sp.issparse(support):
        return np.asarray(coef @ support)
    centre = support.mean(axis=0, dtype=np.float64) if support.shape[0] else 0.0
    return np.asarray(coef @ (support - centre) + math.fsum(coef) * centre)


def rows_to_pack(X: Any, dtype: type = np.float64) -> int:
    """How many rows of X to pack at once as points of a kernel, so that the copy stays small."""
    if sp.issparse(X):
        return _MANY_ROWS
    entries = CHUNK_ENTRIES * 8 // np.dtype(dtype).itemsize
    return max(_FEW_ROWS, entries // max(int(X.shape[1]), 1))


def kernel_values(function: Callable[[Any, Any], Any], X: Any, Z: Any) -> Array:
    """Values of a callable kernel, checked: an array of shape (len(X), len(Z)), finite."""
    values = function(as_given(X), as_given(Z))
    values = values.toarray() if sp.issparse(values) else np.asarray(values)
    expected = (X.shape[0], Z.shape[0])
    if values.shape != expected:
        raise ValueError(
            f"The kernel must return an array of shape {expected} for inputs of {expected[0]} and "
            f"{expected[1]} rows, got shape {values.shape}."
        )
    try:
        values = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The kernel must return real numbers, got an array of {values.dtype}."
        ) from error
    if not np.isfinite(values).all():
        raise ValueError(
            "The kernel must return finite values, got NaN or infinity; check the kernel function "
            "and the scale of X."
        )
    return values


def compact(X: Any, columns: npt.NDArray[Any], of_absolute: bool) -> Any:
    """X with its columns renumbered by their place in ``columns``, the others merged into one.

    The merged column comes last and holds the norm of what it replaces (the sum of absolute values
    if ``of_absolute``): products with rows that have only ``columns`` do not change, nor do norms.
    """
    place = np.searchsorted(columns, X.indices)
    place[place == columns.size] = 0
    known = columns[place] == X.indices
    outside = X.copy()
    with np.errstate(over="ignore"):
        outside.data = np.where(known, 0.0, np.abs(X.data) if of_absolute else X.data**2)
        rest = np.asarray(outside.sum(axis=1)).ravel()
    # Too far to be told from infinity, but not infinite: products with 0 are to be 0.
    rest = np.minimum(rest if of_absolute else np.sqrt(rest), np.finfo(X.dtype).max)
    inside = sp.csr_matrix(
        (np.where(known, X.data, 0.0), place, X.indptr), shape=(X.shape[0], columns.size)
    )
    inside.eliminate_zeros()
    return sp.hstack([inside, sp.csr_matrix(rest[:, None])], format="csr", dtype=X.dtype)
