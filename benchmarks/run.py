"""Measure the rivals: ``python -m benchmarks --help``.

For each case, C and gamma, the contenders (a rival at some p) take turns, each turn in a fresh
process; a contender's time is the minimum of its turns, and the referee judges the model of that
turn. Results go to ``results/<name>.json`` (after every case), ``.md`` and ``.png``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import environment, report
from benchmarks.cases import CASES, GROUPS, Data, find, load
from benchmarks.objective import DualModel, judge
from benchmarks.rivals import RIVALS
from benchmarks.worker import Task

CLOCKS = ("fit_seconds", "fit_cpu_seconds", "predict_seconds")
QUICK: dict[str, Any] = {
    "cases": ["magic04", "satimage"],
    "max_rows": 4000,
    "repeats": 2,
    "ps": [1.0, 1.5, 2.0],
    "rivals": ["psvm", "intelex", "intelex-f32", "sklearn", "control"],
}


class Contender:
    """One rival at one p on one problem, and its turns so far."""

    def __init__(self, task: Task, time_limit: float, repeat_below: float) -> None:
        self.task = task
        self.time_limit = time_limit
        self.repeat_below = repeat_below
        self.turns: list[dict[str, float]] = []
        self.status = "ok"
        self.best_file = Path(task.model_file).with_suffix(".best.npz")

    @property
    def best(self) -> dict[str, float]:
        """The turn with the fastest fit."""
        return min(self.turns, key=lambda turn: turn["fit_seconds"])

    @property
    def wants_turn(self) -> bool:
        """Slow fits are not repeated: a minute is steady enough, and the machine has other work."""
        done = bool(self.turns) and self.best["fit_seconds"] > self.repeat_below
        return self.status == "ok" and not done

    def take_turn(self) -> None:
        """Measure once in a fresh process; keep the model if this was the fastest fit."""
        command = [sys.executable, "-m", "benchmarks.worker", json.dumps(asdict(self.task))]
        try:
            answer = subprocess.run(
                command,
                cwd=environment.ROOT,
                env=environment.thread_environment(self.task.threads),
                capture_output=True,
                text=True,
                timeout=self.time_limit,
            )
        except subprocess.TimeoutExpired:
            self.status = f"over {self.time_limit:g} s"
            return
        if answer.returncode != 0:
            lines = answer.stderr.strip().splitlines() or [f"exit code {answer.returncode}"]
            self.status = f"failed: {lines[-1][:200]}"
            return
        self.turns.append(json.loads(answer.stdout.strip().splitlines()[-1]))
        if self.turns[-1] is self.best:
            shutil.move(self.task.model_file, self.best_file)

    def record(self, data: Data) -> dict[str, Any]:
        """Times of the turns and the verdict of the referee."""
        task = self.task
        row: dict[str, Any] = {
            "case": task.case,
            "n_train": data.X_train.shape[0],
            "n_test": data.X_test.shape[0],
            "n_features": data.X_train.shape[1],
            "n_classes": int(data.y_train.max()) + 1,
            "C": task.C,
            "gamma": task.gamma,
            "gamma_factor": round(task.gamma / data.gamma_scale, 6),
            "rival": task.rival,
            "p": task.p,
            "status": self.status,
        }
        if not self.turns:
            return row
        row |= {key: value for key, value in self.best.items() if key != "predict_seconds"}
        row["predict_seconds"] = min(turn["predict_seconds"] for turn in self.turns)
        row["turns"] = [{key: turn[key] for key in CLOCKS} for turn in self.turns]
        with np.load(self.best_file) as stored:
            arrays = {key: stored[key] for key in stored.files}
        if arrays:
            verdict = judge(
                DualModel(**arrays),
                (data.X_train, data.y_train),
                (data.X_test, data.y_test),
                C=task.C,
                gamma=task.gamma,
                p=task.p,
                threads=task.threads,
            )
            row |= asdict(verdict)
        return row


def compete(
    case: str, C: float, factor: float, options: argparse.Namespace, scratch: Path
) -> list[dict[str, Any]]:
    """All contenders on one problem, in interleaved turns."""
    data = load(case, options.max_rows)
    contenders: list[Contender] = []
    skipped: dict[str, list[str]] = {}
    for rival, p in itertools.product(options.rivals, options.ps):
        if reason := RIVALS[rival].why_not(p, data.X_train.shape[0]):
            skipped.setdefault(f"{rival} ({reason})", []).append(f"{p:g}")
            continue
        task = Task(
            case=case,
            rival=rival,
            C=C,
            gamma=factor * data.gamma_scale,
            p=p,
            threads=options.threads,
            max_rows=options.max_rows,
            model_file=str(scratch / f"{len(contenders)}.npz"),
        )
        contenders.append(Contender(task, options.time_limit, options.repeat_below))
    for who, ps in skipped.items():
        print(f"  not run at p = {', '.join(ps)}: {who}", flush=True)
    for turn in range(options.repeats):
        shift = turn % max(len(contenders), 1)  # nobody always runs after the same neighbour
        for contender in contenders[shift:] + contenders[:shift]:
            if contender.wants_turn:
                contender.take_turn()
    return [announce(contender.record(data)) for contender in contenders]


def announce(row: dict[str, Any]) -> dict[str, Any]:
    """Print one line of progress."""
    text = f"  {row['rival']:12} p={row['p']:<5g} {row['status']}"
    if "fit_seconds" in row:
        text += f"  fit {row['fit_seconds']:.3g} s  predict {row['predict_seconds']:.3g} s"
    if "primal" in row:
        text += f"  P {row['primal']:.8g}  gap {row['gap']:.1e}  test {row['test_accuracy']:.4f}"
    print(text, flush=True)
    return row


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Command line, with the rivals that are installed as default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    some: dict[str, Any] = {"nargs": "+", "metavar": "NAME"}
    cases, names = [*CASES, *GROUPS], list(RIVALS)
    parser.add_argument(
        "--cases",
        **some,
        choices=cases,
        default=["magic04", "a9a"],
        help=f"from {', '.join(cases)}; default magic04 a9a",
    )
    parser.add_argument(
        "--rivals",
        **some,
        choices=names,
        help=f"from {', '.join(names)}; default all that are installed, but psvm-f32",
    )
    parser.add_argument("--C", dest="Cs", nargs="+", type=float, default=[1.0], metavar="C")
    parser.add_argument("--gamma-factors", nargs="+", type=float, default=[1.0], metavar="FACTOR")
    parser.add_argument("--p", dest="ps", nargs="+", type=float, default=[1.0], metavar="P")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--repeat-below", type=float, default=20.0, metavar="SECONDS")
    parser.add_argument("--time-limit", type=float, default=600.0, metavar="SECONDS")
    parser.add_argument("--threads", type=int, default=environment.usable_cpus())
    parser.add_argument("--max-rows", type=int, help="train (and test) on a sample of this size")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a look in under two minutes: samples of magic04 and satimage, p = 1, 1.5, 2",
    )
    parser.add_argument("--name", default="latest", help="of the files in benchmarks/results")
    options = parser.parse_args(arguments)
    if options.quick:
        vars(options).update({**QUICK, "rivals": options.rivals or list(QUICK["rivals"])})
        options.name = "quick" if options.name == "latest" else options.name
    if options.rivals is None:
        options.rivals = [name for name in RIVALS if name != "psvm-f32"]
    missing = [
        name
        for name in options.rivals
        if RIVALS[name].package and not environment.installed(RIVALS[name].package)
    ]
    for name in missing:
        print(f"{name}: package {RIVALS[name].package} is not installed, left out")
        options.rivals.remove(name)
    options.cases = list(
        dict.fromkeys(case for name in options.cases for case in GROUPS.get(name, [name]))
    )
    try:
        for case in options.cases:
            find(CASES[case].file)
    except FileNotFoundError as error:
        parser.error(str(error))
    return options


def main() -> None:
    """Run every problem and write the results."""
    options = parse()
    path = Path(__file__).parent / "results" / f"{options.name}.json"
    path.parent.mkdir(exist_ok=True)
    records: list[dict[str, Any]] = []
    results = {"environment": environment.describe(options.threads), "records": records}
    for case, C, factor in itertools.product(options.cases, options.Cs, options.gamma_factors):
        print(f"{case}  C={C:g}  gamma={factor:g} x scale", flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            records += compete(case, C, factor, options, Path(scratch))
        report.write_json(results, path)
    for written in (path, *report.render(path)):
        print(f"wrote {written}")
