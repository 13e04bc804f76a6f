"""The cells of a search: every p, C and gamma, and the grids that follow from the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import ParameterGrid

from psvm.estimators import validation as check
from psvm.estimators.cost_grid import check_count, is_count, spread, spread_costs
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


@dataclass(frozen=True)
class AskedGrid:
    """The lists that a user asks for, checked.

    A number in place of Cs or gammas asks for so many values around the scale of the data;
    gammas are None for kernels without a width.
    """

    ps: list[float]
    Cs: list[float] | int
    gammas: list[float | str] | int | None

    def over(self, kernel: Any, X: Any, weight: Array) -> Grid:
        """Every combination."""
        Cs = spread_costs(self.Cs, kernel, X, weight) if isinstance(self.Cs, int) else self.Cs
        values = {"p": self.ps, "C": Cs}
        if isinstance(self.gammas, int):
            centre = resolve_gamma("scale", X, weight)
            values["gamma"] = spread("gammas", self.gammas, centre, _GAMMA_SPAN)
        elif self.gammas is not None:
            values["gamma"] = [resolve_gamma(gamma, X, weight) for gamma in self.gammas]
            _refuse_twins("gammas", values["gamma"])
        params = list(ParameterGrid(values))
        widths = sorted(values.get("gamma", [1.0]))
        return Grid(
            gammas=widths,
            params=params,
            p=np.array([cell["p"] for cell in params]),
            C=np.array([cell["C"] for cell in params]),
            gamma_number=np.array([widths.index(cell.get("gamma", 1.0)) for cell in params]),
        )


def check_grid(ps: Any, Cs: Any, gammas: Any, *, kernel: Any) -> AskedGrid:
    """The three lists, as far as they can be checked without the data."""
    exponents = [check.check_p(p, "ps") for p in _listed("ps", ps)]
    costs: list[float] | int = (
        check_count("Cs", Cs)
        if is_count(Cs)
        else [check.check_C(C, "Cs") for C in _listed("Cs", Cs)]
    )
    _refuse_twins("ps", exponents)
    if not isinstance(costs, int):
        if np.isinf(costs).any():
            raise ValueError("`Cs` must be finite: a hard margin may not exist in some split.")
        _refuse_twins("Cs", costs)
    if "gamma" not in facts_of(kernel).parameters:
        return AskedGrid(exponents, costs, None)
    if is_count(gammas):
        return AskedGrid(exponents, costs, check_count("gammas", gammas))
    widths = [gammas] if isinstance(gammas, str) else _listed("gammas", gammas)
    return AskedGrid(exponents, costs, [check.check_gamma(gamma, "gammas") for gamma in widths])


def _refuse_twins(name: str, values: Sequence[float]) -> None:
    if len(set(values)) < len(values):
        raise ValueError(f"`{name}` must not hold a value twice, got {values!r}.")


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
