"""The picture of the linear suite: one line per problem, a mark per rival, a panel per p."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.linear_report import CLOSE, Standing, standings
from benchmarks.tables import OURS

OURS_COLOUR, RIVAL_COLOUR, FAR_COLOUR = "#D55E00", "#0072B2", "#999999"


def draw(results: dict[str, Any], path: Path) -> None:
    """Seconds to fit on a logarithmic scale; rivals that miss the optimum are hollow."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = standings(results["records"])
    if not found:
        return
    ps = sorted({p for _, _, p in found})
    problems = list(dict.fromkeys((case, C) for case, C, _ in found))
    figure, panels = pyplot.subplots(
        1,
        len(ps),
        figsize=(1.5 + 3.4 * len(ps), 1.6 + 0.24 * len(problems)),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axes, p in zip(panels[0], ps, strict=True):
        for position, (case, C) in enumerate(problems):
            if (case, C, p) in found:
                marks(axes, position, found[case, C, p])
        axes.set_title(f"p = {p:g}", fontsize=10)
        axes.set_xscale("log")
        axes.grid(axis="x", lw=0.3)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("seconds to fit")
    panels[0][0].set_yticks(range(len(problems)), [f"{case}, C = {C:g}" for case, C in problems])
    panels[0][0].invert_yaxis()
    environment = results["environment"]
    figure.suptitle(
        f"Linear SVMs: psvm (orange), rivals within {CLOSE:g} of the optimum (blue, the fastest"
        f" large), others (hollow)\n{environment['threads']} threads, {environment['cpu']}",
        fontsize=10,
    )
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def marks(axes: Any, position: float, standing: Standing) -> None:
    """All contenders of one problem."""
    fastest = standing.fastest
    for row in standing.rivals:
        if standing.excess(row) <= CLOSE:
            size = 40 if row is fastest else 12
            axes.scatter(row["fit_seconds"], position, s=size, color=RIVAL_COLOUR, zorder=2)
        else:
            look = {"facecolors": "none", "edgecolors": FAR_COLOUR, "lw": 0.7}
            axes.scatter(row["fit_seconds"], position, s=12, zorder=1, **look)
    if standing.ours is None:
        return
    ours = standing.ours["fit_seconds"]
    axes.scatter(ours, position, s=40, color=OURS_COLOUR, zorder=3, label=OURS)
    if fastest is not None:
        span = [ours, fastest["fit_seconds"]]
        axes.plot(span, [position, position], color="#333", lw=0.6, zorder=0)
