"""Nystroem features of rows on a cluster: fitted to a sample, mapped over the blocks."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.delayed import delayed
from sklearn.kernel_approximation import Nystroem

from psvm.dask.inputs import frame_names, is_collection, is_frame, one_column_chunk


def make_nystroem(
    X: Any,
    n_components: int = 100,
    gamma: float | None = None,
    *,
    kernel: str = "rbf",
    random_state: Any = 0,
) -> tuple[Nystroem, Any]:
    """Features whose products are about kernel values, for rows on a cluster.

    Parameters
    ----------
    X : dask array or dask data frame
        Rows; scaled, as for any kernel.
    n_components : int, default=100
        Number of features: rows sampled from all blocks, evenly.
    gamma : float or None, default=None
        Width of the kernel; None is 1 / number of columns.
    kernel : str, default="rbf"
        Kernel, as of scikit-learn's ``Nystroem``.
    random_state : int, default=0
        Seed of the sample.

    Returns
    -------
    features : sklearn.kernel_approximation.Nystroem
        The fitted map, for rows to come.
    mapped : dask array of shape (n_samples, n_components)
        The features of X, lazily. In float32 if X is.
    """
    if not is_collection(X):
        raise TypeError(f"X must be a dask array or data frame, got {type(X).__name__}.")
    if is_frame(X):
        frame_names(X)
        parts, sizes = X.to_delayed(optimize_graph=False), [np.nan] * X.npartitions
        dtype: Any = np.float64
    else:
        X = one_column_chunk(X)
        parts, sizes = X.to_delayed().ravel().tolist(), X.chunks[0]
        dtype = np.float32 if X.dtype == np.float32 else np.float64
    drawn = dask.compute(
        *(
            delayed(_drawn, pure=False)(part, n_components, [int(random_state), k])
            for k, part in enumerate(parts)
        )
    )
    rows = [size for _, size in drawn]
    rng = np.random.default_rng(int(random_state))
    counts = rng.multivariate_hypergeometric(rows, min(n_components, sum(rows)), method="count")
    chosen = [part[:count] for (part, _), count in zip(drawn, counts, strict=True) if count]
    sample = sp.vstack(chosen, format="csr") if sp.issparse(chosen[0]) else np.concatenate(chosen)
    features = Nystroem(
        kernel=kernel, gamma=gamma, n_components=sample.shape[0], random_state=random_state
    ).fit(sample)
    shared = delayed(features, pure=False)
    mapped = [
        da.from_delayed(
            delayed(_mapped, pure=False)(shared, part, dtype), (size, sample.shape[0]), dtype
        )
        for size, part in zip(sizes, parts, strict=True)
    ]
    return features, da.concatenate(mapped, allow_unknown_chunksizes=True)


def _drawn(X: Any, count: int, seed: list[int]) -> tuple[Any, int]:
    """Some rows of a block in random order, and how many it has."""
    X = _plain(X)
    chosen = np.random.default_rng(seed).permutation(X.shape[0])[:count]
    return X[chosen], int(X.shape[0])


def _mapped(features: Nystroem, X: Any, dtype: Any) -> Any:
    X = _plain(X)
    if X.shape[0] == 0:
        return np.empty((0, features.n_components), dtype)
    return np.ascontiguousarray(features.transform(X), dtype=dtype)


def _plain(X: Any) -> Any:
    return X.tocsr() if sp.issparse(X) else np.asarray(X)
