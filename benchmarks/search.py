"""Grid searches against each other: ``python -m benchmarks.search``.

5 stratified folds, 6 C (0.1 ... 100) and 5 gamma (0.1 ... 10 times "scale"), on the training rows
of each case: PSVCCV at p = 1 and at five p, GridSearchCV(SVC), GridSearchCV over
scikit-learn-intelex's SVC (float32 input, its fastest way), and TorchKM on the CPU (two classes and
one gamma only), all with the same number of jobs. Every search runs in a process of its own,
interleaved, and the minimum counts; refits are left out on all sides. Mean scores at p = 1 are
compared cell by cell; where there are several classes also with SVC's ``break_ties=True``, whose
predictions are the argmax of its decision function as ours are. 20,000 rows of few and of many
features are searched with memory for two kernel matrices, for one, and for none.

Results go to ``results/search.json`` after every search and ``search.md`` at the end;
``--resume`` takes up a run that was broken off.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks import environment
from benchmarks.cases import load, read, sample, scaled
from benchmarks.run import RESULTS
from benchmarks.tables import environment_lines, geometric_mean, table

Record = dict[str, Any]

# Case and its largest number of rows.
CASES = {"magic04": 5000, "satimage": 5000, "usps": 3000, "spambase": 5000}
QUICK = {"magic04": 600, "satimage": 600}
SEVERAL_CLASSES = ("satimage", "usps")
PS = (1.0, 1.25, 1.5, 2.0, 3.0)
OWN, FIVE, SVC, INTELEX = "psvm p=1", "psvm five p", "SVC", "intelex SVC"
SEARCHES = (OWN, FIVE, SVC, INTELEX)
BROKEN, TORCHKM = "SVC break_ties", "torchkm one gamma"
# The search within bounds of memory: rows, and megabytes of cache_size for each search.
LARGE, LARGE_ROWS = ("ijcnn1", "a9a"), 20_000
BOUNDS = {"psvm 4000 MB": 4000.0, "psvm 1700 MB": 1700.0, "psvm 400 MB": 400.0}


def grids(scale: float) -> tuple[list[float], list[float]]:
    """The C and gamma of all searches."""
    return np.logspace(-1, 2, 6).tolist(), (scale * np.logspace(-1, 1, 5)).tolist()


def rows_of(case: str, n: int) -> tuple[Any, Any]:
    """Prepared training rows; spambase is not among the cases of the other benchmarks."""
    if case == "spambase":
        X, y, _ = read("spambase")
        rows = sample(np.arange(len(y)), n, np.random.default_rng(0))
        labels = np.unique(y[rows], return_inverse=True)[1]
        return scaled(X[rows], X[rows], "standardise")[0], labels
    data = load(case, n)
    X = data.X_train.toarray() if hasattr(data.X_train, "toarray") else data.X_train
    return X, data.y_train


def make_search(name: str, Cs: list[float], gammas: list[float], jobs: int | None) -> Any:
    """The search of a name, ready to fit."""
    if name in BOUNDS:
        from psvm import PSVCCV

        coarse = {"Cs": [0.1, 1.0, 10.0], "gammas": gammas[1:4:2], "cache_size": BOUNDS[name]}
        return PSVCCV(PS[:1], **coarse, n_jobs=jobs, refit=False)
    if name in (OWN, FIVE):
        from psvm import PSVCCV

        return PSVCCV(PS if name == FIVE else PS[:1], Cs, gammas, n_jobs=jobs, refit=False)
    if name == TORCHKM:
        import torch
        from torchkm.estimators import TorchKMSVC

        torch.set_num_threads(jobs)
        return TorchKMSVC(Cs=Cs, cv=5, rbf_sigma=0.5 * gammas[2], device="cpu", random_state=0)
    from sklearn.model_selection import GridSearchCV

    if name == INTELEX:
        from sklearnex.svm import SVC as Model
    else:
        from sklearn.svm import SVC as Model
    model = Model(break_ties=name == BROKEN)
    return GridSearchCV(model, {"C": Cs, "gamma": gammas}, n_jobs=jobs, refit=False)


def search(name: str, case: str, n: int, jobs: int) -> Record:
    """One search in this process: seconds, CPU seconds, memory, the best cell and the scores."""
    X, y = rows_of(case, n)
    Cs, gammas = grids(1.0 / (X.shape[1] * X.var()))
    model = make_search(name, Cs, gammas, jobs)
    X = X.astype(np.float32) if name == INTELEX else X
    start, cpu, before = time.perf_counter(), os.times(), peak_memory()
    model.fit(X, y)
    seconds, after = time.perf_counter() - start, os.times()
    found = {
        "seconds": seconds,
        "cpu_seconds": sum(after[:4]) - sum(cpu[:4]),
        "peak_mb": peak_memory() - before,
        "rows": list(X.shape),
    }
    if name == TORCHKM:  # its fit goes on to fit the best C to all rows
        return found
    return {
        **found,
        "best_params": model.best_params_,
        "best_score": model.best_score_,
        "scores": model.cv_results_["mean_test_score"].tolist(),
    }


def peak_memory() -> float:
    """Largest resident size of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def in_own_process(name: str, case: str, n: int, options: argparse.Namespace) -> Record:
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


def plan(options: argparse.Namespace) -> list[tuple[str, str, int]]:
    """Search, case and rows of every run, interleaved."""
    cases = QUICK if options.quick else CASES
    runs = [
        (name, case, n)
        for case, n in cases.items()
        for _ in range(options.repeats)
        for name in SEARCHES
    ]
    runs += [(BROKEN, case, n) for case, n in cases.items() if case in SEVERAL_CLASSES]
    runs.append((TORCHKM, "magic04", cases["magic04"]))
    if not options.quick:
        runs += [(name, case, LARGE_ROWS) for case in LARGE for name in BOUNDS]
    return runs


def measure(options: argparse.Namespace, records: list[Record]) -> list[Record]:
    """All records, those at hand first; written after every search."""
    at_hand = [(row["search"], row["case"], row["n"]) for row in records]
    for name, case, n in plan(options):
        if (name, case, n) in at_hand:
            at_hand.remove((name, case, n))
            continue
        record = in_own_process(name, case, n, options)
        records.append({"search": name, "case": case, "n": n, "jobs": options.jobs, **record})
        shown = record.get("failed") or f"{record['seconds']:.2f} s"
        print(f"{case:10s} {name:18s} {shown}", flush=True)
        if not options.quick:
            write(records, options)
    return records


def machine_of(options: argparse.Namespace) -> Record:
    """Where and how the records were made."""
    packages = ("psvm", "scikit-learn", "scikit-learn-intelex", "torchkm")
    command = " ".join(["python -m benchmarks.search", *sys.argv[1:]])
    return {**environment.describe(options.jobs, packages), "command": command}


def write(records: list[Record], options: argparse.Namespace) -> None:
    """The file of results, replaced in one step."""
    path = RESULTS / "search.json"
    whole = path.with_suffix(".part")
    rows = ",\n".join(json.dumps(row) for row in records)
    machine = json.dumps(machine_of(options), indent=1)
    whole.write_text(f'{{"environment": {machine},\n"records": [\n{rows}\n]}}\n', encoding="utf-8")
    whole.replace(path)


def fastest(records: list[Record]) -> dict[str, dict[str, Record]]:
    """The fastest record by case and search."""
    found: dict[str, dict[str, Record]] = {}
    for row in records:
        known = found.setdefault(row["case"], {}).get(row["search"])
        if known is None or row.get("seconds", np.inf) < known.get("seconds", np.inf):
            found[row["case"]][row["search"]] = row
    return found


def apart(one: Record | None, other: Record | None) -> str:
    """The largest difference of a mean score."""
    if one is None or other is None or "failed" in one or "failed" in other:
        return "–"
    return f"{np.max(np.abs(np.array(one['scores']) - np.array(other['scores']))):.4f}"


def report(records: list[Record], machine: Record) -> list[str]:
    """The page of results."""
    rows, factors = [], {name: [] for name in (SVC, INTELEX, FIVE)}
    by_case = fastest(records)
    for case, found in by_case.items():
        if any("failed" in found.get(name, {"failed": ""}) for name in (OWN, FIVE, SVC)):
            continue
        own, five, svc, intelex = (found[name] for name in SEARCHES)
        line = [f"{case} {own['rows'][0]}×{own['rows'][1]}"]
        line += [f"{own['seconds']:.2f}", f"{five['seconds']:.2f}"]
        for name, record in ((SVC, svc), (INTELEX, intelex)):
            if "failed" in record:
                line += [record["failed"], "–"]
                continue
            factors[name].append(record["seconds"] / own["seconds"])
            line += [f"{record['seconds']:.1f}", f"{factors[name][-1]:.1f}×"]
        factors[FIVE].append(svc["seconds"] / five["seconds"])
        line += [f"{factors[FIVE][-1]:.1f}×", apart(own, svc), apart(own, found.get(BROKEN))]
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
    header += ["the same, break_ties=True", "best of five p", "best of p = 1"]
    lines = ["# Grid searches", "", *environment_lines(machine), ""]
    lines += ["5 folds × 6 C × 5 gamma; seconds without the refit.", "", *table(header, rows), ""]
    for name, words in ((SVC, "GridSearchCV(SVC)"), (INTELEX, "GridSearchCV(intelex SVC)")):
        if factors[name]:
            lines.append(f"Geometric mean against {words}: {geometric_mean(factors[name]):.1f}×.")
    if factors[FIVE]:
        mean = geometric_mean(factors[FIVE])
        lines.append(f"All five p against SVC for one: {mean:.1f}× faster (geometric mean).")
    lines += ["", *other_lines(by_case)]
    return lines


def other_lines(by_case: dict[str, dict[str, Record]]) -> list[str]:
    """TorchKM, and the search within bounds of memory."""
    lines = []
    for case, found in by_case.items():
        if TORCHKM in found:
            record = found[TORCHKM]
            said = record.get("failed") or f"{record['seconds']:.1f} s"
            lines += [f"TorchKM on the CPU, {case}, six C at one of the five gamma: {said}.", ""]
    for case in LARGE:
        large = [row for name, row in by_case.get(case, {}).items() if name in BOUNDS]
        if not large:
            continue
        lines += [f"{case}, {LARGE_ROWS} rows, 5 folds × 3 C × 2 gamma, p = 1:", ""]
        cells = [
            [f"{BOUNDS[row['search']]:.0f}", row["failed"], "–", "–"]
            if "failed" in row
            else [
                f"{BOUNDS[row['search']]:.0f}",
                f"{row['seconds']:.1f}",
                f"{row['peak_mb']:.0f}",
                f"{row['best_score']:.4f}",
            ]
            for row in large
        ]
        header = ["cache_size (MB)", "seconds", "memory taken (MB)", "best score"]
        lines += [*table(header, cells), ""]
    return lines


def main() -> None:
    """Measure and write the page, or run one search for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=environment.usable_cpus())
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds of one search")
    parser.add_argument("--quick", action="store_true", help="two small cases, not recorded")
    parser.add_argument("--resume", action="store_true", help="keep what search.json has")
    parser.add_argument("--one", nargs=3, metavar=("SEARCH", "CASE", "ROWS"), help="internal")
    options = parser.parse_args()
    if options.one:
        name, case, n = options.one
        print(json.dumps(search(name, case, int(n), options.jobs)))
        return
    path = RESULTS / "search.json"
    records: list[Record] = []
    if options.resume and not options.quick and path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))["records"]
        records = [row for row in kept if row["jobs"] == options.jobs and "failed" not in row]
    lines = report(measure(options, records), machine_of(options))
    print("\n".join(lines))
    if not options.quick:
        (RESULTS / "search.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
