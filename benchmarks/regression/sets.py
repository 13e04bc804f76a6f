"""Sets for regression: synthetic ones, and the tables of the data folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.cases import data_folder

Array = npt.NDArray[np.float64]

TARGET = "target"


@dataclass(frozen=True)
class RegressionSet:
    """Rows and targets, both standardised."""

    name: str
    X: Any
    y: Array


def synthetic(rows: int, features: int, seed: int = 0) -> RegressionSet:
    """A linear rule with noise of heavy tails; features of different sizes, some alike."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    X[:, 1::2] += 0.5 * X[:, ::2][:, : X[:, 1::2].shape[1]]
    y = X @ rng.normal(size=features) + 2.0 * rng.standard_t(4, size=rows)
    return RegressionSet(f"synthetic {rows} x {features}", *_standardised(X, y))


def tables(words: tuple[str, ...] = ("",)) -> Iterator[RegressionSet]:
    """The Parquet tables of ``regression`` in the data folder: numeric columns, no missing rows."""
    import polars as pl

    folder = data_folder() / "regression"
    for path in sorted(folder.glob("*.parquet")):
        if not any(word in path.stem for word in words):
            continue
        table = pl.read_parquet(path)
        y = table.get_column(TARGET).cast(pl.Float64).to_numpy()
        columns = table.drop(TARGET).select(pl.selectors.numeric()).cast(pl.Float64)
        X = columns.fill_null(strategy="mean").to_numpy()
        known = np.isfinite(y) & np.isfinite(X).all(axis=1)
        X = X[:, np.nanstd(X[known], axis=0) > 0]
        yield RegressionSet(path.stem, *_standardised(X[known], y[known]))


def _standardised(X: Array, y: Array) -> tuple[Array, Array]:
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.ascontiguousarray(X), (y - y.mean()) / y.std()
