"""The real sets: numeric columns and target, each with zero mean and unit variance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.cases import scaled
from benchmarks.everyday.rows import study

Array = npt.NDArray[np.float64]


class Set(NamedTuple):
    """Features and target."""

    X: Array
    y: Array


def names() -> list[str]:
    """The sets, the smallest first; none where they, or pandas to read them, are absent."""
    module = study()
    if module is None or (index := module.index("regression")).empty:
        return []
    return list(index.sort_values("rows", kind="stable").index)


def load(name: str) -> Set:
    """Missing numbers become the median of their column."""
    features, target = study().load(name, "regression")
    numbers = features.select_dtypes("number").astype(np.float64)
    numbers = numbers.fillna(numbers.median()).fillna(0.0)
    X = numbers.to_numpy(np.float64)
    y = target.to_numpy(np.float64)[:, None]
    return Set(scaled(X, X, "standardise")[0], scaled(y, y, "standardise")[0][:, 0])
