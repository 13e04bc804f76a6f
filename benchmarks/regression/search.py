"""PSVRCV beside GridSearchCV(SVR): ``python -m benchmarks.regression.search``.

The same grid of C, gamma and epsilon at p = 1, the same five folds, the same score, both with
their final fit and with as many jobs as there are processors. The best scores of both are compared,
and the scores of all cells. Results go to ``results/regression_search.json`` and ``.md``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

from benchmarks import environment
from benchmarks.regression.sets import RegressionSet, tables
from benchmarks.run import RESULTS
from benchmarks.tables import Record, environment_lines, geometric_mean, table, times, write_json

NAME = "regression_search"
SETS = ("concrete", "airfoil", "skillcraft", "abalone")
COSTS, TUBES = [0.1, 1.0, 10.0, 100.0], [0.02, 0.1, 0.5]
# Times 1 over the number of features, which are standardised.
WIDTHS = [0.1, 0.3, 1.0, 3.0, 10.0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=SETS, help="tables with one of these words")
    parser.add_argument("--rows", type=int, default=4000, help="of a table at most")
    parser.add_argument("--jobs", type=int, help="of both; all processors by default")
    parser.add_argument("--name", default=NAME)
    options = parser.parse_args(arguments)
    jobs = options.jobs or environment.usable_cpus()
    described = environment.describe(jobs, ("psvm", "scikit-learn"))
    described["command"] = "python -m benchmarks.regression.search"
    records: list[Record] = []
    results = {"suite": NAME, "environment": described, "records": records}
    for data in _sets(options):
        record = duel(data, jobs)
        print(line(record), flush=True)
        records.append(record)
        write_json(results, RESULTS / f"{options.name}.json")
    (RESULTS / f"{options.name}.md").write_text("\n".join(page(results)), encoding="utf-8")
    return 0


def _sets(options: argparse.Namespace) -> Iterator[RegressionSet]:
    for data in tables(tuple(options.only)):
        some = np.random.default_rng(0).permutation(data.y.size)[: options.rows]
        yield RegressionSet(data.name, data.X[some], data.y[some])


def both_searches(
    features: int, ps: Sequence[float], jobs: int | None, *, refit: bool
) -> tuple[Any, Any]:
    """PSVRCV over some p, and GridSearchCV(SVR) over the same C, epsilon and gamma."""
    from psvm import PSVRCV

    widths = [float(width / features) for width in WIDTHS]
    grid = {"C": COSTS, "epsilon": TUBES, "gamma": widths}
    ours = PSVRCV(tuple(ps), COSTS, widths, TUBES, n_jobs=jobs, refit=refit)
    return ours, GridSearchCV(SVR(cache_size=1000), grid, n_jobs=jobs, refit=refit)


def duel(data: RegressionSet, jobs: int) -> Record:
    """Both searches of one set, one after the other."""
    X, y = data.X, data.y
    ours, theirs = both_searches(X.shape[1], (1.0,), jobs, refit=True)
    seconds = []
    for search in (ours, theirs):
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of edges of the grid
            search.fit(X, y)
        seconds.append(time.perf_counter() - began)
    known = [{k: v for k, v in cell.items() if k != "p"} for cell in ours.cv_results_["params"]]
    place = [theirs.cv_results_["params"].index(cell) for cell in known]
    other = theirs.cv_results_["mean_test_score"][place]
    return {
        "set": data.name,
        "rows": int(y.size),
        "features": int(X.shape[1]),
        "fits": 5 * len(known),
        "seconds": seconds[0],
        "rival_seconds": seconds[1],
        "ratio": seconds[1] / seconds[0],
        "score": float(ours.best_score_),
        "rival_score": float(theirs.best_score_),
        "farthest": float(np.abs(ours.cv_results_["mean_test_score"] - other).max()),
        "largest_gap": float(ours.cv_results_["max_dual_gap"].max()),
    }


def line(row: Record) -> str:
    """For the screen."""
    return (
        f"{row['set']:14s} {row['rows']:>6} x {row['features']:<4} {row['fits']} fits: "
        f"{row['seconds']:.2f} s, GridSearchCV(SVR) {row['rival_seconds']:.2f} s, "
        f"{times(row['ratio'])}, r2 {row['score']:.4f} and {row['rival_score']:.4f}, "
        f"cells differ by {row['farthest']:.1e} at most"
    )


def page(results: dict[str, Any]) -> list[str]:
    """The report."""
    records = results["records"]
    mean, least = (geometric_mean, min)
    ratios = [row["ratio"] for row in records]
    return [
        "# Search: PSVRCV beside GridSearchCV(SVR)",
        "",
        *environment_lines(results["environment"]),
        f"p = 1, {len(COSTS)} C, {len(WIDTHS)} gamma, {len(TUBES)} epsilon and 5 folds, by the "
        f"clock, each once, with the final fit. {times(mean(ratios))} on average (geometric mean), "
        f"{times(least(ratios))} at least. The last column is how far mean scores of a cell differ "
        f"at most: the search solves cells far from the best to a relative gap of 1e-3, SVR to "
        f"its own tolerance.",
        "",
        *table(
            ["set", "rows", "features", "s", "SVR s", "ratio", "r2", "SVR r2", "cells"],
            [
                [
                    row["set"],
                    str(row["rows"]),
                    str(row["features"]),
                    f"{row['seconds']:.2f}",
                    f"{row['rival_seconds']:.1f}",
                    times(row["ratio"]),
                    f"{row['score']:.4f}",
                    f"{row['rival_score']:.4f}",
                    f"{row['farthest']:.0e}",
                ]
                for row in records
            ],
        ),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
