"""How the time of a linear fit grows with the number of rows: ``python -m benchmarks.growth``.

Samples of the synthetic set (30 features, C = 1); psvm for several p beside LinearSVC at its
defaults. An exponent is the slope of log(seconds) over log(rows), by least squares. Results go to
``results/growth.md`` and ``.png``.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import environment
from benchmarks.cases import SYNTHETIC_FEATURES, SYNTHETIC_ROWS
from benchmarks.contender import Contender
from benchmarks.nursery import Nursery
from benchmarks.rivals import RIVALS
from benchmarks.run import RESULTS, packages
from benchmarks.tables import environment_lines, table
from benchmarks.worker import Task

LINES = [("psvm", 1.0), ("psvm", 1.5), ("psvm", 2.0), ("psvm", 3.0)]
LINES += [("sklearn-dual", 1.0), ("sklearn-dual", 2.0), ("sklearn-primal", 2.0)]
COLOURS = ["#D55E00", "#E69F00", "#CC79A7", "#F0E442", "#0072B2", "#56B4E9", "#009E73"]

Times = dict[tuple[str, float], dict[int, float]]


def measure(sizes: Sequence[int], options: argparse.Namespace) -> Times:
    """Seconds by line and number of rows; a line ends where it exceeds the time limit."""
    times: Times = {line: {} for line in LINES}
    ended: set[tuple[str, float]] = set()
    for n in sizes:
        with tempfile.TemporaryDirectory() as scratch, Nursery(options.threads) as nursery:
            contenders = []
            for i, (rival, p) in enumerate(LINES):
                if (rival, p) not in ended:
                    task = Task(
                        suite="linear",
                        case="synthetic",
                        rival=rival,
                        C=1.0,
                        gamma=None,
                        p=p,
                        threads=options.threads,
                        max_rows=n,
                        time_limit=options.time_limit,
                        model_file=str(Path(scratch) / f"{i}.npz"),
                    )
                    limit = 0.2 * options.time_limit
                    contenders.append(Contender(task, limit, nursery))
            for _ in range(options.repeats):
                for contender in contenders:
                    if contender.wants_turn:
                        contender.take_turn()
        for contender in contenders:
            line = contender.task.rival, contender.task.p
            if contender.turns:
                times[line][n] = contender.best["fit_seconds"]
            if contender.status != "ok":
                ended.add(line)
            print(f"n={n:<8} {line[0]:16} p={line[1]:<4g} {contender.status:12}", end=" ")
            print(f"{times[line].get(n, float('nan')):.3g} s", flush=True)
    return times


def exponent(seconds: dict[int, float]) -> float:
    """Slope in the logarithms."""
    if len(seconds) < 2:
        return float("nan")
    return float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])


def label_of(line: tuple[str, float], seconds: dict[int, float]) -> str:
    """Name of a line with its exponent."""
    slope = f": n^{exponent(seconds):.2f}" if len(seconds) > 1 else ""
    return f"{line[0]}, p = {line[1]:g}{slope}"


def page(times: Times, sizes: Sequence[int], options: argparse.Namespace) -> str:
    """Machine, picture and table."""
    rows = [
        [
            f"{rival}, p = {p:g}",
            *(f"{seconds[n]:.3g}" if n in seconds else "" for n in sizes),
            f"{exponent(seconds):.2f}",
        ]
        for (rival, p), seconds in times.items()
    ]
    facts = environment.describe(options.threads, packages("linear"))
    facts["command"] = facts["command"].replace("-m benchmarks", "-m benchmarks.growth", 1)
    text = [
        "# Time against the number of rows",
        "",
        *environment_lines(facts),
        f"Synthetic rows with {SYNTHETIC_FEATURES} features, C = 1, seconds to fit; LinearSVC at"
        f" its defaults; empty cells: over {options.time_limit:g} s, or failed.",
        "",
        f"![Growth]({options.name}.png)",
        "",
        *table(["", *(f"n = {n:,}" for n in sizes), "exponent"], rows),
    ]
    return "\n".join(text)


def draw(times: Times, path: Path) -> None:
    """Seconds over rows, both logarithmic, with a line of slope 1 to compare."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 5), layout="constrained")
    for (line, seconds), colour in zip(times.items(), COLOURS, strict=True):
        if seconds:
            style = "o-" if line[0] == "psvm" else "s--"
            label = label_of(line, seconds)
            axes.plot(list(seconds), list(seconds.values()), style, color=colour, label=label)
    known = [(n, s) for seconds in times.values() for n, s in seconds.items()]
    if known:
        low, high = min(n for n, _ in known), max(n for n, _ in known)
        start = min(s for n, s in known if n == low)
        axes.plot([low, high], [start, start * high / low], ":", color="#333", label="slope 1")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_ylabel("seconds to fit")
    axes.grid(lw=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.growth",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add: Any = parser.add_argument
    add("--smallest", type=int, default=10_000, metavar="ROWS", help="fewest rows")
    add("--largest", type=int, default=SYNTHETIC_ROWS, metavar="ROWS", help="most rows")
    add("--sizes", type=int, default=5, metavar="N", help="how many, evenly spaced in logarithm")
    add("--repeats", type=int, default=3, metavar="N", help="turns, of which the fastest counts")
    add("--time-limit", type=float, default=60.0, metavar="SECONDS", help="of one fit")
    add("--threads", type=int, default=environment.usable_cpus(), metavar="N", help="and CPUs")
    add("--name", default="growth", help="of the files in benchmarks/results")
    return parser.parse_args(arguments)


def main() -> None:
    """Measure, then write the page and the picture."""
    options = parse()
    known = RIVALS["linear"]
    assert all(rival in known for rival, _ in LINES)
    sizes = [int(n) for n in np.geomspace(options.smallest, options.largest, options.sizes).round()]
    times = measure(sizes, options)
    RESULTS.mkdir(exist_ok=True)
    written = RESULTS / f"{options.name}.md", RESULTS / f"{options.name}.png"
    written[0].write_text(page(times, sizes, options))
    draw(times, written[1])
    for path in written:
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
