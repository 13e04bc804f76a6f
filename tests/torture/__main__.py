"""The command behind ``make fuzz``: cases until the time or the count is over.

Every case is determined by its seed. Findings are printed with it and kept in
``build/fuzz/failing.txt``; ``--seed 17`` runs one again, ``--seed kept`` all that are kept.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from torture.failing_calls import preload
from torture.kinds import KINDS, kind_of, prepare, recipe_of, run_case
from torture.outcome import Outcome
from torture.pool import Case, Pool

FOLDER = Path(__file__).resolve().parents[2] / "build" / "fuzz"
KEPT = FOLDER / "failing.txt"
LIMIT = 20.0  # seconds of a case; the slowest kind, eight threads, takes 3 alone


def main() -> int:
    options = read_options()
    FOLDER.mkdir(parents=True, exist_ok=True)
    preload(FOLDER)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=FOLDER))
    os.environ["TORTURE_FOLDER"] = str(folder)
    warnings.simplefilter("ignore")
    prepare()
    pool = Pool(run_case, options.workers, options.limit, folder)
    try:
        return report(pool.outcomes(cases(options)), options)
    finally:
        pool.close()
        shutil.rmtree(folder, ignore_errors=True)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", help="of the case to run again, some with commas, or 'kept'")
    parser.add_argument("--base", type=int, help="the first seed; by the clock if not given")
    parser.add_argument("--fits", type=int, help="how many, instead of a time")
    parser.add_argument("--regressions", type=int)
    parser.add_argument("--files", type=int)
    parser.add_argument("--stress", type=int)
    parser.add_argument("--only", choices=KINDS, help="cases of one kind")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of a case")
    return parser.parse_args()


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """The cases to run: those named, or all from the base on until the time or count is over."""
    if options.seed:
        kept = KEPT.read_text().split("\n") if options.seed == "kept" else options.seed.split(",")
        seeds = dict.fromkeys(int(line.split()[0]) for line in kept if line.strip())
        yield from ((kind_of(seed), seed) for seed in seeds)
        return
    base = options.base if options.base is not None else int(time.time()) * 1000
    print(f"seeds from {base} on, {options.workers} workers", flush=True)
    left = {kind: getattr(options, kind) for kind in KINDS}
    counted = any(number is not None for number in left.values())
    until = time.monotonic() + 60 * options.minutes
    for seed in itertools.count(base):
        kind = kind_of(seed)
        if options.only not in (None, kind):
            continue
        if counted:
            if not any(left.values()):
                return
            if not left[kind]:
                continue
            left[kind] -= 1
        elif time.monotonic() > until:
            return
        yield kind, seed


def report(outcomes: Iterator[Outcome], options: argparse.Namespace) -> int:
    """Print findings as they come and counts at the end; 1 if there was any finding."""
    counts: dict[str, Counter[str]] = {}
    found: Counter[str] = Counter()
    began = told = time.monotonic()
    total = 0
    for total, outcome in enumerate(outcomes, 1):
        counts.setdefault(outcome.kind, Counter())["cases"] += 1
        counts[outcome.kind] += outcome.counts
        recipe = outcome.recipe or recipe_of(outcome.kind, outcome.seed)
        for finding in outcome.findings:
            found[finding.what] += 1
            line = f"{outcome.seed} {outcome.kind}: {finding.what}: {finding.detail}"
            print(f"{line}\n    {recipe}", flush=True)
            if not options.seed:
                with KEPT.open("a") as kept:
                    kept.write(line.splitlines()[0][:300] + "\n")
        if options.seed and not outcome.findings:
            print(f"{outcome.seed} {outcome.kind}: nothing found\n    {outcome.recipe}")
        if time.monotonic() - told > 30:
            told = time.monotonic()
            print(f"... {total} cases, {sum(found.values())} findings", flush=True)
    seconds = time.monotonic() - began
    for kind, seen in counts.items():
        words = ", ".join(f"{number} {name}" for name, number in seen.most_common())
        print(f"{kind}: {words}")
    print(f"{total} cases in {seconds:.0f} s ({total / seconds:.1f} per second)")
    if found:
        print("found: " + ", ".join(f"{n} {what}" for what, n in found.most_common()))
        print(f"kept in {KEPT}; again: make fuzz SEED=... or SEED=kept")
    else:
        print("found: nothing")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
