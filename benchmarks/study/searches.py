"""Is there a cheaper search, or a better one? Strategies of choosing p, C and gamma, compared.

    python -m benchmarks.study.searches                     # 15 minutes on two idle cores
    python -m benchmarks.study.searches --rows 500 --repeats 1 --output /tmp/few.csv
    python -m benchmarks.study.searches --only pima sonar
    python -m benchmarks.study.searches --summary           # what the results say

For two splits of every table, with at most 1,000 training rows and 2,000 test rows, one wide table
of cells is computed (``cells``), and every strategy is played on it without a further fit
(``strategies``). The tables of cells are kept in ``benchmarks/data/study_searches``: a run that was
stopped goes on where it was, and a new strategy needs no fit. ``results/study_searches.csv`` has a
row per table, split and strategy.

Strategies are chosen by one half of the tables and confirmed by the other (``search_evidence``).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.study import running, search_evidence, sets, statistics, store
from benchmarks.study.cells import COSTS, WIDTHS, Cells, compute
from benchmarks.study.machines import EXPONENTS
from benchmarks.study.splits import TRAIN_SHARE, capped, split
from benchmarks.study.strategies import STRATEGIES, Asked

RESULTS = store.RESULTS.with_name("study_searches.csv")
KEPT = Path(__file__).parents[1] / "data" / "study_searches"

REPEATS = 2
TRAIN_ROWS = 1_000
TEST_SHARE = 2
"""Training rows at most, and test rows at most, as a multiple of these."""

KEY = ("dataset", "repeat", "method")
COLUMNS = (*KEY, "n_train", "accuracy", "cv_accuracy", "fits", "seconds", "p", "C", "gamma")


# --- what is computed ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """The table of cells of one split."""

    dataset: str
    repeat: int
    rows: int
    most: int  # training rows
    folder: Path

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return self.folder / f"{self.dataset}-{self.repeat}-{self.most}.npz"

    @property
    def expected_seconds(self) -> float:
        """A guess from the number of rows, which orders the work."""
        return 0.5 + 10.0 * (self.n_train / TRAIN_ROWS) ** 1.7

    @property
    def n_train(self) -> int:
        """Training rows."""
        return min(int(TRAIN_SHARE * self.rows), self.most)

    def __call__(self) -> float:
        """Compute and keep it; the seconds it took."""
        began = time.perf_counter()
        table = sets.load(self.dataset)
        parts = split(table, self.repeat)
        train = capped(parts.train, self.most, self.repeat)
        test = capped(parts.test, TEST_SHARE * self.most, self.repeat)
        compute(train, test, self.repeat).save(self.path)
        return time.perf_counter() - began


def played(work: Work) -> list[dict[str, Any]]:
    """What every strategy chooses, what that is worth, and what it costs."""
    cells, rows = Cells.load(work.path), []
    for method, strategy in STRATEGIES.items():
        asked = Asked(cells)
        place = strategy(asked)
        rows.append(
            {
                "dataset": work.dataset,
                "repeat": work.repeat,
                "method": method,
                "n_train": work.n_train,
                "accuracy": cells.test[place],
                "cv_accuracy": cells.score[place].mean(),
                "fits": asked.fits,
                "seconds": asked.seconds,
                "p": EXPONENTS[place[0]],
                "C": COSTS[place[1]],
                "gamma": WIDTHS[place[2]],  # as a multiple of the scale
            }
        )
    return rows


def write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """The rows, and those of other tables and splits that the file has."""
    new = pd.DataFrame(rows, columns=list(COLUMNS))
    if path.exists():
        old = pd.read_csv(path)
        played_again = set(zip(new["dataset"], new["repeat"], strict=True))
        keys = zip(old["dataset"], old["repeat"], strict=True)
        kept = old[[key not in played_again for key in keys]]
        new = pd.concat([kept, new], ignore_index=True) if len(kept) else new
    order = {method: number for number, method in enumerate(STRATEGIES)}
    new["order"] = new["method"].map(order)
    new = new.sort_values(["dataset", "repeat", "order"], kind="stable").drop(columns="order")
    path.parent.mkdir(parents=True, exist_ok=True)
    new.to_csv(path, index=False, float_format="%.6g")


# --- the command ---------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """Run what is left to run; 1 if something failed, 2 if there is nothing to run on."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study.searches")
    parser.add_argument("--only", nargs="+", metavar="SET", help="these tables; default: all 71")
    parser.add_argument("--rows", type=int, default=TRAIN_ROWS, help="of training, at most")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="splits of each table")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--folder", type=Path, default=KEPT, help="of the tables of cells")
    parser.add_argument("--summary", action="store_true", help="only say what the results say")
    given = parser.parse_args(arguments)
    if given.summary:
        return _summary(given.output)
    rows = sets.n_rows()
    wanted = given.only or sorted(rows)
    unknown = [name for name in wanted if name not in rows]
    if unknown or not rows:
        print(f"no such tables: {', '.join(unknown) or 'none at all'}", file=sys.stderr)
        return 2
    failures = []
    for repeat in range(given.repeats):
        work = [Work(name, repeat, rows[name], given.rows, given.folder) for name in wanted]
        missing = [one for one in work if not one.path.exists()]
        failures += running.run(missing, given.processes, lambda seconds: f": {seconds:.1f} s")[1]
        done = [one for one in work if one.path.exists()]
        write(given.output, [row for one in done for row in played(one)])
        print(f"split {repeat}: {len(done)} tables in {given.output}", flush=True)
    for failure in failures:
        print(failure, file=sys.stderr)
    _summary(given.output)
    return 1 if failures else 0


def _summary(path: Path) -> int:
    if not path.exists():
        print(f"no {path}: run python -m benchmarks.study.searches first", file=sys.stderr)
        return 2
    try:
        found = search_evidence.evidence(pd.read_csv(path))
        print(*search_evidence.told(found), "", *search_evidence.sentences(found), sep="\n")
    except statistics.Lacking as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
