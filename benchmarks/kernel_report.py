"""The page of the kernel suite: psvm against each rival, and everything that was measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from benchmarks.tables import Record, geometric_mean, name_of, ratio, table

OURS = "psvm"
ALLOWED_EXCESS = 1e-4  # a speed ratio counts if our objective is at most this much above theirs

Problem = tuple[Any, ...]


class Duel(NamedTuple):
    """psvm against one rival on the same problem.

    Ratios compare the minima over the turns that both took, since more turns have a lower minimum.
    ``cpu_ratio`` is that of the processor seconds of all threads, which other work on the machine
    disturbs less. ``excess`` is psvm's objective with its own intercept over the rival's with the
    best intercept for its coefficients, minus 1: the reading that favours the rival.
    """

    ours: Record
    theirs: Record
    fit_ratio: float
    cpu_ratio: float
    predict_ratio: float
    excess: float

    @property
    def counts(self) -> bool:
        """Whether psvm's solution is good enough to compare times."""
        return self.excess <= ALLOWED_EXCESS


def problem_of(row: Record) -> Problem:
    """What must be equal for two records to be comparable."""
    return row["case"], row["C"], row["gamma_factor"], row["p"]


def duels(records: Iterable[Record]) -> Iterator[Duel]:
    """Every rival that solved a problem psvm solved too."""
    judged = [row for row in records if "primal" in row]
    ours = {problem_of(row): row for row in judged if row["rival"] == OURS}
    for row in judged:
        mine = ours.get(problem_of(row))
        if mine is None or row["rival"].startswith(OURS):
            continue
        yield Duel(
            mine,
            row,
            ratio(row, mine, "fit_seconds"),
            ratio(row, mine, "fit_cpu_seconds"),
            ratio(row, mine, "predict_seconds"),
            mine["primal"] / row["primal_best"] - 1.0,
        )


def summary_lines(all_duels: list[Duel]) -> list[str]:
    """Geometric means of the ratios per rival, two classes and more classes apart."""
    rows = []
    for several in (False, True):
        for rival in dict.fromkeys(duel.theirs["rival"] for duel in all_duels):
            group = [
                duel
                for duel in all_duels
                if duel.theirs["rival"] == rival and (duel.ours["n_classes"] > 2) == several
            ]
            good = [duel for duel in group if duel.counts]
            if not good:
                continue
            fit = [duel.fit_ratio for duel in good]
            rows.append(
                [
                    f"{rival}, {'several classes' if several else 'two classes'}",
                    f"{geometric_mean(fit):.1f}x",
                    f"{min(fit):.1f}x",
                    f"{geometric_mean(duel.cpu_ratio for duel in good):.1f}x",
                    f"{geometric_mean(duel.predict_ratio for duel in good):.1f}x",
                    f"{len(good)} of {len(group)}",
                ]
            )
    header = ["psvm is faster than", "fit (geometric mean)", "fit (worst)", "fit, CPU time"]
    return table([*header, "predict", "counted"], rows)


def duel_lines(all_duels: list[Duel]) -> list[str]:
    """Each ratio beside the difference of the objectives that it was reached at."""
    rows = [
        [
            name_of(duel.ours),
            duel.theirs["rival"],
            f"{duel.ours['fit_seconds']:.3g}",
            f"{duel.theirs['fit_seconds']:.3g}",
            f"{duel.fit_ratio:.1f}x" + ("" if duel.counts else " (not counted)"),
            f"{duel.cpu_ratio:.1f}x",
            f"{duel.predict_ratio:.1f}x",
            f"{duel.excess:+.1e}",
        ]
        for duel in all_duels
    ]
    header = ["problem", "rival", "psvm fit s", "rival fit s", "fit ratio", "CPU ratio"]
    return table([*header, "predict ratio", "psvm objective above rival's"], rows)


def exponent_lines(records: list[Record]) -> list[str]:
    """Time of psvm at each p against p = 1 on the same data."""
    ours = {problem_of(row): row for row in records if row["rival"] == OURS and "primal" in row}
    rows = []
    for problem, row in ours.items():
        base = ours.get((*problem[:3], 1.0))
        if base is not None and problem[3] != 1.0:
            wall, cpu = (ratio(row, base, clock) for clock in ("fit_seconds", "fit_cpu_seconds"))
            rows.append([name_of(row), f"{row['fit_seconds']:.3g}", f"{wall:.1f}x", f"{cpu:.1f}x"])
    return table(["psvm at", "fit s", "time of p = 1", "CPU time of p = 1"], rows) if rows else []


def record_lines(records: list[Record]) -> list[str]:
    """Everything that was measured."""
    rows = []
    for row in records:
        start = [name_of(row), row["rival"]]
        if "fit_seconds" not in row:
            rows.append([*start, row["status"], *[""] * 8])
            continue
        judged = "primal" in row
        remark = "" if row["status"] == "ok" else f" ({row['status']})"
        rows.append(
            [
                *start,
                f"{row['fit_seconds']:.3g}{remark}",
                f"{row['predict_seconds']:.3g}",
                f"{row['memory_mb']:.0f}",
                f"{row['peak_mb']:.0f}",
                f"{row['primal']:.8g}" if judged else "",
                f"{row['gap']:.1e}" if judged else "",
                f"{row['n_support']}" if judged else "",
                f"{row['train_accuracy']:.4f}" if judged else "",
                f"{row['accuracy']:.4f}",
            ]
        )
    header = ["problem", "rival", "fit s", "predict s", "fit MB", "peak MB", "objective", "gap"]
    return table([*header, "support vectors", "train acc.", "test acc."], rows)


def lines(records: list[Record]) -> list[str]:
    """The body of the page."""
    all_duels = list(duels(records))
    text = []
    if all_duels:
        text += ["## Speed", "", *summary_lines(all_duels), *duel_lines(all_duels)]
    if exponents := exponent_lines(records):
        text += ["## Other exponents", "", *exponents]
    text += ["## All measurements", "", *record_lines(records)]
    return [
        *text,
        "Objective and gap are the referee's, in float64; see `benchmarks/README.md`.",
        "",
    ]
