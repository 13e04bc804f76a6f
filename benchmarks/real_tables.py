"""``psvm fit`` or ``psvm tune`` on every table of a folder, each as a process of its own.

    python -m benchmarks.real_tables --command tune --max-time 60
    python -m benchmarks.real_tables --sets adult titanic

The tables are the Parquet files of ``study`` in the data folder (``PSVM_BENCH_DATA``, by default
``../shared/data`` beside the project), with a column ``target``: text columns, missing values, many
classes. A quarter of the rows tests each model. What happened is a line per table on standard
output, and the exit code is 1 if a command failed in a way that a user should not see.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.cases import data_folder

TARGET = "target"
_GRACE = 120.0  # seconds that reading, writing and a busy machine may take beyond --max-time
_PROGRESS = re.compile(r"\d+ of \d+ |after \d+ s, ")
_EXPECTED = (0, 3)  # all went well, or the time was up and the model says so


@dataclass(frozen=True)
class Outcome:
    """What a command did with a table."""

    name: str
    rows: int
    columns: int
    code: int
    accuracy: float | None
    majority: float
    seconds: float
    said: str

    @property
    def sound(self) -> bool:
        """Whether a user got a model, and no traceback."""
        return self.code in _EXPECTED and "Traceback" not in self.said

    def line(self) -> str:
        """For the table of all."""
        score = "-" if self.accuracy is None else f"{self.accuracy:.4f}"
        cells = f"{self.name:<22} {self.rows:>7} {self.columns:>5} {self.code:>4} {score:>8}"
        return f"{cells} {self.majority:>8.4f} {self.seconds:>7.1f}  {self.said}"


HEAD = f"{'set':<22} {'rows':>7} {'cols':>5} {'exit':>4} {'accuracy':>8} {'majority':>8}"
HEAD += f" {'seconds':>7}  said"


def run_on(path: Path, command: str, max_time: float | None, max_rows: int | None) -> Outcome:
    """Run a command on a table, and read what it says."""
    table = pl.read_parquet(path)
    labels = table.get_column(TARGET)
    with tempfile.TemporaryDirectory() as folder:
        if max_rows is not None and table.height > max_rows:
            path = Path(folder) / path.name
            table = table.sample(max_rows, seed=0)
            table.write_parquet(path)
        words = [sys.executable, "-m", "psvm.cli", command, str(path), "--target", TARGET]
        words += ["--output", f"{folder}/m.psvm", "--impute", "--test-size", ".25", "--json"]
        words += [] if max_time is None else ["--max-time", f"{max_time:g}"]
        began = time.perf_counter()
        limit = None if max_time is None else max_time + _GRACE
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=limit)
            code, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            code, out, err = 124, "", f"killed after {limit:.0f} s"
        seconds = time.perf_counter() - began
    try:
        accuracy = json.loads(out)["test"]["accuracy"]
    except (ValueError, KeyError, TypeError):
        accuracy = None
    majority = max(labels.value_counts().get_column("count").to_list()) / len(labels)
    lines = [line for line in err.splitlines() if not _PROGRESS.match(line)]
    said = " | ".join(line.replace(f"{path}", "DATA").strip() for line in lines)
    rows, columns = table.height, table.width - 1
    return Outcome(path.stem, rows, columns, code, accuracy, majority, seconds, said)


def main(arguments: list[str] | None = None) -> int:
    """Run a command on the tables, and say what happened."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--command", choices=("fit", "tune"), default="fit")
    parser.add_argument("--max-time", type=float, help="seconds for each; default: no limit")
    parser.add_argument("--max-rows", type=int, help="of each, at random; default: all")
    parser.add_argument("--sets", nargs="*", help="names; default: all")
    given = parser.parse_args(arguments)
    folder = data_folder() / "study"
    paths = sorted(folder.glob("*.parquet"))
    if given.sets:
        paths = [path for path in paths if path.stem in given.sets]
    if not paths:
        print(f"no such tables in {folder}", file=sys.stderr)
        return 2
    print(HEAD, flush=True)
    failed = []
    for path in paths:
        outcome = run_on(path, given.command, given.max_time, given.max_rows)
        print(outcome.line(), flush=True)
        failed += [] if outcome.sound else [outcome.name]
    print(f"{len(paths) - len(failed)} of {len(paths)} went well", *failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
