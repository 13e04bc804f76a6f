"""The cells of a search: every p, C, gamma and epsilon, and the grids that follow from the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import ParameterGrid

from psvm.estimators import validation as check
from psvm.estimators.cost_grid import check_count, is_count, spread, spread_costs
from psvm.rows.kernel import facts_of, resolve_gamma

Array = npt.NDArray[np.float64]

# Widths that a number asks for, as multiples of the scale of the data, and tubes, as multiples of
# the standard deviation of the targets.
_GAMMA_SPAN, _EPSILON_SPAN = (0.1, 10.0), (0.02, 0.5)


@dataclass(frozen=True)
class Grid:
    """The cells in the order of ``cv_results_``, which is that of scikit-learn's ParameterGrid.

    Attributes
    ----------
    gammas : list of float
        The kernel widths, ascending; a single 1 for kernels without one.
    params : list of dict
        The parameters of every cell.
    p, C, epsilon : ndarray of shape (n_cells,)
        Exponent, cost and tube of every cell; in classification there is no tube, and it is 0.
    gamma_number : ndarray of shape (n_cells,)
        The place of its width in ``gammas``.
    """

    gammas: list[float]
    params: list[dict[str, float]]
    p: Array
    C: Array
    epsilon: Array
    gamma_number: npt.NDArray[np.intp]

    @classmethod
    def of(cls, params: list[dict[str, float]]) -> Grid:
        """The grid of these cells."""
        gammas = sorted({cell.get("gamma", 1.0) for cell in params})
        return cls(
            gammas=gammas,
            params=params,
            p=np.array([cell["p"] for cell in params]),
            C=np.array([cell["C"] for cell in params]),
            epsilon=np.array([cell.get("epsilon", 0.0) for cell in params]),
            gamma_number=np.array([gammas.index(cell.get("gamma", 1.0)) for cell in params]),
        )

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.params)

    def path(self, gamma: int, cells: Iterable[int]) -> list[int]:
        """Those of the cells that have this width, p and then C ascending.

        At each C tubes follow in turn, down from the widest at the smallest C: neighbours on the
        path differ in one parameter.
        """
        own = [c for c in cells if self.gamma_number[c] == gamma]
        own.sort(key=lambda c: (self.p[c], self.C[c], -self.epsilon[c]))
        found: list[int] = []
        for _, same_p in groupby(own, lambda c: self.p[c]):
            for turn, (_, same_C) in enumerate(groupby(same_p, lambda c: self.C[c])):
                tubes = list(same_C)
                found += tubes[::-1] if turn % 2 else tubes
        return found


@dataclass(frozen=True)
class AskedGrid:
    """The lists that a user asks for, checked.

    A number in place of Cs, gammas or epsilons asks for so many values around the scale of the
    data; gammas are None for kernels without a width, epsilons in classification.
    """

    ps: list[float]
    Cs: list[float] | int
    gammas: list[float | str] | int | None
    epsilons: list[float] | int | None = field(default=None, kw_only=True)

    def over(self, kernel: Any, X: Any, weight: Array, spread_of_y: float = 1.0) -> Grid:
        """Every combination; ``spread_of_y`` is the standard deviation of the targets.

        Costs that a number asks for are ``C spread ** (2 - p)``: so cells do not depend on the unit
        of y.
        """
        Cs = spread_costs(self.Cs, kernel, X, weight) if isinstance(self.Cs, int) else self.Cs
        values = {"p": self.ps, "C": Cs}
        if isinstance(self.gammas, int):
            centre = resolve_gamma("scale", X, weight)
            values["gamma"] = spread("gammas", self.gammas, centre, _GAMMA_SPAN)
        elif self.gammas is not None:
            values["gamma"] = [resolve_gamma(gamma, X, weight) for gamma in self.gammas]
            _refuse_twins("gammas", values["gamma"])
        if isinstance(self.epsilons, int):
            values["epsilon"] = spread("epsilons", self.epsilons, spread_of_y, _EPSILON_SPAN)
        elif self.epsilons is not None:
            values["epsilon"] = self.epsilons
        params = list(ParameterGrid(values))
        if isinstance(self.Cs, int):
            params = [
                {**cell, "C": float(cell["C"] * spread_of_y ** (2.0 - cell["p"]))}
                for cell in params
            ]
        return Grid.of(params)


def check_grid(ps: Any, Cs: Any, gammas: Any, *, kernel: Any) -> AskedGrid:
    """The lists of a classification, as far as they can be checked without the data."""
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


def check_epsilons(epsilons: Any) -> list[float] | int:
    """The tubes of a regression, as far as they can be checked without the data."""
    if is_count(epsilons):
        return check_count("epsilons", epsilons)
    widths = [check.check_epsilon(epsilon, "epsilons") for epsilon in _listed("epsilons", epsilons)]
    _refuse_twins("epsilons", widths)
    return widths


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
