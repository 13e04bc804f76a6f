"""The study for regression: which p of PSVR, on 22 real tables.

    python -m benchmarks.study.regressions                  # 15 minutes on two cores
    python -m benchmarks.study.regressions --only airfoil --repeats 1

As for classes, one search per split (PSVRCV over five p, six C, five gamma and three tubes, five
folds) gives all fixed p and the choice of p; a chosen cell is fitted to all training rows once.
Targets are divided by their standard deviation in the training part, so that the defaults (C = 1,
epsilon = 0.1) mean the same everywhere. R2 favours p near 2, whose loss it is; the mean absolute
error, in standard deviations, favours p near 1: both are kept. ``results/study_regression.csv`` has
a row per table, split and method.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline

from benchmarks.study import rules, running, sets, store
from benchmarks.study.machines import EXPONENTS
from benchmarks.study.preparation import preparation
from benchmarks.study.splits import TRAIN_SHARE
from psvm import PSVR, PSVRCV
from psvm.search.table import choose, split_scores

Array = npt.NDArray[np.float64]

RESULTS = store.RESULTS.with_name("study_regression.csv")
COLUMNS = (
    *store.KEY,
    "r2",
    "mae",
    "support_share",
    "fit_seconds",
    "predict_seconds",
    "chosen",
)

REPEATS = 3
TRAIN_ROWS, TEST_ROWS = 1_500, 5_000
"""At most so many: a search fits 450 cells five times."""

MOST_SECONDS = 300.0

METHODS = (
    *(f"kernel-{p:g}" for p in EXPONENTS),
    "kernel-best",
    "kernel-one_se",
    *(f"kernel-untuned-{p:g}" for p in EXPONENTS),
    "lightgbm",
    "forest",
    "ridge",
)


class Part(NamedTuple):
    """Rows and their targets."""

    X: pd.DataFrame
    y: Array


def load(name: str) -> Part:
    """A table whose targets are all known."""
    study = sets.loader()
    if study is None:
        raise FileNotFoundError("no tables: set PSVM_BENCH_DATA")
    X, target = study.load(name, "regression")
    y = target.astype("float64").to_numpy()
    known = np.isfinite(y)
    X = X[known].reset_index(drop=True)
    # What is particular to tables with classes does nothing to the columns of these.
    table = sets.clean(name, X, pd.Series(np.zeros(len(X))))
    return Part(table.X, y[known])


def names() -> list[str]:
    """All tables; none where the data folder is absent."""
    study = sets.loader()
    return [] if study is None else list(study.names("regression"))


def split(table: Part, repeat: int) -> tuple[Part, Part]:
    """Training and test part, targets in standard deviations of the training part."""
    n = len(table.y)
    train = min(int(TRAIN_SHARE * n), TRAIN_ROWS)
    test = min(n - int(TRAIN_SHARE * n), TEST_ROWS)
    draw = ShuffleSplit(1, train_size=train, test_size=test, random_state=repeat)
    rows, held = next(draw.split(table.X))
    centre, unit = table.y[rows].mean(), table.y[rows].std()
    y = (table.y - centre) / unit
    return Part(table.X.iloc[rows].reset_index(drop=True), y[rows]), Part(
        table.X.iloc[held].reset_index(drop=True), y[held]
    )


@dataclass(frozen=True)
class Work:
    """All methods of one split of one table."""

    dataset: str
    repeat: int
    methods: tuple[str, ...]
    path: Path

    @property
    def expected_seconds(self) -> float:
        """The same for all: most tables have more rows than are taken."""
        return 10.0

    def __call__(self) -> None:
        """Run them, keep each as it ends."""
        train, test = split(load(self.dataset), self.repeat)
        for method, row in measured(train, test, self.repeat):
            if method in self.methods:
                key = {"dataset": self.dataset, "repeat": self.repeat, "method": method}
                store.append(self.path, key | row, COLUMNS)


def measured(train: Part, test: Part, seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every method on one split, and what was measured of it."""
    folds = list(KFold(rules.FOLDS, shuffle=True, random_state=seed).split(train.X))
    prepare = preparation(train.X)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PSVRCV chose at the edge")
        search = PSVRCV(
            ps=EXPONENTS,
            cv=folds,
            preprocessor=prepare,
            refit=False,
            n_jobs=1,
            max_time=MOST_SECONDS,
        ).fit(*train)
    seconds = time.perf_counter() - began
    results = search.cv_results_
    fitted: dict[tuple[Any, ...], dict[str, Any]] = {}
    for method in METHODS:
        if not method.startswith("kernel"):
            continue
        what = method.partition("-")[2]
        if what.startswith("untuned-"):
            params, share = {"p": float(what.removeprefix("untuned-"))}, 0.0
        else:
            params, share = _chosen(what, results)
        key = tuple(sorted(params.items()))
        if key not in fitted:
            fitted[key] = _fit(make_pipeline(prepare, PSVR(n_jobs=1, **params)), train, test)
        row = dict(fitted[key])
        row["fit_seconds"] += share * seconds
        yield method, row | {"chosen": {**params, "n_train": len(train.y)}}
    for method, model in _rivals(seed).items():
        yield (
            method,
            _fit(make_pipeline(prepare, model), train, test)
            | {"chosen": {"n_train": len(train.y)}},
        )


def _chosen(what: str, results: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
    """The parameters of a rule or of the best cell of a p, and its share of the search."""
    score = split_scores(results)
    support = np.asarray(results["mean_n_support"])
    if what in ("best", "one_se"):
        return dict(results["params"][choose(what, score, support)]), 1.0
    own = np.asarray(results["param_p"], dtype=float) == float(what)
    spent = np.nan_to_num(results["mean_fit_time"] + results["mean_score_time"])
    cell = choose("best", np.where(own[:, None], score, np.nan), support)
    return dict(results["params"][cell]), float(spent[own].sum() / spent.sum())


def _rivals(seed: int) -> dict[str, Any]:
    from lightgbm import LGBMRegressor

    return {
        "lightgbm": LGBMRegressor(random_state=seed, n_jobs=1, verbose=-1, deterministic=True),
        "forest": RandomForestRegressor(random_state=seed, n_jobs=1),
        "ridge": TransformedTargetRegressor(RidgeCV(np.geomspace(1e-3, 1e3, 13))),
    }


def _fit(model: Any, train: Part, test: Part) -> dict[str, Any]:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # limits of iterations, names of columns
        model.fit(*train)
        fitted = time.perf_counter()
        predicted = model.predict(test.X)
    done = time.perf_counter()
    vectors = getattr(model[-1], "support_", None)
    return {
        "r2": float(r2_score(test.y, predicted)),
        "mae": float(mean_absolute_error(test.y, predicted)),
        "support_share": float("nan") if vectors is None else len(vectors) / len(train.y),
        "fit_seconds": fitted - began,
        "predict_seconds": done - fitted,
    }


def main(arguments: list[str] | None = None) -> int:
    """Run what is left to run; 1 if something failed, 2 if there is nothing to run on."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study.regressions")
    parser.add_argument("--only", nargs="+", metavar="SET", help="these tables; default: all 22")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    known = names()
    wanted = given.only or known
    unknown = [name for name in wanted if name not in known]
    if unknown or not known:
        print(f"no such tables: {', '.join(unknown) or 'none at all'}", file=sys.stderr)
        return 2
    store.prepare(given.output, COLUMNS)
    done = store.finished(given.output, COLUMNS)
    work = []
    for repeat in range(given.repeats):
        for name in wanted:
            missing = tuple(m for m in METHODS if (name, repeat, m) not in done)
            if missing:
                work.append(Work(name, repeat, missing, given.output))
    _, failures = running.run(work, given.processes)
    print(*failures, sep="\n", file=sys.stderr)
    n_rows = len(store.read(given.output, COLUMNS))
    print(f"{n_rows} rows in {given.output.name}, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
