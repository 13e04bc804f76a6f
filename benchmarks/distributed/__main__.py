"""LinearPSVC on a Dask cluster: ``python -m benchmarks.distributed``.

Writes a file of 20,000,000 x 30 float64 (4.8 GB; 20 GB of memory are wanted), fits it as a memory
map, with one worker and with two, each several times in turns, and reports seconds, round trips and
bytes, and a model of time for more rows and workers. ``--rivals spark dask-ml`` adds those, where
they are installed. Results go to ``results/distributed.json`` and ``.md``. Keep the machine idle.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.distributed import measure, model, rivals
from benchmarks.out_of_core import write

RESULTS = Path(__file__).parents[1] / "results"
IDLE = 1.5  # load average of the last minute: the end of the work before is in it
RIVAL_SECONDS = 900.0  # after which a rival, its rows' loading included, is told not to have ended


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distributed", description=__doc__.splitlines()[0]
    )
    add = parser.add_argument
    add("--rows", type=int, default=20_000_000)
    add("--features", type=int, default=30)
    add("--p", type=float, nargs="+", default=[1.0, 1.5, 2.0])
    add("--turns", type=int, default=3, help="fits of each kind")
    add("--rivals", nargs="*", default=[], choices=["spark", "dask-ml"])
    add("--quick", action="store_true", help="200,000 rows, one turn, nothing is stored")
    add("--name", default="distributed", help="of the result files")
    options = parser.parse_args(arguments)
    options.load = os.getloadavg()[0]
    if options.quick:
        options.rows, options.turns, options.p = 200_000, 1, [1.5]
    return options


def main(arguments: list[str] | None = None) -> str:
    """Write, fit in turns, report."""
    options = parse(arguments)
    records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, options.rows, options.features)
        for p in options.p:
            for _ in range(options.turns):
                records.append(alone(measure.on_memmap, folder, p, 2))
                records.append(alone(measure.on_cluster, folder, p, 2))
                records.append(alone(measure.on_cluster, folder, p, 1))
        hinge = [one["primal"] for one in records if one["p"] == 1.0]
        for rival in options.rivals:
            try:
                if rival == "spark":
                    if not hinge:
                        raise ValueError("spark is compared at p = 1")
                    found = alone(rivals.spark, folder, min(hinge), limit=RIVAL_SECONDS)
                else:
                    found = alone(rivals.dask_ml, folder, limit=RIVAL_SECONDS)
                records.append(found)
            except subprocess.TimeoutExpired:
                records.append({"who": rival, "seconds": RIVAL_SECONDS, "ended": False})
            except Exception as error:
                print(f"{rival} was not measured: {error!r}")
    text = render(records, options)
    if not options.quick:
        (RESULTS / f"{options.name}.json").write_text(json.dumps(records, indent=1) + "\n")
        (RESULTS / f"{options.name}.md").write_text(text, encoding="utf-8")
    print(text)
    return text


def alone(function: Any, folder: Path, *arguments: float, limit: float | None = None) -> Any:
    """Call it in a process of its own, which may take so many seconds."""
    words = [function.__name__, str(folder), *map(str, arguments)]
    command = [sys.executable, "-m", "benchmarks.distributed.process", *words]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    if answer.returncode:
        raise RuntimeError(answer.stderr.strip()[-2000:])
    return json.loads(answer.stdout.splitlines()[-1])


def render(records: list[dict[str, Any]], options: argparse.Namespace) -> str:
    """A page of Markdown."""
    rows, features = options.rows, options.features
    lines = [
        f"`python -m benchmarks.distributed`: {rows:,} x {features} float64 "
        f"({rows * features * 8 / 2**30:.2g} GB), C = 1, tol = 1e-4; medians of {options.turns}. "
        f"`fit` is timed from files in the cache of the system, reading them included; workers "
        f"have one thread. Load of the machine when it began: {options.load:.1f}"
        f"{'.' if options.load < IDLE else ' — not idle, so that times say little.'}",
        "",
        "| p | memmap, 2 threads, s | 2 workers, s | 1 worker, s | 2 workers / memmap | "
        "1 worker / 2 workers | round trips | for systems | MB broadcast | MB summed | gap |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for p in options.p:
        own = [one for one in records if one.get("p") == p]
        file, two, one = (
            median(r["seconds"] for r in own if (r["who"], r.get("workers")) == key)
            for key in (("memmap", None), ("dask", 2), ("dask", 1))
        )
        last = [r for r in own if r.get("workers") == 2][-1]
        traffic = last["traffic"]
        lines.append(
            f"| {p:g} | {file:.2f} | {two:.2f} | {one:.2f} | {two / file:.2f} | {one / two:.2f} | "
            f"{traffic['round_trips']} | {traffic['gram_round_trips']} | "
            f"{traffic['bytes_broadcast'] / 1e6:.3f} | {traffic['bytes_summed'] / 1e6:.3f} | "
            f"{last['gap']:.1e} |"
        )
    for one in records:
        if one["who"] in ("spark", "dask-ml"):
            more = "" if one.get("ended", True) else "more than "
            lines += ["", f"{one['who']}: {more}{one['seconds']:.1f} s ({one})."]
    lines += ["", *model_lines(records, options)]
    return "\n".join(lines) + "\n"


def model_lines(records: list[dict[str, Any]], options: argparse.Namespace) -> list[str]:
    """The model of time at the default p, or the first that was measured, and its check."""
    p = 1.5 if 1.5 in options.p else options.p[0]
    fits = {
        w: [r for r in records if r.get("p") == p and r.get("workers") == w][-1] for w in (1, 2)
    }
    one, two = (model.Measured.of(fits[w], options.rows, options.features) for w in (1, 2))
    size = options.rows, options.features
    lines = [
        f"The model of time (`benchmarks/distributed/model.py`), p = {p:g}. From one worker it "
        f"says {model.predicted(one, *size, 2):.2f} s for two, measured "
        f"{two.seconds:.2f}; from two {model.predicted(two, *size, 1):.2f} s "
        f"for one, measured {one.seconds:.2f}. From two workers, rows x {model.FEATURES} at "
        f"10 Gbit/s, one thread each:",
        "",
        "| rows | " + " | ".join(f"{w} workers, s" for w in model.WORKERS) + " |",
        "|---|" + "---|" * len(model.WORKERS),
    ]
    for rows in model.ROWS:
        seconds = [s for r, _, s in model.table(two) if r == rows]
        lines.append(f"| {rows:.0e} | " + " | ".join(f"{s:.0f}" for s in seconds) + " |")
    return lines


if __name__ == "__main__":
    main()
