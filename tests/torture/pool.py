"""Forked workers that take one case after another, watched: a case may crash or hang.

The parent never runs a case itself. A worker that dies or exceeds the time limit is replaced, and
its case comes back as a finding with the Python stack it had.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import pickle
import select
import signal
import struct
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from torture.outcome import Outcome

Case = tuple[str, int]  # kind and seed

# After so many cases a worker is replaced: what leaks does not add up, and the fork is exercised.
_CASES_PER_WORKER = 2000


@dataclass
class _Worker:
    """One child: where it is written to and read from, and what it is doing since when."""

    pid: int
    to_child: int
    from_child: int
    stacks: Path
    case: Case | None = None
    began: float = 0.0
    cpu: float = 0.0
    deadline: float = float("inf")
    cases: int = 0

    def seconds(self) -> float:
        """CPU seconds of the process."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Pool:
    """``count`` workers that run cases by ``run(kind, seed)``, each within ``limit`` seconds."""

    def __init__(
        self, run: Callable[[str, int], Outcome], count: int, limit: float, folder: Path
    ) -> None:
        self._run, self._limit, self._folder = run, limit, folder
        self._workers = [self._start(number) for number in range(count)]

    def outcomes(self, cases: Iterator[Case]) -> Iterator[Outcome]:
        """The outcome of every case, in the order in which they end."""
        for number in range(len(self._workers)):
            self._give(number, next(cases, None))
        while any(worker.case for worker in self._workers):
            soonest = min(worker.deadline for worker in self._workers)
            busy = {w.from_child: n for n, w in enumerate(self._workers) if w.case}
            ready, _, _ = select.select(list(busy), [], [], max(0.0, soonest - time.monotonic()))
            for number in [busy[one] for one in ready]:
                yield self._result(number)
                self._give(number, next(cases, None))
            for number, worker in enumerate(self._workers):
                if worker.case and time.monotonic() > worker.deadline:
                    if self._starved(worker):
                        worker.deadline = time.monotonic() + 1.0
                        continue
                    yield self._give_up(number)
                    self._give(number, next(cases, None))

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            self._end(worker, signal.SIGKILL)

    # --- one worker --------------------------------------------------------------------------

    def _start(self, number: int) -> _Worker:
        stacks = self._folder / f"worker-{number}.stacks"
        stacks.write_bytes(b"")
        child_reads, to_child = os.pipe()
        from_child, child_writes = os.pipe()
        gc.freeze()  # the child's collections need not touch, and so copy, what the parent made
        pid = os.fork()
        if pid == 0:
            os.close(to_child)
            os.close(from_child)
            status = 1
            try:
                os.setpgid(0, 0)  # a Ctrl-C is for the parent; children of a case die with it
                _serve(self._run, child_reads, child_writes, stacks)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(child_reads)
        os.close(child_writes)
        return _Worker(pid, to_child, from_child, stacks)

    def _give(self, number: int, case: Case | None) -> None:
        worker = self._workers[number]
        if case and worker.cases >= _CASES_PER_WORKER:
            self._end(worker, signal.SIGKILL)
            worker = self._workers[number] = self._start(number)
        worker.case, worker.deadline = case, float("inf")
        if case:
            worker.cases += 1
            worker.began, worker.cpu = time.monotonic(), worker.seconds()
            worker.deadline = worker.began + self._limit
            _send(worker.to_child, case)

    def _result(self, number: int) -> Outcome:
        worker = self._workers[number]
        try:
            return _receive(worker.from_child)
        except EOFError:
            status = self._end(worker, signal.SIGKILL)
            how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {status}"
            return self._lost(number, "crash", f"the process ended by {how}")

    def _starved(self, worker: _Worker) -> bool:
        """Whether a busy machine has kept a case from its time; not forever."""
        waited = time.monotonic() - worker.began
        return waited < 4 * self._limit and 0.05 < worker.seconds() - worker.cpu < 0.8 * self._limit

    def _give_up(self, number: int) -> Outcome:
        worker = self._workers[number]
        os.kill(worker.pid, signal.SIGUSR1)  # its stacks
        time.sleep(0.3)
        self._end(worker, signal.SIGKILL)
        return self._lost(number, "hang", f"not done after {self._limit:g} s")

    def _lost(self, number: int, what: str, detail: str) -> Outcome:
        """The outcome of a case whose worker is gone; another worker takes its place."""
        worker = self._workers[number]
        assert worker.case is not None
        outcome = Outcome(worker.case[1], worker.case[0])
        stacks = worker.stacks.read_text(errors="replace").partition("\nExtension modules")[0]
        outcome.found(what, f"{detail}\n{stacks}".strip())
        self._workers[number] = self._start(number)
        return outcome

    def _end(self, worker: _Worker, how: signal.Signals) -> int:
        for target in (-worker.pid, worker.pid):  # its own children first
            with contextlib.suppress(ProcessLookupError):
                os.kill(target, how)
        _, status = os.waitpid(worker.pid, 0)
        os.close(worker.to_child)
        os.close(worker.from_child)
        return status


def _serve(run: Callable[[str, int], Outcome], cases: int, outcomes: int, stacks: Path) -> None:
    """The life of a worker: cases in, outcomes out."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with open(stacks, "w") as file:
        faulthandler.enable(file)
        faulthandler.register(signal.SIGUSR1, file)
        while True:
            try:
                kind, seed = _receive(cases)
            except EOFError:
                return
            try:
                outcome = run(kind, seed)
            except BaseException:  # of the harness itself
                outcome = Outcome(seed, kind)
                outcome.found("harness", traceback.format_exc())
            _send(outcomes, outcome)


def _send(descriptor: int, value: object) -> None:
    content = pickle.dumps(value)
    content = struct.pack("q", len(content)) + content
    while content:
        content = content[os.write(descriptor, content) :]


def _receive(descriptor: int) -> object:
    (size,) = struct.unpack("q", _read(descriptor, 8))
    return pickle.loads(_read(descriptor, size))


def _read(descriptor: int, size: int) -> bytes:
    content = b""
    while len(content) < size:
        more = os.read(descriptor, size - len(content))
        if not more:
            raise EOFError
        content += more
    return content
