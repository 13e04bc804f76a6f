"""Sets for regression: synthetic ones, and the tables of the data folder."""

from __future__ import annotations

import functools
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


def curved(rows: int, features: int, seed: int = 0) -> RegressionSet:
    """A rule that bends, of up to five features, with noise of heavy tails."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    some = X[:, : min(features, 5)]
    rule = np.sin(rng.uniform(1.0, 3.0) * some[:, 0]) + some @ rng.normal(size=some.shape[1])
    y = rule + float(rng.choice([0.05, 0.3, 1.0])) * rng.standard_t(4, size=rows)
    return RegressionSet(f"curved {rows} x {features}", *_standardised(X, y))


@functools.lru_cache(maxsize=1)
def table_named(name: str) -> RegressionSet:
    """One of the tables; the last one is kept."""
    return next(one for one in tables((name,)) if one.name == name)


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
