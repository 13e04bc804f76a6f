"""A choice at the edge of its grid, where values beyond the edge may do better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.estimators.warn import warn_user
from psvm.search.table import equal, mean_gain, shown, split_scores

# The list that holds the values of each parameter.
_LISTS = {"p": "ps", "C": "Cs", "gamma": "gammas", "epsilon": "epsilons"}
_MOST_LISTED = 12  # values that a warning spells out

Array = npt.NDArray[np.float64]


class GridEdgeWarning(UserWarning):
    """The choice of a search is at the edge of its grid, and the score rises towards the edge."""


@dataclass(frozen=True)
class GridEdge:
    """A parameter at the edge of its grid.

    Attributes
    ----------
    parameter : {"p", "C", "gamma", "epsilon"}
    value : float
        What was chosen.
    largest : bool
        Whether it is the largest value of the grid, else the smallest.
    inside : float
        The next value of the grid.
    score, score_inside : float
        Mean score of the choice, and of the best cell at the next value.
    beyond : float
        The value that continues the grid.
    longer : list of float
        The grid with it.
    """

    parameter: str
    value: float
    largest: bool
    inside: float
    score: float
    score_inside: float
    beyond: float
    longer: list[float]

    def __str__(self) -> str:
        name, listed = self.parameter, _LISTS[self.parameter]
        which, more = ("largest", "larger") if self.largest else ("smallest", "smaller")
        return (
            f"{name} = {self.value:.4g} is the {which} of `{listed}`, and the score still rises "
            f"towards it ({shown(self.score_inside)} at {self.inside:.4g}, {shown(self.score)} "
            f"here): "
            f"add {more} ones, {self.beyond:.3g} for instance."
        )


def edges_of(results: Mapping[str, Any], chosen: int) -> list[GridEdge]:
    """The parameters of the chosen cell of ``cv_results_`` that are at an edge worth leaving.

    An edge counts if the best cell at the next value of the grid is worse by more than one standard
    error of the difference, which is taken split by split: a flat score says nothing of what is
    beyond. p = 1 and epsilon = 0 are no edges, as there is nothing beyond, and neither is a grid of
    one value. Where every p has costs of its own, those of the chosen p are the grid.
    """
    scores, params = split_scores(results), results["params"]
    mean = scores.mean(axis=1)
    found = []
    for name in params[chosen]:
        values = np.array([cell[name] for cell in params])
        value, own = values[chosen], np.ones(values.size, dtype=np.bool_)
        if name == "C":
            own = _of_same_grid(values, np.array([cell.get("p", 1.0) for cell in params]), chosen)
        levels = np.unique(values[own])
        last = (name, value) in (("p", 1.0), ("epsilon", 0.0))
        if levels.size < 2 or value not in (levels[0], levels[-1]) or last:
            continue
        largest = bool(value == levels[-1])
        inside = levels[-2] if largest else levels[1]
        rivals = np.flatnonzero((values == inside) & own & np.isfinite(mean))
        if rivals.size == 0:
            continue
        rival = rivals[np.argmax(mean[rivals])]
        gain, error = mean_gain(scores, chosen, int(rival))
        if gain > (error or 0.0) + equal(float(mean[chosen])):
            beyond = _beyond(name, float(value), float(inside))
            found.append(
                GridEdge(
                    parameter=name,
                    value=float(value),
                    largest=largest,
                    inside=float(inside),
                    score=float(mean[chosen]),
                    score_inside=float(mean[rival]),
                    beyond=beyond,
                    longer=sorted([*levels.tolist(), beyond]),
                )
            )
    return found


def _of_same_grid(C: Array, p: Array, chosen: int) -> npt.NDArray[np.bool_]:
    """The cells whose costs are those of the chosen one: all, or those of its p."""
    same = p == p[chosen]
    every = np.isin(C, C[same])
    return every if every.all() else same


def _beyond(name: str, value: float, inside: float) -> float:
    """The grid one value further: by the last difference for p, which ends at 1, else factor."""
    if name == "p":
        return max(1.0, 2.0 * value - inside)
    return value * value / inside if inside else value / 10.0


def warn_of_edges(edges: list[GridEdge], search: str) -> None:
    """One warning for all of them, with lists to paste: the grid may have come from a number."""
    if not edges:
        return
    lists = [
        f"{_LISTS[edge.parameter]}=[{', '.join(f'{value:.4g}' for value in edge.longer)}]"
        for edge in edges
        if len(edge.longer) <= _MOST_LISTED
    ]
    paste = f" Longer grids: {', '.join(lists)}." if lists else ""
    warn_user(
        f"{search} chose at the edge of its grid: {' '.join(map(str, edges))}{paste}",
        GridEdgeWarning,
    )
