"""LinearPSVC on a file larger than the memory it may use: ``python -m benchmarks.out_of_core``.

Writes a synthetic memory map (20,000,000 x 20 float64, 3.2 GB), fits it in a fresh process, and
reports seconds and the peak of the resident memory; then fits the first rows in blocks of several
sizes and reports how far the coefficients differ. Results go to ``results/out_of_core.md``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
WRITTEN_ROWS = 1_000_000  # at a time


def main() -> None:
    """Write, fit, compare, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--p", type=float, nargs="+", default=[1.0, 1.5, 2.0, 3.0])
    parser.add_argument("--fit", help=argparse.SUPPRESS)  # a process of its own: see fit_alone
    options = parser.parse_args()
    if options.fit:
        print(json.dumps(fit(Path(options.fit), options.p[0])))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write(path, options.rows, options.features)
        found = [fit_alone(path, p) for p in options.p]
        spread = {p: largest_difference(path, p) for p in options.p}
    text = render(options.rows, options.features, found, spread)
    (RESULTS / "out_of_core.md").write_text(text, encoding="utf-8")
    print(text)


def write(folder: Path, rows: int, features: int) -> None:
    """A noisy linear rule, written in parts."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=features)
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", shape=(rows, features))
    y = np.empty(rows, dtype=np.int8)
    for begin in range(0, rows, WRITTEN_ROWS):
        part = rng.normal(size=(min(WRITTEN_ROWS, rows - begin), features))
        X[begin : begin + len(part)] = part
        y[begin : begin + len(part)] = part @ w + 3.0 * rng.normal(size=len(part)) > 0
    X.flush()
    np.save(folder / "y.npy", y)


def fit_alone(folder: Path, p: float) -> dict[str, Any]:
    """Fit in a process of its own, whose memory is measured."""
    command = [sys.executable, "-m", "benchmarks.out_of_core", "--fit", str(folder), "--p", str(p)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(answer.stdout))


def fit(folder: Path, p: float) -> dict[str, Any]:
    """Seconds, gap and peak memory of a fit from the file."""
    from psvm import LinearPSVC

    X, y = np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy")
    start = time.perf_counter()
    model = LinearPSVC(p=p).fit(X, y)
    return {
        "p": p,
        "seconds": time.perf_counter() - start,
        "gap": float(model.dual_gap_[0]),
        "peak_gb": peak_memory() / 2**20,
    }


def peak_memory() -> int:
    """Peak resident memory of this process in kB; getrusage would count the parent's, too."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0])


def largest_difference(folder: Path, p: float, rows: int = 500_000) -> float:
    """Largest difference of coefficients between block sizes, relative to the largest one."""
    from psvm import LinearPSVC

    X = np.array(np.load(folder / "X.npy", mmap_mode="r")[:rows])
    y = np.load(folder / "y.npy")[:rows]
    fits = []
    for size in (rows, 100_000, 7_001):
        blocks = [(X[k : k + size], y[k : k + size]) for k in range(0, len(X), size)]
        fits.append(LinearPSVC(p=p, tol=1e-8).fit_blocks(blocks).coef_)
    return float(np.ptp(fits, axis=0).max() / np.abs(fits).max())


def render(
    rows: int, features: int, found: list[dict[str, Any]], spread: dict[float, float]
) -> str:
    """A Markdown table."""
    size = rows * features * 8 / 2**30
    lines = [
        f"`python -m benchmarks.out_of_core`: LinearPSVC on a memory map of {rows:,} x {features} "
        f"float64 ({size:.1f} GB), C = 1, tol = 1e-4. Peak memory is the process's whole resident "
        f"memory. The last column is the largest relative difference of coefficients in blocks "
        f"of 500,000, 100,000 and 7,001 rows (the first 500,000 rows, tol = 1e-8).",
        "",
        "| p | seconds | relative gap | peak memory, GB | block size moves w by |",
        "|---|---|---|---|---|",
    ]
    for one in found:
        lines.append(
            f"| {one['p']:g} | {one['seconds']:.1f} | {one['gap']:.1e} | {one['peak_gb']:.2f} | "
            f"{spread[one['p']]:.0e} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
