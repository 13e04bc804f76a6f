"""The report of a rerun: one HTML file that needs nothing else, and the same as Markdown."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from psvm.paper import claims, findings
from psvm.paper.cells import (
    ACCURACY_TOLERANCE,
    BASELINE_TOLERANCE,
    NSV_TOLERANCE,
    OURS,
    compared,
    datasets_of,
    is_met,
    machine_name,
    rivals_of,
    select,
    spelled,
    title,
)
from psvm.paper.command_line import as_html
from psvm.paper.environment import account
from psvm.paper.errata import ERRATA
from psvm.paper.published import EXPONENTS
from psvm.paper.published import table1 as published_table1
from psvm.paper.store import Row, write_atomically

TEMPLATES = Path(__file__).with_name("templates")

FIGURES = (
    (
        "figure1",
        "Figure 1",
        "The margin loss Φ for several p: 1 on the wrong side, 0 beyond the margin ρ, and "
        "(1 − x/ρ)^p in between. A larger p forgives a row just inside the margin more.",
    ),
    (
        "figure2",
        "Figure 2",
        "Accuracy and support vectors against the share of the training rows used, one panel per "
        "p, with the published model.",
    ),
    (
        "figure3",
        "Figure 3",
        "The training process of pSMO, p = 2 and C = 0.25, against its steps per pair of classes, "
        "with the exact optimum as a line. What the paper drew here is not in its sources; this "
        "shows what its caption names.",
    ),
)
"""Name, title and caption."""


def write(
    folder: Path,
    tables: dict[str, list[Row]],
    *,
    bounds: Sequence[dict[str, Any]],
    run: dict[str, Any],
    proportions: Sequence[dict[str, Any]] = (),
) -> list[Path]:
    """Write ``report.html`` and ``report.md`` from what a folder holds.

    Parameters
    ----------
    folder : Path
        Where the figures are and the report goes.
    tables : dict of str to list of dict
        Rows of "table1" and "table2".
    bounds : sequence of dict
        What :func:`psvm.paper.bound_table.compute` returned, for each data set.
    run : dict
        The account of the run by :func:`psvm.paper.reproduce.reproduce`.
    proportions : sequence of dict
        What :func:`psvm.paper.proportion_table.compute` returned, for each method.

    Returns
    -------
    list of Path
        The two files.
    """
    content = gather(folder, tables, bounds=bounds, run=run, proportions=proportions)
    return [
        write_atomically(folder / name, _template(name).render(content))
        for name in ("report.html", "report.md")
    ]


def gather(
    folder: Path,
    tables: dict[str, list[Row]],
    *,
    bounds: Sequence[dict[str, Any]],
    run: dict[str, Any],
    proportions: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """All that the templates show, computed; they only lay it out.

    Parameters
    ----------
    folder, tables, bounds, run, proportions
        As for :func:`write`.

    Returns
    -------
    dict
        By the names that the templates use.
    """
    table1, table2 = tables["table1"], tables["table2"]
    return {
        "made": datetime.now().astimezone().strftime("%d %B %Y, %H:%M %Z"),
        "cards": _cards(table1, table2),
        "summary": findings.summary(table1, table2),
        "claims": claims.claims(table1, table2, proportions),
        "overview": [_overview(table1, name) for name in datasets_of(table1)],
        "binary": [_binary(table1, name) for name in datasets_of(table1)],
        "multiclass": [_multiclass(table2, name) for name in datasets_of(table2)],
        "figures": _figures(folder),
        "bounds": [
            {
                **bound,
                "title": title(bound["dataset"]),
                "finding": findings.bound_finding(bound["lines"]),
            }
            for bound in bounds
        ],
        "proportions": _proportions(proportions),
        "differences": findings.not_reproduced(table1, table2, run["failures"]),
        "kernel_evidence": findings.kernel_evidence(table1),
        "errata": ERRATA,
        "incomplete": _incomplete(tables, run),
        "environment": account(tables, run),
        "warnings": sorted(run["warnings"].items()),
        "tolerance": {
            "accuracy": ACCURACY_TOLERANCE,
            "nsv": NSV_TOLERANCE,
            "baseline": BASELINE_TOLERANCE,
        },
    }


def _template(name: str) -> Template:
    """The template of one of the two files, with the filters that both use."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["signed"] = signed
    environment.filters["price"] = price
    environment.filters["formulas"] = _formulas
    environment.filters["command"] = as_html
    environment.filters["bar"] = lambda text: str(text).replace("|", "\\|")
    return environment.get_template(f"{name}.j2")


def number(value: float | None, digits: int = 2) -> str:
    """A number with a fixed number of digits, or a dash where there is none.

    Parameters
    ----------
    value : float or None
        Any number.
    digits : int, default=2
        Digits after the point.

    Returns
    -------
    str
        For a table.
    """
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")


def signed(value: float | None, digits: int = 2) -> str:
    """A difference with its sign; what rounds to zero has none.

    Parameters
    ----------
    value, digits
        As for :func:`number`.

    Returns
    -------
    str
        For a table.
    """
    if value is None:
        return "–"
    if round(value, digits) == 0:
        return f"{0:.{digits}f}"
    return f"{value:+.{digits}f}".replace("-", "−")


def price(value: float | None) -> str:
    """A value of C, or a dash.

    Parameters
    ----------
    value : float or None
        Cost of slack.

    Returns
    -------
    str
        For a table.
    """
    return "–" if value is None else "∞" if value == float("inf") else f"{value:g}"


def _formulas(text: str) -> Markup:
    """Backquotes as HTML."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _cards(table1: Sequence[Row], table2: Sequence[Row]) -> list[tuple[str, str]]:
    """The four counts a reader looks for first."""
    published1, published2 = (
        compared(select(rows, variant="published"), "accuracy_difference")
        for rows in (table1, table2)
    )
    baselines = compared(rivals_of(table1), "accuracy_difference")
    counts = (
        (
            [is_met(row) for row in published1],
            f"accuracies of Table 1 within {ACCURACY_TOLERANCE} points",
        ),
        (
            [
                abs(row["nsv_difference"]) <= NSV_TOLERANCE
                for row in compared(published1, "nsv_difference")
            ],
            f"nSV % of Table 1 within {NSV_TOLERANCE} points",
        ),
        (
            [is_met(row) for row in baselines],
            f"baselines of Table 1 within {BASELINE_TOLERANCE:g} point",
        ),
        (
            [is_met(row) for row in published2],
            "pSMO accuracies of Table 2 within one test row",
        ),
    )
    return [(f"{sum(met)} of {len(met)}", what) for met, what in counts if met]


def _overview(rows: Sequence[Row], dataset: str) -> dict[str, Any]:
    """One line of the overview of Table 1."""
    published = compared(select(rows, dataset=dataset, variant="published"), "accuracy_difference")
    accuracy = [abs(row["accuracy_difference"]) for row in published]
    nsv = [abs(row["nsv_difference"]) for row in compared(published, "nsv_difference")]
    return {
        "title": title(dataset),
        "cells": len(published),
        "accuracies_met": sum(is_met(row) for row in published),
        "worst_accuracy": max(accuracy, default=None),
        "nsv_met": sum(value <= NSV_TOLERANCE for value in nsv),
        "worst_nsv": max(nsv, default=None),
    }


def _binary(rows: Sequence[Row], dataset: str) -> dict[str, Any]:
    """Table 1 for one data set."""
    mine = select(rows, dataset=dataset)
    size = next(cell for cell in published_table1() if cell.dataset == dataset)
    machines = []
    for p in EXPONENTS:
        published = _only(select(mine, variant="published", p=p))
        exact = {
            kernel: _only(select(mine, variant="exact", kernel=kernel, p=p))
            for kernel in ("exponential", "rbf")
        }
        if published or any(exact.values()):
            machines.append(
                {
                    "p": p,
                    "published": published,
                    "accuracy_met": published is not None and is_met(published),
                    "nsv_met": published is not None
                    and abs(published["nsv_difference"]) <= NSV_TOLERANCE,
                    "exponential": exact["exponential"],
                    "rbf": exact["rbf"],
                }
            )
    return {
        "title": title(dataset),
        "n_features": size.n_features,
        "n_train": size.n_train,
        "n_test": size.n_test,
        "one_row": 100 / size.n_test,
        "machines": machines,
        "baselines": [(row, is_met(row)) for row in rivals_of(mine)],
        "notes": _notes(select(mine, method="pSVM")),
        "baseline_notes": _notes(rivals_of(mine)),
    }


def _multiclass(rows: Sequence[Row], dataset: str) -> dict[str, Any]:
    """Table 2 for one data set."""
    mine = select(rows, dataset=dataset)
    lines = []
    for method in dict.fromkeys(row["method"] for row in mine):
        rerun = _only(select(mine, method=method, variant=("published", "rerun")))
        lines.append(
            {
                "method": spelled(method),
                "ours": method in OURS,
                "rerun": rerun,
                "met": rerun is not None
                and rerun["accuracy_difference"] is not None
                and is_met(rerun),
                "exact": _only(select(mine, method=method, variant="exact")),
            }
        )
    return {
        "title": title(dataset),
        "n_train": mine[0]["n_train"],
        "n_test": mine[0]["n_test"],
        "one_row": 100 / mine[0]["n_test"],
        "lines": lines,
        "notes": _notes(mine),
    }


def _proportions(results: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """One line per method, one cell per size of the bags."""
    if not results:
        return None
    sizes = sorted({line["bag_size"] for result in results for line in result["lines"]})
    lines = []
    for result in results:
        by_size = {line["bag_size"]: line for line in result["lines"]}
        lines.append({"method": result["method"], "cells": [by_size.get(size) for size in sizes]})
    first = results[0]
    return {
        "title": title(first["dataset"]),
        "n_train": first["n_train"],
        "n_test": first["n_test"],
        "draws": first["lines"][0]["draws"],
        "sizes": sizes,
        "lines": lines,
    }


def _only(rows: Sequence[Row]) -> Row | None:
    return rows[0] if rows else None


def _notes(rows: Sequence[Row]) -> list[str]:
    """Each different note once, with the cells it belongs to."""
    cells: dict[str, list[str]] = {}
    for row in rows:
        if row["note"]:
            kernel = {"rbf": " Gaussian", "exponential": " exponential"}.get(row["kernel"], "")
            variant = f" ({row['variant']}{kernel})" if row["variant"] == "exact" else ""
            cells.setdefault(str(row["note"]), []).append(f"{machine_name(row)}{variant}")
    return [f"{', '.join(names)}: {note}." for note, names in cells.items()]


def _figures(folder: Path) -> list[dict[str, str]]:
    """The figures that exist, each as a data URI too, so that the page is one file."""
    found = []
    for name, heading, caption in FIGURES:
        drawing = folder / f"{name}.svg"
        if drawing.exists():
            data = base64.b64encode(drawing.read_bytes()).decode("ascii")
            found.append(
                {
                    "name": name,
                    "title": heading,
                    "caption": caption,
                    "uri": f"data:image/svg+xml;base64,{data}",
                }
            )
    return found


def _incomplete(tables: dict[str, list[Row]], run: dict[str, Any]) -> str | None:
    """A sentence if the folder does not hold the whole paper."""
    parts = [
        f"{len(tables[name]) or 'none'} of {total} cells of Table {name[-1]}"
        for name, total in run["totals"].items()
        if len(tables[name]) < total
    ]
    if not parts:
        return None
    what = "This is a part of the paper"
    if run["quick"]:
        what = (
            "This is a quick run: it shows on one small data set, with few p and few repetitions, "
            "that everything works, and is no verdict on the paper. It holds"
        )
        return f"{what} {' and '.join(parts)}. Run psvm reproduce all for the whole paper."
    return f"{what}: {' and '.join(parts)}. Run psvm reproduce all on the same folder for the rest."
