"""The picture: fit seconds per problem and contender, on a logarithmic scale."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

# Okabe and Ito's palette, distinct for every common form of colour blindness.
COLOURS = {
    "psvm": "#D55E00",
    "psvm-f32": "#CC79A7",
    "intelex": "#0072B2",
    "intelex-f32": "#56B4E9",
    "sklearn": "#009E73",
    "libsvm": "#E69F00",
}
OTHER_P = "#F0E442"  # psvm at p > 1


def draw(results: dict[str, Any], path: Path) -> None:
    """One group of bars per problem (case, C, gamma); the fastest contender need not be ours."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [r for r in results["records"] if "fit_seconds" in r and r["rival"] in COLOURS]
    if not rows:
        return
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        width = "" if row["gamma_factor"] == 1.0 else f", gamma ×{row['gamma_factor']:g}"
        title = f"{row['case']}\nC = {row['C']:g}{width}\n{row['n_train']:,} × {row['n_features']}"
        groups.setdefault(title, []).append(row)

    height = 0.28 * (len(rows) + 1.2 * len(groups)) + 1.2
    figure, axes = pyplot.subplots(figsize=(9, height), layout="constrained")
    position, ticks = 0.0, []
    for title, group in groups.items():
        first = position
        for row in group:
            bar(axes, position, row)
            position += 1.0
        ticks.append((0.5 * (first + position - 1.0), title))
        position += 1.2
    axes.set_yticks([at for at, _ in ticks], [title for _, title in ticks])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xscale("log")
    seconds = [row["fit_seconds"] for row in rows]
    axes.set_xlim(10.0 ** math.floor(math.log10(0.7 * min(seconds))), 5.0 * max(seconds))
    axes.margins(y=0.02)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("seconds to fit (log scale; shorter is better)")
    environment = results["environment"]
    axes.set_title(
        f"Fit time, rbf kernel, {environment['threads']} threads, {environment['cpu']}",
        loc="left",
        fontsize=10,
    )
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def bar(axes: Any, position: float, row: dict[str, Any]) -> None:
    """One bar with its name and seconds at the end, so that no legend is needed."""
    other_p = row["p"] != 1.0
    colour = OTHER_P if other_p and row["rival"].startswith("psvm") else COLOURS[row["rival"]]
    hatch = "///" if other_p else None
    seconds = row["fit_seconds"]
    axes.barh(position, seconds, height=0.85, color=colour, hatch=hatch, edgecolor="#333", lw=0.4)
    text = f" {row['rival']} p={row['p']:g}: {seconds:.3g} s"
    axes.text(seconds, position, text, va="center", fontsize=8)
