"""Who is told of a fit while it runs: the log, scikit-learn's callbacks, and listeners.

Listeners are no part of an estimator. Unlike callbacks they exist in all versions of scikit-learn,
survive ``clone``, and do not make binary problems run one after the other; unlike the log they get
numbers and not text.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from psvm.estimators.callbacks import FitReporter
from psvm.solvers.ledger import Solution

logger = logging.getLogger("psvm")


@dataclass(frozen=True)
class Round:
    """One outer iteration: of which fit, of which of its binary problems, and its record."""

    fit: int
    problem: int
    record: dict[str, Any]


Listener = Callable[[Round], None]

# Of the process, as log handlers are, and not of a context: an ensemble fits its clones in threads.
_listeners: list[Listener] = []
_fits = count()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell ``listener`` of every round of the fits that begin inside the block, in any thread.

    Parameters
    ----------
    listener : callable
        Gets a :class:`Round`, from several threads at once if problems run side by side. What it
        raises ends the fit.
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


class FitWatch:
    """Who is told of a fit while it runs: the log, the callbacks and the listeners."""

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._reporter = FitReporter(estimator, X, y)
        self._log = ProgressLog(estimator.verbose)
        # Those who listen now, when the fit begins.
        self._fit, self._listeners = next(_fits), tuple(_listeners)

    @property
    def in_order(self) -> bool:
        """Whether callbacks listen, who expect one problem after the other."""
        return self._reporter.active

    @property
    def listens(self) -> bool:
        """Whether anybody wants to hear of rounds, which makes a solver wait for Python."""
        return self._reporter.active or self._log.verbose > 0 or bool(self._listeners)

    def round(self, problem: int, record: dict[str, Any]) -> bool:
        """One outer iteration of a binary problem; a true answer stops it."""
        self._log.round(problem, record)
        for listener in self._listeners:
            listener(Round(self._fit, problem, record))
        return self._reporter.round(problem, record)

    def done(self, solved: Sequence[Solution]) -> None:
        """The binary problems are solved."""
        for t, one in enumerate(solved):
            self._log.done(t, one.certificate.gap, one.n_iter, one.status)

    def end(self) -> None:
        """The fit is over."""
        self._reporter.end()


class ProgressLog:
    """Logs rounds while they happen: at most one a second (verbose=1) or every one (verbose=2)."""

    def __init__(self, verbose: int) -> None:
        self.verbose = int(verbose)
        self._last = time.monotonic()
        if self.verbose > 0:
            if not logger.hasHandlers():
                logger.addHandler(logging.StreamHandler())
            if logger.getEffectiveLevel() > logging.INFO:
                logger.setLevel(logging.INFO)

    def round(self, problem: int, record: dict[str, Any]) -> None:
        """One outer iteration of a binary problem."""
        if self.verbose >= 1 and "why" in record:
            logger.info("problem %d, %s: %s", problem, record["solver"], record["why"])
        now = time.monotonic()
        if self.verbose >= 2 or (self.verbose == 1 and now - self._last >= 1.0):
            self._last = now
            logger.info(
                "problem %d, %s, iteration %d: relative gap %.2e after %.2f s",
                problem,
                record["solver"],
                record["iteration"],
                record["gap"],
                record["seconds"],
            )

    def done(self, problem: int, gap: float, n_iter: int, status: object) -> None:
        """A binary problem is over."""
        if self.verbose >= 1:
            logger.info(
                "problem %d %s: relative gap %.2e after %d iterations", problem, status, gap, n_iter
            )
