"""Independent jobs in worker processes, one thread each, the longest first."""

from __future__ import annotations

import signal
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor

TICK = 0.2
"""Seconds between two looks at the workers."""

# A worker has one thread in every library, so that as many workers as CPUs do not fight for them.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)


@dataclass(frozen=True)
class Job:
    """Something to compute.

    Attributes
    ----------
    key : str
        Its name in the store.
    label : str
        Its name for a person.
    expected_seconds : float
        A guess; it orders the jobs and gives the time left.
    call : callable
        Computes it. It travels to another process, so it must be picklable.
    dataset : str or None
        The data set that it reads.
    """

    key: str
    label: str
    expected_seconds: float
    call: Callable[[], Any]
    dataset: str | None = None


@dataclass(frozen=True)
class Finished:
    """A job that came to its end.

    Attributes
    ----------
    job : Job
        Which one.
    result : object
        What it returned; None if it failed.
    error : str or None
        Why it failed, in one line.
    trace : str
        Where it failed.
    warnings : list of str
        What it warned of, each message once.
    died : bool
        Whether the worker process ended with it.
    """

    job: Job
    result: Any = None
    error: str | None = None
    trace: str = ""
    warnings: list[str] = field(default_factory=list)
    died: bool = False


@dataclass(frozen=True)
class Progress:
    """The state of a run, for whoever shows it.

    Attributes
    ----------
    done, failed, total : int
        Number of jobs; ``failed`` are among the ``done``.
    running : tuple of (str, float)
        Label and seconds so far of the jobs in the workers.
    seconds_left : float or None
        A guess, from the jobs done so far; None before the first.
    """

    done: int
    failed: int
    total: int
    running: tuple[tuple[str, float], ...]
    seconds_left: float | None


def run_jobs(
    jobs: Sequence[Job],
    *,
    processes: int,
    on_finish: Callable[[Finished], None],
    watch: Callable[[Progress], None] | None = None,
) -> None:
    """Run all jobs; one that fails does not stop the others.

    An exception in this process, Ctrl-C above all, kills the workers at once.

    Parameters
    ----------
    jobs : sequence of Job
        What to run.
    processes : int
        How many at a time.
    on_finish : callable
        Receives every job as it ends, in this process.
    watch : callable or None
        Receives the state several times a second.
    """
    run = _Run(jobs)
    if not jobs:
        return
    workers = _start_workers(processes)
    try:
        while run.waiting or run.running:
            while run.waiting and len(run.running) < processes:
                job = run.waiting.pop()
                run.running[workers.submit(_guarded, job.call)] = (job, time.monotonic())
            if watch is not None:
                watch(run.progress(processes))
            done, _ = wait(run.running, timeout=TICK, return_when=FIRST_COMPLETED)
            broken = False
            for future in done:
                finished = run.end(future)
                broken |= finished.died
                on_finish(finished)
            if broken:
                workers.shutdown(wait=True, kill_workers=True)
                workers = _start_workers(processes)
        if watch is not None:
            watch(run.progress(processes))
    finally:
        # Waiting takes a tenth of a second, and without it joblib may complain of loose ends.
        workers.shutdown(wait=True, kill_workers=True)


class _Run:
    """Who waits, who runs, and how the guesses compare with the clock."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        # The longest at the end, where pop takes it first: a long job started last would run alone.
        self.waiting = sorted(jobs, key=lambda job: job.expected_seconds)
        self.running: dict[Future[Any], tuple[Job, float]] = {}
        self.total = len(jobs)
        self.failed = 0
        self.expected = 0.0
        self.spent = 0.0

    def end(self, future: Future[Any]) -> Finished:
        job, since = self.running.pop(future)
        finished = _outcome(job, future)
        self.failed += finished.error is not None
        self.expected += job.expected_seconds
        self.spent += time.monotonic() - since
        return finished

    def progress(self, processes: int) -> Progress:
        now = time.monotonic()
        elapsed = [(job, now - since) for job, since in self.running.values()]
        left = None
        if self.expected > 0:
            slowness = self.spent / self.expected
            rest = [max(0.0, job.expected_seconds * slowness - spent) for job, spent in elapsed]
            queued = sum(job.expected_seconds for job in self.waiting) * slowness
            left = max([*rest, (sum(rest) + queued) / processes])
        return Progress(
            done=self.total - len(self.waiting) - len(self.running),
            failed=self.failed,
            total=self.total,
            running=tuple((job.label, spent) for job, spent in elapsed),
            seconds_left=left,
        )


def _start_workers(processes: int) -> Any:
    """Workers of this run alone: joblib's own, which it reuses, must keep their threads."""
    return ProcessPoolExecutor(
        max_workers=processes, initializer=_ignore_interrupts, env=ONE_THREAD
    )


def _ignore_interrupts() -> None:
    """Leave Ctrl-C, which the terminal sends to every process, to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _guarded(call: Callable[[], Any]) -> tuple[Any, str | None, str, list[str]]:
    """Result, error, trace and warnings as plain values: not every exception can be pickled."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            answer: tuple[Any, str | None, str] = (call(), None, "")
        except Exception as error:
            answer = (None, one_line(error), traceback.format_exc())
    messages = [f"{item.category.__name__}: {item.message}" for item in caught]
    return (*answer, list(dict.fromkeys(messages)))


def one_line(error: BaseException) -> str:
    """An exception for a person: its message without line breaks, or its type if it has none.

    Parameters
    ----------
    error : BaseException
        Any exception.

    Returns
    -------
    str
        One line.
    """
    text = " ".join(str(error).split())
    if isinstance(error, OSError | ValueError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _outcome(job: Job, future: Future[Any]) -> Finished:
    try:
        return Finished(job, *future.result())
    except BrokenProcessPool:
        # Every job in flight is lost with the pool, and which one ended it cannot be told.
        return Finished(
            job,
            error="a worker process died, perhaps for lack of memory; fewer --jobs may help",
            died=True,
        )
