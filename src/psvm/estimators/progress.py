"""Progress of a fit as log records, shown on standard error if nobody else listens."""

from __future__ import annotations

import logging
import time
from typing import Any

logger = logging.getLogger("psvm")


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
