"""``multi_class="ovr"`` beside ``"ovo"`` of LinearPSVC: ``python -m benchmarks.pairs_or_rest``.

Accuracy on a fifth of the rows that is held out, and seconds to fit, both the mean of three
splits; p = 1.5, C = 1, one thread. Dense columns are standardised by the training rows, sparse ones
are taken as they are.

Results go to ``results/pairs_or_rest.md``.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks import environment
from benchmarks.cases import read, scaled
from benchmarks.run import RESULTS
from benchmarks.tables import Record, environment_lines, table
from psvm import LinearPSVC

SETS = ("vehicle", "satimage", "pendigits", "letter", "usps", "dna", "cnae9")
QUICK = ("vehicle",)
WAYS = ("ovr", "ovo")
SPLITS = 3


def measure(name: str) -> Record:
    """Mean accuracy and seconds of both ways on one set."""
    X, y, _ = read(name)
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for train, test in StratifiedShuffleSplit(SPLITS, test_size=0.2, random_state=0).split(X, y):
        X_train, X_test = scaled(X[train], X[test], "standardise")
        for way in WAYS:
            start = time.perf_counter()
            model = LinearPSVC(p=1.5, C=1.0, multi_class=way, n_jobs=1).fit(X_train, y[train])
            seconds = time.perf_counter() - start
            found[way].append((model.score(X_test, y[test]), seconds))
    means = {way: np.mean(pairs, axis=0).tolist() for way, pairs in found.items()}
    return {"set": name, "classes": np.unique(y).size, "features": X.shape[1], **means}


def report(records: list[Record], machine: Record) -> list[str]:
    """The table of the guide, and where it comes from."""

    def cell(accuracy: float, seconds: float) -> str:
        return f"{100 * accuracy:.1f}, {seconds:.2f} s"

    rows = [
        [row["set"], str(row["classes"]), str(row["features"]), *(cell(*row[way]) for way in WAYS)]
        for row in records
    ]
    return [
        "# Each class against the rest, or pairs",
        "",
        *environment_lines(machine),
        "LinearPSVC(p=1.5, C=1): accuracy on held-out rows in percent and seconds to fit, one "
        f"thread, mean of {SPLITS} splits.",
        "",
        *table(["", "classes", "features", *(f'`"{way}"`' for way in WAYS)], rows),
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small set, not recorded")
    options = parser.parse_args(arguments)
    machine: dict[str, Any] = environment.describe(1, ("psvm", "scikit-learn"))
    machine["command"] = " ".join(["python -m benchmarks.pairs_or_rest", *sys.argv[1:]])
    records = []
    for name in QUICK if options.quick else SETS:
        records.append(measure(name))
        print(records[-1], flush=True)
    lines = report(records, machine)
    print("\n".join(lines))
    if not options.quick:
        path = RESULTS / "pairs_or_rest.md"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
