"""The progress of a fit as a bar: the duality gap on its way from 1 down to ``tol``.

Works from the log of the estimators (``verbose=2``), which any version of scikit-learn has, and
which does not keep the binary problems from running side by side as callbacks do.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def gap_bar(classifier: Any, problems: int, *, quiet: bool) -> Iterator[None]:
    """Show the gap while ``classifier`` is fitted, on a terminal only.

    Parameters
    ----------
    classifier : PSVC or LinearPSVC
        Before its fit; ``verbose`` is 0 again afterwards.
    problems : int
        How many binary problems will be solved, in all fits.
    quiet : bool
        Whether to show nothing at all.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    logger = logging.getLogger("psvm")
    level, propagate = logger.level, logger.propagate
    bar = _GapBar(problems, float(classifier.tol))
    logger.addHandler(bar)
    logger.propagate = False
    classifier.set_params(verbose=2)
    try:
        with bar.screen:
            yield
    finally:
        classifier.set_params(verbose=0)
        logger.removeHandler(bar)
        logger.setLevel(level)
        logger.propagate = propagate


class _GapBar(logging.Handler):
    """Turns records of rounds into the state of a bar."""

    def __init__(self, problems: int, tol: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        super().__init__()
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
        self._fit_of: dict[int, int] = {}
        self._iteration: dict[int, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Show a round; other records are not for the bar."""
        match record.args:
            case (int(problem), str(), int(iteration), float(gap), float()):
                self._round(problem, iteration, gap)

    def _round(self, problem: int, iteration: int, gap: float) -> None:
        if iteration == 0 and self._iteration.get(problem, 0) > 0:  # a further fit, of other rows
            self._fit_of[problem] = self._fit_of.get(problem, 0) + 1
        self._iteration[problem] = iteration
        key = self._fit_of.get(problem, 0), problem
        # On a scale of orders of magnitude, because that is how the gap falls.
        orders = math.log(min(1.0, max(gap, self._tol))) / math.log(min(self._tol, 0.5))
        self._share[key] = max(self._share.get(key, 0.0), orders)
        done = sum(share >= 1.0 for share in self._share.values())
        solved = f"{done}/{self._problems} problems" if self._problems > 1 else ""
        self.screen.update(
            self._task, completed=sum(self._share.values()), gap=f"{gap:.1e}", solved=solved
        )
