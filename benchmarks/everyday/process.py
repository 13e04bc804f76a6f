"""A process that measures, and is started again if a fit had to be ended.

All contenders of all problems run in it: imports are warm, threads are as a user has them. LIBSVM
cannot be stopped from Python, so a fit over its limit ends the process; the next one is told whose.
"""

from __future__ import annotations

import importlib
import multiprocessing
import signal
import warnings
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any, Protocol

from benchmarks.everyday.turns import Effort, Watch
from benchmarks.tables import Record


class Problem(Protocol):
    """What is measured, and travels to the process."""

    @property
    def name(self) -> str:
        """What it is called."""


class Measurer:
    """Starts the process and asks it, until it is closed.

    ``work`` names the module whose ``measure(problem, effort, watch)`` gives the records of a
    problem, and whose ``warm_up()`` is called once before.
    """

    def __init__(self, effort: Effort, work: str = "benchmarks.everyday.contests") -> None:
        self.effort, self.work = effort, work
        self.process: Any = None
        self.pipe: Any = None

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def measure(self, problem: Problem) -> list[Record]:
        """The records of a problem."""
        over: dict[str, float] = {}
        while True:
            self.ask(problem, over)
            begun = ("", 0.0)
            try:
                while isinstance(message := self.pipe.recv(), tuple):
                    begun = message
            except EOFError:
                self.process.join()
                code = self.process.exitcode
                self.close()
                if code != -getattr(signal, "SIGALRM", 0):
                    raise RuntimeError(f"{problem.name}: the process ended with {code}") from None
                over[begun[0]] = begun[1]
                continue
            return list(message)

    def ask(self, problem: Problem, over: Mapping[str, float]) -> None:
        """Send a problem to the process, which is started if there is none."""
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(
                target=serve, args=(theirs, self.effort, self.work), daemon=True
            )
            self.process.start()
            theirs.close()
        self.pipe.send((problem, dict(over)))


def serve(pipe: Connection, effort: Effort, work: str) -> None:
    """Answer problems: a tuple for everyone who begins a first turn, then a list of records."""
    module = importlib.import_module(work)
    warnings.simplefilter("ignore")  # the records say what did not converge
    module.warm_up()
    while True:
        try:
            problem, over = pipe.recv()
        except EOFError:
            return
        watch = Watch(over, lambda name, limit: pipe.send((name, limit)))
        pipe.send(module.measure(problem, effort, watch))
