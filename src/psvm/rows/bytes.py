"""Rows whose features are whole steps of one size, at most 255 of them, as bytes.

Pixels are, as they are or divided by 255, all features alike. The squared distance of two rows is
then a whole number of squared steps, which bytes give exactly and several times sooner than floats:
an entry of mnist (784 features) takes 1.9 ns, from its nonzeros 4.2 and from all features 6.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm import _core
from psvm.rows.sizes import CHUNK_ENTRIES, WORTH_CONVERTING

_LEVELS = 256
# Features from which the products outweigh what an entry costs besides.
_FEWEST_FEATURES = 32
# Share of nonzeros of sparse rows below which these are multiplied as soon (mnist has 0.2).
_FEWEST_NONZERO = 0.125
# Features looked at first: of most rows it takes no time to see that they are no bytes.
_SAMPLE = 4_000
# What a feature may be off its step, of the largest: as much as other float32 rows are rounded.
_ROUNDING = float(np.finfo(np.float32).eps)


class Bytes(NamedTuple):
    """``X = lowest + step * values``, up to the rounding of float32."""

    values: npt.NDArray[np.uint8]
    step: float


def as_bytes(X: Any) -> Bytes | None:
    """The rows of X as bytes, if features are whole steps and this CPU multiplies bytes fast."""
    n, d = X.shape
    if not _core.has_byte_products() or n * d < WORTH_CONVERTING:
        return None
    if not _FEWEST_FEATURES <= d <= _core.MOST_BYTE_FEATURES:
        return None
    sparse = sp.issparse(X)
    if sparse and X.nnz < _FEWEST_NONZERO * n * d:
        return None
    features = X.data if sparse else X
    levels = np.unique(features[:: max(1, features.size // _SAMPLE)])
    if levels.size > _LEVELS:
        return None
    # What is not stored of sparse rows is 0.
    ends = np.array([features.min(), features.max(), *([0.0] if sparse else [])], dtype=np.float64)
    grid = _grid(np.union1d(levels.astype(np.float64), ends))
    if grid is None or (values := _whole_steps(features, grid)) is None:
        return None
    if not sparse:
        return Bytes(values, grid.step)
    zero = np.uint8(np.rint(-grid.lowest / grid.step))
    above = sp.csr_matrix((values - zero, X.indices, X.indptr), shape=X.shape)  # modulo 256
    return Bytes(above.toarray() + zero, grid.step)


class _Grid(NamedTuple):
    """Where features may lie: ``lowest + step * k``, up to ``off``."""

    lowest: float
    step: float
    off: float


def _grid(levels: npt.NDArray[np.float64]) -> _Grid | None:
    """The grid of some levels, the first and the last of all among them; None if it is too fine."""
    lowest, highest = float(levels[0]), float(levels[-1])
    off = _ROUNDING * max(abs(lowest), abs(highest))
    apart = np.diff(levels)
    apart = apart[apart > 2.0 * off]
    if apart.size == 0:
        return None
    count = np.rint((highest - lowest) / apart.min())
    if count >= _LEVELS:
        return None
    grid = _Grid(lowest, float((highest - lowest) / count), off)
    return None if _whole_steps(levels, grid) is None else grid


def _whole_steps(features: Any, grid: _Grid) -> npt.NDArray[np.uint8] | None:
    """The steps of every feature above the lowest one; None if one of them is no whole number."""
    values = np.empty(features.shape, dtype=np.uint8)
    rows = max(1, CHUNK_ENTRIES * features.shape[0] // max(features.size, 1))
    for begin in range(0, features.shape[0], rows):
        some = slice(begin, begin + rows)
        steps = (features[some].astype(np.float64) - grid.lowest) * (1.0 / grid.step)
        whole = np.rint(steps)
        np.subtract(steps, whole, out=steps)
        if max(float(steps.max()), -float(steps.min())) * grid.step > grid.off:
            return None
        values[some] = whole
    return values
