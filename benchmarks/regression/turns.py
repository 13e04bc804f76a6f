"""Contenders that take turns in one process, by the clock and by the seconds of the processor.

On a machine that others use, too, the seconds of the processor (of all threads) are the ones to
compare: they count against whoever uses several threads, which of these libraries only psvm does.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.exceptions import ConvergenceWarning


@dataclass
class Turns:
    """Seconds of every turn, and the last model."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    model: Any = None

    @property
    def seconds(self) -> tuple[float, float]:
        """The best turns: by the clock, and of the processor."""
        return min(self.wall), min(self.cpu)


def take_turns(
    contenders: Mapping[str, Callable[[], Any]], *, seconds: float = 0.3, most: int = 7
) -> dict[str, Turns]:
    """Fits in turn, until ``seconds`` are over or everybody had ``most`` turns; one at least.

    Only the referee says who has arrived, so warnings are not shown.
    """
    turns = {name: Turns() for name in contenders}
    began = time.perf_counter()
    for _ in range(most):
        for name, fit in contenders.items():
            wall, cpu = time.perf_counter(), time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                turns[name].model = fit()
            turns[name].wall.append(time.perf_counter() - wall)
            turns[name].cpu.append(time.process_time() - cpu)
        if time.perf_counter() - began >= seconds:
            break
    return turns
