"""Everyday problems beside scikit-learn: ``python -m benchmarks.everyday``.

Random problems of 300 to 20,000 rows, odd ones, small tables, predictions of a few rows and small
searches, with classes and with targets. Results go to ``results/everyday.json`` after every
problem, and in the end, or at Ctrl-C, to ``.md`` and ``.png``; ``--resume`` goes on where a run
stopped, ``--only PSVR`` measures the regressions.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from benchmarks import environment
from benchmarks.everyday import regression_problems
from benchmarks.everyday.duels import why_not, words
from benchmarks.everyday.problems import Problem, plan
from benchmarks.everyday.process import Measurer
from benchmarks.everyday.report import render
from benchmarks.everyday.rows import table_names, target_table_names
from benchmarks.everyday.targets import name_of
from benchmarks.everyday.turns import QUICK, Effort
from benchmarks.run import RESULTS
from benchmarks.tables import Record, write_json

PACKAGES = ("psvm", "scikit-learn", "liblinear-official")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.everyday", description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="a look in two minutes: few problems, few turns")
    add("--cap", type=float, metavar="SECONDS", help="a fit that takes longer is over the limit")
    add("--only", nargs="+", default=[""], metavar="WORD", help="problems with one of these words")
    add("--resume", action="store_true", help="keep what the file has, measure what is missing")
    add("--name", help="of the files in benchmarks/results (everyday, or quick_everyday)")
    options = parser.parse_args(arguments)
    options.name = options.name or ("quick_everyday" if options.quick else "everyday")
    return options


def chosen(options: argparse.Namespace) -> list[Problem]:
    """The problems to measure."""
    problems = plan(options.quick, table_names())
    problems += regression_problems.plan(options.quick, target_table_names())
    return [one for one in problems if any(word in " ".join(key_of(one)) for word in options.only)]


def key_of(problem: Problem) -> tuple[str, ...]:
    """What tells a problem from the others."""
    ps = [f"p={p:g}" for p in problem.ps]
    return (problem.part, problem.estimator, problem.name, problem.against, *ps)


def is_done(problem: Problem, records: Sequence[Record]) -> bool:
    """Whether there is a record of every p."""
    _, _, _, _, *ps = key_of(problem)
    same = [
        row
        for row in records
        if (row["part"], row["estimator"], row["problem"], row["against"]) == key_of(problem)[:4]
    ]
    return set(ps) <= {f"p={row['p']:g}" for row in same}


def show(records: Sequence[Record]) -> None:
    """A line per record."""
    for row in records:
        said = why_not(row) or (
            f"{1e3 * row['seconds']:9.2f} ms, {row['rival']} {1e3 * row['rival_seconds']:.2f} ms"
            f" {words(row)}"
        )
        print(f"{said:50s} {name_of(row)}, {row['against']}", flush=True)


def main(arguments: Sequence[str] | None = None, folder: Path = RESULTS) -> int:
    """Measure every problem and write the results."""
    options = parse(arguments)
    effort = QUICK if options.quick else Effort()
    effort = replace(effort, cap=options.cap) if options.cap else effort
    path = folder / f"{options.name}.json"
    described = environment.describe(environment.usable_cpus(), PACKAGES)
    given = sys.argv[1:] if arguments is None else arguments
    described["command"] = " ".join(["python -m benchmarks.everyday", *given])
    records: list[Record] = []
    if options.resume and path.exists():
        records = json.loads(path.read_text())["records"]
    results = {"suite": "everyday", "environment": described, "records": records}
    missing = [one for one in chosen(options) if not is_done(one, records)]
    start, code = time.perf_counter(), 0
    try:
        with closing(Measurer(effort)) as measurer:
            for problem in missing:
                found = measurer.measure(problem)
                show(found)
                records += found
                write_json(results, path)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command with --resume goes on")
        code = 130
    if records:
        for written in (path, *render(results, path)):
            print(f"wrote {written}")
    print(f"{len(missing)} problems in {time.perf_counter() - start:.0f} s")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
