"""What the reports share: Markdown tables, the machine's description, and the JSON file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Record = dict[str, Any]

OURS = "psvm"  # the contender that is compared, and how the names of its variants begin


def ratio(row: Record, base: Record, clock: str) -> float:
    """Quotient of the minima over the turns that both records have."""
    shared = min(len(row["turns"]), len(base["turns"]))
    first, second = (min(turn[clock] for turn in r["turns"][:shared]) for r in (row, base))
    return float(first / second)


def geometric_mean(values: Iterable[float]) -> float:
    """Geometric mean of positive numbers."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def times(value: float) -> str:
    """A ratio with two digits, or as a whole number."""
    return f"{value:.2g}x" if value < 99.5 else f"{value:.0f}x"


def table(header: list[str], rows: Iterable[list[str]]) -> list[str]:
    """A Markdown table; all columns but the first are aligned right."""
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def name_of(row: Record) -> str:
    """Case and parameters in one cell."""
    factor = row.get("gamma_factor", 1.0)
    width = "" if factor == 1.0 else f", gamma x{factor:g}"
    return f"{row['case']}, C={row['C']:g}{width}, p={row['p']:g}"


def environment_lines(environment: Record) -> list[str]:
    """Machine, versions and command."""
    versions = ", ".join(f"{k} {v or 'absent'}" for k, v in environment["versions"].items())
    return [
        f"- {environment['date']}, commit {environment['commit']}: `{environment['command']}`",
        f"- {environment['cpu']}, {environment['threads']} threads of {environment['cpus']} CPUs,"
        f" {environment['memory_gb']} GB, load average at start {environment['load_average']}",
        f"- {environment['system']}, Python {environment['python']}, {versions}",
        "",
    ]


def size_line(records: Iterable[Record]) -> list[str]:
    """The training sets and their sizes."""
    sizes = {
        row["case"]: f"{row['case']} {row['n_train']} x {row['n_features']}"
        + (f", {row['n_classes']} classes" if row["n_classes"] > 2 else "")
        for row in records
    }
    return ["Training sets: " + "; ".join(sizes.values()) + ".", ""]


def write_json(results: Record, path: Path) -> None:
    """One record per line, ten digits: small and easy to compare in a diff."""
    rows = [json.dumps({key: shortened(v) for key, v in row.items()}) for row in results["records"]]
    suite, environment = (json.dumps(results[key], indent=1) for key in ("suite", "environment"))
    body = ",\n".join(rows)
    head = f'"suite": {suite},\n"environment": {environment}'
    whole = path.with_suffix(
        ".part"
    )  # replaced in one step: an interrupted run leaves a whole file
    whole.write_text(f'{{{head},\n"records": [\n{body}\n]}}\n')
    whole.replace(path)


def shortened(value: Any) -> Any:
    """Small floats with seven digits, others with ten: objectives are compared to 1e-8."""
    if isinstance(value, list):
        return [shortened(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.10g}" if abs(value) > 0.1 else f"{value:.7g}")
    return value
