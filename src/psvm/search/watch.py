"""Who is told of a search while it runs: a bar or the log, and the callbacks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from psvm.estimators.callbacks import FitReporter
from psvm.estimators.watch import ProgressLog, logger
from psvm.search.table import shown

# Seconds between two lines of the log at least, and as a share of all seconds so far.
_PAUSE, _PAUSE_SHARE = 1.0, 0.25


class SearchStopped(Exception):
    """The search ends here, with what it has: a callback asked for it, or time is up."""


class NothingFinished(ValueError):
    """The search was stopped before there was a cell to choose."""


class SearchWatch:
    """Counts the fits of a search and shows them.

    With ``verbose >= 1`` there is a bar on the terminal (needs rich), and where standard error is
    no terminal lines of the logger "psvm", one a second at first and fewer and fewer later; with
    ``verbose >= 2`` also one line per kernel width.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._verbose = int(estimator.verbose)
        self._lock = Lock()
        self._done = self._total = 0
        self._best = ""
        self._ending = False
        self._start = self._last = time.monotonic()
        self._bar: Any = None
        self._shown = False

    def preparing(self, what: str) -> None:
        """The preprocessor is at work on these rows, which may take longer than all fits."""
        self._best = f"preprocessing {what}"
        self._display()
        self.look()

    def begin(self, X: Any, y: Any) -> None:
        """Data are checked and rows prepared: the search begins."""
        self._best = ""
        self._reporter = FitReporter(self._estimator, X, y)
        self._display()

    def _display(self) -> None:
        """Show a bar or log from now on; not before data are checked, whose errors stand alone."""
        if self._shown:
            return
        self._shown = True
        self._bar = _bar() if self._verbose == 1 else None
        if self._verbose > 0 and self._bar is None:
            ProgressLog(self._verbose)  # makes sure that somebody listens to the logger

    def expect(self, fits: int) -> None:
        """So many fits more are to come."""
        self._total += fits
        self.look()

    def fits_done(self, count: int) -> None:
        """Some fits more are done; from any thread."""
        with self._lock:
            self._done += count

    def cell_done(self, number: int, record: dict[str, Any]) -> None:
        """The score of a cell is known."""
        if self._reporter.task("cell", {**record, "cell": number}) and not self._ending:
            raise SearchStopped("stopped on request of a callback")

    def finish(self) -> None:
        """What follows only completes the choice: requests to stop are not heard any more."""
        self._ending = True

    def best(self, score: float, params: dict[str, float], *, finished: int, cells: int) -> None:
        """The best cell so far, of those that are finished."""
        values = ", ".join(f"{name}={value:.4g}" for name, value in params.items())
        self._best = f"{finished} of {cells} cells, best {shown(score)} at {values}"
        if self._verbose >= 2:
            logger.info("%d of %d fits, %s", self._done, self._total, self._best)

    def look(self) -> None:
        """Bring the display up to date."""
        if self._bar is not None:
            self._bar.show(self._done, self._total, self._best)
            return
        now = time.monotonic()
        so_far = now - self._start
        if self._verbose == 1 and now - self._last >= max(_PAUSE, _PAUSE_SHARE * so_far):
            self._last = now
            fits = f"{self._done} of {self._total} fits " if self._total else ""
            told = [f"{fits}after {so_far:.0f} s"]
            if self._done:
                told.append(f"about {so_far * (self._total - self._done) / self._done:.0f} s left")
            logger.info(", ".join([*told, self._best] if self._best else told))

    def say(self, sentence: str) -> None:
        """A sentence for whoever watches."""
        if self._bar is not None:
            self._bar.say(sentence)
        elif self._verbose:
            logger.info(sentence)

    def final_fit(self) -> None:
        """The search is over; the chosen cell is being fitted to all rows."""
        self._best = f"final fit, {self._best}"
        if self._bar is not None:
            self._bar.show(self._done, self._total, self._best)

    def close(self) -> None:
        """No more display; the callbacks hear of :meth:`end`."""
        if self._bar is not None:
            self._bar.show(self._done, self._total, self._best)
            self._bar.close()
            self._bar = None

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """No display is left of a block that fails."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def end(self) -> None:
        """The fit is over."""
        self._reporter.end()


def _bar() -> Any:
    """A bar, if standard error is a terminal and rich is installed."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    try:
        return _RichBar()
    except ImportError:
        return None


class _RichBar:
    """Fits done and the time left; below, because lines may have 80 columns only, the best."""

    def __init__(self) -> None:
        from rich.console import Console, Group
        from rich.live import Live
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.text import Text

        self._progress = Progress(
            TextColumn("fits"), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn()
        )
        self._task = self._progress.add_task("", total=None)
        self._best = ""
        self._live = Live(
            get_renderable=lambda: Group(self._progress, Text(self._best, overflow="ellipsis")),
            console=Console(stderr=True),
            refresh_per_second=10,
        )
        self._live.start()

    def show(self, done: int, total: int, best: str) -> None:
        self._progress.update(self._task, completed=done, total=total or None)
        self._best = best

    def say(self, sentence: str) -> None:
        self._live.console.out(sentence)

    def close(self) -> None:
        self._live.stop()
