"""The command ``python -m benchmarks.study``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.study import plan, running, sets, store


def main(arguments: list[str] | None = None) -> int:
    """Run what is left to run; 1 if something failed, 2 if there is nothing to run on."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="four small sets, two repeats")
    parser.add_argument("--only", nargs="+", metavar="SET", help="these tables; default: all 71")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="methods or families")
    parser.add_argument(
        "--repeats", type=int, help="splits of each table; default: 10, of larger ones 3"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--hours", type=float, default=2.9, help="begin nothing after so long")
    parser.add_argument("--output", type=Path, help="default: benchmarks/results/study.csv")
    parser.add_argument("--plan", action="store_true", help="say what would be run, and end")
    parser.add_argument(
        "--check",
        action="store_true",
        help="run the tables of --only again beside what was kept, and say what differs",
    )
    given = parser.parse_args(arguments)
    if given.check:
        return _check(given)
    return _study(given)


def _check(given: argparse.Namespace) -> int:
    """Run again what was kept, elsewhere; 1 if the numbers are others."""
    kept = given.output or store.RESULTS
    if not given.only or not kept.exists():
        print("--check needs --only and results to compare with", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        given.output = Path(folder) / kept.name
        code = _study(given)
        differing = store.differences(kept, given.output) if code == 0 else []
    print(*differing, sep="\n")
    print(f"{len(differing)} numbers differ from {kept}")
    return code or int(bool(differing))


def _study(given: argparse.Namespace) -> int:
    """What is asked for and not yet kept."""

    rows = sets.n_rows()
    wanted = given.only or (sets.QUICK if given.quick else sorted(rows))
    unknown = [name for name in wanted if name not in rows]
    if unknown or not rows:
        print(f"no such tables: {', '.join(unknown) or 'none at all'}", file=sys.stderr)
        return 2
    try:
        methods = plan.chosen_methods(given.methods)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    # A quick run is no part of the study: its splits are the same, but its times are in a hurry.
    name = "quick_study.csv" if given.quick else "study.csv"
    path = given.output or store.RESULTS.with_name(name)
    began = time.time()
    rounds = plan.rounds(
        {name: rows[name] for name in wanted},
        methods,
        repeats=given.repeats or (2 if given.quick else None),
        done=store.finished(path),
        path=path,
        deadline=began + 3600 * given.hours,
    )
    print(*plan.told(rounds, given.processes), sep="\n", flush=True)
    if given.plan:
        return 0
    store.prepare(path)
    failures: list[str] = []
    for number, work in enumerate(rounds):
        ended, failed = running.run(work, given.processes)
        failures += failed + [line for lines in ended for line in lines]
        print(
            f"round {number + 1} of {len(rounds)} after {(time.time() - began) / 60:.1f} minutes",
            flush=True,
        )
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(store.read(path))} rows in {path}, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
