"""What a solve has done and may still do: limits, stages, records, status.

A fit has one :class:`Budget`, and a :class:`Ledger` for each of its problems. A solve goes through
stages, one solver after the other; each asks its :class:`Stage` what is left and tells it of every
round. How it all ended is a :class:`Solution`.

A solver gives up as STALLED when its gap has stopped falling (each knows its own signs of that),
and, where rows are few, when the effort is spent that such a fit may take.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.mathematics.certificate import Certificate
from psvm.rows.sizes import FEW_ROWS, MOST_EFFORT

Array = npt.NDArray[np.float64]
Record = dict[str, Any]

# Share of the limit of seconds, and seconds, that it may take longer to certify: the promise is a
# tenth or half a second, of which something is left for the rest of a fit.
_GRACE, _GRACE_SECONDS = 0.06, 0.3


class Status(Enum):
    """How a solve ended. The value is the message a user reads."""

    CONVERGED = "the relative duality gap is within tol"
    MAX_ITER = "stopped after max_iter outer iterations"
    MAX_TIME = "stopped after max_time seconds"
    STOPPED = "stopped on request of a callback"
    UNPROVEN = (
        "the gap is within tol as computed, but rounding errors alone may exceed tol, so that it "
        "is not proved"
    )
    STALLED = (
        "the gap has stopped falling, or falls too slowly for so few rows; a large C or p, or X "
        "of very different scales, leaves too few digits"
    )
    STATIONARY = (
        "the kernel is not positive semidefinite: the point is stationary, and the gap measures "
        "the violation of the optimality conditions, not the distance to a global optimum"
    )
    UNBOUNDED = (
        "the kernel is not positive semidefinite, and at this p and C its dual grows without "
        "bound: there is no optimum to be found"
    )

    def __str__(self) -> str:
        return self.name.lower()


class OutOfTime(Exception):
    """The seconds of a fit are over, and something that takes long is not worth ending."""


@dataclass(frozen=True)
class Budget:
    """When to stop: at the relative gap ``tol``, or after ``max_iter`` rounds or ``max_time`` s.

    Rounds are those of one problem, seconds those of the whole fit since it ``began``, by
    ``time.perf_counter``. ``max_effort`` are seconds, too, less those in which a busy machine kept
    the process waiting.
    """

    tol: float = 1e-4
    max_iter: int = -1
    max_time: float | None = None
    max_effort: float | None = None
    began: float = field(default_factory=time.perf_counter)
    worked_before: float = field(default_factory=time.process_time)

    def over_rows(self, rows: int) -> Budget:
        """With a limit of effort where rows are few: there it is no use to wait for long."""
        return replace(self, max_effort=MOST_EFFORT) if rows < FEW_ROWS else self

    @property
    def seconds(self) -> float:
        """Seconds of the fit so far."""
        return time.perf_counter() - self.began

    @property
    def seconds_left(self) -> float | None:
        """Seconds the fit may still take; None without a limit."""
        return None if self.max_time is None else max(self.max_time - self.seconds, 0.0)

    @property
    def grace(self) -> float:
        """Seconds by which a fit with a limit may be late and still have time for the rest."""
        return max(_GRACE * (self.max_time or 0.0), _GRACE_SECONDS)

    @property
    def effort(self) -> float:
        """Seconds of the fit, less those in which a busy machine kept the process waiting."""
        return min(self.seconds, time.process_time() - self.worked_before)


@dataclass(frozen=True)
class Solution:
    """The solution of one problem, certified.

    Attributes
    ----------
    gather_alpha : callable
        Gives the dual variables. (Those of a linear problem stay in the blocks of its rows: many
        problems of very many rows do not fit into memory twice.)
    certificate : Certificate
        P, D and gap of the dual variables with w; the intercept.
    status : Status
        How the solve ended.
    n_iter : int
        Rounds of all stages.
    history : list of dict
        A record of each of them.
    decision : ndarray
        Decision values of the rows without the intercept; of kernel problems only.
    w : ndarray
        Coefficients of the features; of linear problems only.
    gather_support : callable or None
        Gives the rows whose dual variable is positive, where that takes less than all of them.
    """

    gather_alpha: Callable[[], Array]
    certificate: Certificate
    status: Status
    n_iter: int = 0
    history: list[Record] = field(default_factory=list)
    decision: Array = field(default_factory=lambda: np.empty(0))
    w: Array = field(default_factory=lambda: np.empty(0))
    gather_support: Callable[[], npt.NDArray[np.integer[Any]]] | None = None

    @property
    def alpha(self) -> Array:
        """Dual variables of all rows."""
        return self.gather_alpha()

    @property
    def support(self) -> npt.NDArray[np.integer[Any]]:
        """The rows whose dual variable is positive."""
        return (
            np.flatnonzero(self.alpha > 0.0)
            if self.gather_support is None
            else self.gather_support()
        )


@dataclass
class Ledger:
    """The account of one problem.

    Attributes
    ----------
    budget : Budget
        The limits of the fit.
    number : int
        The problem's number in the fit.
    on_round : callable or None
        Who listens: gets the number and the record of a round, and stops the solve by a true
        answer.
    cancel : _core.Cancel or None
        Set when the whole fit is given up. C++ looks at it by itself.
    share : float
        The share of the effort left that this problem may take.
    reserve : callable
        Seconds to keep for what is to be done after the last round.
    records : list of dict
        The rounds so far, numbered through all stages, with seconds since this ledger was opened.
    rounds : int
        How many these are.
    stopped : bool
        Whether the listener, or a cancelled fit, wants the solve to end.
    phases : dict
        Seconds of the working-set solver by what it did; the last record has them, with what was
        spent ``outside``.
    """

    budget: Budget
    number: int = 0
    on_round: Callable[[int, Record], bool] | None = None
    cancel: Any = None
    share: float = 1.0
    reserve: Callable[[], float] = lambda: 0.0
    records: list[Record] = field(default_factory=list)
    rounds: int = field(default=0, init=False)
    stopped: bool = False
    phases: dict[str, float] = field(default_factory=dict, init=False)
    opened: float = field(default_factory=time.perf_counter, init=False)

    def __post_init__(self) -> None:
        self.rounds = self.records[-1]["iteration"] if self.records else 0
        limit, spent = self.budget.max_effort, self.budget.effort
        self.last_effort = np.inf if limit is None else spent + self.share * max(limit - spent, 0.0)

    @property
    def seconds(self) -> float:
        """Seconds since this ledger was opened."""
        return time.perf_counter() - self.opened

    @property
    def effort_left(self) -> float:
        """Effort this problem may still take."""
        limit = self.last_effort
        return limit if np.isinf(limit) else max(limit - self.budget.effort, 0.0)

    def hurry(self) -> None:
        """Raise OutOfTime if the seconds are over by more than may pass unnoticed."""
        limit = self.budget.max_time
        if limit is not None and self.budget.seconds > limit + self.budget.grace:
            raise OutOfTime

    @property
    def rounds_left(self) -> int:
        """Rounds until the limit; negative without one."""
        limit = self.budget.max_iter
        return -1 if limit < 0 else max(limit - self.rounds, 0)

    def stage(
        self,
        solver: str,
        why: str | None = None,
        *,
        tol: float | None = None,
        rounds: int = -1,
        share: float = 1.0,
    ) -> Stage:
        """A solver takes over, to the gap ``tol``, for at most ``rounds`` unless negative.

        It may take a ``share`` of the effort left.
        """
        left, effort = self.rounds_left, self.effort_left
        last_effort = self.budget.effort + share * effort if effort < np.inf else np.inf
        return Stage(
            ledger=self,
            solver=solver,
            why=why,
            tol=self.budget.tol if tol is None else tol,
            max_iter=rounds if left < 0 else left if rounds < 0 else min(left, rounds),
            last_effort=last_effort,
        )

    def aside(self, tol: float) -> Stage:
        """A stage within the same limits for another problem, of which nobody is told."""
        budget = replace(self.budget, max_iter=self.rounds_left)
        unheard = Ledger(budget, share=self.share, reserve=self.reserve)
        return unheard.stage("aside", tol=tol)

    def closed(self, solution: Solution, *, indefinite: bool = False) -> Solution:
        """The whole story, with a status that agrees with the certificate."""
        status = solution.status
        if status is Status.MAX_ITER and self.rounds_left != 0:
            status = Status.STALLED  # a limit of ours, not of the user
        status = proved_status(status, solution.certificate, self.budget.tol, indefinite=indefinite)
        if self.phases:
            outside = self.seconds - sum(self.phases.values())
            self.records[-1] = {**self.records[-1], "phases": {**self.phases, "outside": outside}}
        return replace(solution, status=status, n_iter=max(self.rounds, 1), history=self.records)


def phase_seconds(histories: Iterable[list[Record]]) -> dict[str, float]:
    """Seconds of the working-set solver by phase, added up over the problems of a ``history_``.

    ``select``, ``gram``, ``steps``, ``apply`` and ``certify`` are those of its rounds; ``outside``
    is the rest of each solve: other solvers, float64 decision values, the proof. Problems that were
    solved at the same time count in full; empty where none had such rounds.
    """
    total: dict[str, float] = {}
    for records in histories:
        for phase, seconds in (records[-1].get("phases", {}) if records else {}).items():
            total[phase] = total.get(phase, 0.0) + seconds
    return total


def proved_status(
    status: Status, certificate: Certificate, tol: float, *, indefinite: bool = False
) -> Status:
    """How a solve ended, as its certificate has it."""
    if certificate.gap <= tol:
        return Status.STATIONARY if indefinite else Status.CONVERGED
    if certificate.measured <= tol:
        return Status.UNPROVEN
    if status in (Status.CONVERGED, Status.STATIONARY):
        return Status.STALLED
    return status


@dataclass
class Stage:
    """One solver's part of a solve: its tolerance and rounds, and how it tells of these.

    ``why`` it got its part stands in its first record.
    """

    ledger: Ledger
    solver: str
    why: str | None
    tol: float
    max_iter: int
    last_effort: float = np.inf

    def __post_init__(self) -> None:
        self.before, self.began = self.ledger.rounds, self.ledger.seconds
        self.is_new = True
        self.round_began = time.perf_counter()

    @property
    def max_time(self) -> float | None:
        """Seconds left; None without a limit."""
        return self.ledger.budget.seconds_left

    @property
    def max_effort(self) -> float | None:
        """Effort left; None without a limit."""
        limit = self.last_effort
        return None if np.isinf(limit) else max(limit - self.ledger.budget.effort, 0.0)

    @property
    def listener(self) -> Callable[[Record], bool] | None:
        """Whom C++ is to tell of a round; None where nobody listens: it would wait for Python."""
        return None if self.ledger.on_round is None else self.tell

    def tell(self, record: Record) -> bool:
        """Put a round of this stage on record; a true answer asks it to stop.

        ``record["iteration"]`` counts from the beginning of the stage, and so do its seconds, if
        it has any.
        """
        ledger, iteration = self.ledger, self.before + record["iteration"]
        ledger.rounds = iteration
        # Where a stage starts, the last one ended; that point is on record already.
        known = self.is_new and record["iteration"] == 0 and bool(ledger.records)
        self.is_new = False
        if not known or self.why is not None:
            seconds = self.began + record["seconds"] if "seconds" in record else ledger.seconds
            told = {**record, "iteration": iteration, "seconds": seconds, "solver": self.solver}
            if self.why is not None:
                told["why"], self.why = self.why, None
            ledger.records.append(told)
            if ledger.on_round is not None and ledger.on_round(ledger.number, told):
                ledger.stopped = True
        if ledger.cancel is not None and ledger.cancel.is_set():
            ledger.stopped = True
        return ledger.stopped

    def take(self, history: list[Record], phases: dict[str, float] | None = None) -> None:
        """The records of a C++ solver after its end; those it told of are here already."""
        for phase, seconds in (phases or {}).items():
            self.ledger.phases[phase] = self.ledger.phases.get(phase, 0.0) + seconds
        if self.listener is None:
            for record in history:
                self.tell(record)

    def spent(self, iteration: int) -> Status | None:
        """The limit that is reached after so many rounds of this stage, if any."""
        now = time.perf_counter()
        last_round, self.round_began = now - self.round_began, now
        if self.max_time is not None:
            # The next round may be late by half, but not by more than the grace.
            late = min(0.5 * last_round, self.ledger.budget.grace)
            reserve = self.ledger.reserve() + last_round - late
            if self.max_time <= min(reserve, 0.5 * (self.ledger.budget.max_time or 0.0)):
                return Status.MAX_TIME
        if 0 <= self.max_iter <= iteration:
            return Status.MAX_ITER
        return Status.STALLED if self.max_effort == 0.0 else None
