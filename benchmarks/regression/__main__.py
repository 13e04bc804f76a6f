"""Kernel machines, linear ones and quantiles: ``python -m benchmarks.regression``.

Results go to ``results/regression.json`` after every problem, and in the end, or at Ctrl-C, to
``regression.md``. Ten minutes on an idle machine; ``--quick`` takes less than one and stores
nothing. The linear parts here are a choice of their sets: all of them are taken by
``python -m benchmarks.regression.linear`` and ``.quantiles``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import environment
from benchmarks.kernel_targets import Target, Value, target_lines
from benchmarks.regression import kernel, linear, quantiles
from benchmarks.regression.sets import RegressionSet, synthetic, tables
from benchmarks.run import RESULTS
from benchmarks.tables import Record, environment_lines, write_json

PACKAGES = ("psvm", "scikit-learn", "scikit-learn-intelex")
FEATURES = 30  # of synthetic rows
LINEAR_SETS, LINEAR_ROWS = ("abalone", "communities", "compactiv", "casp"), (100_000, 1_000_000)
QUANTILE_SETS, QUANTILE_ROWS = ("bike_hourly", "casp"), (10_000,)
QUICK_SETS, QUICK_ROWS = ("concrete",), (10_000,)
THREADS = environment.usable_cpus()
MANY_ROWS = 10_000  # from which on quantiles have a target


def sets(names: Sequence[str], rows: Sequence[int], features: int) -> Iterator[RegressionSet]:
    """Some tables and some synthetic sets."""
    yield from tables(tuple(names)) if names else ()
    yield from (synthetic(count, features) for count in rows)


def linear_part(quick: bool) -> Iterator[list[Record]]:
    """LinearPSVR beside LinearSVR, and beside itself at other p."""
    for data in sets(
        *((QUICK_SETS, QUICK_ROWS) if quick else (LINEAR_SETS, LINEAR_ROWS)), FEATURES
    ):
        for record in linear.measure(data, THREADS):
            yield [record]


def quantile_part(quick: bool) -> Iterator[list[Record]]:
    """LinearPSVR beside QuantileRegressor."""
    chosen = (QUICK_SETS, ()) if quick else (QUANTILE_SETS, QUANTILE_ROWS)
    for data in sets(*chosen, 10):
        for record in quantiles.duels(data, THREADS):
            yield [record]


PARTS: dict[str, tuple[Callable[[bool], Iterator[list[Record]]], Any]] = {
    "kernel": (kernel.run, kernel),
    "linear": (linear_part, linear),
    "quantiles": (quantile_part, quantiles),
}


def targets(records: Sequence[Record]) -> list[Target]:
    """What is to be reached; ratios of the linear parts count if our objective is no worse."""
    good = [row for row in records if row.get("excess", 1.0) <= linear.CLOSE]

    def values(part: str, **wanted: Any) -> list[Value]:
        return [
            Value(row["ratio"], f"{row['set']}, p={row.get('p', 1):g}")
            for row in good
            if row["part"] == part and all(row.get(k) == v for k, v in wanted.items())
        ]

    duels = values("linear", rival="LinearSVR")
    many = [row for row in good if row["part"] == "quantiles" and row["rows"] >= MANY_ROWS]
    bands = [Value(row["ratio"], f"{row['set']}, quantile {row['quantile']:g}") for row in many]
    return [
        *kernel.targets(records),
        Target("LinearPSVR >= 5x LinearSVR", 5.0, True, duels),
        Target("LinearPSVR: none slower", 1.0, True, duels, of_worst=True),
        Target(f"quantiles >= 20x QuantileRegressor, {MANY_ROWS:,} rows", 20.0, True, bands),
    ]


def page(results: dict[str, Any]) -> list[str]:
    """All parts under one heading."""
    records, described = results["records"], environment_lines(results["environment"])
    lines = ["# Regression", "", *described, "## Targets", "", *target_lines(targets(records))]
    lines += kernel.page(records)
    for part in ("linear", "quantiles"):
        own = [row for row in records if row["part"] == part]
        if own:
            shown = PARTS[part][1].page({**results, "records": own})
            lines += [
                f"#{one}" if one.startswith("#") else one
                for one in shown
                if one not in described[:3]
            ]
            lines.append("")
    return lines


def main(arguments: Sequence[str] | None = None, folder: Path = RESULTS) -> int:
    """Measure part by part, write, report."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.regression", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="a look; nothing is stored")
    parser.add_argument(
        "--parts",
        nargs="+",
        default=list(PARTS),
        choices=list(PARTS),
        help="to measure; what the file has of others is kept",
    )
    parser.add_argument("--name", default="regression", help="of the result files")
    options = parser.parse_args(arguments)
    described = environment.describe(environment.usable_cpus(), PACKAGES)
    given = sys.argv[1:] if arguments is None else arguments
    described["command"] = " ".join(["python -m benchmarks.regression", *given])
    path = folder / f"{options.name}.json"
    records: list[Record] = []
    if set(options.parts) < set(PARTS) and path.exists() and not options.quick:
        before = json.loads(path.read_text())["records"]
        records = [row for row in before if row["part"] not in options.parts]
    results = {"suite": "regression", "environment": described, "records": records}
    start, code = time.perf_counter(), 0
    try:
        for part in options.parts:
            measure, module = PARTS[part]
            for found in measure(options.quick):
                for row in found:
                    records.append({"part": part, **row})
                    print(module.line(row), flush=True)
                if not options.quick:
                    write_json(results, path)
    except KeyboardInterrupt:
        print("\ninterrupted")
        code = 130
    text = "\n".join(page(results)) + "\n"
    if not options.quick:
        (folder / f"{options.name}.md").write_text(text, encoding="utf-8")
    print(text)
    print(f"{len(records)} records in {time.perf_counter() - start:.0f} s")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
