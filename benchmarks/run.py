"""Measure the rivals: ``python -m benchmarks --help``.

For each case, C and gamma, the contenders (a rival at some p) take turns, each turn in a fresh
process; a contender's time is the minimum of its turns, and the referee judges the model of that
turn (:mod:`benchmarks.competition`). Results go to ``results/<name>.json`` after every problem, and
in the end, or at Ctrl-C, to ``.md`` and ``.png``; ``--resume`` goes on where a run stopped.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import environment, report
from benchmarks.cases import CASES, check_present
from benchmarks.competition import Problem, asked, compete
from benchmarks.nursery import Nursery
from benchmarks.rivals import RIVALS
from benchmarks.suites import SUITES
from benchmarks.tables import Record, write_json
from benchmarks.worker import loaded

RESULTS = Path(__file__).parent / "results"


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Command line, with the rivals that are installed as default."""
    suite_parser = argparse.ArgumentParser(add_help=False)
    suite_parser.add_argument("--suite", choices=list(SUITES), default="kernel")
    suite_name = suite_parser.parse_known_args(arguments)[0].suite
    suite, rivals = SUITES[suite_name], RIVALS[suite_name]

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog="Names and defaults are those of the suite: try --suite linear --help.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        parents=[suite_parser],
    )
    cases = [*CASES, *suite.groups]
    add = parser.add_argument
    add(
        "--cases",
        nargs="+",
        metavar="NAME",
        choices=cases,
        default=suite.cases,
        help=f"from {', '.join(cases)}",
    )
    add(
        "--rivals",
        nargs="+",
        metavar="NAME",
        choices=list(rivals),
        default=[name for name in rivals if name not in suite.left_out],
        help=f"from {', '.join(rivals)}; those that are not installed are left out",
    )
    add("--C", dest="Cs", nargs="+", type=float, default=suite.Cs, metavar="C", help="costs")
    if suite.kernel:
        help_text = "widths, times gamma='scale'"
        add("--gamma-factors", nargs="+", type=float, default=[1.0], metavar="F", help=help_text)
    else:
        parser.set_defaults(gamma_factors=[1.0])
    add("--p", dest="ps", nargs="+", type=float, default=suite.ps, metavar="P", help="exponents")
    add("--repeats", type=int, default=3, metavar="N", help="turns, of which the fastest counts")
    help_text = "only faster fits are repeated"
    add("--repeat-below", type=float, default=20.0, metavar="SECONDS", help=help_text)
    help_text = "a fit that takes longer is ended"
    add("--time-limit", type=float, default=suite.time_limit, metavar="SECONDS", help=help_text)
    help_text = "and a rival's fit after this many times psvm's (but 5 s)"
    patience = suite.give_up_after
    add("--give-up-after", type=float, default=patience, metavar="TIMES", help=help_text)
    add("--threads", type=int, default=environment.usable_cpus(), metavar="N", help="and CPUs")
    add("--max-rows", type=int, metavar="N", help="train (and test) on a sample of this size")
    add("--name", default=suite.name, help="of the files in benchmarks/results")
    help_text = "keep what the file of this name has and this command does not measure"
    add("--keep", action="store_true", help=help_text)
    help_text = "keep all that the file of this name has, and measure only what is missing"
    add("--resume", action="store_true", help=help_text)
    help_text = f"a look in under two minutes: {suite.quick}"
    add("--quick", action="store_true", help=help_text)
    options = parser.parse_args(arguments)
    if options.quick:
        given = {key for key in suite.quick if getattr(options, key) != parser.get_default(key)}
        vars(options).update({key: v for key, v in suite.quick.items() if key not in given})

    options.rivals = list(options.rivals)
    for name in list(options.rivals):
        package = rivals[name].package
        if package and not environment.installed(package):
            print(f"{name}: package {package} is not installed, left out")
            options.rivals.remove(name)
    options.cases = list(
        dict.fromkeys(case for name in options.cases for case in suite.groups.get(name, [name]))
    )
    try:
        for case in options.cases:
            check_present(case)
    except FileNotFoundError as error:
        parser.error(str(error))
    return options


def packages(suite: str) -> list[str]:
    """The distributions behind a suite's rivals."""
    return list(dict.fromkeys(r.package for r in RIVALS[suite].values() if r.package))


def problem_of(row: Record) -> Problem:
    """The problem that a record belongs to."""
    return Problem(row["case"], row["C"], row.get("gamma_factor", 1.0))


def kept_records(records: list[Record], options: argparse.Namespace) -> list[Record]:
    """What ``--keep`` and ``--resume`` take over from an earlier run."""
    if options.resume:
        return list(records)
    measured = set(itertools.product(problems(options), options.rivals, options.ps))
    return [row for row in records if (problem_of(row), row["rival"], row["p"]) not in measured]


def problems(options: argparse.Namespace) -> list[Problem]:
    """The problems that a command asks for."""
    return [
        Problem(*parts)
        for parts in itertools.product(options.cases, options.Cs, options.gamma_factors)
    ]


def is_done(problem: Problem, records: list[Record], options: argparse.Namespace) -> bool:
    """Whether the records have every contender; on a ladder one at every p, as not all run."""
    here = {(row["rival"], row["p"]) for row in records if problem_of(row) == problem}
    if not here:
        return False
    if not SUITES[options.suite].kernel:
        return set(options.ps) <= {p for _, p in here}
    n_train = loaded(problem.case, options.max_rows).X_train.shape[0]
    return set(asked(options, n_train)) <= here


def run(options: argparse.Namespace, results: Record, path: Path) -> None:
    """Measure what is missing, one problem after the other, and store every one at once."""
    records: list[Record] = results["records"]
    missing = [one for one in problems(options) if not is_done(one, records, options)]
    start = time.perf_counter()
    with Nursery(options.threads) as nursery:
        for number, problem in enumerate(missing, 1):
            width = f"  gamma={problem.gamma_factor:g} x scale"
            width = width if SUITES[options.suite].kernel else ""
            place = f"[{number}/{len(missing)}, {time.perf_counter() - start:.0f} s]"
            print(f"{problem.case}  C={problem.C:g}{width}  {place}", flush=True)
            known = [row for row in records if problem_of(row) == problem]
            with tempfile.TemporaryDirectory() as scratch:
                records += compete(problem, options, Path(scratch), nursery, known)
            write_json(results, path)


def main(arguments: Sequence[str] | None = None, folder: Path = RESULTS) -> int:
    """Run every problem and write the results."""
    options = parse(arguments)
    path = folder / f"{options.name}.json"
    path.parent.mkdir(exist_ok=True)
    described = environment.describe(options.threads, packages(options.suite))
    if arguments is not None:
        described["command"] = " ".join(["python -m benchmarks", *arguments])
    records: list[Record] = []
    if (options.keep or options.resume) and path.exists():
        kept = json.loads(path.read_text())
        records += kept_records(kept["records"], options)
        if records and kept["environment"]["commit"] != described["commit"]:
            before = kept["environment"]["commit"]
            print(f"note: {path.name} has records of commit {before}, now {described['commit']}")
        described["command"] = f"{kept['environment']['command']} && {described['command']}"
    code = 0
    try:
        run(options, {"suite": options.suite, "environment": described, "records": records}, path)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command with --resume goes on", file=sys.stderr)
        code = 130
    if path.exists():
        for written in (path, *report.render(path)):
            print(f"wrote {written}")
    return code
