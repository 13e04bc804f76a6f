"""Fresh processes without the wait: each measurement is a fork of one that has read the data.

The parent reads a case and imports NumPy, scikit-learn and psvm, but never calls them, so a fork of
it has no threads, pools or warm caches of an earlier fit. Where the system cannot fork, every
measurement starts Python anew.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import environment

if TYPE_CHECKING:
    from benchmarks.worker import Task

CAN_FORK = hasattr(os, "fork")
EARLY_IMPORTS = ("sklearn.svm", "psvm")
GRACE = 600.0  # seconds for loading, warming up and predicting, before a process counts as stuck


@dataclass(frozen=True)
class Ended:
    """How a measuring process ended: with an answer, by its own timer, or otherwise."""

    answer: dict[str, float] | None
    over_limit: bool = False
    error: str = ""


class Nursery:
    """Starts the measuring processes; a context, at the end of which none is left."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the parent of the measuring processes."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def measure(self, task: Task) -> Ended:
        """Run one task in a process of its own."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.worker"],
                cwd=environment.ROOT,
                env=environment.thread_environment(self.threads),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asdict(task)) + "\n")
        self.process.stdin.flush()
        ready = select.select([self.process.stdout], [], [], task.time_limit + GRACE)[0]
        line = self.process.stdout.readline() if ready else ""
        if not CAN_FORK or not line:
            self.close()  # it measured by itself, or is stuck, or died
        if not ready:
            return Ended(None, over_limit=True)
        if not line:
            return Ended(None, error="the measuring process died")
        return Ended(**json.loads(line))


def serve(measure: Callable[[Any], Any], read_task: Callable[[str], Any]) -> None:
    """Answer the tasks on standard input, each in a fork of this process."""
    for name in EARLY_IMPORTS:
        importlib.import_module(name)
    for line in sys.stdin:
        task = read_task(line)
        print(json.dumps(asdict(in_child(measure, task))), flush=True)


def in_child(measure: Callable[[Any], Any], task: Any) -> Ended:
    """Fork, measure there, and read what it left."""
    answer_file = Path(task.model_file).with_suffix(".answer.json")
    answer_file.unlink(missing_ok=True)
    if not CAN_FORK:
        write_answer(measure, task, answer_file)
        return Ended(**json.loads(answer_file.read_text()))
    # A collection in the child would go through, and so copy, all that the parent holds, under the
    # lock that its threads wait for (letter on two threads: 0.28 instead of 0.19 s).
    gc.freeze()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a library that prints must not be read
        write_answer(measure, task, answer_file)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        alarm = number == getattr(signal, "SIGALRM", None)
        return Ended(None, over_limit=alarm, error="" if alarm else f"signal {number}")
    return Ended(**json.loads(answer_file.read_text()))


def write_answer(measure: Callable[[Any], Any], task: Any, answer_file: Path) -> None:
    """The measurement, or the last line of what went wrong."""
    try:
        ended = Ended(asdict(measure(task)))
    except Exception:
        ended = Ended(None, error=traceback.format_exc().strip().splitlines()[-1][:200])
    answer_file.write_text(json.dumps(asdict(ended)))
