"""The picture of the kernel suite: speed-ups per data set and rival, and what p > 1 costs.

A mark is the geometric mean over the problems of a data set (its C and gamma), a thin line reaches
from the smallest to the largest. A hollow mark is a lower bound: its mean takes the time limits of
fits that ran into theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.kernel_duels import Duel, duels
from benchmarks.kernel_targets import EXPONENTS, exponent_values
from benchmarks.tables import OURS, Record, geometric_mean

# Okabe and Ito's palette, distinct for every common form of colour blindness; marks differ too.
RIVALS = {
    "intelex": ("#0072B2", "o", "intelex, float64"),
    "intelex-f32": ("#56B4E9", "s", "intelex, float32"),
    "sklearn": ("#009E73", "D", "scikit-learn SVC"),
    "libsvm": ("#E69F00", "^", "libsvm-official"),
    "torchkm": ("#CC79A7", "v", "TorchKM"),
    "clarabel": ("#000000", "P", "CVXPY/Clarabel"),
    "psmo": ("#999999", "X", "the paper's pSMO"),
}
PS = dict(zip(EXPONENTS, ("#56B4E9", "#0072B2", "#CC79A7", "#000000"), strict=True))


class Mark(NamedTuple):
    """One point of the picture."""

    values: list[float]
    is_bound: bool
    look: tuple[str, str, str]


def draw(results: dict[str, Any], path: Path) -> None:
    """Panels of fit, predict and exponents, one line per data set."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    records = results["records"]
    found = [duel for duel in duels(records) if duel.counts and duel.ours["p"] == 1.0]
    exponents = exponent_marks(records)
    panels = [
        ("fit at p = 1: times faster than", speed_marks(found, fit_or_bound)),
        ("predict at p = 1: times faster than", speed_marks(found, predict_ratio)),
        ("fit: time of p over time of p = 1", exponents),
    ]
    panels = [(title, marks) for title, marks in panels if marks]
    if not panels:
        return
    rows = ordered_cases(records, {case for _, marks in panels for case in marks})
    figure, axes = pyplot.subplots(
        1,
        len(panels),
        figsize=(2.0 + 3.7 * len(panels), 2.4 + 0.42 * len(rows)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for one, (title, marks) in zip(axes[0], panels, strict=True):
        draw_panel(one, title, marks, list(rows))
    axes[0][0].set_yticks(range(len(rows)), list(rows.values()))
    axes[0][0].set_ylim(len(rows) - 0.4, -0.6)
    environment = results["environment"]
    figure.suptitle(
        f"psvm beside other kernel SVMs: rbf kernel, {environment['threads']} threads,"
        f" {environment['cpu']}\nmark: geometric mean over C and gamma; line: smallest to largest;"
        " hollow: at least, as rivals were ended by their limit",
        fontsize=9,
    )
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


Panel = dict[str, list[Mark]]


def fit_or_bound(duel: Duel) -> float:
    """Ratio of fit seconds; its lower bound if the rival was ended."""
    return duel.bound if duel.over_limit else duel.fit


def predict_ratio(duel: Duel) -> float | None:
    """Ratio of predict seconds, if there is one."""
    return None if duel.over_limit else duel.predict


def speed_marks(found: Sequence[Duel], value: Any) -> Panel:
    """The marks of every data set, one per rival, over the duels that have a value."""
    marks: Panel = {}
    for case in dict.fromkeys(duel.ours["case"] for duel in found):
        for rival, look in RIVALS.items():
            here = [d for d in found if (d.ours["case"], d.theirs["rival"]) == (case, rival)]
            values = [number for duel in here if (number := value(duel)) is not None]
            if values:
                ended = any(duel.over_limit and value(duel) is not None for duel in here)
                marks.setdefault(case, []).append(Mark(values, ended, look))
    return marks


def exponent_marks(records: Sequence[Record]) -> Panel:
    """The marks of every data set, one per p > 1."""
    marks: Panel = {}
    shapes = dict(zip(PS, "osD^", strict=True))
    for case in dict.fromkeys(row["case"] for row in records):
        for p, colour in PS.items():
            mine = [r for r in records if r["case"] == case and r["p"] in (1.0, p)]
            values = [value.value for value in exponent_values(mine)]
            if values:
                look = (colour, shapes[p], f"p = {p:g}")
                marks.setdefault(case, []).append(Mark(values, False, look))
    return marks


def ordered_cases(records: Iterable[Record], drawn: set[str]) -> dict[str, str]:
    """Data sets with their labels, two classes before several."""
    first = {row["case"]: row for row in records if row["rival"] == OURS and row["case"] in drawn}
    rows = sorted(first.values(), key=lambda row: bool(row["n_classes"] > 2))
    return {
        row["case"]: f"{row['case']}\n{row['n_train']:,} × {row['n_features']}"
        + (f", {row['n_classes']} classes" if row["n_classes"] > 2 else "")
        for row in rows
    }


def draw_panel(axes: Any, title: str, marks: Panel, rows: list[str]) -> None:
    """One panel with its own legend on top."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    looks = list(dict.fromkeys(mark.look for group in marks.values() for mark in group))
    offset = {look: 0.62 * (i + 0.5) / len(looks) - 0.31 for i, look in enumerate(looks)}
    for position in range(0, len(rows), 2):
        axes.axhspan(position - 0.5, position + 0.5, color="#F4F4F4", zorder=0, lw=0)
    for position, case in enumerate(rows):
        for values, is_bound, look in marks.get(case, []):
            colour, shape, _ = look
            at = position + offset[look]
            axes.plot([min(values), max(values)], [at, at], color=colour, lw=1.2, zorder=2)
            face = "white" if is_bound else colour
            mean = geometric_mean(values)
            axes.plot(mean, at, shape, color=colour, mfc=face, ms=5.5, mew=1.3, zorder=3)
    for colour, shape, label in looks:
        axes.plot([], [], shape, color=colour, ms=5.5, label=label)
    axes.axvline(1.0, color="#333", lw=1.0, zorder=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="x", lw=0.3)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(title)
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
    axes.legend(**place, ncols=2, fontsize=8, frameon=False, handletextpad=0.2, columnspacing=0.8)
