"""Which cells are solved, and when: all at once, or in rounds, as earlier ones suggest."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from psvm.search.grid import Grid

STRATEGIES = ("grid", "p_last")

# Gives the best cell so far, or None if no cell has a score.
Best = Callable[[], int | None]


def rounds(strategy: str, grid: Grid, default_p: float, best: Best) -> Iterator[list[int]]:
    """The cells of each round; ``best`` is asked when the round before is scored.

    "grid" has one round with all cells. "p_last" first has the cells of one p, the default or the
    nearest to it, and then those of all other p whose C, gamma and epsilon are at most one place
    from the best.
    """
    everything = list(range(grid.size))
    if strategy == "grid":
        yield everything
        return
    first = grid.p[np.argmin(np.abs(grid.p - default_p))]
    of_first = grid.p == first
    yield np.flatnonzero(of_first).tolist()
    leader = best()
    # Without a score there is nothing to go by.
    later = ~of_first if leader is None else ~of_first & neighbours(grid, leader)
    if later.any():
        yield np.flatnonzero(later).tolist()


def neighbours(grid: Grid, cell: int) -> npt.NDArray[np.bool_]:
    """The cells of any p whose other parameters are at most one place from those of a cell.

    Places are those among the values of the same p: each may have costs of its own.
    """
    C = np.empty(grid.size, dtype=np.intp)
    for p in np.unique(grid.p):
        same = grid.p == p
        C[same] = np.unique(grid.C[same], return_inverse=True)[1]
    epsilon = np.unique(grid.epsilon, return_inverse=True)[1]
    places = np.column_stack([C, grid.gamma_number, epsilon])
    return np.asarray((np.abs(places - places[cell]) <= 1).all(axis=1))
