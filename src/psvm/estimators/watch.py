"""Listeners: who hears of the rounds of fits without being part of an estimator.

Unlike scikit-learn's callbacks they exist in all its versions, survive ``clone``, and do not make
binary problems run one after the other; unlike the log they get numbers and not text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any


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


class FitListeners:
    """Those who listen when a fit begins; false if there are none."""

    def __init__(self) -> None:
        self._fit = next(_fits)
        self._listeners = tuple(_listeners)

    def __bool__(self) -> bool:
        return bool(self._listeners)

    def round(self, problem: int, record: dict[str, Any]) -> None:
        """One outer iteration of a binary problem."""
        for listener in self._listeners:
            listener(Round(self._fit, problem, record))
