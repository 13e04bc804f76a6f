"""The cells of a search: every p, C and gamma, and the grids that follow from the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import ParameterGrid

from psvm.estimators import validation as check
from psvm.estimators.cost_grid import is_count, spread, spread_costs
from psvm.rows.kernel import facts_of, resolve_gamma

Array = npt.NDArray[np.float64]

# Widths that a number asks for, as multiples of the scale of the data.
_GAMMA_SPAN = (0.1, 10.0)


@dataclass(frozen=True)
class Grid:
    """The cells in the order of ``cv_results_``, which is that of scikit-learn's ParameterGrid.

    Attributes
    ----------
    gammas : list of float
        The kernel widths, ascending; a single 1 for kernels without one.
    params : list of dict
        The parameters of every cell.
    p, C : ndarray of shape (n_cells,)
        Exponent and cost of every cell.
    gamma_number : ndarray of shape (n_cells,)
        The place of its width in ``gammas``.
    """

    gammas: list[float]
    params: list[dict[str, float]]
    p: Array
    C: Array
    gamma_number: npt.NDArray[np.intp]

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.params)

    def path(self, gamma: int, cells: Iterable[int]) -> list[int]:
        """Those of the cells that have this width, p and then C ascending."""
        own = [c for c in cells if self.gamma_number[c] == gamma]
        return sorted(own, key=lambda c: (self.p[c], self.C[c]))


def make_grid(ps: Any, Cs: Any, gammas: Any, *, kernel: Any, X: Any, weight: Array) -> Grid:
    """Check the three lists and form every combination.

    A number in place of Cs or gammas asks for so many values around the scale of the data.
    """
    values: dict[str, list[float]] = {"p": [check.check_p(p) for p in _listed("ps", ps)]}
    if is_count(Cs):
        values["C"] = spread_costs(int(Cs), kernel, X, weight)
    else:
        values["C"] = [check.check_C(C) for C in _listed("Cs", Cs)]
    if np.isinf(values["C"]).any():
        raise ValueError("`Cs` must be finite: a hard margin may not exist in some split.")
    if "gamma" in facts_of(kernel).parameters:
        values["gamma"] = _widths(gammas, X, weight)
    for name, items in values.items():
        if len(set(items)) < len(items):
            raise ValueError(f"`{name}s` must not hold a value twice, got {items!r}.")
    params = list(ParameterGrid(values))
    widths = sorted(values.get("gamma", [1.0]))
    return Grid(
        gammas=widths,
        params=params,
        p=np.array([cell["p"] for cell in params]),
        C=np.array([cell["C"] for cell in params]),
        gamma_number=np.array([widths.index(cell.get("gamma", 1.0)) for cell in params]),
    )


def _listed(name: str, values: Any) -> Sequence[Any]:
    """The values as a list that is not empty."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ValueError(
            f"`{name}` must be a list of numbers, got {values!r}; one value is a list of one."
        )
    listed = list(values)
    if not listed:
        raise ValueError(f"`{name}` must hold at least one value, got none.")
    return listed


def _widths(gammas: Any, X: Any, weight: Array) -> list[float]:
    if is_count(gammas):
        return spread("gammas", int(gammas), resolve_gamma("scale", X, weight), _GAMMA_SPAN)
    widths = []
    for gamma in [gammas] if isinstance(gammas, str) else _listed("gammas", gammas):
        if isinstance(gamma, str):
            check.check_choice("gammas", gamma, ("scale", "auto"))
        else:
            check.check_number("gammas", gamma, 0.0)
        widths.append(resolve_gamma(gamma, X, weight))
    return widths
