"""What a SelectionDisplay reads from ``cv_results_``, and how it writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def score_format(cells: Array) -> str:
    """How scores are written: of whatever unit, with three digits."""
    largest = float(np.nanmax(np.abs(cells)))
    return "{:.3f}" if 0.1 <= largest < 10.0 else "{:.3g}"


def costs_in_units(parameters: Mapping[str, Any], scale: float) -> Array | None:
    """The costs in units of ``scale ** (2 - p)``, where each p has costs of its own; else None."""
    numbers = {name: as_numbers(parameters.get(name, np.ma.masked)) for name in ("p", "C")}
    p, C = numbers["p"], numbers["C"]
    if p is None or C is None or all(set(C[p == one]) == set(C) for one in p):
        return None
    return np.array([float(f"{cost:.9g}") for cost in C * scale ** (p - 2.0)])


def standard_error(cv_results: Mapping[str, Any], metric: str) -> Array | None:
    """That of the mean score of every candidate; None where there are not two splits."""
    pattern = re.compile(rf"split\d+_test_{re.escape(metric)}")
    splits = sum(1 for key in cv_results if pattern.fullmatch(key))
    if splits < 2:
        return None
    # The deviations of a search divide by the number of splits, not by one less.
    deviation = np.asarray(cv_results[f"std_test_{metric}"], dtype=np.float64)
    return np.asarray(deviation / np.sqrt(splits - 1))


def values_of(cv_results: Mapping[str, Any], name: str) -> Any:
    """Values of a parameter, also of a step of a pipeline; None if it was not searched."""
    keys = [key for key in cv_results if key == f"param_{name}" or key.endswith(f"__{name}")]
    keys = [key for key in keys if key.startswith("param_")]
    if len(keys) > 1:
        raise ValueError(
            f"`cv_results` must have one parameter {name}, got {keys}; leave out all but one."
        )
    return cv_results[keys[0]] if keys else None


def as_numbers(values: Any) -> Array | None:
    """The values as floats, or None if some are words such as "scale", or missing."""
    if np.ma.is_masked(values):
        return None
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def levels_of(values: Any) -> tuple[list[str], npt.NDArray[np.intp]]:
    """Names of the distinct values, ascending, and the place of every value among them.

    Words come after numbers, and last the candidates that leave the parameter at its default.
    """
    numbers = as_numbers(values)
    if numbers is not None:
        distinct, place = np.unique(numbers, return_inverse=True)
        return [f"{number:.3g}" for number in distinct], place

    def rank(value: Any) -> tuple[int, float, str]:
        if value is np.ma.masked:
            return 2, 0.0, "default"
        return (1, 0.0, value) if isinstance(value, str) else (0, value, f"{value:.3g}")

    ranks = [rank(value) for value in np.ma.asarray(values)]
    order = sorted(set(ranks))
    return [name for _, _, name in order], np.array([order.index(one) for one in ranks])
