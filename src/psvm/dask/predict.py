"""Predictions for collections, block by block and lazily."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed

from psvm.dask.inputs import is_array, is_frame, one_column_chunk


def lazily(model: Any, method: str, X: Any, dtype: Any, columns: int | None) -> Any:
    """``method`` of a fitted model for every block of X: an array of rows, or rows by columns."""
    shared = delayed(model, pure=False)
    if is_frame(X):
        sizes = [np.nan] * X.npartitions
        parts = X.to_delayed(optimize_graph=False)
    else:
        X = one_column_chunk(X)
        sizes, parts = X.chunks[0], X.to_delayed().ravel().tolist()
    blocks = [
        da.from_delayed(
            delayed(_of_block, pure=False)(shared, method, part, dtype, columns),
            (size,) if columns is None else (size, columns),
            dtype,
        )
        for size, part in zip(sizes, parts, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _of_block(model: Any, method: str, X: Any, dtype: Any, columns: int | None) -> Any:
    if X.shape[0] == 0:
        return np.empty((0,) if columns is None else (0, columns), dtype)
    return getattr(model, method)(X)


def lazy_accuracy(predicted: Any, y: Any, sample_weight: Any) -> Any:
    """The share of labels that are right."""
    right = predicted == _beside(y, predicted)
    if sample_weight is None:
        return right.mean()
    weight = _beside(sample_weight, predicted)
    return (right * weight).sum() / weight.sum()


def lazy_r2(predicted: Any, y: Any, sample_weight: Any) -> Any:
    """The coefficient of determination: 1 less the share of the variance that is left.

    Of constant targets, 1 if they are met and else 0, as scikit-learn has it.
    """
    y = _beside(y, predicted)
    weight = da.ones_like(predicted) if sample_weight is None else _beside(sample_weight, predicted)
    mean = (weight * y).sum() / weight.sum()
    left, whole = (weight * (y - predicted) ** 2).sum(), (weight * (y - mean) ** 2).sum()
    return da.where(
        whole > 0.0, 1.0 - left / da.where(whole > 0.0, whole, 1.0), da.where(left > 0.0, 0.0, 1.0)
    )


def _beside(values: Any, predicted: Any) -> Any:
    """Labels or weights in the blocks of the predictions."""
    if is_frame(values):
        dtype = values.dtype if isinstance(values.dtype, np.dtype) else np.dtype(object)
        parts = [
            da.from_delayed(delayed(np.asarray, pure=False)(part, dtype=dtype), (np.nan,), dtype)
            for part in values.to_delayed(optimize_graph=False)
        ]
        values = da.concatenate(parts, allow_unknown_chunksizes=True)
    if not is_array(values):
        return da.from_array(np.asarray(values), chunks=predicted.chunks[:1])
    known = not (np.isnan(values.shape[0]) or np.isnan(predicted.shape[0]))
    if known and values.chunks != predicted.chunks[:1]:
        return values.rechunk(predicted.chunks[:1])
    if not known:
        # Blocks of unknown sizes lie side by side.
        values = values.copy()
        values._chunks = predicted.chunks[:1]
    return values
