"""Grid searches against each other: ``python -m benchmarks.search``.

5 stratified folds, 6 C (0.1 ... 100) and 5 gamma (0.1 ... 10 times "scale"), on the training rows
of each case: PSVCCV at p = 1 and at five p, GridSearchCV(SVC) and GridSearchCV over
scikit-learn-intelex's SVC (float32 input, its fastest way), all with the same number of jobs.
Every search runs in a process of its own, interleaved, and the minimum counts; refits are left out
on all sides. Mean scores at p = 1 are compared cell by cell. Results go to ``results/search.md``
and ``.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks import environment
from benchmarks.cases import load
from benchmarks.run import RESULTS
from benchmarks.tables import environment_lines, geometric_mean, table

# Case and its largest number of rows.
CASES = {"magic04": 5000, "satimage": 5000, "usps": 3000, "spambase": 5000}
QUICK = {"magic04": 600, "satimage": 600}
PS = (1.0, 1.25, 1.5, 2.0, 3.0)
SEARCHES = ("psvm p=1", "psvm five p", "SVC", "intelex SVC")


def grids(scale: float) -> tuple[list[float], list[float]]:
    """The C and gamma of all searches."""
    return np.logspace(-1, 2, 6).tolist(), (scale * np.logspace(-1, 1, 5)).tolist()


def rows_of(case: str, n: int) -> tuple[Any, Any]:
    """Prepared training rows; spambase is not among the cases of the other benchmarks."""
    if case == "spambase":
        from benchmarks.cases import read, sample, scaled

        X, y, _ = read("spambase")
        rows = sample(np.arange(len(y)), n, np.random.default_rng(0))
        return scaled(X[rows], X[rows], "standardise")[0], np.unique(y[rows], return_inverse=True)[
            1
        ]
    data = load(case, n)
    X = data.X_train.toarray() if hasattr(data.X_train, "toarray") else data.X_train
    return X, data.y_train


def search(name: str, case: str, n: int, jobs: int) -> dict[str, Any]:
    """One search in this process: seconds, CPU seconds, the best cell and the scores."""
    X, y = rows_of(case, n)
    Cs, gammas = grids(1.0 / (X.shape[1] * X.var()))
    if name.startswith("psvm"):
        from psvm import PSVCCV

        ps = PS if "five" in name else PS[:1]
        model: Any = PSVCCV(ps, Cs, gammas, n_jobs=jobs, refit=False)
    else:
        from sklearn.model_selection import GridSearchCV

        if name.startswith("intelex"):
            from sklearnex.svm import SVC

            X = X.astype(np.float32)
        else:
            from sklearn.svm import SVC
        model = GridSearchCV(SVC(), {"C": Cs, "gamma": gammas}, n_jobs=jobs, refit=False)
    start, cpu = time.perf_counter(), os.times()
    model.fit(X, y)
    seconds, after = time.perf_counter() - start, os.times()
    return {
        "seconds": seconds,
        "cpu_seconds": sum(after[:4]) - sum(cpu[:4]),
        "rows": list(X.shape),
        "best_params": model.best_params_,
        "best_score": model.best_score_,
        "scores": model.cv_results_["mean_test_score"].tolist(),
    }


def in_own_process(name: str, case: str, n: int, options: argparse.Namespace) -> dict[str, Any]:
    """The record of one search, or why there is none."""
    command = [sys.executable, "-m", "benchmarks.search", "--one", name, case, str(n)]
    command += ["--jobs", str(options.jobs)]
    settings = {**os.environ, **dict.fromkeys(environment.THREAD_VARIABLES, "1")}
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, env=settings, timeout=options.time_limit
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"> {options.time_limit:.0f} s"}
    if answer.returncode:
        return {"failed": answer.stderr.strip().splitlines()[-1]}
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def measure(options: argparse.Namespace) -> dict[str, dict[str, dict[str, Any]]]:
    """Records by case and search."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for case, n in (QUICK if options.quick else CASES).items():
        best: dict[str, dict[str, Any]] = {}
        for _ in range(options.repeats):
            for name in SEARCHES:
                record = in_own_process(name, case, n, options)
                known = best.get(name)
                if known is None or record.get("seconds", np.inf) < known.get("seconds", np.inf):
                    best[name] = record
                shown = record.get("failed") or f"{record['seconds']:.2f} s"
                print(f"{case:10s} {name:12s} {shown}", flush=True)
        found[case] = best
    return found


def report(found: dict[str, dict[str, dict[str, Any]]], machine: dict[str, Any]) -> list[str]:
    """The page of results."""
    rows, ratios = [], {name: [] for name in SEARCHES[2:]}
    five_ratios = []
    for case, records in found.items():
        own, five = records["psvm p=1"], records["psvm five p"]
        line = [f"{case} {own['rows'][0]}×{own['rows'][1]}"]
        line += [f"{own['seconds']:.2f}", f"{five['seconds']:.2f}"]
        for name in SEARCHES[2:]:
            record = records[name]
            if "failed" in record:
                line += [record["failed"], ""]
                continue
            factor = record["seconds"] / own["seconds"]
            ratios[name].append(factor)
            line += [f"{record['seconds']:.1f}", f"{factor:.1f}×"]
        svc = records["SVC"]
        if "failed" in svc:
            line += ["", ""]
        else:
            apart = np.max(np.abs(np.array(svc["scores"]) - np.array(own["scores"])))
            five_ratios.append(svc["seconds"] / five["seconds"])
            line += [f"{five_ratios[-1]:.1f}×", f"{apart:.4f}"]
        line.append(f"{five['best_score']:.4f} at p = {five['best_params']['p']:g}")
        line.append(f"{own['best_score']:.4f}")
        rows.append(line)
    header = ["rows", "PSVCCV p = 1 (s)", "PSVCCV five p (s)", "GridSearchCV(SVC) (s)", "ratio"]
    header += [
        "GridSearchCV(intelex) (s)",
        "ratio",
        "SVC / five p",
        "largest difference of a score",
    ]
    header += ["best of five p", "best of p = 1"]
    lines = ["# Grid searches", "", *environment_lines(machine), ""]
    lines += ["5 folds × 6 C × 5 gamma; seconds without the refit.", "", *table(header, rows), ""]
    for name, values in ratios.items():
        if values:
            lines.append(f"Geometric mean against {name}: {geometric_mean(values):.1f}×.")
    if five_ratios:
        mean = geometric_mean(five_ratios)
        lines.append(f"All five p against SVC for one: {mean:.1f}× faster (geometric mean).")
    return lines


def main() -> None:
    """Measure and write the page, or run one search for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=environment.usable_cpus())
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=900.0, help="seconds of one search")
    parser.add_argument("--quick", action="store_true", help="two small cases, not recorded")
    parser.add_argument("--one", nargs=3, metavar=("SEARCH", "CASE", "ROWS"), help="internal")
    options = parser.parse_args()
    if options.one:
        name, case, n = options.one
        print(json.dumps(search(name, case, int(n), options.jobs)))
        return
    found = measure(options)
    machine = environment.describe(options.jobs, ("psvm", "scikit-learn", "scikit-learn-intelex"))
    machine["command"] = " ".join(["python -m benchmarks.search", *sys.argv[1:]])
    lines = report(found, machine)
    print("\n".join(lines))
    if not options.quick:
        (RESULTS / "search.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        text = json.dumps({"environment": machine, "cases": found}, indent=1)
        (RESULTS / "search.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
