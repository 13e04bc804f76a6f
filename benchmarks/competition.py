"""One problem: all contenders take turns on it, and their records come back.

psvm runs first. With ``--give-up-after F`` a rival's fit is ended after F times the seconds that
psvm's first turn needed for the same problem, but not before ``LEAST_LIMIT``; such a rival has no
time, only a lower bound of it.

In the linear suite every library has several settings. They stand on ladders, and only those that
can matter for the report take (further) turns: see ``is_needed`` and ``may_win``.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.cases import Data
from benchmarks.contender import Contender, judge_together
from benchmarks.kernel_duels import OTHER_MODELS
from benchmarks.linear_report import CLOSE
from benchmarks.nursery import Nursery
from benchmarks.rivals import LADDERS, RIVALS
from benchmarks.suites import SUITES
from benchmarks.tables import OURS, Record
from benchmarks.worker import Task, loaded

REFERENCE = "psvm-1e-8"  # there for its objective, not for its time
MAY_WIN = 3.0  # times the fastest rival's first turn: who is slower will not become the fastest
LEAST_LIMIT = 5.0  # seconds that every rival has: short fits cost nothing, and vary


class Problem(NamedTuple):
    """A data set with its parameters; all contenders, at every p, take turns on it."""

    case: str
    C: float
    gamma_factor: float


def compete(
    problem: Problem,
    options: argparse.Namespace,
    scratch: Path,
    nursery: Nursery,
    known: Sequence[Record] = (),
) -> list[Record]:
    """All contenders on one problem, in interleaved turns, but those with a ``known`` record."""
    data = loaded(problem.case, options.max_rows)
    kernel = SUITES[options.suite].kernel
    contenders: list[Contender] = []
    has_record = {(row["rival"], row["p"]) for row in known}
    for rival, p in asked(options, data.X_train.shape[0], say=True):
        if (rival, p) in has_record:
            continue
        task = Task(
            suite=options.suite,
            case=problem.case,
            rival=rival,
            C=problem.C,
            gamma=problem.gamma_factor * data.gamma_scale if kernel else None,
            p=p,
            threads=options.threads,
            max_rows=options.max_rows,
            time_limit=options.time_limit,
            model_file=str(scratch / f"{len(contenders)}.npz"),
        )
        contenders.append(Contender(task, options.repeat_below, nursery))
    ladders = LADDERS if not kernel else []
    for contender in list(contenders):
        if is_needed(contender, contenders, ladders, data):
            contender.limit(limit_of(contender, contenders, options, known))
            contender.take_turn()
        else:
            contenders.remove(contender)
    again = contenders if kernel else [c for c in contenders if may_win(c, contenders, data)]
    for turn in range(1, options.repeats):
        shift = turn % max(len(again), 1)  # nobody always runs after the same neighbour
        for contender in again[shift:] + again[:shift]:
            if contender.wants_turn:
                contender.take_turn()
    if kernel:
        judge_together(contenders, data)
    return [announce(contender.record(data)) for contender in contenders]


def asked(
    options: argparse.Namespace, n_train: int, say: bool = False
) -> Iterator[tuple[str, float]]:
    """The rivals and exponents that can solve a problem of this size, psvm's first."""
    skipped: dict[str, list[str]] = {}
    for rival, p in itertools.product(sorted(options.rivals, key=is_rival), options.ps):
        if reason := RIVALS[options.suite][rival].why_not(p, n_train):
            skipped.setdefault(f"p = {p:g} ({reason})", []).append(rival)
        else:
            yield rival, p
    for what, who in skipped.items() if say else ():
        print(f"  not run at {what}: {', '.join(who)}", flush=True)


def is_rival(name: str) -> bool:
    """Whether a contender is not psvm."""
    return not name.startswith(OURS)


def limit_of(
    contender: Contender,
    contenders: list[Contender],
    options: argparse.Namespace,
    known: Sequence[Record] = (),
) -> float:
    """Seconds that its fit may take."""
    group = [c for c in same_problem(contender, contenders) if c.task.rival == OURS]
    first_turns = [c.turns[0]["fit_seconds"] for c in group if c.turns]
    first_turns += [
        row["turns"][0]["fit_seconds"]
        for row in known
        if row["rival"] == OURS and row["p"] == contender.task.p and "turns" in row
    ]
    name = contender.task.rival
    decided = (
        is_rival(name) and name not in OTHER_MODELS
    )  # of these the time is all there is to know
    if options.give_up_after is None or not first_turns or not decided:
        return float(options.time_limit)
    patience = options.give_up_after * first_turns[0]
    return float(min(options.time_limit, max(LEAST_LIMIT, patience)))


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
    if not is_rival(name):
        return name != REFERENCE
    if not is_close(contender, contenders, data):
        return False
    return contender.best["fit_seconds"] <= MAY_WIN * fastest_seconds(contender, contenders, data)


def fastest_seconds(contender: Contender, contenders: list[Contender], data: Data) -> float:
    """Time of the fastest rival so far that is close to the optimum; infinite if there is none."""
    rivals = (c for c in same_problem(contender, contenders) if is_rival(c.task.rival))
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


def announce(row: Record) -> Record:
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
