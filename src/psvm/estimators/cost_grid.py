"""Grids that a number asks for: so many values around the scale of the data."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.rows.kernel import resolve_gamma

Array = npt.NDArray[np.float64]

# Costs as multiples of the scale of the data.
_SPAN = (0.1, 100.0)


def is_count(values: Any) -> bool:
    """Whether a number of values is asked for, in place of a list."""
    return isinstance(values, Integral) and not isinstance(values, bool)


def check_count(name: str, count: Any) -> int:
    """A number of values, at least one."""
    if count < 1:
        raise ValueError(f"`{name}` must be a list, or a number of values >= 1, got {count!r}.")
    return int(count)


def spread(name: str, count: int, centre: float, span: tuple[float, float]) -> list[float]:
    """So many values, evenly spaced by factor, over the span around the centre."""
    check_count(name, count)
    low, high = np.log10(span)
    steps = np.linspace(low, high, count) if count > 1 else np.array([0.5 * (low + high)])
    return [float(centre * 10.0**step) for step in steps]


def spread_costs(
    count: int, kernel: Any, X: Any, weight: Array, units: tuple[float, float] = (1.0, 1.0)
) -> list[float]:
    """So many costs around the C at which slack and norm are of like size, ascending.

    That is 1 over the spread of the kernel's features: about 1 for the kernels with a width,
    ``1 / (n_features * Var[X])`` for the linear one. It is wanted in all units between these two.
    """
    low, high = _SPAN
    span = low * units[0], high * units[1]
    return spread("Cs", count, _scale(kernel, X, weight), span)


def _scale(kernel: Any, X: Any, weight: Array) -> float:
    if not weight.any():
        return 1.0  # the fit will say what is wrong
    if kernel == "linear":
        return resolve_gamma("scale", X, weight)
    if kernel == "precomputed":
        share = weight / weight.sum()
        distance = float(share @ X.diagonal()) - float(share @ (X @ share))
        return 1.0 / distance if distance > 0.0 else 1.0
    return 1.0
