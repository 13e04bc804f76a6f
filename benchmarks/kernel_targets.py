"""What the kernel solver is to reach, and what was measured: the first table of the page.

A mean is a geometric mean of the ratios that count (:mod:`benchmarks.kernel_duels`). A rival that
ran into its time limit has no ratio; its lower bound stays out of the mean and is shown apart, in a
second mean that takes the bounds for ratios and is therefore too low, if anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from benchmarks.kernel_duels import Duel, problem_of
from benchmarks.kernel_threads import gains_of_threads
from benchmarks.tables import OURS, Record, geometric_mean, name_of, ratio, table, times

LIBSVM = ("sklearn", "libsvm")
LONG = 0.04  # seconds
EXPONENTS = (1.25, 1.5, 2.0, 3.0)
THREADED = (1.0, 1.5, 2.0)  # exponents of the targets for threads, as C >= 1


class Value(NamedTuple):
    """A measured ratio with the name of its problem; ``bound``: it is only known to be larger."""

    value: float
    name: str
    bound: bool = False


class Target(NamedTuple):
    """A line of the table: the values should be at least, or at most, ``limit``."""

    text: str
    limit: float
    at_least: bool
    values: list[Value]
    of_worst: bool = False  # the target is for the worst value, not for the mean

    @property
    def measured(self) -> list[Value]:
        """The values that are more than bounds."""
        return [value for value in self.values if not value.bound]

    @property
    def worst(self) -> Value:
        """The measured value that is farthest on the wrong side."""
        choose: Callable[..., Value] = min if self.at_least else max
        return choose(self.measured, key=lambda value: value.value)

    def figure(self, values: Iterable[Value]) -> float:
        """What is compared with the limit."""
        return self.worst.value if self.of_worst else geometric_mean(v.value for v in values)

    def reaches(self, figure: float) -> bool:
        """Whether a figure is on the right side of the limit."""
        return figure >= self.limit if self.at_least else figure <= self.limit

    @property
    def verdict(self) -> str:
        """Met or not; where it depends on the bounds, that is said."""
        if not self.values:
            return "not measured"
        if not self.measured:
            enough = all(self.reaches(value.value) for value in self.values)
            return "met, by lower bounds only" if enough else "open: only lower bounds"
        if self.reaches(self.figure(self.measured)):
            return "**met**"
        if not self.of_worst and self.reaches(self.figure(self.values)):
            return "met if the lower bounds count"
        return "**not met**"


def targets(records: Sequence[Record], all_duels: Sequence[Duel]) -> list[Target]:
    """The targets in their order."""
    good = [duel for duel in all_duels if duel.counts and duel.ours["p"] == 1.0]
    two = [duel for duel in good if duel.ours["n_classes"] == 2]
    rivals, long = ("intelex", "intelex-f32", *LIBSVM), [d for d in good if is_long(d.ours)]
    result = [
        Target("fit >= 10x intelex, float64 input", 10.0, True, fit_values(long, ["intelex"])),
        Target("fit >= 7x intelex, float32 input", 7.0, True, fit_values(long, ["intelex-f32"])),
        Target("fit: no case under 2.5x", 2.5, True, fit_values(long, rivals), of_worst=True),
    ]
    for rival, text in zip(LIBSVM, ("scikit-learn's SVC", "libsvm-official"), strict=True):
        values = fit_values(two, [rival])
        result.append(Target(f"fit >= 15x LIBSVM ({text})", 15.0, True, values))
    result.append(
        Target(
            "fit, several classes >= 4x the faster of intelex and LIBSVM",
            4.0,
            True,
            faster_of_both(good),
        )
    )
    for text, limit, names in (("intelex", 2.0, ["intelex"]), ("LIBSVM", 20.0, LIBSVM)):
        predict = [
            Value(duel.predict, problem_name(duel))
            for duel in good
            if duel.theirs["rival"] in names and not duel.over_limit
        ]
        result.append(Target(f"predict >= {limit:g}x {text}", limit, True, predict))
    exponents, threads = exponent_values(records), thread_values(records)
    result += [
        Target("fit at p = 1.25, 1.5, 2, 3 <= 2x p = 1", 2.0, False, exponents),
        Target("no fit at these p over 4x p = 1", 4.0, False, exponents, of_worst=True),
        Target("all threads >= 1.6x one", 1.6, True, threads),
        Target("all threads: no fit under 1.3x one", 1.3, True, threads, of_worst=True),
    ]
    return result


def is_long(row: Record) -> bool:
    """Whether a fit takes so long that its speed matters; below that checks and calls count."""
    return float(row["fit_seconds"]) > LONG


def problem_name(duel: Duel) -> str:
    """The problem and the rival."""
    return f"{name_of(duel.ours)}, {duel.theirs['rival']}"


def fit_value(duel: Duel) -> Value:
    """The ratio of the fit seconds, or its lower bound."""
    value = duel.bound if duel.over_limit else duel.fit
    return Value(value, problem_name(duel), duel.over_limit)


def fit_values(all_duels: Iterable[Duel], rivals: Sequence[str]) -> list[Value]:
    """Fit ratios against the given rivals."""
    return [fit_value(duel) for duel in all_duels if duel.theirs["rival"] in rivals]


def faster_of_both(all_duels: Iterable[Duel]) -> list[Value]:
    """Fit ratio against the faster of intelex and LIBSVM on each problem of several classes.

    Where neither ended in time, the lower bound is that of the smaller limit.
    """
    groups: dict[object, list[Duel]] = {}
    for duel in all_duels:
        if duel.ours["n_classes"] > 2 and duel.theirs["rival"] in ("intelex", *LIBSVM):
            groups.setdefault(problem_of(duel.ours), []).append(duel)
    return [
        min((fit_value(duel) for duel in group), key=lambda v: (v.bound, v.value))
        for group in groups.values()
    ]


def exponent_values(records: Iterable[Record]) -> list[Value]:
    """Time of psvm at each p > 1 over its time at p = 1, on the same data with the same C."""
    ours = {problem_of(row): row for row in records if row["rival"] == OURS and "primal" in row}
    return [
        Value(ratio(row, ours[*problem[:3], 1.0], "fit_seconds"), name_of(row))
        for problem, row in ours.items()
        if problem[3] in EXPONENTS and (*problem[:3], 1.0) in ours
    ]


def thread_values(records: Iterable[Record]) -> list[Value]:
    """What all threads gain over one, in fits that take one long enough."""
    return [
        Value(gain, name_of(row))
        for row, one, gain in gains_of_threads(records)
        if is_long(one) and row["C"] >= 1.0 and row["p"] in THREADED
    ]


def over_floor(row: Record) -> float:
    """Fit seconds over floor seconds of one record."""
    return float(row["fit_seconds"] / row["floor_seconds"])


def target_lines(all_targets: Iterable[Target]) -> list[str]:
    """The table."""
    rows = []
    for target in all_targets:
        measured, bounds = target.measured, len(target.values) - len(target.measured)
        with_bounds = ""
        if bounds and not target.of_worst:
            with_bounds = f"> {times(target.figure(target.values))}"
        figure = target.figure(measured) if measured else math.nan
        rows.append(
            [
                target.text,
                times(figure) if measured else "",
                target.verdict,
                f"{times(target.worst.value)}: {target.worst.name}" if measured else "",
                f"{len(measured)}",
                f"{with_bounds} ({bounds})" if bounds else "",
            ]
        )
    header = ["target", "measured", "verdict", "worst case", "counted"]
    return table([*header, "with lower bounds (how many)"], rows)
