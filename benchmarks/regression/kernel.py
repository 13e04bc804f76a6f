"""PSVR at p = 1, 1.5 and 2 beside SVR (LIBSVM) and scikit-learn-intelex's SVR, rbf, real sets.

The rivals solve p = 1, at their default tolerance; at other p ours is compared with itself.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cases import gamma_scale
from benchmarks.environment import usable_cpus
from benchmarks.everyday.contest import our_name, status_of
from benchmarks.everyday.process import Measurer
from benchmarks.everyday.turns import Contender, Effort, Watch, take_turns
from benchmarks.kernel_targets import Target, Value
from benchmarks.objective import rbf_blocks
from benchmarks.regression.referee import Loss, Verdict, judge
from benchmarks.regression.sets import RegressionSet, table_named, tables
from benchmarks.tables import Record, table, times

PART = "kernel"
PS, CS, EPSILON = (1.0, 1.5, 2.0), (1.0, 10.0), 0.1
LIBSVM, INTELEX = "SVR", "intelex SVR"
ALLOWED_EXCESS = 1e-4  # of our objective over a rival's, beyond which a ratio does not count
EFFORT = Effort(cap=20.0, patience=25.0, seconds=0.7, turns=7)
QUICK = Effort(cap=5.0, patience=20.0, seconds=0.1, turns=3)
QUICK_ROWS = 2000  # of the sets of a quick run
MANY_ROWS = 5000  # from which on a fit of ours is more than the calls around it


@dataclass(frozen=True)
class Case:
    """A set and a C."""

    source: str
    C: float

    @property
    def name(self) -> str:
        """In one cell."""
        return f"{self.source}, C={self.C:g}"


# --- what is measured ----------------------------------------------------------------------------


def run(quick: bool) -> Iterator[list[Record]]:
    """The records of one case after the other."""
    sizes = {one.name: one.y.size for one in tables()}
    chosen = [name for name in sizes if not quick or sizes[name] <= QUICK_ROWS]
    with closing(Measurer(QUICK if quick else EFFORT, __name__)) as measurer:
        for name in sorted(chosen, key=sizes.__getitem__):
            for C in CS[:1] if quick else CS:
                yield measurer.measure(Case(name, C))


def warm_up() -> None:
    """Imports and threads of everyone."""
    X = np.linspace(0.0, 1.0, 60)[:, None]
    for one in contenders(RegressionSet("a curve", X, np.sin(9.0 * X[:, 0])), 1.0):
        one.take_turn(None)


def measure(case: Case, effort: Effort, watch: Watch) -> list[Record]:
    """Turns of all, and the referee's word: a record for each."""
    data = table_named(case.source)
    all_of_them = contenders(data, case.C)
    take_turns(all_of_them, effort, watch)
    verdicts = judged(data, case.C, all_of_them)
    return [record(case, data, one, verdicts.get(one.name)) for one in all_of_them]


def contenders(data: RegressionSet, C: float) -> list[Contender]:
    """Ours at every p, and the rivals that are installed."""
    from psvm import PSVR

    X, y = data.X, data.y
    common = {"C": C, "epsilon": EPSILON, "gamma": gamma_scale(X)}

    def ours(p: float) -> Callable[[float | None], Any]:
        return lambda limit: PSVR(p, max_time=limit, **common).fit(X, y)

    found = [Contender(our_name(p), ours(p), p) for p in PS]
    for name, package in ((INTELEX, "sklearnex"), (LIBSVM, "sklearn")):
        if importlib.util.find_spec(package) is not None:
            kind = importlib.import_module(f"{package}.svm").SVR
            found.append(Contender(name, lambda _, kind=kind: kind(**common).fit(X, y)))
    return found


def judged(data: RegressionSet, C: float, all_of_them: Sequence[Contender]) -> dict[str, Verdict]:
    """What the referee says of everyone's model, from one pass over the kernel."""
    X, y = data.X, data.y
    ended = [one for one in all_of_them if one.seconds]
    supports = [np.asarray(one.model.support_) for one in ended]
    support = np.unique(np.concatenate([*supports, [0]]))
    coefs, values = np.zeros((support.size, len(ended))), np.zeros((y.size, len(ended)))
    for t, one in enumerate(ended):
        coefs[np.searchsorted(support, supports[t]), t] = np.ravel(one.model.dual_coef_)

    def take(block: slice, kernel: Any) -> None:
        values[block] = kernel @ coefs

    rbf_blocks(X, X[support], gamma_scale(X), usable_cpus(), take)
    found = {}
    for t, one in enumerate(ended):
        norm = float(coefs[:, t] @ values[support, t])
        b = float(np.ravel(one.model.intercept_)[0])
        found[one.name] = judge(y, values[:, t], b, norm, Loss(one.p, C, EPSILON))
    return found


def record(case: Case, data: RegressionSet, one: Contender, verdict: Verdict | None) -> Record:
    """What is written."""
    found: Record = {
        "part": PART,
        "set": case.source,
        "rows": data.X.shape[0],
        "features": data.X.shape[1],
        "C": case.C,
        "p": one.p,
        "who": one.name,
        "turns": one.seconds,
    }
    if one.error:
        found["failed"] = one.error
    elif one.over is not None:
        found |= {"seconds": one.over, "over": True}
    elif verdict is not None:
        found |= {"seconds": min(one.seconds), "primal": verdict.primal_best, "r2": verdict.r2}
    if unfinished := status_of(one.model):
        found["status"] = unfinished
    return found


def line(row: Record) -> str:
    """For the screen."""
    said = row.get("failed") or f"{seconds(row):>8} s, P {row.get('primal', np.nan):.6g}"
    return f"{row['set']:20s} {row['rows']:>6} C={row['C']:<3g} {row['who']:12s} {said}"


# --- what is shown -------------------------------------------------------------------------------


def cases_of(records: Sequence[Record]) -> list[dict[str, Record]]:
    """Records by who it was, of each case."""
    cases: dict[tuple[str, float], dict[str, Record]] = {}
    for row in records:
        if row["part"] == PART:
            cases.setdefault((row["set"], row["C"]), {})[row["who"]] = row
    return list(cases.values())


def ratio(case: dict[str, Record], rival: str, ours: str) -> Value | None:
    """The rival's seconds over ours, if both ended and ours is no worse."""
    if rival not in case or ours not in case:
        return None
    theirs, own = case[rival], case[ours]
    if "failed" in theirs or "failed" in own or "over" in own:
        return None
    if theirs["p"] == own["p"] and excess(own, theirs) > ALLOWED_EXCESS:
        return None
    name = f"{own['set']}, C={own['C']:g}, {ours}"
    return Value(theirs["seconds"] / own["seconds"], name, "over" in theirs)


def excess(ours: Record, theirs: Record) -> float:
    """By how much of it our objective is above theirs."""
    if ours.get("primal") is None or not theirs.get("primal"):
        return 0.0
    return float(ours["primal"] / theirs["primal"] - 1.0)


def targets(records: Sequence[Record]) -> list[Target]:
    """What is to be reached."""
    cases, hinge = cases_of(records), our_name(1.0)

    def values(rival: str, ours: str, rows: int = 0) -> list[Value]:
        wanted = [case for case in cases if ours in case and case[ours]["rows"] >= rows]
        return [found for case in wanted if (found := ratio(case, rival, ours)) is not None]

    result = [
        Target("PSVR >= 5x intelex's SVR", 5.0, True, values(INTELEX, hinge)),
        Target("PSVR >= 15x SVR (LIBSVM)", 15.0, True, values(LIBSVM, hinge)),
        Target(
            f"PSVR >= 15x SVR (LIBSVM), from {MANY_ROWS:,} rows on",
            15.0,
            True,
            values(LIBSVM, hinge, MANY_ROWS),
        ),
        Target("PSVR: no set slower than SVR", 1.0, True, values(LIBSVM, hinge), of_worst=True),
    ]
    result += [
        Target(f"PSVR p = {p:g} <= 3x p = 1", 3.0, False, values(our_name(p), hinge))
        for p in PS[1:]
    ]
    return result


def page(records: Sequence[Record]) -> list[str]:
    """The table of all cases."""
    hinge, rows = our_name(1.0), []
    for case in cases_of(records):
        if hinge not in case:
            continue
        own = case[hinge]
        cells = [own["set"], f"{own['rows']} x {own['features']}", f"{own['C']:g}", seconds(own)]
        for rival in (INTELEX, LIBSVM):
            theirs = case.get(rival, {})
            value = ratio(case, rival, hinge)
            cells += [
                seconds(theirs),
                "" if value is None else ("> " if value.bound else "") + times(value.value),
                f"{excess(own, theirs):.0e}" if theirs.get("primal") else "",
            ]
        for p in PS[1:]:
            value = ratio(case, our_name(p), hinge)
            cells += [
                seconds(case.get(our_name(p), {})),
                "" if value is None else times(value.value),
            ]
        rows.append(cells)
    header = ["set", "rows x features", "C", "psvm p=1, s"]
    for rival in (INTELEX, LIBSVM):
        header += [f"{rival}, s", "ratio", "our P above"]
    for p in PS[1:]:
        header += [f"psvm p={p:g}, s", "over p=1"]
    text = (
        f'PSVR(p, epsilon={EPSILON:g}), rbf, gamma="scale"; numeric columns and y standardised. '
        "Rivals at their default tolerance of 1e-3, psvm at its relative gap of 1e-4; the referee "
        "gives everyone the best intercept. Ratios are the rival's seconds over psvm's; none where "
        f"our objective is more than {ALLOWED_EXCESS:g} of it above the rival's."
    )
    return ["## Kernel machines", "", text, "", *table(header, rows)]


def seconds(row: Record) -> str:
    """Of a fit, or why there are none."""
    if "failed" in row:
        return "failed"
    if "seconds" not in row:
        return ""
    return ("> " if "over" in row else "") + f"{row['seconds']:.3g}"
