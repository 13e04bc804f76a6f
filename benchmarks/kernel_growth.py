"""How time and memory of a kernel fit grow with the rows: ``python -m benchmarks.kernel_growth``.

Time: samples of skin_nonskin and of a made set with a curved border and wrong labels ("curved"),
psvm for p = 1, 1.5 and 2 beside scikit-learn-intelex and scikit-learn's SVC, C = 1, gamma "scale".
A line ends where a fit exceeds the time limit. An exponent is the slope of log(seconds) over
log(rows), by least squares over the sizes that are there.

Memory: what a fit of mnist (even against odd digits) takes above its data, for several
``cache_size``. Results go to ``results/kernel_growth.md`` and ``.png``.
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.environment import installed
from benchmarks.growth import (
    COLOURS,
    Growth,
    Line,
    Study,
    common_parser,
    draw_growth,
    finish,
    growth_table,
    measure,
    page_head,
    spaced,
    values_of,
    write,
)
from benchmarks.rivals import CACHE_SIZES, RIVALS

CASES = {"skin_nonskin": 196_046, "curved": 200_000}  # and their training rows
TIME_LINES: list[Line] = [
    *(("psvm", 1.0), ("psvm", 1.5), ("psvm", 2.0), ("intelex", 1.0), ("sklearn", 1.0))
]
MEMORY_CASE = "mnist_even"
MEMORY_LINES: list[Line] = [*((f"psvm-{size}MB", 1.5) for size in CACHE_SIZES), ("psvm", 1.5)]


def present(lines: list[Line]) -> list[Line]:
    """The lines whose library is installed."""
    rivals = RIVALS["kernel"]
    return [line for line in lines if installed(rivals[line[0]].package)]


def draw_memory(axes: Any, found: Growth) -> None:
    """Megabytes of a fit over rows, with the limits as dotted lines."""
    for (line, turns), colour in zip(found.items(), COLOURS, strict=False):
        if memory := values_of(turns, "memory_mb"):
            label = memory_label(line)
            axes.plot(list(memory), list(memory.values()), "o-", color=colour, label=label)
            size = getattr(RIVALS["kernel"][line[0]], "cache_size", None)
            if size:
                axes.axhline(size, ls=":", lw=1.0, color=colour)
    axes.set_title(f"memory of a fit of {MEMORY_CASE}, p = 1.5", fontsize=10)
    finish(axes, "MB above the state before fit")


def memory_label(line: Line) -> str:
    """The limit of a line."""
    size = getattr(RIVALS["kernel"][line[0]], "cache_size", None)
    return f"cache_size = {size:g} MB" if size else "cache_size = None (by the memory available)"


def titled(name: str, found: Growth) -> Any:
    """A panel of seconds under the name of its data set."""

    def draw(axes: Any) -> None:
        axes.set_title(name, fontsize=10)
        draw_growth(axes, found)

    return draw


def parse() -> argparse.Namespace:
    """Command line."""
    parser = common_parser("kernel_growth", __doc__)
    parser.set_defaults(repeats=2, time_limit=30.0, repeat_share=0.1)
    add: Any = parser.add_argument
    add("--cases", nargs="+", choices=list(CASES), default=list(CASES), help="of the times")
    add("--smallest", type=int, default=1000, metavar="ROWS", help="fewest rows")
    add("--largest", type=int, default=200_000, metavar="ROWS", help="most rows")
    add("--sizes", type=int, default=6, metavar="N", help="how many, evenly spaced in logarithm")
    add("--memory-rows", type=int, nargs="*", default=[5000, 10_000, 20_000], metavar="ROWS")
    options: argparse.Namespace = parser.parse_args()
    return options


def main() -> None:
    """Measure, then write the page and the picture."""
    options = parse()
    head = page_head("# Time and memory of kernel fits", "kernel_growth", options, "kernel")
    text, panels = head, []
    for case in options.cases:
        sizes = spaced(options.smallest, min(options.largest, CASES[case]), options.sizes)
        found = measure(Study("kernel", case, sizes, present(TIME_LINES)), options)
        limit = f"empty cells: not run after a fit over {options.time_limit:g} s, or failed"
        text += [f"## {case}", "", f'Seconds to fit, C = 1, gamma "scale"; {limit}.', ""]
        text += growth_table(found, sizes)
        panels.append(titled(case, found))
    if options.memory_rows:
        options.repeats = 1
        study = Study("kernel", MEMORY_CASE, options.memory_rows, MEMORY_LINES)
        memory = measure(study, options)
        text += ["## Memory", "", f"Megabytes that a fit of {MEMORY_CASE} takes at its peak above"]
        text += ["the state before it, by `cache_size`.", ""]
        text += growth_table(memory, options.memory_rows, "memory_mb")
        panels.append(lambda axes: draw_memory(axes, memory))
    write(text, panels, options.name)


if __name__ == "__main__":
    main()
