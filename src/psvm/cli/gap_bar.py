"""The progress of a fit as a bar: the duality gap on its way from 1 down to ``tol``."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from psvm.cli.forecast import duration
from psvm.estimators.watch import Round, listening

# Of the way down, from which on the time left is judged by it.
_SHARE_THAT_TELLS = 0.25


@contextmanager
def gap_bar(
    problems: int, tol: float, *, quiet: bool, expected: float | None = None
) -> Iterator[None]:
    """Show the gap of the fits in the block, on a terminal only.

    Parameters
    ----------
    problems : int
        How many binary problems will be solved, in all fits.
    tol : float
        The gap at which a problem is solved.
    quiet : bool
        Whether to show nothing at all.
    expected : float, optional
        Seconds that it will take, as far as that is known before.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    bar = GapBar(problems, tol, expected)
    with bar.screen, listening(bar.show):
        yield


class GapBar:
    """Turns rounds, of several problems at once, into the state of a bar."""

    def __init__(self, problems: int, tol: float, expected: float | None = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.screen = Progress(
            TextColumn("fit"),
            BarColumn(30),
            TextColumn("gap {task.fields[gap]} → {task.fields[tol]}"),
            TextColumn("{task.fields[solved]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._problems, self._tol = problems, tol
        self._task = self.screen.add_task(
            "fit", total=problems, gap="1.0e+00", tol=f"{tol:g}", solved="", left=""
        )
        self._expected, self._began = expected, time.monotonic()
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
            completed = sum(self._share.values())
            self.screen.update(
                self._task,
                completed=completed,
                gap=f"{gap:.1e}",
                solved=solved,
                left=self._left(completed / self._problems),
            )

    def _left(self, share: float) -> str:
        """The time left: at first by what was expected, then by how the gap falls."""
        so_far = time.monotonic() - self._began
        known = [] if self._expected is None else [self._expected - so_far]
        if share > _SHARE_THAT_TELLS:
            known.append(so_far * (1.0 - share) / share)
        seconds = min(known, default=0.0)
        return f"about {duration(seconds)} left" if seconds >= 1.0 else ""
