"""Rerun the paper: tables, figures, bounds and a report in one folder.

:func:`reproduce` lists what there is to compute, leaves out what the folder already holds, runs the
rest in parallel (:mod:`psvm.paper.parallel`), keeps every result as it comes
(:mod:`psvm.paper.store`) and writes the files a reader wants.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from joblib import cpu_count

from psvm.data import load
from psvm.paper import published
from psvm.paper.parallel import Finished, Job, Progress, one_line, run_jobs
from psvm.paper.store import CellStore, Row, load_result, save_result, write_atomically
from psvm.paper.table_row import COLUMNS, Task

TARGETS = ("table1", "table2", "figure1", "figure2", "figure3", "all")
"""What can be rerun."""

DATASETS = {"table1": published.BINARY, "table2": published.MULTICLASS}
"""The data sets of each table."""

# By name, and imported when they are needed: they bring scikit-learn's classifiers and matplotlib.
TABLE_MODULES = {"table1": "psvm.paper.table1", "table2": "psvm.paper.table2"}
FIGURE_MODULE = "psvm.paper.figures"
BOUND_MODULE = "psvm.paper.bound_table"
PROPORTION_MODULE = "psvm.paper.proportion_table"

PROPORTIONS = {
    "proportions-meanmap": "MeanMap",
    "proportions-invcal": "InvCal",
    "proportions-conv": "conv-∝SVM",
    "proportions-alter": "alter-∝SVM",
}
"""The methods that learn from label proportions, which the paper names for Heart."""

COMPUTED = {
    "figure2": "wine",
    "figure3": "usps",
    "bound-cancer": "cancer",
    "bound-banknote": "banknote",
    **dict.fromkeys(PROPORTIONS, "heart"),
}
"""Results that are no cells of a table, and the data set each one shows.

The bound is computed where the machines make some errors, and where they make none.
"""

# Seconds of the computed results on one core, as measured; only their order matters much.
RESULT_SECONDS = {
    "figure2": 30.0,
    "figure3": 150.0,
    "proportions-meanmap": 10.0,
    "proportions-invcal": 4.0,
    "proportions-conv": 200.0,
    "proportions-alter": 70.0,
}


@dataclass
class Outcome:
    """What a run did.

    Attributes
    ----------
    folder : Path
        Where everything is.
    files : list of Path
        The files written for a reader.
    computed, reused : int
        Results computed now, and taken from an earlier run.
    failures : list of Finished
        What could not be computed, and why.
    seconds : float
        Wall-clock time.
    """

    folder: Path
    files: list[Path] = field(default_factory=list)
    computed: int = 0
    reused: int = 0
    failures: list[Finished] = field(default_factory=list)
    seconds: float = 0.0


def reproduce(
    target: str = "all",
    *,
    output: str | Path = "psvm-paper",
    quick: bool = False,
    datasets: Sequence[str] | None = None,
    fresh: bool = False,
    jobs: int | None = None,
    watch: Callable[[Progress], None] | None = None,
    command: str | None = None,
) -> Outcome:
    """Rerun a part of the paper, or all of it.

    Parameters
    ----------
    target : {"table1", "table2", "figure1", "figure2", "figure3", "all"}
        What to rerun.
    output : str or Path
        Folder of the results, made if it is missing. What an earlier run finished there is not
        computed again.
    quick : bool, default=False
        Whether to run a part of the cells, and of Cancer only unless ``datasets`` says otherwise. A
        figure asked for by name is drawn from less data.
    datasets : sequence of str or None
        Restrict the tables to these data sets. With "all", the figures and the bounds of other data
        sets are left out too.
    fresh : bool, default=False
        Whether to forget the results of earlier runs in the folder.
    jobs : int or None
        Number of worker processes; None means one per CPU.
    watch : callable or None
        Receives a :class:`~psvm.paper.parallel.Progress` several times a second.
    command : str or None
        The command that was typed, for the report.

    Returns
    -------
    Outcome
        What was computed and written. A cell that failed is in ``failures`` and does not stop the
        others.

    Raises
    ------
    ValueError
        If the target, a data set or the number of jobs does not exist.
    """
    started = time.perf_counter()
    check_request(target, datasets, jobs)
    # Imported before anything runs: without jinja2 or matplotlib all that work would be lost.
    report = import_module("psvm.paper.report")
    if target not in TABLE_MODULES:
        import_module("matplotlib")
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    if fresh:
        _forget(folder)
    store = CellStore(folder / "cells.jsonl")
    outcome = Outcome(folder)

    wanted = _jobs(target, quick=quick, datasets=datasets)
    missing = [job for job in wanted if not _is_finished(job, store, folder, quick)]
    outcome.reused = len(wanted) - len(missing)

    def keep(finished: Finished) -> None:
        if finished.error is not None:
            outcome.failures.append(finished)
            return
        outcome.computed += 1
        if finished.job.key in COMPUTED:
            save_result(folder / f"{finished.job.key}.json", finished.result, quick=quick)
        else:
            store.add(finished.job.key, finished.result, finished.warnings)

    ready = _with_data(missing, outcome, progress=watch is not None)
    run_jobs(ready, processes=jobs or cpu_count(), on_finish=keep, watch=watch)

    for table in TABLE_MODULES:
        if target in (table, "all"):
            outcome.files += _write_table(folder / f"{table}.csv", table, store)
    outcome.files += _draw(folder, target)
    outcome.seconds = time.perf_counter() - started
    outcome.files += report.write(
        folder,
        {table: finished_rows(table, store) for table in TABLE_MODULES},
        bounds=_finished_results(folder, "bound-"),
        proportions=_finished_results(folder, "proportions-"),
        run=_account(outcome, store, command, target, quick, jobs),
    )
    return outcome


def check_request(target: str, datasets: Sequence[str] | None, jobs: int | None) -> None:
    """Refuse what cannot be rerun.

    Parameters
    ----------
    target, datasets, jobs
        As for :func:`reproduce`.

    Raises
    ------
    ValueError
        It says what is wrong and what there is to choose from.
    """
    if target not in TARGETS:
        raise ValueError(f"`target` must be one of {', '.join(TARGETS)}, got {target!r}.")
    if jobs is not None and jobs < 1:
        raise ValueError(f"`jobs` must be at least 1, got {jobs}.")
    if datasets is None:
        return
    if target not in (*DATASETS, "all"):
        raise ValueError(f"`datasets` chooses rows of a table; {target} has none.")
    known = [
        name for table, names in DATASETS.items() if target in (table, "all") for name in names
    ]
    for name in datasets:
        if name not in known:
            raise ValueError(
                f"{name!r} is no data set of {target}: choose from {', '.join(known)}."
            )


def _forget(folder: Path) -> None:
    for name in ("cells.jsonl", *(f"{key}.json" for key in COMPUTED)):
        (folder / name).unlink(missing_ok=True)


def _jobs(target: str, *, quick: bool, datasets: Sequence[str] | None) -> list[Job]:
    """All that the target needs, finished or not."""
    found = []
    wanted = datasets or (("cancer",) if quick else COMPUTED.values())
    for table, module_name in TABLE_MODULES.items():
        if target in (table, "all"):
            module = import_module(module_name)
            found += [
                Job(
                    key=f"{table}/{task.key}",
                    label=_label(table, task),
                    expected_seconds=_expected_seconds(task),
                    call=partial(module.run, task),
                    dataset=task.dataset,
                )
                for task in module.tasks(quick=quick, datasets=datasets)
            ]
    for key, dataset in COMPUTED.items():
        if target == key or (target == "all" and dataset in wanted):
            found.append(
                Job(
                    key=key,
                    label=key.replace("-", " "),
                    expected_seconds=RESULT_SECONDS.get(key, 1.0),
                    call=_computation(key, dataset, quick),
                    dataset=dataset,
                )
            )
    return found


def _with_data(jobs: Sequence[Job], outcome: Outcome, *, progress: bool) -> list[Job]:
    """The jobs whose data are at hand; the others fail here, each set after one try.

    Data sets are fetched in this process, because two workers would fetch the same one twice.
    """
    problems: dict[str | None, str] = {}
    for name in dict.fromkeys(job.dataset for job in jobs if job.dataset is not None):
        try:
            load(name, progress=progress)
        except OSError as error:
            problems[name] = one_line(error)
    outcome.failures += [
        Finished(job, error=problems[job.dataset]) for job in jobs if job.dataset in problems
    ]
    return [job for job in jobs if job.dataset not in problems]


def _computation(key: str, dataset: str, quick: bool) -> Callable[[], Any]:
    if key.startswith("bound-"):
        return partial(import_module(BOUND_MODULE).compute, dataset, quick=quick)
    if key in PROPORTIONS:
        compute = import_module(PROPORTION_MODULE).compute
        return partial(compute, PROPORTIONS[key], dataset, quick=quick)
    return partial(getattr(import_module(FIGURE_MODULE), f"{key}_data"), quick=quick)


def _is_finished(job: Job, store: CellStore, folder: Path, quick: bool) -> bool:
    if job.key in COMPUTED:
        return load_result(folder / f"{job.key}.json", quick=quick) is not None
    return job.key in store.rows


def _label(table: str, task: Task) -> str:
    """A cell in words: ``table1 cancer pSVM exact rbf p=1.5``."""
    parts = [table, task.dataset, task.method, task.variant, task.kernel]
    parts += [None if task.p is None else f"p={task.p:.3g}"]
    return " ".join(part for part in parts if part)


def _expected_seconds(task: Task) -> float:
    """A cell's time on one core, as roughly measured."""
    if task.dataset == "usps":
        return 130.0 if task.variant == "published" else 30.0
    if task.dataset in published.MULTICLASS:
        return 3.0
    if task.runs is not None:
        return 5.0
    return 1.0 if task.dataset == "wine" else 0.5


def finished_rows(table: str, store: CellStore) -> list[Row]:
    """The rows of a table that a store holds, in the order of the table.

    Where a cell was only run quickly (fewer repetitions of a baseline), its quick row is taken.

    Parameters
    ----------
    table : {"table1", "table2"}
        Which table.
    store : CellStore
        Finished cells.

    Returns
    -------
    list of dict
        By :data:`psvm.paper.table_row.COLUMNS`.
    """
    module = import_module(TABLE_MODULES[table])
    quick = {_identity(task): task for task in module.tasks(quick=True, datasets=DATASETS[table])}
    rows = []
    for task in module.tasks():
        for twin in (task, quick.get(_identity(task), task)):
            if f"{table}/{twin.key}" in store.rows:
                rows.append(store.rows[f"{table}/{twin.key}"])
                break
    return rows


def _identity(task: Task) -> Task:
    """The task without its number of runs, which is all that a quick run changes of it."""
    return replace(task, runs=None)


def _write_table(path: Path, table: str, store: CellStore) -> list[Path]:
    rows = finished_rows(table, store)
    if not rows:
        return []
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(rows)
    return [write_atomically(path, text.getvalue())]


def _draw(folder: Path, target: str) -> list[Path]:
    """Draw the figures that the target names, from the data in the folder."""
    files: list[Path] = []
    for name in ("figure1", "figure2", "figure3"):
        if target not in (name, "all"):
            continue
        figures = import_module(FIGURE_MODULE)
        if name == "figure1":
            files += figures.save(figures.figure1(), folder, name)
        else:
            data = load_result(folder / f"{name}.json", quick=True)
            if data is not None:
                files += figures.save(getattr(figures, name)(data), folder, name)
    return files


def _finished_results(folder: Path, kind: str) -> list[dict[str, Any]]:
    names = [key for key in COMPUTED if key.startswith(kind)]
    found = [load_result(folder / f"{name}.json", quick=True) for name in names]
    return [result for result in found if result is not None]


def _account(
    outcome: Outcome,
    store: CellStore,
    command: str | None,
    target: str,
    quick: bool,
    jobs: int | None,
) -> dict[str, Any]:
    """What the report tells of the run itself."""
    return {
        "command": command or f"reproduce({target!r}, quick={quick})",
        "quick": quick,
        "seconds": outcome.seconds,
        "computed": outcome.computed,
        "reused": outcome.reused,
        "processes": jobs or cpu_count(),
        "failures": [(item.job.label, item.error) for item in outcome.failures],
        "warnings": dict(store.warnings),
        "totals": {
            table: len(import_module(name).tasks()) for table, name in TABLE_MODULES.items()
        },
    }
