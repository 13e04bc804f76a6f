"""The machine, the versions and the thread settings a result belongs to."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def describe(threads: int, packages: Iterable[str]) -> dict[str, Any]:
    """Everything a reader needs to judge or repeat the numbers."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": " ".join(["python -m benchmarks", *sys.argv[1:]]),
        "cpu": cpu_model(),
        "cpus": os.cpu_count(),
        "threads": threads,
        "memory_gb": memory_gb(),
        "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: installed(name) for name in (*packages, "numpy", "scipy")},
        "commit": commit(),
    }


def usable_cpus() -> int:
    """CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def installed(package: str) -> str | None:
    """Version of an installed distribution, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cpu_model() -> str:
    """The processor's name and the widest vector instructions it has."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    flags = facts.get("flags", "").split()
    widest = next((name for name in ("avx512f", "avx2", "avx") if name in flags), "")
    return " ".join([facts.get("model name", platform.machine()), widest]).strip()


def memory_gb() -> float | None:
    """Physical memory."""
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
    return round(pages * size / 1e9, 1)


def commit() -> str | None:
    """The commit of the project's tree, with a mark if files other than results differ from it."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(ROOT), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        name = git("describe", "--always", "--abbrev=10")
        changed = git("diff", "HEAD", "--name-only", "--", ".", ":!benchmarks/results")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{name}-dirty" if changed else name


def thread_environment(threads: int) -> dict[str, str]:
    """The environment of a worker: every thread pool at the same size, waiting passively."""
    pinned = {name: str(threads) for name in THREAD_VARIABLES}
    return {**os.environ, **pinned, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONDONTWRITEBYTECODE": "1"}
