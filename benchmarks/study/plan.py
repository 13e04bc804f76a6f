"""What is run, on how many rows, and how long it may take.

Made for two cores and less than three hours. Repeats come in rounds: first all tables once, then
all once more, so that a run that is stopped early has the same splits of every table.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.study import machines, rivals, sets, store
from benchmarks.study.machines import Family, Outcome
from benchmarks.study.measures import measured
from benchmarks.study.splits import TRAIN_SHARE, Split, capped, split

METHODS = (
    "dummy",
    *machines.methods_of("kernel"),
    *machines.methods_of("linear"),
    "svc",
    "lightgbm",
    "lightgbm-same",
    "lightgbm-tuned",
    "forest",
    "logistic",
    "knn",
)

KERNEL_ROWS = {False: 2_000, True: 4_000}
"""Training rows of the kernel machines, of small and of large tables: their time grows faster."""

LINEAR_ROWS = 10_000
OTHER_ROWS = 20_000
"""Training rows of the linear machines, which search 300 fits, and of all the others."""

SVC_ROWS, SVC_REPEATS = 1_000, 3
"""Where the check by GridSearchCV(SVC) is run: few training rows, the first repeats."""

MOST_SECONDS = {"kernel": 300.0, "linear": 200.0, "lightgbm-tuned": 60.0}
LEAST_SECONDS, MARGIN = 60.0, 12.0
"""The budget of a search on a split: twelve times what it is expected to take, within these limits.

It is there for what nobody expected: a search that reaches it says so in ``chosen``, and its result
depends on the machine.
"""

LEAST_TUNING = 3.0
"""Seconds that LightGBM's search has at least."""


@dataclass(frozen=True)
class Work:
    """The wanted methods of one split of one table."""

    dataset: str
    repeat: int
    methods: tuple[str, ...]
    rows: int
    path: Path
    deadline: float = float("inf")

    @property
    def expected(self) -> dict[str, float]:
        """Seconds of each family on one core, by a guess from the number of rows."""
        train = int(TRAIN_SHARE * self.rows)
        others = min(train, OTHER_ROWS) / 10_000
        kernel = (min(train, KERNEL_ROWS[self.rows > sets.LARGE]) / 2000) ** 1.7
        seconds = {
            "kernel": 0.8 + 14.0 * kernel,
            "linear": 0.5 + 8.0 * min(train, LINEAR_ROWS) / 5000,
            "lightgbm-tuned": LEAST_TUNING + 10.0 * kernel,
            "lightgbm": 0.5 + 2.0 * others,
            "forest": 0.3 + 4.0 * others,
            "svc": 0.5 + 10.0 * (train / 1000) ** 2 if self.has_svc else 0.0,
        }
        families = {name if name in seconds else name.split("-")[0] for name in self.methods}
        return {family: seconds.get(family, 0.2) for family in families}

    @property
    def expected_seconds(self) -> float:
        """All of it; this orders the work and is told at the start."""
        return sum(self.expected.values())

    def budget(self, family: str) -> float:
        """Seconds for the search of a family."""
        return min(MOST_SECONDS[family], max(LEAST_SECONDS, MARGIN * self.expected[family]))

    @property
    def has_svc(self) -> bool:
        """Whether the check by SVC is run here."""
        return int(TRAIN_SHARE * self.rows) <= SVC_ROWS and self.repeat < SVC_REPEATS

    def __call__(self) -> list[str]:
        """Run the methods, keep each as it ends; what failed, in words."""
        if time.time() > self.deadline:
            return [f"{self.dataset} repeat {self.repeat}: not begun, the time is up"]
        table = sets.load(self.dataset)
        return run_split(self, table, split(table, self.repeat))


def chosen_methods(asked: Sequence[str] | None) -> list[str]:
    """Methods by name or by family ("kernel" means all sixteen)."""
    if not asked:
        return list(METHODS)
    unknown = [name for name in asked if not _named(name)]
    if unknown:
        families = sorted({method.split("-")[0] for method in METHODS})
        raise ValueError(
            f"no method {', '.join(unknown)}: choose from {', '.join(METHODS)}, or a family, "
            f"{', '.join(families)}"
        )
    return [method for method in METHODS if any(method in _named(name) for name in asked)]


def _named(name: str) -> list[str]:
    return [name] if name in METHODS else [m for m in METHODS if m.split("-")[0] == name]


def rounds(
    rows: dict[str, int],
    methods: Sequence[str],
    *,
    repeats: int | None,
    done: Collection[tuple[str, int, str]],
    path: Path,
    deadline: float = float("inf"),
) -> list[list[Work]]:
    """What is left to do, one list per repeat."""
    most = repeats or max(sets.REPEATS.values())
    found = []
    for repeat in range(most):
        of_repeat = []
        for name, n in rows.items():
            if repeat >= (repeats or sets.repeats_of(n)):
                continue
            missing = tuple(
                method
                for method in methods
                if (name, repeat, method) not in done and _applies(method, n, repeat)
            )
            if missing:
                of_repeat.append(Work(name, repeat, missing, n, path, deadline))
        if of_repeat:
            found.append(of_repeat)
    return found


def _applies(method: str, rows: int, repeat: int) -> bool:
    train = int(TRAIN_SHARE * rows)
    if method == "svc":
        return train <= SVC_ROWS and repeat < SVC_REPEATS
    if method == "lightgbm-same":  # with as many rows it would be lightgbm once more
        return train > KERNEL_ROWS[rows > sets.LARGE]
    return True


def told(plan: Sequence[Sequence[Work]], processes: int) -> list[str]:
    """The plan in words."""
    work = [item for of_repeat in plan for item in of_repeat]
    seconds = sum(item.expected_seconds for item in work)
    rows = sum(len(item.methods) for item in work)
    lines = [
        f"{len(work)} splits of {len({item.dataset for item in work})} tables, {rows} rows to "
        f"compute with {processes} processes; expected: {seconds / processes / 60:.0f} minutes",
        f"training rows at most: kernel {KERNEL_ROWS[False]} (of tables above {sets.LARGE} rows "
        f"{KERNEL_ROWS[True]}), linear {LINEAR_ROWS}, others {OTHER_ROWS}; svc is run where there "
        f"are up to {SVC_ROWS}",
    ]
    if work:
        lines.append("table, repeats left, expected seconds and budgets of the searches of each:")
    for name in dict.fromkeys(item.dataset for item in work):
        own = [item for item in work if item.dataset == name]
        first = own[0]
        budgets = [f"{f} {first.budget(f):.0f} s" for f in MOST_SECONDS if f in first.expected]
        lines.append(
            f"  {name:<22}{len(own):>3}{first.expected_seconds:>7.0f} s   {', '.join(budgets)}"
        )
    return lines


def run_split(work: Work, table: sets.Table, parts: Split) -> list[str]:
    """The methods of one split in their order; a method that fails does not stop the others."""
    n_classes = int(table.traits["classes"])
    large = table.traits["rows"] > sets.LARGE
    seed = work.repeat
    of_kernel = capped(parts.train, KERNEL_ROWS[large], seed)
    of_others = capped(parts.train, OTHER_ROWS, seed)
    failed: list[str] = []
    kernel_seconds = _seconds_of("kernel-best", work)

    def keep(method: str, outcome: Outcome) -> None:
        store.append(work.path, row_of(work, method, outcome, parts))

    def attempt(method: str, run: Any) -> None:
        if method not in work.methods:
            return
        try:
            keep(method, run())
        except Exception as error:
            failed.append(_failure(work, method, error))

    attempt(
        "dummy",
        lambda: rivals.run_model(
            rivals.SIMPLE["dummy"](seed), of_others, parts.test, n_classes, dict(table.traits)
        ),
    )
    for family, train in (
        ("kernel", of_kernel),
        ("linear", capped(parts.train, LINEAR_ROWS, seed)),
    ):
        own = [method for method in work.methods if method in machines.methods_of(family)]
        if not own:
            continue
        try:
            machine = Family(family, train, parts.test, n_classes, work.budget(family), seed)
            machine.search()
            for method, outcome in machine.methods(frozenset(own).__contains__):
                keep(method, outcome)
                own.remove(method)
                if method == "kernel-best":
                    kernel_seconds = outcome.fit_seconds
            failed += [
                f"{work.dataset} repeat {work.repeat} {name}: no cell in time" for name in own
            ]
        except Exception as error:
            failed.append(_failure(work, family, error))
    attempt("svc", lambda: rivals.run_svc(of_kernel, parts.test, n_classes, seed))
    for method, train in (("lightgbm", of_others), ("lightgbm-same", of_kernel)):
        attempt(
            method,
            lambda train=train: rivals.run_model(
                rivals.boosting(seed), train, parts.test, n_classes, {}
            ),
        )
    limit = min(MOST_SECONDS["lightgbm-tuned"], max(LEAST_TUNING, kernel_seconds))
    attempt(
        "lightgbm-tuned",
        lambda: rivals.run_tuned_boosting(of_others, parts.test, n_classes, seed, limit),
    )
    for method in ("forest", "logistic", "knn"):
        model = rivals.SIMPLE[method](seed)
        attempt(
            method,
            lambda model=model: rivals.run_model(model, of_others, parts.test, n_classes, {}),
        )
    return failed


def row_of(work: Work, method: str, outcome: Outcome, parts: Split) -> dict[str, Any]:
    """One line of the results."""
    return {
        "dataset": work.dataset,
        "repeat": work.repeat,
        "method": method,
        **measured(parts.test.y, outcome.answers),
        "support_share": outcome.support_share,
        "fit_seconds": outcome.fit_seconds,
        "predict_seconds": outcome.predict_seconds,
        "chosen": outcome.chosen,
    }


def _seconds_of(method: str, work: Work) -> float:
    """What a method took on this split in an earlier run; 0 if it has not been run."""
    if not work.path.exists():
        return 0.0
    rows = store.read(work.path)
    key = (rows["dataset"] == work.dataset) & (rows["repeat"] == work.repeat)
    own = rows[key & (rows["method"] == method)]
    return float(own["fit_seconds"].iloc[0]) if len(own) else 0.0


def _failure(work: Work, method: str, error: BaseException) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(where.filename).name}:{where.lineno}"
    return (
        f"{work.dataset} repeat {work.repeat} {method}: {type(error).__name__}: {error} ({place})"
    )
