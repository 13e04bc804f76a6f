"""Interleaved turns of contenders in this process, each with a limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from benchmarks.rivals.control import Control
from benchmarks.tables import OURS
from benchmarks.worker import end_process_after

GRACE = 2.0  # times the limit, after which a fit of ours that ignores max_time is ended as well
SECOND_TURN = (
    5.0  # times the seconds, within which there is a second turn: one alone may be an accident
)


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes
    ----------
    cap : float
        Seconds after which a fit is over the limit, whoever's it is.
    patience, least : float
        After the first contender the limit is ``patience`` times the fastest so far, if that is
        more than ``least`` seconds and less than ``cap``.
    seconds : float
        Turns are repeated until so much time has passed; a second turn may take more.
    turns : int
        The most turns.
    """

    cap: float = 30.0
    patience: float = 20.0
    least: float = 2.0
    seconds: float = 1.5
    turns: int = 15


QUICK = Effort(cap=4.0, least=1.0, seconds=0.2, turns=5)


@dataclass
class Contender:
    """Somebody who does the same task again and again.

    Attributes
    ----------
    name : str
        "psvm p=1" and the like, or the rival.
    run : callable
        ``run(limit)`` returns a model; only ours look at the limit, the others are ended with the
        process.
    p : float
        The exponent.
    over : float or None
        The limit that was exceeded.
    """

    name: str
    run: Callable[[float | None], Any]
    p: float = 1.0
    seconds: list[float] = field(default_factory=list)
    model: Any = None
    over: float | None = None
    error: str = ""

    @property
    def ours(self) -> bool:
        """Whether it is psvm."""
        return self.name.startswith(OURS)

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more to be had from it."""
        return self.over is not None or bool(self.error)

    def take_turn(self, limit: float | None) -> None:
        """Measure once; a limit is for the first turn, later ones take as long."""
        start = time.perf_counter()
        try:
            self.model = self.run(limit if self.ours else None)
        except (ValueError, RuntimeError) as error:
            self.error = f"{type(error).__name__}: {error}"[:200]
            return
        seconds = time.perf_counter() - start
        if limit is not None and seconds > limit:
            self.over = limit
        else:
            self.seconds.append(seconds)


def control(y: Any) -> Contender:
    """Does nothing: its seconds are those of the harness."""
    rival = Control()
    return Contender(rival.name, lambda _: rival.fit(None, y, None))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Watch:
    """What a process that can be ended knows and tells.

    ``over`` names those whom a limit ended in an earlier process, ``say`` is told who begins a
    first turn and with which limit. If ``ends`` is False, nobody is ended.
    """

    over: Mapping[str, float]
    say: Callable[[str, float], None]
    ends: bool = True

    def first_turn(self, contender: Contender, limit: float) -> None:
        """A turn with a limit, unless it is known to be over."""
        contender.over = self.over.get(contender.name, contender.over)
        if not contender.is_done:
            self.say(contender.name, limit)
            allowed = limit * (GRACE if contender.ours else 1.0)
            with end_process_after(allowed) if self.ends else nullcontext():
                contender.take_turn(limit)


UNWATCHED = Watch({}, lambda *_: None, ends=False)


def take_turns(contenders: Sequence[Contender], effort: Effort, watch: Watch) -> None:
    """Let all contenders take turns; the seconds are left with them."""
    start = time.perf_counter()
    for contender in contenders:
        watch.first_turn(contender, limit_of(contenders, effort))
    for turn in range(1, effort.turns):
        allowed = effort.seconds * (SECOND_TURN if turn == 1 else 1.0)
        if time.perf_counter() - start > allowed:
            break
        shift = turn % len(contenders)  # nobody always runs after the same neighbour
        for contender in [*contenders[shift:], *contenders[:shift]]:
            if not contender.is_done:
                contender.take_turn(None)


def limit_of(contenders: Sequence[Contender], effort: Effort) -> float:
    """Seconds for the next contender's first turn."""
    known = [min(c.seconds) for c in contenders if c.seconds and c.name != Control.name]
    if not known:
        return effort.cap
    return min(effort.cap, max(effort.least, effort.patience * min(known)))
