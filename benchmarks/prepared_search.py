"""A preprocessor inside the search: ``python -m benchmarks.prepared_search``.

Columns are scaled and the twenty best of them chosen, in every one of 5 folds by its training rows;
then 6 C (0.1 ... 100) and 5 gamma (0.1 ... 10 times "scale"). PSVCCV(preprocessor=...) at p = 1 and
at five p, the same with the preprocessing done once outside, where it sees held-out rows, and
GridSearchCV of the pipeline with SVC, all with the same number of jobs and without refit. Searches
are interleaved, and the minimum counts. Mean scores at p = 1 are compared cell by cell.

Then what a selection of features reports on columns of pure noise, inside and outside.

Results go to ``results/prepared_search.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks import environment
from benchmarks.cases import read, sample
from benchmarks.run import RESULTS
from benchmarks.search import PS, grids
from benchmarks.tables import environment_lines, geometric_mean, table
from psvm import PSVCCV

Record = dict[str, Any]

CASES = {"magic04": 3000, "satimage": 3000, "spambase": 3000}
QUICK = {"magic04": 300}
FEATURES = 20
INSIDE, FIVE, OUTSIDE, GRID = "inside p=1", "inside five p", "outside p=1", "GridSearchCV"
# Rows and columns of noise, and how often.
NOISE, NOISE_SEEDS = (200, 2000), 20


def rows_of(case: str, n: int) -> tuple[Any, Any]:
    """Rows as they are, of the official training part if there is one."""
    X, y, n_train = read(case)
    rows = sample(np.arange(n_train or len(y)), n, np.random.default_rng(0))
    return np.asarray(X[rows], dtype=np.float64), np.unique(y[rows], return_inverse=True)[1]


def preprocessor(width: int) -> Pipeline:
    """What goes before the classifier."""
    return make_pipeline(StandardScaler(), SelectKBest(k=min(FEATURES, width)))


def search(name: str, X: Any, y: Any, jobs: int) -> Record:
    """Seconds and scores of one search."""
    before = preprocessor(X.shape[1])
    Z = before.fit_transform(X, y)
    Cs, gammas = grids(1.0 / (Z.shape[1] * Z.var()))
    ps = PS if name == FIVE else (1.0,)
    model: Any = PSVCCV(ps, Cs, gammas, refit=False, n_jobs=jobs)
    if name == GRID:
        grid = {"model__C": Cs, "model__gamma": gammas}
        pipeline = Pipeline([("before", before), ("model", SVC(break_ties=True))])
        model = GridSearchCV(pipeline, grid, refit=False, n_jobs=jobs)
    elif name != OUTSIDE:
        model.set_params(preprocessor=before)
    start = time.perf_counter()
    model.fit(before.fit_transform(X, y) if name == OUTSIDE else X, y)
    return {
        "search": name,
        "seconds": time.perf_counter() - start,
        "best_score": float(model.best_score_),
        "scores": model.cv_results_["mean_test_score"].tolist(),
    }


def measure(cases: dict[str, int], options: argparse.Namespace) -> list[Record]:
    """Every search of every case, several times."""
    records = []
    for case, n in cases.items():
        X, y = rows_of(case, n)
        for _ in range(options.repeats):
            for name in (INSIDE, FIVE, OUTSIDE, GRID):
                found = search(name, X, y, options.jobs)
                records.append({"case": case, "rows": list(X.shape), **found})
                print(case, name, f"{found['seconds']:.2f} s", flush=True)
    return records


def noise() -> list[Record]:
    """What the search reports of columns that say nothing, with and without a leak."""
    records = []
    for seed in range(NOISE_SEEDS):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=NOISE), np.arange(NOISE[0]) % 2
        one = {"ps": (1.0,), "Cs": (1.0,), "gammas": (1.0 / FEATURES,)}
        inside = PSVCCV(**one, preprocessor=SelectKBest(k=FEATURES)).fit(X, y)
        outside = PSVCCV(**one).fit(SelectKBest(k=FEATURES).fit_transform(X, y), y)
        records.append({"inside": inside.best_score_, "outside": outside.best_score_})
    return records


def report(records: list[Record], on_noise: list[Record], machine: Record) -> list[str]:
    """The tables."""
    rows, ratios = [], []
    for case in dict.fromkeys(row["case"] for row in records):
        own = [row for row in records if row["case"] == case]
        best = {
            name: min((row for row in own if row["search"] == name), key=lambda r: r["seconds"])
            for name in (INSIDE, FIVE, OUTSIDE, GRID)
        }
        seconds = {name: row["seconds"] for name, row in best.items()}
        apart = np.abs(np.subtract(best[INSIDE]["scores"], best[GRID]["scores"])).max()
        ratios.append(seconds[GRID] / seconds[INSIDE])
        n, d = own[0]["rows"]
        rows.append(
            [
                f"{case} {n}×{d}",
                *(f"{seconds[name]:.2f}" for name in (INSIDE, FIVE, OUTSIDE, GRID)),
                f"{ratios[-1]:.1f}×",
                f"{seconds[GRID] / seconds[FIVE]:.1f}×",
                f"{apart:.4f}",
            ]
        )
    head = ["rows", "inside, p = 1 (s)", "inside, five p (s)", "outside, p = 1 (s)"]
    head += ["GridSearchCV(pipeline) (s)", "ratio at p = 1", "ratio, five p"]
    head += ["largest difference of a score"]
    means = {name: np.mean([row[name] for row in on_noise]) for name in ("inside", "outside")}
    return [
        "# Searches with a preprocessor",
        "",
        *environment_lines(machine),
        "",
        f"StandardScaler, SelectKBest(k={FEATURES}), 5 folds × 6 C × 5 gamma, without the refit.",
        "",
        *table(head, rows),
        f"Geometric mean against GridSearchCV of the pipeline at p = 1: "
        f"{geometric_mean(ratios):.1f}×.",
        "",
        f"SelectKBest(k={FEATURES}) on {NOISE[0]} rows × {NOISE[1]} columns of noise, one cell, "
        f"mean of {NOISE_SEEDS}: accuracy {means['inside']:.3f} inside the search, "
        f"{means['outside']:.3f} outside.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=environment.usable_cpus())
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="one small case, not recorded")
    options = parser.parse_args()
    records = measure(QUICK if options.quick else CASES, options)
    command = " ".join(["python -m benchmarks.prepared_search", *sys.argv[1:]])
    packages = ("psvm", "scikit-learn")
    machine = {**environment.describe(options.jobs, packages), "command": command}
    on_noise = noise()
    lines = report(records, on_noise, machine)
    print("\n".join(lines))
    if not options.quick:
        stored = {"environment": machine, "records": records, "noise": on_noise}
        path = RESULTS / "prepared_search.json"
        path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        path.with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
