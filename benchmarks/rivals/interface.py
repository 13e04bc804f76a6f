"""What an adapter provides. It only translates; every judged number comes from the referee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from benchmarks.linear_objective import LinearModel
from benchmarks.objective import DualModel

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Setting:
    """The problem to solve and the threads to solve it with.

    ``gamma`` is the width of the rbf kernel; None: a linear problem.
    """

    C: float
    gamma: float | None
    p: float
    threads: int


class Rival(Protocol):
    """One library. Call order: prepare, fit, predict, export; only fit and predict are timed.

    ``package`` is the distribution whose version is recorded, or "" for none.
    """

    @property
    def name(self) -> str: ...

    @property
    def package(self) -> str: ...

    def why_not(self, p: float, n_train: int) -> str | None:
        """Reason not to run this problem, or None."""

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """The library's own form of the rows (dtype, containers). Not timed."""

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Train; returns the library's own model. Timed."""

    def predict(self, model: Any, data: Any) -> Labels:
        """Labels of prepared rows. Timed."""

    def export(self, model: Any) -> DualModel | LinearModel | None:
        """The model for the referee; None if there is none to judge. Not timed."""
