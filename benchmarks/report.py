"""Turn a result file into a page of tables and a picture.

``python -m benchmarks.report benchmarks/results/latest.json`` renders again without measuring.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import kernel_chart, kernel_report, linear_chart, linear_report, nystroem_report
from benchmarks.tables import Record, environment_lines, size_line

LINES: dict[str, Callable[[list[Record]], list[str]]] = {
    "kernel": kernel_report.lines,
    "linear": linear_report.lines,
    "nystroem": nystroem_report.lines,
}
DRAW: dict[str, Callable[[dict[str, Any], Path], None]] = {
    "kernel": kernel_chart.draw,
    "linear": linear_chart.draw,
    "nystroem": nystroem_report.draw,
}


def render(path: Path) -> tuple[Path, Path]:
    """Write the ``.md`` and the ``.png`` beside a ``.json`` result."""
    results = json.loads(path.read_text())
    suite, records = results.get("suite", "kernel"), results["records"]
    page, picture = path.with_suffix(".md"), path.with_suffix(".png")
    head = ["# Benchmark results", "", *environment_lines(results["environment"])]
    head += [*size_line(records), f"![Fit times]({picture.name})", ""]
    page.write_text("\n".join([*head, *LINES[suite](records)]))
    DRAW[suite](results, picture)
    return page, picture


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(*render(Path(argument)), sep="\n")
