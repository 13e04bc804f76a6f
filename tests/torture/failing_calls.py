"""Allocations of the core, and writes to files, that fail at will: see failing_calls.cpp."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".cpp")


def preload(folder: Path) -> None:
    """Start this program again with the library loaded first; without a compiler do nothing."""
    if available():
        return
    library = compiled(folder)
    if library is not None:
        os.environ |= environment(library)
        os.execv(sys.executable, [sys.executable, "-m", "torture", *sys.argv[1:]])


def compiled(folder: Path) -> Path | None:
    """The library, compiled once; None where there is no compiler, or no LD_PRELOAD."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if sys.platform != "linux" or compiler is None:
        return None
    library = folder / "failing_calls.so"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        command = [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", SOURCE, "-o", library, "-ldl"]
        subprocess.run([str(word) for word in command], check=True)
    return library


def environment(library: Path) -> dict[str, str]:
    """Variables of a process that has the library."""
    return {"LD_PRELOAD": str(library), "TORTURE_PRELOADED": "1"}


def available() -> bool:
    return "TORTURE_PRELOADED" in os.environ


@contextlib.contextmanager
def failing_allocation(nth: int) -> Iterator[ctypes.CDLL]:
    """The nth allocation of psvm's core fails inside; 0 for none, to count them."""
    library = ctypes.CDLL(None)
    begin, end = _module_range("psvm/_core")
    fail = library.torture_fail_allocation
    fail.argtypes = [ctypes.c_long, ctypes.c_size_t, ctypes.c_size_t]
    fail(nth, begin, end)
    try:
        yield library
    finally:
        fail(-1, 0, 0)


@contextlib.contextmanager
def failing_write(nth: int, error: int) -> Iterator[ctypes.CDLL]:
    """The nth write, fsync or rename fails inside with this errno; 0 for none, to count them."""
    library = ctypes.CDLL(None)
    library.torture_fail_write(ctypes.c_long(nth), error)
    try:
        yield library
    finally:
        library.torture_fail_write(ctypes.c_long(-1), 0)


def _module_range(name: str) -> tuple[int, int]:
    """Where the code of a module lies in memory."""
    ranges = [
        [int(part, 16) for part in line.split()[0].split("-")]
        for line in Path("/proc/self/maps").read_text().splitlines()
        if name in line
    ]
    return min(begin for begin, _ in ranges), max(end for _, end in ranges)
