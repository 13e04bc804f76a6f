"""The progress of a fit as a bar: the duality gap on its way from 1 down to ``tol``."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from psvm.estimators.watch import Round, listening


@contextmanager
def gap_bar(problems: int, tol: float, *, quiet: bool) -> Iterator[None]:
    """Show the gap of the fits in the block, on a terminal only.

    Parameters
    ----------
    problems : int
        How many binary problems will be solved, in all fits.
    tol : float
        The gap at which a problem is solved.
    quiet : bool
        Whether to show nothing at all.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    bar = GapBar(problems, tol)
    with bar.screen, listening(bar.show):
        yield


class GapBar:
    """Turns rounds, of several problems at once, into the state of a bar."""

    def __init__(self, problems: int, tol: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.screen = Progress(
            TextColumn("fit"),
            BarColumn(30),
            TextColumn("gap {task.fields[gap]} → {task.fields[tol]}"),
            TextColumn("{task.fields[solved]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._problems, self._tol = problems, tol
        self._task = self.screen.add_task(
            "fit", total=problems, gap="1.0e+00", tol=f"{tol:g}", solved=""
        )
        self._share: dict[tuple[int, int], float] = {}
        self._lock = Lock()

    def show(self, one: Round) -> None:
        """Show a round."""
        gap = float(one.record["gap"])
        # On a scale of orders of magnitude, because that is how the gap falls.
        orders = math.log(min(1.0, max(gap, self._tol))) / math.log(min(self._tol, 0.5))
        key = one.fit, one.problem
        with self._lock:
            self._share[key] = max(self._share.get(key, 0.0), orders)
            done = sum(share >= 1.0 for share in self._share.values())
            solved = f"{done}/{self._problems} problems" if self._problems > 1 else ""
            self.screen.update(
                self._task, completed=sum(self._share.values()), gap=f"{gap:.1e}", solved=solved
            )
