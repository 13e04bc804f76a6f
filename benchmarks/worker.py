"""One measurement in a fresh process; see :mod:`benchmarks.nursery` for where it comes from.

Order: pin the CPUs, load and prepare the data, import the library and fit a tiny problem (so that
imports, dispatch and thread pools are not counted), reset the memory peak, then time fit and
predict once, and last, for psvm's kernel solver, the floor (:mod:`benchmarks.floor`). The model is
left in ``model_file``. A fit over ``time_limit`` seconds ends the
process by SIGALRM, which needs no help from the library.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import scipy.linalg.blas

from benchmarks.cases import Data, load
from benchmarks.floor import floor_seconds
from benchmarks.nursery import serve
from benchmarks.objective import DualModel
from benchmarks.rivals import RIVALS, Rival, Setting

WARM_UP_ROWS = 200
SETTLE = 0.3  # seconds after it, in which thread pools stop to spin
WARM_UP_C = 0.01  # at most: an easy problem, since only its side effects are wanted


@dataclass(frozen=True)
class Task:
    """What to measure; travels to the process as JSON."""

    suite: str
    case: str
    rival: str
    C: float
    gamma: float | None
    p: float
    threads: int
    max_rows: int | None
    time_limit: float
    model_file: str

    @property
    def setting(self) -> Setting:
        """The part an adapter sees."""
        return Setting(self.C, self.gamma, self.p, self.threads)


@dataclass(frozen=True)
class Measurement:
    """Seconds and megabytes.

    ``conversion_seconds`` is that part of ``fit_seconds`` in which the library's Python package
    turns arrays into its own form. ``memory_mb`` is the peak of fit above the state just before it;
    ``accuracy`` is that of the library's own predictions of the test rows. ``floor_seconds`` is
    None where no floor is measured. ``kernel_entries`` are those that the fit computed, where the
    library counts them.
    """

    fit_seconds: float
    conversion_seconds: float
    fit_cpu_seconds: float
    predict_seconds: float
    memory_mb: float
    peak_mb: float
    accuracy: float
    floor_seconds: float | None = None
    kernel_entries: int | None = None


def measure(task: Task) -> Measurement:
    """Time one fit and one predict, and save the model for the referee."""
    pin(task.threads)
    rival, data = RIVALS[task.suite][task.rival], loaded(task.case, task.max_rows)
    train = rival.prepare(data.X_train, data.y_train)
    test = rival.prepare(data.X_test)
    warm_up(rival, data, task.setting)

    count = getattr(rival, "entries_computed", None)
    counted = count() if count else 0
    before = reset_memory_peak()
    start, start_cpu = time.perf_counter(), time.process_time()
    with end_process_after(task.time_limit):
        model = rival.fit(train, data.y_train, task.setting)
    fitted, fitted_cpu = time.perf_counter(), time.process_time()
    peak = memory_peak()
    entries = count() - counted if count else None
    start_predict = time.perf_counter()
    predicted = np.asarray(rival.predict(model, test))
    seconds = time.perf_counter() - start_predict

    exported = rival.export(model)
    floor = None
    if getattr(rival, "has_floor", False) and task.suite == "kernel":
        assert isinstance(exported, DualModel)
        assert task.gamma is not None
        floor = floor_seconds(train, data.y_train, exported, task.gamma, task.threads)
    np.savez(task.model_file, **({} if exported is None else asdict(exported)))
    return Measurement(
        fit_seconds=fitted - start,
        conversion_seconds=float(getattr(model, "conversion_seconds", 0.0)),
        fit_cpu_seconds=fitted_cpu - start_cpu,
        predict_seconds=seconds,
        memory_mb=max(peak - before, 0.0),
        peak_mb=peak,
        accuracy=float(np.mean(predicted == data.y_test)),
        floor_seconds=floor,
        kernel_entries=entries,
    )


@functools.lru_cache(maxsize=1)
def loaded(case: str, max_rows: int | None) -> Data:
    """The data of a case; the last one is kept."""
    return load(case, max_rows)


def warm_up(rival: Rival, data: Data, setting: Setting) -> None:
    """Fit and predict some rows of two classes, in the storage that will be measured."""
    rows = np.concatenate([np.flatnonzero(data.y_train == c)[: WARM_UP_ROWS // 2] for c in (0, 1)])
    X, y = data.X_train[rows], data.y_train[rows]
    setting = replace(setting, C=min(setting.C, WARM_UP_C))
    start_blas_threads()
    model = rival.fit(rival.prepare(X, y), y, setting)
    rival.predict(model, rival.prepare(X))
    time.sleep(SETTLE)


def start_blas_threads() -> None:
    """Bring back the threads of NumPy's and SciPy's BLAS, which a fork has lost.

    A process of its own starts them on import. Where they come back in a fit, they spin for a tenth
    of a second beside it (letter on two threads: 0.25 instead of 0.17 s).
    """
    square = np.ones((256, 256), order="F")
    np.matmul(square, square)
    scipy.linalg.blas.dgemm(1.0, square, square)


@contextlib.contextmanager
def end_process_after(seconds: float) -> Iterator[None]:
    """Let the system end this process if the block takes longer, where there is such a timer."""
    timer = getattr(signal, "setitimer", None)
    if timer is not None:
        timer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        if timer is not None:
            timer(signal.ITIMER_REAL, 0.0)


def reset_memory_peak() -> float:
    """Start a new peak of resident memory where Linux allows it; the present value in MB."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return memory_peak()


def memory_peak() -> float:
    """Peak resident memory of this process in MB.

    Linux: ``VmHWM``, not ``ru_maxrss``, which a child inherits from a larger parent.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        import resource

        unit = 1e6 if sys.platform == "darwin" else 1e3
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return float(line.split()[1]) * 1.024e-3


def pin(threads: int) -> None:
    """Keep every thread of this process, whoever starts it, on ``threads`` CPUs."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def read_task(line: str) -> Task:
    """A task from its JSON; its data are read here, once for all forks."""
    task = Task(**json.loads(line))
    loaded(task.case, task.max_rows)
    return task


if __name__ == "__main__":
    serve(measure, read_task)
