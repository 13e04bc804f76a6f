"""Which kind of case a seed is, and how it is run."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from typing import Any

import numpy as np

from torture.outcome import Outcome

# Of every 20 seeds.
_KINDS = ["fits"] * 12 + ["regressions"] * 4 + ["files"] * 3 + ["stress"]
KINDS = tuple(dict.fromkeys(_KINDS))


def kind_of(seed: int) -> str:
    return _KINDS[seed % len(_KINDS)]


def prepare() -> None:
    """Import in the parent what takes seconds, so that no case has to."""
    import torture.files
    import torture.fits

    torture.files.warm_up()


def recipe_of(kind: str, seed: int) -> str:
    """What a case is, without running it."""
    from torture.fits import MAKERS

    return str(MAKERS[kind](np.random.default_rng(seed))) if kind in MAKERS else ""


def run_case(kind: str, seed: int) -> Outcome:
    """Run one case, in a worker; the interpreter is afterwards as it was."""
    unraisable: list[str] = []
    sys.unraisablehook = lambda one: unraisable.append(
        f"{one.err_msg} {one.object}: {one.exc_value}"
    )
    before = _state()
    try:
        outcome = _run(kind, seed)
        gc.collect()
    finally:
        sys.unraisablehook = sys.__unraisablehook__
    for text in unraisable:
        outcome.found("unraisable", text)
    until = time.monotonic() + 1.0
    while threading.active_count() > before["threads"] and time.monotonic() < until:
        time.sleep(0.01)  # those of a fit that was interrupted end at their next look
    after = _state()
    for name in before:
        if before[name] != after[name]:
            outcome.found("left behind", f"{name} {after[name]}, before {before[name]}")
    return outcome


def _state() -> dict[str, Any]:
    """What a fit must leave as it was."""
    return {
        "numpy.geterr": np.geterr(),
        "handler of SIGINT": signal.getsignal(signal.SIGINT),
        "threads": threading.active_count(),
    }


def _run(kind: str, seed: int) -> Outcome:
    if kind in ("fits", "regressions"):
        from torture.fits import run_fit

        return run_fit(seed, kind)
    if kind == "files":
        from torture.files import run_file

        return run_file(seed)
    from torture.stress import run_stress

    return run_stress(seed)
