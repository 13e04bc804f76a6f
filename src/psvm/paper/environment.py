"""How the numbers of a report were made."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from psvm.paper.store import Row

PACKAGES = ("psvm", "numpy", "scipy", "scikit-learn", "joblib", "matplotlib")


def account(tables: dict[str, list[Row]], run: dict[str, Any]) -> list[tuple[str, str]]:
    """What was run, for how long, on which machine and with which packages.

    Parameters
    ----------
    tables : dict of str to list of dict
        Rows of the tables.
    run : dict
        The account of the run by :func:`psvm.paper.reproduce.reproduce`.

    Returns
    -------
    list of (str, str)
        Names and values.
    """
    cell_seconds = sum(float(row["seconds"]) for rows in tables.values() for row in rows)
    return [
        ("Command", str(run["command"])),
        ("Quick run", "yes" if run["quick"] else "no"),
        (
            "This run",
            f"{run['seconds']:.0f} s; {run['computed']} results computed, "
            f"{run['reused']} taken from earlier runs",
        ),
        ("All cells together", f"{cell_seconds:.0f} s of computing"),
        ("Processes", f"{run['processes']}, one thread each"),
        ("Machine", f"{_processor()}, {os.cpu_count()} CPUs, {platform.platform()}"),
        ("Python", platform.python_version()),
        ("Packages", ", ".join(f"{name} {_version(name)}" for name in PACKAGES)),
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def _processor() -> str:
    """The processor's name; Linux has it only in a file."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        names = re.findall(r"^model name\s*:\s*(.+)$", text, re.M)
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
