"""Signals, threads, forks, memory and disks that give out: nothing lost, nothing half done."""

from __future__ import annotations

import errno
import os
import resource
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import psvm
from psvm.persistence import export
from torture import corpus
from torture.cases import FitCase, make_fit, one_of
from torture.failing_calls import available, failing_allocation, failing_write
from torture.files import limited_memory
from torture.fits import attempt, fit
from torture.outcome import Outcome

ANSWER = 0.5  # seconds within which Ctrl-C is answered
CHILD = 15.0  # seconds of a forked child


def run_stress(seed: int) -> Outcome:
    """The failure of a seed."""
    outcome = Outcome(seed, "stress")
    rng = np.random.default_rng(seed)
    how = one_of(rng, _interrupt, _threads, _fork, _allocation, _memory, _disk, _kill,
                 weights=[3, 2, 1, 4, 1, 3, 1])  # fmt: skip
    outcome.recipe = how.__name__.strip("_")
    outcome.counts[outcome.recipe] += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how(rng, outcome)
    return outcome


# --- estimators that fail ------------------------------------------------------------------------


def _large(rng: np.random.Generator) -> tuple[Any, Callable[[Any], Any]]:
    """An estimator, fitted to a small set, and a fit that takes about a second."""
    n, d = int(rng.integers(500, 3000)), int(rng.integers(2, 40))
    X = rng.normal(size=(n, d))
    classes = int(one_of(rng, 2, 4))
    y = (X[:, 0] * classes + rng.normal(size=n) > 0).astype(int) + rng.integers(0, classes - 1, n)
    X = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0.0)) if rng.random() < 0.3 else X
    p, C, tol = one_of(rng, 1.0, 1.5, 2.0, 3.0), one_of(rng, 1.0, 100.0), one_of(rng, 1e-4, 1e-9)
    common = {"p": p, "C": C, "tol": tol, "n_jobs": one_of(rng, 1, 2)}
    kernel = one_of(rng, "rbf", "poly", "laplacian", "linear")
    solver = one_of(rng, "auto", "coordinate_descent")
    model = one_of(
        rng,
        psvm.PSVC(kernel=kernel, **common),
        psvm.LinearPSVC(solver=solver, **common),
        psvm.PSVCCV(ps=[1, 2], Cs=[1.0], gammas=[0.1], kernel=kernel, cv=2, n_jobs=1),
        weights=[5, 3, 1],
    )
    model.fit(*corpus.rows())
    return model, lambda one: one.fit(X, y)


def _check_unchanged(model: Any, before: dict[str, Any], outcome: Outcome, when: str) -> None:
    """Not one attribute is another, and the model still answers and can be fitted."""
    after = model.__dict__
    changed = [name for name in {*before, *after} if before.get(name) is not after.get(name)]
    if changed:
        outcome.found("changed estimator", f"{when}: {sorted(changed)}")
    X, y = corpus.rows()
    mine = model.decision_function(X)
    again = type(model)(**model.get_params(deep=False)).fit(X, y).decision_function(X)
    if not np.array_equal(mine, again):
        outcome.found("changed result", f"{when}: another fit gives other decisions")


def _interrupt(rng: np.random.Generator, outcome: Outcome) -> None:
    """SIGINT at a random time of a fit."""
    model, refit = _large(rng)
    outcome.recipe += f" of {model}"
    before, sent, done = dict(model.__dict__), [], False
    began = time.monotonic()

    def send() -> None:
        sent.extend([time.monotonic(), time.process_time()])
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(float(rng.uniform(0.0, 0.6) ** 2), send)
    try:
        timer.start()
        refit(model)
        done = True
        timer.cancel()
        timer.join()
        time.sleep(0.01)
    except KeyboardInterrupt:
        wall, cpu = time.monotonic() - sent[0], time.process_time() - sent[1]
        timer.join()
        if done:
            return
        outcome.counts["interrupted"] += 1
        if min(wall, cpu) > ANSWER:
            outcome.found("late answer", f"{wall:.2f} s, {cpu:.2f} s of CPU")
        if model.__dict__.get("dual_gap_") is before.get("dual_gap_"):
            _check_unchanged(model, before, outcome, f"SIGINT after {sent[0] - began:.3f} s")


def _allocation(rng: np.random.Generator, outcome: Outcome) -> None:
    """The n-th allocation of the core fails."""
    if not available():
        outcome.counts["skipped"] += 1
        return
    if rng.random() < 0.4:  # with threads
        model, refit = _large(rng)
        if hasattr(model, "max_iter"):
            model.set_params(max_iter=2, n_jobs=2)
    else:
        case = _small_case(rng)
        model = getattr(psvm, case.estimator)(**case.parameters | {"warm_start": False})
        data = case.data

        def refit(one: Any) -> Any:
            return one.fit(data.X, data.y, sample_weight=data.sample_weight)

    outcome.recipe += f" in {model}"
    with failing_allocation(0) as library:
        _, error = attempt(lambda: refit(model))
        total = int(library.torture_allocations())
    if error is not None or total == 0:
        return
    expected = _result_of(model)
    before = dict(model.__dict__)
    nth = 1 + int(total * rng.random() ** 2)
    with failing_allocation(nth):
        _, error = attempt(lambda: refit(model))
    if error is None:
        outcome.counts["survived"] += 1
    elif not isinstance(error, MemoryError):
        last = traceback.extract_tb(error.__traceback__)[-1]
        outcome.found("unclear error", f"{nth} of {total}: {error!r} ({last.name}:{last.lineno})")
    else:
        changed = [name for name in before if before[name] is not model.__dict__.get(name)]
        if changed:
            outcome.found("changed estimator", f"{nth} of {total}: {changed}")
    refit(model)
    if not _equal(expected, _result_of(model)):
        outcome.found("changed result", f"after allocation {nth} of {total} failed")


def _make_buffers() -> None:
    """Of OpenBLAS, for four threads at once: it ends the process where it cannot have them."""
    together = threading.Barrier(4)
    values = np.ones((400, 400))

    def multiply() -> None:
        together.wait()
        for _ in range(4):
            values @ values

    threads = [threading.Thread(target=multiply) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _memory(rng: np.random.Generator, outcome: Outcome) -> None:
    """A fit with little memory left."""
    model, refit = _large(rng)
    outcome.recipe += f" for {model}"
    before = dict(model.__dict__)
    more = int(10 ** rng.uniform(5, 8))
    _make_buffers()
    with limited_memory(more):
        _, error = attempt(lambda: refit(model))
    if error is None:
        return
    # A thread that has no room for its stack is refused as one too many, which the words say.
    for_a_thread = isinstance(error, RuntimeError) and "ulimit -v for memory" in str(error)
    if not isinstance(error, MemoryError) and not for_a_thread:
        last = traceback.extract_tb(error.__traceback__)[-1]
        outcome.found("unclear error", f"{more} bytes: {error!r} ({last.filename}:{last.lineno})")
    _check_unchanged(model, before, outcome, f"with {more} bytes")


# --- at the same time ----------------------------------------------------------------------------


def _small_case(rng: np.random.Generator) -> FitCase:
    """A fit that is quick and says the same every time."""
    while True:
        case = make_fit(rng)
        case.before, case.blocks = {}, 0
        case.parameters.pop("max_time", None)
        if case.estimator in ("PSVC", "LinearPSVC") and len(case.data.y) <= 60:
            began = time.monotonic()
            _, error = attempt(lambda case=case: fit(case))
            if error is None and time.monotonic() - began < 0.3:
                return case


def _result_of(model: Any) -> list[np.ndarray]:
    names = ("dual_coef_", "coef_", "intercept_", "dual_gap_", "primal_objective_", "n_iter_")
    return [np.asarray(model.__dict__[name]) for name in names if name in model.__dict__]


def _equal(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first, second, strict=True))


def _threads(rng: np.random.Generator, outcome: Outcome) -> None:
    """Eight threads, some on the same data."""
    cases = [_small_case(rng) for _ in range(4)]
    outcome.recipe += f": {'; '.join(map(str, cases))}"
    serial = [_result_of(fit(case)) for case in cases]
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        found[number], error = attempt(lambda: _result_of(fit(cases[number % 4])))
        if error is not None:
            outcome.found("unclear error", f"in a thread: {error!r}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, result in found.items():
        if result is not None and not _equal(result, serial[number % 4]):
            outcome.found("changed result", f"in a thread: {cases[number % 4]}")


def _fork(rng: np.random.Generator, outcome: Outcome) -> None:
    """A child forked after fits, or during those of another thread, fits as well."""
    case = _small_case(rng)
    case.parameters["n_jobs"] = 2
    outcome.recipe += f" before {case}"
    expected = _result_of(fit(case))
    other = None
    if rng.random() < 0.7:
        model, refit = _large(rng)
        other = threading.Thread(target=attempt, args=(lambda: refit(model),))
        other.start()
        time.sleep(float(rng.uniform(0, 0.05)))
    status = _in_child(lambda: 0 if _equal(expected, _result_of(fit(case))) else 7)
    if status is None:
        outcome.found("hang", "a fit in a forked child")
    elif status != 0:
        outcome.found("changed result", f"a forked child ended with {status}")
    if other is not None:
        other.join()


def _in_child(work: Callable[[], int]) -> int | None:
    """The exit code of a forked child, None if it does not end."""
    pid = os.fork()
    if pid == 0:
        code = 9
        try:
            code = work()
        finally:
            os._exit(code)
    until = time.monotonic() + CHILD
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


# --- disks ---------------------------------------------------------------------------------------


def _disk(rng: np.random.Generator, outcome: Outcome) -> None:
    """A write that fails leaves the old file, and nothing beside it."""
    folder = corpus.folder() / "disk"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    ending = one_of(rng, "psvm", "json", "libsvm", "onnx")
    path = folder / f"model.{ending}"
    first, second = corpus.models()[0].model, corpus.models()[1].model
    write = psvm.save if ending == "psvm" else export
    write(first, path)
    old = path.read_bytes()
    if available() and rng.random() < 0.7:
        number = one_of(rng, errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)
        with failing_write(0, 0) as library:
            write(second, path)
            total = int(library.torture_writes())
        path.write_bytes(old)
        nth = int(rng.integers(1, total + 1))
        outcome.recipe += f" {ending}: call {nth} of {total} fails by {errno.errorcode[number]}"
        with failing_write(nth, number):
            _, error = attempt(lambda: write(second, path))
        if nth == total:
            error = error or OSError()  # the flush of the folder: the file is there already
    else:
        write(second, path)
        limit = int(rng.integers(0, path.stat().st_size))
        path.write_bytes(old)
        outcome.recipe += f" {ending}: files end at {limit} bytes"
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            _, error = attempt(lambda: write(second, path))
        finally:
            infinite = resource.RLIM_INFINITY
            resource.setrlimit(resource.RLIMIT_FSIZE, (infinite, infinite))
    if not isinstance(error, OSError):
        outcome.found("unclear error", f"{error!r}")
    elif path.read_bytes() != old and "call" not in outcome.recipe:
        outcome.found("lost file", "the old file is not as it was")
    left = [one.name for one in folder.iterdir() if one != path]
    if left:
        outcome.found("left behind", f"{left}")
    _check_whole(path, ending, outcome)


def _check_whole(path: Path, ending: str, outcome: Outcome) -> None:
    """The file is one of the two models."""
    if ending != "psvm":
        return
    model, error = attempt(lambda: psvm.load(path))
    sound = [one for one in corpus.models()[:2] if type(one.model) is type(model)]
    if error is not None:
        outcome.found("lost file", f"{error!r}")
    elif not any(np.array_equal(model.dual_coef_, one.model.dual_coef_) for one in sound):
        outcome.found("wrong answer", "the file is neither the old model nor the new one")


def _kill(rng: np.random.Generator, outcome: Outcome) -> None:
    """kill -9 while a file is written over and over."""
    folder = corpus.folder() / "killed"
    folder.mkdir(exist_ok=True)
    path = folder / "model.psvm"
    models = [one.model for one in corpus.models()[:2]]
    psvm.save(models[0], path)
    pid = os.fork()
    if pid == 0:
        try:
            for k in range(10**6):
                psvm.save(models[k % 2], path)
        finally:
            os._exit(9)
    time.sleep(float(rng.uniform(0.0, 0.2)))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    _check_whole(path, "psvm", outcome)
    for one in folder.iterdir():
        one.unlink()
