"""The page of the nystroem suite: accuracy and time of an approximated kernel beside PSVC."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.tables import Record, name_of, ratio, table

EXACT = "psvm"


def lines(records: list[Record]) -> list[str]:
    """One table."""
    timed = [row for row in records if "fit_seconds" in row]
    exact = {name_of(row): row for row in timed if row["rival"] == EXACT}
    rows = []
    for row in records:
        start = [name_of(row), "PSVC" if row["rival"] == EXACT else row["rival"]]
        base = exact.get(name_of(row))
        if "fit_seconds" not in row:
            rows.append([*start, row["status"], *[""] * 4])
            continue
        rows.append(
            [
                *start,
                f"{row['fit_seconds']:.3g}",
                f"{1.0 / ratio(row, base, 'fit_seconds'):.2g}x" if base else "",
                f"{row['predict_seconds']:.2g}",
                f"{row['accuracy']:.4f}",
                f"{row['accuracy'] - base['accuracy']:+.4f}" if base else "",
            ]
        )
    header = ["problem", "method", "fit s", "faster than PSVC", "predict s", "test accuracy"]
    text = "nystroem-m is `make_pipeline(Nystroem(gamma, n_components=m), LinearPSVC(p, C))`."
    return [text, "", *table([*header, "minus PSVC's"], rows)]


def draw(results: dict[str, Any], path: Path) -> None:
    """Accuracy against seconds, one line per problem."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    timed = [row for row in results["records"] if "fit_seconds" in row]
    if not timed:
        return
    names = list(dict.fromkeys(name_of(row) for row in timed))
    figure, panels = pyplot.subplots(
        1, len(names), figsize=(0.5 + 3.6 * len(names), 3.4), squeeze=False, layout="constrained"
    )
    for axes, name in zip(panels[0], names, strict=True):
        for row in (row for row in timed if name_of(row) == name):
            colour = "#D55E00" if row["rival"] == EXACT else "#0072B2"
            axes.scatter(row["fit_seconds"], row["accuracy"], color=colour)
            label = "PSVC" if row["rival"] == EXACT else row["rival"].removeprefix("nystroem-")
            at = (row["fit_seconds"], row["accuracy"])
            axes.annotate(f" {label}", at, fontsize=8, va="bottom")
        axes.set_title(name, fontsize=9)
        axes.set_xscale("log")
        axes.margins(x=0.25)
        axes.set_xlabel("seconds to fit")
    panels[0][0].set_ylabel("test accuracy")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
