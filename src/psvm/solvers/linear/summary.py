"""Shape and size of the rows of a linear problem, from a look at some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm.solvers.linear.passes import block_sizes

Array = npt.NDArray[np.float64]

# Rows looked at, and blocks they are taken from.
_ROWS, _BLOCKS = 2_000, 8


@dataclass(frozen=True)
class RowSummary:
    """What the solvers need to know of the rows before they start.

    ``shift`` is about the mean of the features: the intercept takes up any offset, and without it
    the systems of the Newton step keep their digits. It is None for sparse rows and without an
    intercept. ``largest`` is about the largest squared norm of a row less the shift.
    """

    rows: int
    features: int
    in_memory: bool
    entries: float  # stored entries of a row, on average
    shift: Array | None
    largest: float


def summarise(rows: Sequence[Any], *, centred: bool) -> RowSummary:
    """Look at some rows of some blocks."""
    sizes = block_sizes(rows)
    blocks = np.unique(np.linspace(0, len(sizes) - 1, _BLOCKS).astype(int))
    some = []
    for k in blocks:
        block = rows[int(k)]
        step = max(1, block.shape[0] * len(blocks) // _ROWS)
        some.append(block[::step] if step > 1 else block)
    in_memory = getattr(rows, "in_memory", False)
    return describe_rows(some, sum(sizes), in_memory=in_memory, centred=centred)


def describe_rows(some: Sequence[Any], count: int, *, in_memory: bool, centred: bool) -> RowSummary:
    """What some blocks of rows, all dense or all sparse, say of ``count`` rows."""
    features = int(some[0].shape[1])
    if sp.issparse(some[0]):
        norms = np.concatenate([_squared_norms(part) for part in some])
        entries = sum(part.nnz for part in some) / max(norms.size, 1)
        return RowSummary(count, features, in_memory, entries, None, _positive(norms))
    sample = np.vstack(some).astype(np.float64)
    shift = sample.mean(axis=0) if centred else None
    if shift is not None:
        sample -= shift
    norms = np.einsum("ij,ij->i", sample, sample)
    return RowSummary(count, features, in_memory, features, shift, _positive(norms))


def _squared_norms(X: Any) -> Array:
    """Of the rows of a CSR matrix."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    squares = np.square(X.data, dtype=np.float64)
    return np.asarray(np.bincount(row, squares, minlength=X.shape[0]))


def _positive(norms: Array) -> float:
    return float(norms.max(initial=0.0)) or 1.0
