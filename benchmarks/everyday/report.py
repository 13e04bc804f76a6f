"""The page and the picture of everyday problems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.everyday.duels import (
    Choice,
    counted,
    group_table,
    is_bound,
    ratio_of,
    why_not,
    words,
)
from benchmarks.everyday.problems import CLOSE, DEFAULTS, KERNEL_PS, LINEAR_PS
from benchmarks.everyday.targets import (
    KERNEL_MACHINES,
    LINEAR_MACHINES,
    name_of,
    of,
    targets,
)
from benchmarks.growth import save_figure
from benchmarks.kernel_targets import target_lines
from benchmarks.tables import Record, environment_lines, table

WORST = 20
LINEAR_FIELDS = ("rows", "classes", "C", "features", "storage")
KERNEL_FIELDS = ("kernel", *LINEAR_FIELDS, "gamma x")
TARGET_FIELDS = ("kernel", "rows", "C", "epsilon", "features", "storage", "gamma x")
TABLE_PARTS = {"Tables": ("PSVC", "LinearPSVC"), "Tables with targets": ("PSVR", "LinearPSVR")}
FITS = ("random", "named", "table")
READING = """\
Ratios are the rival's seconds over psvm's (above 1: psvm is faster), means are geometric, and in
brackets stands how often psvm is slower. All contenders of a problem take turns in one process,
with imports warm and threads as they are by default; the fastest of the turns that both took
counts. A rival that was over its limit has only a lower bound (>), which stays out of the means;
psvm over its limit counts with the limit for its seconds (<). A record counts if our objective is
at most 1e-4 above the rival's by the referee, where it has judged."""


def page(results: dict[str, Any], picture: str) -> list[str]:
    """All tables."""
    records: list[Record] = results["records"]
    good = counted(records)
    random = [row for row in good if row["part"] == "random"]
    kernel_ps: dict[str, Choice] = {f"p = {p:g}": at(p) for p in KERNEL_PS}
    lines = [
        "# Everyday problems",
        "",
        *environment_lines(results["environment"]),
        *READING.split("\n"),
    ]
    lines += ["", f"![Ratios]({picture})", "", "## Targets", "", *target_lines(targets(records))]
    lines += ["## PSVC beside SVC, random problems", ""]
    lines += ["SVC solves p = 1; at p = 1.5 its time for p = 1 is the yardstick.", ""]
    lines += group_table(of(random, "PSVC"), KERNEL_FIELDS, kernel_ps)
    lines += ["## LinearPSVC, random problems, one class against the rest", ""]
    lines += group_table(of(random, "LinearPSVC"), LINEAR_FIELDS, linear_columns())
    lines += closeness(records)
    lines += ["## PSVR beside SVR, random problems", ""]
    lines += ["SVR solves p = 1; at p = 1.5 its time for p = 1 is the yardstick.", ""]
    lines += group_table(of(random, "PSVR"), TARGET_FIELDS, kernel_ps)
    lines += ["## LinearPSVR beside LinearSVR, random problems", ""]
    linear_ps: dict[str, Choice] = {f"p = {p:g}": at(p) for p in LINEAR_PS}
    fields = [field for field in TARGET_FIELDS if field not in ("kernel", "gamma x")]
    lines += group_table(of(random, "LinearPSVR"), fields, linear_ps)
    lines += ["## Problems with a name", "", *fits_table(part(good, "named"))]
    for heading, names in TABLE_PARTS.items():
        own = [row for row in part(good, "table") if row["estimator"] in names]
        lines += [f"## {heading}", "", *tables_part(own, names)]
    lines += ["## Predictions of a few rows", "", *latency_table(part(good, "latency"))]
    lines += ["## Searches", ""]
    lines += ["PSVCCV and PSVRCV over five p beside GridSearchCV(SVC) and (SVR) over one.", ""]
    lines += fits_table(part(good, "search"))
    fits = [row for row in good if row["part"] in FITS and row["against"] == DEFAULTS]
    worst = sorted((row for row in fits if row["rival"] != "LIBLINEAR"), key=ratio_of)[:WORST]
    lines += [f"## The worst {WORST}", "", *fits_table(worst), *not_counted(records)]
    return [*lines, *control_line(records)]


def at(p: float, rival: str = "", against: str = DEFAULTS) -> Choice:
    """The choice of an exponent, and of a rival."""
    return lambda row: (
        row["p"] == p and row["against"] == against and row["rival"].startswith(rival)
    )


def linear_columns() -> dict[str, Choice]:
    """Exponents, libraries, and how they are called."""
    return {
        f"{library}, {against}, p = {p:g}": at(p, library, against)
        for against in (DEFAULTS, CLOSE)
        for library in ("LinearSVC", "LIBLINEAR")
        for p in LINEAR_PS
    }


def part(records: Sequence[Record], name: str) -> list[Record]:
    """The records of a part."""
    return [row for row in records if row["part"] == name]


def closeness(records: Sequence[Record]) -> list[str]:
    """How far the rivals are from the optimum at their defaults, and how many get there at all."""
    lines = []
    for library in ("LinearSVC", "LIBLINEAR"):
        judged = [r for r in records if r["rival"] == library and "rival_excess" in r]
        near = sum(row["rival_excess"] <= 1e-4 for row in judged)
        tried = [r for r in records if r["rival"] == library and r["against"] == CLOSE]
        there = sum(not why_not(row) and not is_bound(row) for row in tried)
        lines.append(
            f"{library} is within 1e-4 of psvm's objective at its defaults in {near} of"
            f" {len(judged)} problems; it gets there in time by a setting of its ladders in {there}"
            f" of {len(tried)}."
        )
    return [*lines, ""]


def milliseconds(seconds: float) -> str:
    """Three digits."""
    return f"{1e3 * seconds:.3g}"


def fits_table(records: Sequence[Record]) -> list[str]:
    """One line per record."""
    rows = [
        [
            name_of(row),
            row["rival"],
            milliseconds(row["seconds"]),
            milliseconds(row["rival_seconds"]),
            words(row),
            row.get("status", ""),
        ]
        for row in records
    ]
    return table(["problem", "rival", "psvm ms", "rival ms", "ratio", "psvm ended as"], rows)


def tables_part(records: Sequence[Record], estimators: tuple[str, str]) -> list[str]:
    """Means, and every table in a line of its own, of a kernel machine and a linear one."""
    if not records:
        return ["The tables, or the package to read them, are absent.", ""]
    kernel, linear = estimators
    columns = {
        f"{kernel} p = {p:g}": both(at(p, KERNEL_MACHINES[kernel][0]), kernel) for p in KERNEL_PS
    }
    columns |= {
        f"{linear} p = {p:g}": both(at(p, LINEAR_MACHINES[linear]), linear) for p in LINEAR_PS
    }
    rows = []
    for name in dict.fromkeys(row["problem"].split(",")[0] for row in records):
        members = [row for row in records if row["problem"].split(",")[0] == name]
        size = f"{members[0]['rows']} x {members[0]['features']}"
        size += f", {members[0]['classes']} classes" if members[0]["classes"] else ""
        chosen = [[row for row in members if choice(row)] for choice in columns.values()]
        rows.append(
            [f"{name.partition(' ')[2]}, {size}", *(words(c[0]) if c else "" for c in chosen)]
        )
    return [*group_table(records, (), columns), *table(["table", *columns], rows)]


def both(choice: Choice, estimator: str) -> Choice:
    """A choice, of one estimator."""
    return lambda row: row["estimator"] == estimator and choice(row)


def latency_table(records: Sequence[Record]) -> list[str]:
    """Microseconds of one call, ours beside the rival's."""
    asked = sorted({row["asked"] for row in records})
    found: dict[str, dict[int, str]] = {}
    for row in records:
        source = row["problem"].split(",")[0]
        name = f"{row['estimator']}.{row['method']}, {source}, beside {row['rival']}"
        ours, theirs = (f"{1e6 * row[key]:.0f}" for key in ("seconds", "rival_seconds"))
        found.setdefault(name, {})[row["asked"]] = f"{ours} / {theirs} us: {words(row)}"
    rows = [[name, *(cells[n] for n in asked)] for name, cells in found.items()]
    return table(["", *(f"{n} rows" for n in asked)], rows)


def not_counted(records: Sequence[Record]) -> list[str]:
    """Records that do not count, and why."""
    rows = [
        [name_of(row), row["rival"], row["against"], reason]
        for row in records
        if (reason := why_not(row)) and row["against"] == DEFAULTS
    ]
    if not rows:
        return []
    header = ["problem", "rival", "at", "why"]
    return ["## Not counted", "", *table(header, rows)]


def control_line(records: Sequence[Record]) -> list[str]:
    """What the harness costs."""
    idle = [row["control_seconds"] for row in records if "control_seconds" in row]
    if not idle:
        return []
    return [f"A control that does nothing takes {1e6 * max(idle):.0f} us at most.", ""]


def draw(results: dict[str, Any], path: Path) -> None:
    """Every fit as a dot: the ratio over our seconds, by kernel or by rows."""
    fits = [
        row
        for row in counted(results["records"])
        if row["part"] in FITS and row["against"] == DEFAULTS and row["rival"] != "LIBLINEAR"
    ]
    panels = []
    fields = {"PSVC": "kernel", "LinearPSVC": "rows", "PSVR": "kernel", "LinearPSVR": "rows"}
    for estimator, field in fields.items():
        if chosen := [row for row in fits if row["estimator"] == estimator]:
            panels.append(scatter(chosen, estimator, field))
    if panels:
        save_figure(panels, path)


def scatter(records: Sequence[Record], estimator: str, field: str) -> Any:
    """A panel."""

    def panel(axes: Any) -> None:
        for number, value in enumerate(
            dict.fromkeys(row[field] for row in part(records, "random"))
        ):
            members = [row for row in part(records, "random") if row[field] == value]
            dots(axes, members, f"C{number}", str(value))
        dots(axes, [row for row in records if row["part"] != "random"], "#999999", "named, tables")
        axes.axhline(1.0, color="#333", lw=0.8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("seconds of psvm")
        axes.set_ylabel(f"seconds of {records[0]['rival']} / {estimator}")
        axes.grid(lw=0.3)
        axes.legend(fontsize=8, title=field)

    return panel


def dots(axes: Any, records: Sequence[Record], colour: str, label: str) -> None:
    """Records in one colour."""
    seconds, ratios = [row["seconds"] for row in records], [ratio_of(row) for row in records]
    axes.scatter(seconds, ratios, s=14, color=colour, label=label)


def render(results: dict[str, Any], path: Path) -> list[Path]:
    """Write the page and the picture beside the ``.json``."""
    picture = path.with_suffix(".png")
    path.with_suffix(".md").write_text("\n".join(page(results, picture.name)))
    draw(results, picture)
    return [path.with_suffix(".md"), picture]
