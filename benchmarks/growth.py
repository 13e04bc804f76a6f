"""How the time of a linear fit grows with the number of rows: ``python -m benchmarks.growth``.

Samples of the synthetic set (30 features, C = 1); psvm for several p beside LinearSVC at its
defaults. An exponent is the slope of log(seconds) over log(rows), by least squares. Results go to
``results/growth.md`` and ``.png``. The kernel solver's growth is :mod:`benchmarks.kernel_growth`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import environment
from benchmarks.cases import SYNTHETIC_FEATURES, SYNTHETIC_ROWS, check_present
from benchmarks.contender import Contender
from benchmarks.nursery import Nursery
from benchmarks.rivals import RIVALS
from benchmarks.run import RESULTS, packages
from benchmarks.suites import SUITES
from benchmarks.tables import environment_lines, table
from benchmarks.worker import Task, loaded

COLOURS = ["#D55E00", "#E69F00", "#CC79A7", "#000000", "#0072B2", "#56B4E9", "#009E73"]

Line = tuple[str, float]  # a rival at an exponent
Growth = dict[Line, dict[int, dict[str, float]]]  # the fastest turn by number of rows


@dataclass(frozen=True)
class Study:
    """Samples of one data set, and who is fitted to them (C = 1, gamma "scale")."""

    suite: str
    case: str
    sizes: list[int]
    lines: list[Line]


LINEAR_LINES = [("psvm", 1.0), ("psvm", 1.5), ("psvm", 2.0), ("psvm", 3.0)]
LINEAR_LINES += [("sklearn-dual", 1.0), ("sklearn-dual", 2.0), ("sklearn-primal", 2.0)]


def spaced(smallest: int, largest: int, how_many: int) -> list[int]:
    """Numbers of rows, evenly spaced in their logarithms."""
    return [int(n) for n in np.geomspace(smallest, largest, how_many).round()]


def measure(study: Study, options: argparse.Namespace) -> Growth:
    """The turns by line and number of rows; a line ends where it exceeds the time limit."""
    check_present(study.case)
    assert all(rival in RIVALS[study.suite] for rival, _ in study.lines)
    found: Growth = {line: {} for line in study.lines}
    ended: set[Line] = set()
    for n in study.sizes:
        scale = loaded(study.case, n).gamma_scale if SUITES[study.suite].kernel else None
        with tempfile.TemporaryDirectory() as scratch, Nursery(options.threads) as nursery:
            contenders = []
            for i, (rival, p) in enumerate(study.lines):
                if (rival, p) not in ended:
                    task = Task(
                        suite=study.suite,
                        case=study.case,
                        rival=rival,
                        C=1.0,
                        gamma=scale,
                        p=p,
                        threads=options.threads,
                        max_rows=n,
                        time_limit=options.time_limit,
                        model_file=str(Path(scratch) / f"{i}.npz"),
                    )
                    limit = options.repeat_share * options.time_limit
                    contenders.append(Contender(task, limit, nursery))
            for _ in range(options.repeats):
                for contender in contenders:
                    if contender.wants_turn:
                        contender.take_turn()
        for contender in contenders:
            line = contender.task.rival, contender.task.p
            if contender.turns:
                found[line][n] = contender.best
            if contender.status != "ok":
                ended.add(line)
            seconds = found[line].get(n, {}).get("fit_seconds", float("nan"))
            print(f"{study.case} n={n:<8} {line[0]:16} p={line[1]:<4g}", end=" ")
            print(f"{contender.status:12} {seconds:.3g} s", flush=True)
    return found


def values_of(turns: dict[int, dict[str, float]], key: str = "fit_seconds") -> dict[int, float]:
    """One number of each turn."""
    return {n: turn[key] for n, turn in turns.items()}


def exponent(seconds: dict[int, float]) -> float:
    """Slope in the logarithms."""
    if len(seconds) < 2:
        return float("nan")
    return float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])


def name_of(line: Line) -> str:
    """Rival and exponent."""
    return f"{line[0]}, p = {line[1]:g}"


def growth_table(found: Growth, sizes: Sequence[int], key: str = "fit_seconds") -> list[str]:
    """One row per line; with the exponent, where the numbers are seconds."""
    rows = []
    for line, turns in found.items():
        values = values_of(turns, key)
        row = [name_of(line), *(f"{values[n]:.3g}" if n in values else "" for n in sizes)]
        rows.append([*row, f"{exponent(values):.2f}"] if key == "fit_seconds" else row)
    header = ["", *(f"n = {n:,}" for n in sizes)]
    return table([*header, "exponent"] if key == "fit_seconds" else header, rows)


def page_head(title: str, module: str, options: argparse.Namespace, suite: str) -> list[str]:
    """Title, machine and picture."""
    facts = environment.describe(options.threads, packages(suite))
    facts["command"] = facts["command"].replace("-m benchmarks", f"-m benchmarks.{module}", 1)
    return [title, "", *environment_lines(facts), f"![Growth]({options.name}.png)", ""]


def draw_growth(axes: Any, found: Growth) -> None:
    """Seconds over rows, both logarithmic, with a line of slope 1 to compare."""
    for (line, turns), colour in zip(found.items(), COLOURS, strict=False):
        if seconds := values_of(turns):
            style = "o-" if line[0] == "psvm" else "s--"
            slope = f": n^{exponent(seconds):.2f}" if len(seconds) > 1 else ""
            label = f"{name_of(line)}{slope}"
            axes.plot(list(seconds), list(seconds.values()), style, color=colour, label=label)
    known = [(n, s) for turns in found.values() for n, s in values_of(turns).items()]
    if known:
        low, high = min(n for n, _ in known), max(n for n, _ in known)
        start = min(s for n, s in known if n == low)
        axes.plot([low, high], [start, start * high / low], ":", color="#333", label="slope 1")
    finish(axes, "seconds to fit")


def finish(axes: Any, what: str) -> None:
    """Logarithmic axes with their labels, a grid and a legend."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_ylabel(what)
    axes.grid(lw=0.3)
    axes.legend(fontsize=8)


def save_figure(panels: Sequence[Any], path: Path) -> None:
    """A row of panels, each drawn by a function of its axes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    size = (0.4 + 6.4 * len(panels), 5)
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=size, squeeze=False, layout="constrained"
    )
    for one, panel in zip(axes[0], panels, strict=True):
        panel(one)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def common_parser(module: str, description: str | None) -> Any:
    """The options of every study of growth."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{module}",
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add: Any = parser.add_argument
    add("--repeats", type=int, default=3, metavar="N", help="turns, of which the fastest counts")
    add("--time-limit", type=float, default=60.0, metavar="SECONDS", help="of one fit")
    help_text = "of the time limit: slower fits are not repeated"
    add("--repeat-share", type=float, default=0.2, metavar="SHARE", help=help_text)
    add("--threads", type=int, default=environment.usable_cpus(), metavar="N", help="and CPUs")
    add("--name", default=module, help="of the files in benchmarks/results")
    return parser


def write(lines: Sequence[str], panels: Sequence[Any], name: str) -> None:
    """The page and the picture."""
    RESULTS.mkdir(exist_ok=True)
    page, picture = RESULTS / f"{name}.md", RESULTS / f"{name}.png"
    page.write_text("\n".join(lines))
    save_figure(panels, picture)
    print(f"wrote {page}\nwrote {picture}")


def main() -> None:
    """Measure, then write the page and the picture."""
    parser = common_parser("growth", __doc__)
    add: Any = parser.add_argument
    add("--smallest", type=int, default=10_000, metavar="ROWS", help="fewest rows")
    add("--largest", type=int, default=SYNTHETIC_ROWS, metavar="ROWS", help="most rows")
    add("--sizes", type=int, default=5, metavar="N", help="how many, evenly spaced in logarithm")
    options = parser.parse_args()
    sizes = spaced(options.smallest, options.largest, options.sizes)
    found = measure(Study("linear", "synthetic", sizes, LINEAR_LINES), options)
    text = [
        *page_head("# Time against the number of rows", "growth", options, "linear"),
        f"Synthetic rows with {SYNTHETIC_FEATURES} features, C = 1, seconds to fit; LinearSVC at"
        f" its defaults; empty cells: over {options.time_limit:g} s, or failed.",
        "",
        *growth_table(found, sizes),
    ]
    write(text, [lambda axes: draw_growth(axes, found)], options.name)


if __name__ == "__main__":
    main()
