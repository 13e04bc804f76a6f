"""Measure the rivals: ``python -m benchmarks --help``.

For each case, C and gamma, the contenders (a rival at some p) take turns, each turn in a fresh
process; a contender's time is the minimum of its turns, and the referee judges the model of that
turn. Results go to ``results/<name>.json`` (after every case), ``.md`` and ``.png``.

In the linear suite every library has several settings. They stand on ladders, and only those that
can matter for the report take (further) turns: see ``is_needed`` and ``may_win``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import environment, report
from benchmarks.cases import CASES, Data, check_present, load
from benchmarks.contender import Contender
from benchmarks.linear_report import CLOSE, OURS
from benchmarks.nursery import Nursery
from benchmarks.rivals import LADDERS, RIVALS
from benchmarks.suites import SUITES
from benchmarks.tables import write_json
from benchmarks.worker import Task

RESULTS = Path(__file__).parent / "results"
REFERENCE = "psvm-1e-8"  # there for its objective, not for its time
MAY_WIN = 3.0  # times the fastest rival's first turn: who is slower will not become the fastest


def compete(
    case: str,
    C: float,
    factor: float,
    options: argparse.Namespace,
    scratch: Path,
    nursery: Nursery,
) -> list[dict[str, Any]]:
    """All contenders on one problem, in interleaved turns."""
    data = load(case, options.max_rows)
    kernel = SUITES[options.suite].kernel
    contenders: list[Contender] = []
    skipped: dict[str, list[str]] = {}
    for rival, p in itertools.product(options.rivals, options.ps):
        if reason := RIVALS[options.suite][rival].why_not(p, data.X_train.shape[0]):
            skipped.setdefault(f"p = {p:g} ({reason})", []).append(rival)
            continue
        task = Task(
            suite=options.suite,
            case=case,
            rival=rival,
            C=C,
            gamma=factor * data.gamma_scale if kernel else None,
            p=p,
            threads=options.threads,
            max_rows=options.max_rows,
            time_limit=options.time_limit,
            model_file=str(scratch / f"{len(contenders)}.npz"),
        )
        contenders.append(Contender(task, options.repeat_below, nursery))
    for what, who in skipped.items():
        print(f"  not run at {what}: {', '.join(who)}", flush=True)
    ladders = LADDERS if not kernel else []
    for contender in list(contenders):
        if is_needed(contender, contenders, ladders, data):
            contender.take_turn()
        else:
            contenders.remove(contender)
    again = contenders if kernel else [c for c in contenders if may_win(c, contenders, data)]
    for turn in range(1, options.repeats):
        shift = turn % max(len(again), 1)  # nobody always runs after the same neighbour
        for contender in again[shift:] + again[:shift]:
            if contender.wants_turn:
                contender.take_turn()
    return [announce(contender.record(data)) for contender in contenders]


def is_needed(
    contender: Contender, contenders: list[Contender], ladders: list[list[str]], data: Data
) -> bool:
    """Whether no earlier rung of its ladder was close to the optimum, or too slow already.

    Rungs with a larger intercept scaling say nothing about the time of this one.
    """
    name = contender.task.rival
    ladder = next((names for names in ladders if name in names), [name])
    earlier = ladder[: ladder.index(name)]
    before = [c for c in same_problem(contender, contenders) if c.task.rival in earlier]
    if not before:
        return True
    easier = [c for c in before if scaling_of(c) <= scaling_of(contender)]
    if any(is_close(c, contenders, data) for c in before) or any(c.over_limit for c in easier):
        return False
    slow = MAY_WIN * fastest_seconds(contender, contenders, data)
    return all(c.best["fit_seconds"] <= slow for c in easier if c.turns)


def scaling_of(contender: Contender) -> float:
    """The intercept scaling of its rival, 1 for those without one."""
    rival = RIVALS[contender.task.suite][contender.task.rival]
    return float(getattr(rival, "intercept_scaling", 1.0))


def may_win(contender: Contender, contenders: list[Contender], data: Data) -> bool:
    """Whether more turns can change the report: psvm's, and those of rivals close and fast."""
    name = contender.task.rival
    if name.startswith(OURS):
        return name != REFERENCE
    if not is_close(contender, contenders, data):
        return False
    return contender.best["fit_seconds"] <= MAY_WIN * fastest_seconds(contender, contenders, data)


def fastest_seconds(contender: Contender, contenders: list[Contender], data: Data) -> float:
    """Time of the fastest rival so far that is close to the optimum; infinite if there is none."""
    rivals = (c for c in same_problem(contender, contenders) if not c.task.rival.startswith(OURS))
    close = (c.best["fit_seconds"] for c in rivals if is_close(c, contenders, data))
    return min(close, default=math.inf)


def same_problem(contender: Contender, contenders: list[Contender]) -> list[Contender]:
    """The contenders at the same p."""
    return [c for c in contenders if c.task.p == contender.task.p]


def is_close(contender: Contender, contenders: list[Contender], data: Data) -> bool:
    """Whether its objective, with the best intercept, is close to the smallest one so far."""
    if not contender.turns:
        return False
    group = [c for c in same_problem(contender, contenders) if c.turns]
    optimum = min(c.judge(data)["primal_best"] for c in group)
    return contender.judge(data)["primal_best"] <= (1.0 + CLOSE) * optimum


def announce(row: dict[str, Any]) -> dict[str, Any]:
    """Print one line of progress."""
    text = f"  {row['rival']:24} p={row['p']:<5g} {row['status']}"
    if "fit_seconds" in row:
        text += f"  fit {row['fit_seconds']:.3g} s  predict {row['predict_seconds']:.3g} s"
    if "primal" in row:
        text += f"  P {row['primal_best']:.8g}  test {row['test_accuracy']:.4f}"
    if "gap" in row:
        text += f"  gap {row['gap']:.1e}"
    print(text, flush=True)
    return row


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
    add("--threads", type=int, default=environment.usable_cpus(), metavar="N", help="and CPUs")
    add("--max-rows", type=int, metavar="N", help="train (and test) on a sample of this size")
    add("--name", default=suite.name, help="of the files in benchmarks/results")
    help_text = "keep what the file of this name has on other data sets"
    add("--keep", action="store_true", help=help_text)
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


def main() -> None:
    """Run every problem and write the results."""
    options = parse()
    path = RESULTS / f"{options.name}.json"
    path.parent.mkdir(exist_ok=True)
    described = environment.describe(options.threads, packages(options.suite))
    records: list[dict[str, Any]] = []
    if options.keep and path.exists():
        kept = json.loads(path.read_text())
        records += [row for row in kept["records"] if row["case"] not in options.cases]
        described["command"] = f"{kept['environment']['command']} && {described['command']}"
    results = {"suite": options.suite, "environment": described, "records": records}
    problems = itertools.product(options.cases, options.Cs, options.gamma_factors)
    with Nursery(options.threads) as nursery:
        for case, C, factor in problems:
            width = f"  gamma={factor:g} x scale" if SUITES[options.suite].kernel else ""
            print(f"{case}  C={C:g}{width}", flush=True)
            with tempfile.TemporaryDirectory() as scratch:
                records += compete(case, C, factor, options, Path(scratch), nursery)
            write_json(results, path)
    for written in (path, *report.render(path)):
        print(f"wrote {written}")
