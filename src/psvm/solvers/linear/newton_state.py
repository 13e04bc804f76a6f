"""Where a run of Newton's method is: its point, its best values, its progress."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from psvm.solvers.linear.best_pair import relative_gap
from psvm.solvers.linear.newton_rules import MOST_INFINITE
from psvm.solvers.linear.passes import Sums
from psvm.solvers.linear.systems import System

Array = npt.NDArray[np.float64]


class OwnGap(Protocol):
    """Judges alpha with its own ``w(alpha)``, where the model is alpha alone."""

    @property
    def smallest(self) -> float:
        """The smallest relative gap so far; at first that of the start."""
        ...

    def __call__(self) -> float:
        """The relative gap of the alpha that the rows keep."""
        ...


@dataclass(frozen=True)
class Point:
    """Coefficients (``b`` of features less their shift), and what the rows say there."""

    u: Array
    sums: Sums
    gradient: Array  # of the envelope
    primal: float  # P; for a hard margin of w scaled to be feasible


@dataclass
class Best:
    """The best values so far: P at ``u``, D at the alpha kept by the rows."""

    u: Array
    primal: float
    dual: float
    kept: bool  # whether the rows keep an alpha at all
    own: float | None  # the gap of the best alpha with its own w, where that counts

    @property
    def pair(self) -> float:
        """Relative gap of u and alpha."""
        return relative_gap(self.primal, self.dual)

    @property
    def judged(self) -> bool:
        """Whether an alpha has been judged with its own w: then the solution is near."""
        return self.own is not None and np.isfinite(self.own)

    @property
    def gap(self) -> float:
        """The relative gap that counts."""
        return self.pair if self.own is None else self.own

    @property
    def nearness(self) -> float:
        """The gap by which progress is seen: of the pair, until alpha is near enough to judge."""
        return self.gap if self.judged else self.pair


@dataclass
class Progress:
    """How long nothing has been gained.

    Far away the primal falls, sigma grows, or the decrement of the envelope falls, for long before
    any gap is proved: weights over six decades take hundreds of steps.
    """

    lowest: float = np.inf  # primal
    smallest: float = np.inf  # decrement at this sigma
    idle: int = 0
    infinite: int = 0  # primals in a row
    settled: int = 0  # iterations at a gap that is as good as rounding

    def note(
        self, primal: float, decrement: float, *, new_sigma: bool, gained: bool, near: bool
    ) -> None:
        """One more iteration; ``near`` the solution only the gap counts as a gain."""
        smallest = np.inf if new_sigma else self.smallest
        falling = primal < (1.0 - 1e-6) * self.lowest or decrement < 0.99 * smallest
        self.infinite = 0 if np.isfinite(primal) else self.infinite + 1
        falling = falling or 0 < self.infinite <= MOST_INFINITE
        self.lowest, self.smallest = min(self.lowest, primal), min(smallest, decrement)
        self.idle = 0 if gained or (falling and not near) else self.idle + 1


@dataclass
class State:
    """Where a run is, complete from its first pass on."""

    point: Point
    sigma: float
    best: Best
    progress: Progress = field(default_factory=Progress)
    system: System | None = None  # of the last direction, if it can be solved for another one
    decrement: float = np.inf  # of the last step
    stepped_fully: bool = False
    iteration: int = 0
