"""Pictures of the study, from its results."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from benchmarks.study import findings
from benchmarks.study.statistics import ROPE, Ranks

mpl.use("Agg")
OURS, OTHERS = "#1f5fbf", "#888888"

NEAR = 0.7
"""Names of points whose seconds differ by less than a factor of two may overlap."""
LEVEL = 0.003
"""So do those below points whose accuracies differ by less."""


def critical_differences(found: Ranks, path: Path) -> Path:
    """The ranks on a line; methods joined by a bar are not told apart."""
    from autorank import plot_stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        axes = plot_stats(found.result, allow_insignificant=True)
    return _saved(axes.figure, path)


def gains(table: pd.DataFrame, base: str, path: Path) -> Path:
    """Accuracy of every method beyond the base, one dot per data set."""
    others = [name for name in table if name != base]
    figure, axes = plt.subplots(figsize=(7.0, 0.7 + 0.5 * len(others)), layout="constrained")
    axes.axvspan(-100 * ROPE, 100 * ROPE, color="#e8eef7", zorder=0)
    axes.axvline(0, color="#555555", linewidth=0.8)
    for place, name in enumerate(others):
        gain = 100 * (table[name] - table[base])
        # Spread by rank, so that equal values do not hide each other.
        height = place + 0.6 * (gain.rank(method="first") / (len(gain) + 1) - 0.5)
        axes.scatter(gain, height, s=12, color=OURS, alpha=0.6, linewidth=0)
        axes.plot([gain.mean()] * 2, [place - 0.35, place + 0.35], color="#c0392b", linewidth=2)
    axes.set_yticks(range(len(others)), [findings.spelled(name) for name in others])
    axes.set_xlabel(f"points of accuracy beyond {findings.spelled(base)}; mean in red")
    axes.invert_yaxis()
    return _saved(figure, path)


def time_and_accuracy(
    points: Mapping[str, tuple[float, float]], frontier: Sequence[str], path: Path
) -> Path:
    """Seconds of a fit against accuracy; methods on the line are beaten by none in both."""
    figure, axes = plt.subplots(figsize=(7.5, 5.0), layout="constrained")
    line = [points[name] for name in frontier if name in points]
    axes.plot(
        [seconds for seconds, _ in line],
        [100 * accuracy for _, accuracy in line],
        color="#c0392b",
        linewidth=1,
        drawstyle="steps-post",
        zorder=1,
    )
    for name, (seconds, accuracy) in points.items():
        # Of neighbours the higher has its name above, the lower below, and to the left if the one
        # to the right is as high.
        near = [
            (other / seconds, higher - accuracy)
            for other, higher in points.values()
            if abs(np.log(other / seconds)) < NEAR
        ]
        below = any(gain > 0.0 for _, gain in near)
        left = below and any(ratio > 1.0 and abs(gain) < LEVEL for ratio, gain in near)
        ours = name.startswith(("kernel", "linear"))
        axes.scatter(seconds, 100 * accuracy, s=28, color=OURS if ours else OTHERS, zorder=2)
        axes.annotate(
            findings.spelled(name),
            (seconds, 100 * accuracy),
            xytext=(-4 if left else 4, -10 if below else 4),
            ha="right" if left else "left",
            textcoords="offset points",
            fontsize=7,
        )
    axes.set_xscale("log")
    axes.margins(x=0.2)  # room for the names
    axes.set_xlabel("seconds of a fit with its search, median over the sets, one core")
    axes.set_ylabel("accuracy, mean over the sets, percent")
    return _saved(figure, path)


def _saved(figure: plt.Figure, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, metadata={"Software": None})
    plt.close(figure)
    return path
