"""Dask collections as a list of partitions (X, y, sample_weight), each a delayed object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed


@dataclass(frozen=True)
class Parts:
    """The partitions of a training set, and the names of its columns if these have any."""

    X: list[Any]
    y: list[Any]
    weight: list[Any]
    names: tuple[str, ...] | None

    def __len__(self) -> int:
        return len(self.X)


def is_frame(X: Any) -> bool:
    """Whether X is a Dask data frame or series."""
    return dask.is_dask_collection(X) and hasattr(X, "npartitions") and hasattr(X, "divisions")


def is_array(X: Any) -> bool:
    """Whether X is a Dask array."""
    return isinstance(X, da.Array)


def is_collection(X: Any) -> bool:
    """Whether X is something that a cluster holds."""
    return is_array(X) or is_frame(X)


def partitions(X: Any, y: Any, sample_weight: Any, estimator: str) -> Parts:
    """The partitions of X, y and the weights, aligned."""
    if isinstance(X, list | tuple) and X and all(_is_delayed_part(part) for part in X):
        return _delayed_parts(X, y, sample_weight)
    if not is_collection(X):
        raise TypeError(
            f"X must be a dask array, a dask data frame or a list of delayed (X, y), got "
            f"{type(X).__name__}. For rows in memory or a memmap use {estimator}, which is faster."
        )
    if y is None:
        raise ValueError("y must be given with X, got None.")
    names = None
    if is_frame(X):
        names = frame_names(X)
    else:
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, got {X.ndim}.")
        X = one_column_chunk(X)
    parts = _delayed_list(X)
    return Parts(
        parts,
        _aligned("y", y, X, len(parts)),
        [None] * len(parts)
        if sample_weight is None
        else _aligned("sample_weight", sample_weight, X, len(parts)),
        names,
    )


def frame_names(X: Any) -> tuple[str, ...]:
    """Names of the columns; refuses columns that are no numbers."""
    columns = getattr(X, "columns", None)
    if columns is None or X.ndim != 2:
        raise ValueError("X must be a data frame, got a series; use X.to_frame().")
    kinds = {str(name): kind for name, kind in X.dtypes.items()}
    wrong = {name: kind for name, kind in kinds.items() if not _is_number(kind)}
    if wrong:
        name, kind = next(iter(wrong.items()))
        raise ValueError(
            f"X has {len(wrong)} columns that are no numbers, the first {name!r} of type {kind}. "
            f"Encode them first: dask.dataframe.get_dummies(X.categorize()) for categories."
        )
    return tuple(kinds)


def _is_number(kind: Any) -> bool:
    return str(kind) != "category" and getattr(kind, "kind", "O") in "biuf"


def one_column_chunk(X: Any) -> Any:
    """The array with all columns of a row in one chunk."""
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _is_delayed_part(part: Any) -> bool:
    if isinstance(part, tuple | list):
        return len(part) in (2, 3) and any(isinstance(one, Delayed) for one in part)
    return isinstance(part, Delayed)


def _delayed_parts(X: Sequence[Any], y: Any, weight: Any) -> Parts:
    """A list of delayed X, or of delayed (X, y), or of (X, y) with delayed items."""
    count = len(X)
    if y is None:
        if weight is not None:
            raise ValueError("With a list of delayed (X, y) the weights are its third items.")
        whole = [delayed(tuple(part)) if isinstance(part, tuple | list) else part for part in X]
        return Parts(whole, [None] * count, [None] * count, None)
    for name, parts in (("y", y), ("sample_weight", weight)):
        if parts is not None and not (isinstance(parts, list | tuple) and len(parts) == count):
            raise ValueError(f"`{name}` must be a list of {count} delayed objects, as X is.")
    return Parts(list(X), list(y), [None] * count if weight is None else list(weight), None)


def _delayed_list(X: Any) -> list[Any]:
    """The partitions of a collection, as many as it says it has.

    Optimised, frames of fewer columns would be read in fewer partitions, and y not in those of X.
    """
    parts = X.to_delayed(optimize_graph=False) if is_frame(X) else X.to_delayed()
    return list(np.asarray(parts, dtype=object).ravel().tolist())


def _aligned(name: str, values: Any, X: Any, count: int) -> list[Any]:
    """The partitions of y or the weights, beside those of X."""
    if is_array(values) and values.ndim == 2 and values.shape[1] == 1:
        values = one_column_chunk(values)
    if is_array(X) and not is_collection(values) and not np.isnan(X.chunks[0]).any():
        local = np.asarray(values)
        if local.shape[:1] != X.shape[:1]:
            raise ValueError(f"X has {X.shape[0]} rows, {name} has {local.shape[:1]}.")
        values = da.from_array(local, chunks=(X.chunks[0], *local.shape[1:]))
    if not is_collection(values):
        raise TypeError(
            f"{name} must be a dask array or series as X is, got {type(values).__name__}; see "
            f"dask.array.from_array."
        )
    if is_array(X) and is_array(values) and values.chunks[0] != X.chunks[0]:
        rows, own = X.shape[0], values.shape[0]
        if not np.isnan(rows) and not np.isnan(own):
            if rows != own:
                raise ValueError(f"X has {rows} rows, {name} has {own}.")
            values = values.rechunk({0: X.chunks[0]})
    parts = _delayed_list(values)
    if len(parts) != count:
        raise ValueError(
            f"X has {count} partitions, {name} has {len(parts)}, and the rows of some are not "
            f"known. Give both the same partitions, or let Dask count: X.compute_chunk_sizes()."
        )
    return parts
