"""The rerun of the paper: what is kept, what is computed again, and what is written.

The cells come from :mod:`fake_tables`; the last test runs the real ones on Cancer.
"""

import csv
import json
import os
import time
from functools import partial

import pytest
from fake_tables import COLUMNS, Task, behave, install, run, tasks

from psvm.paper import parallel, reproduce, store
from psvm.paper.reproduce import reproduce as rerun


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """The folder of a rerun whose cells cost nothing; computed cells are listed in ``log``."""
    for name in ("TABLE_MODULES", "FIGURE_MODULE", "BOUND_MODULE", "PROPORTION_MODULE", "load"):
        monkeypatch.setattr(reproduce, name, None)  # to have them back afterwards
    install(reproduce)
    behave(log=str(tmp_path / "log"))
    return tmp_path / "results"


def computed(folder):
    """Number of cells computed since the last call."""
    log = folder.parent / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    log.write_text("")
    return len(lines)


def table(folder):
    with (folder / "table1.csv").open(newline="") as file:
        return list(csv.DictReader(file))


# --- the store -----------------------------------------------------------------------------------


def test_store_keeps_rows_and_warnings(tmp_path):
    path = tmp_path / "cells.jsonl"
    store.CellStore(path).add("a", {"x": 1.5, "name": "M³SVM"}, ["careful"])
    store.CellStore(path).add("b", {"x": None})
    again = store.CellStore(path)
    assert again.rows == {"a": {"x": 1.5, "name": "M³SVM"}, "b": {"x": None}}
    assert again.warnings == {"a": ["careful"]}


def test_a_line_cut_short_costs_that_cell_only(tmp_path):
    path = tmp_path / "cells.jsonl"
    cells = store.CellStore(path)
    cells.add("a", {"x": 1})
    cells.add("b", {"x": 2})
    path.write_bytes(path.read_bytes()[:-9])
    again = store.CellStore(path)
    assert set(again.rows) == {"a"}
    again.add("c", {"x": 3})
    assert set(store.CellStore(path).rows) == {"a", "c"}


def test_a_damaged_line_in_the_middle_is_skipped(tmp_path):
    path = tmp_path / "cells.jsonl"
    cells = store.CellStore(path)
    cells.add("a", {"x": 1})
    with path.open("a") as file:
        file.write('[]\n{"format": 1}\n\x00\x00\n')
    cells.add("b", {"x": 2})
    assert set(store.CellStore(path).rows) == {"a", "b"}


@pytest.mark.parametrize("name", ["FORMAT", "version"])
def test_what_another_version_computed_is_not_taken(monkeypatch, tmp_path, name):
    store.CellStore(tmp_path / "cells").add("a", {"x": 1})
    store.save_result(tmp_path / "figure", [1], quick=False)
    monkeypatch.setattr(store, name, 2 if name == "FORMAT" else lambda package: "0.0.0")
    assert store.CellStore(tmp_path / "cells").rows == {}
    assert store.load_result(tmp_path / "figure", quick=True) is None


def test_a_quick_result_does_for_a_quick_run_only(tmp_path):
    path = tmp_path / "figure.json"
    assert store.load_result(path, quick=True) is None
    store.save_result(path, {"x": [1]}, quick=True)
    assert store.load_result(path, quick=True) == {"x": [1]}
    assert store.load_result(path, quick=False) is None
    store.save_result(path, {"x": [2]}, quick=False)
    assert store.load_result(path, quick=True) == {"x": [2]}


def test_a_file_is_replaced_whole_or_not_at_all(monkeypatch, tmp_path):
    path = tmp_path / "table.csv"
    store.write_atomically(path, "old")

    def full_disk(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="no space"):
        store.write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# --- the workers ---------------------------------------------------------------------------------


def jobs_of(cells, seconds=1.0):
    return [parallel.Job(task.key, task.key, seconds, partial(run, task)) for task in cells]


def test_jobs_start_longest_first(tmp_path):
    behave(log=str(tmp_path / "log"))
    cells = tasks(quick=True)
    jobs = [
        parallel.Job(task.key, task.key, float(seconds), partial(run, task))
        for task, seconds in zip(cells, (3, 1, 4, 1.5, 9, 2, 6, 5), strict=True)
    ]
    parallel.run_jobs(jobs, processes=1, on_finish=lambda finished: None)
    expected = sorted(jobs, key=lambda job: -job.expected_seconds)
    assert (tmp_path / "log").read_text().split() == [job.key for job in expected]


def test_a_worker_has_one_thread_and_sends_its_warnings(monkeypatch):
    behave()
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    finished = []
    parallel.run_jobs(
        jobs_of([Task("cancer", "RF", "rerun")]), processes=1, on_finish=finished.append
    )
    assert finished[0].result["note"] == "1 thread"
    assert finished[0].warnings == ["UserWarning: a forest of one tree"]


def test_one_that_fails_does_not_stop_the_others():
    behave(fail="NB")
    finished = []
    parallel.run_jobs(jobs_of(tasks(quick=True)), processes=2, on_finish=finished.append)
    failed = [item for item in finished if item.error]
    assert len(finished) == 8
    assert [item.error for item in failed] == ["no NB to be had"]
    assert "Traceback" in failed[0].trace


def test_a_worker_that_dies_is_reported_and_replaced():
    behave(die="NB")
    finished = []
    parallel.run_jobs(jobs_of(tasks(quick=True)), processes=1, on_finish=finished.append)
    assert sorted(item.job.key for item in finished) == sorted(t.key for t in tasks(quick=True))
    assert [item.job.key for item in finished if item.died] == [Task("cancer", "NB", "rerun").key]
    assert "memory" in next(item.error for item in finished if item.died)


def test_progress_counts_and_tells_the_time_left():
    behave()
    seen = []
    parallel.run_jobs(
        jobs_of(tasks(quick=True)),
        processes=2,
        on_finish=lambda finished: None,
        watch=seen.append,
    )
    assert seen[0].done == 0
    assert seen[0].seconds_left is None
    assert len(seen[0].running) == 2
    assert (seen[-1].done, seen[-1].total, seen[-1].running) == (8, 8, ())
    assert seen[-1].seconds_left == 0.0


def test_an_interrupt_stops_the_workers_at_once():
    behave(slow="RF")
    told = []

    def interrupt(progress):
        if progress.done >= 7:
            told.append(time.perf_counter())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parallel.run_jobs(
            jobs_of(tasks(quick=True)),
            processes=2,
            on_finish=lambda finished: None,
            watch=interrupt,
        )
    # Half a second on a machine of one's own; the slow job takes far longer.
    assert time.perf_counter() - told[0] < 30


# --- the whole -----------------------------------------------------------------------------------


def test_all_writes_tables_figures_and_report(fake):
    outcome = rerun("all", output=fake, jobs=2)
    names = {path.name for path in outcome.files}
    figures = {f"figure{n}.{kind}" for n in (1, 2, 3) for kind in ("png", "svg")}
    assert names == {"table1.csv", "report.html", "report.md"} | figures
    assert outcome.failures == []
    assert outcome.computed == len(tasks()) + len(reproduce.COMPUTED)
    rows = table(fake)
    assert list(rows[0]) == list(COLUMNS)
    assert [row["dataset"] for row in rows] == [task.dataset for task in tasks()]
    assert rows[0]["C_best"] == ""
    assert float(rows[1]["accuracy_percent"]) == 97.66
    report = (fake / "report.md").read_text(encoding="utf-8")
    assert "alter-∝SVM" in report
    assert "above 8 of 8 cells" in report  # two sizes of bags, four methods


def test_a_second_run_computes_nothing(fake):
    rerun("all", output=fake, jobs=1)
    before = (fake / "table1.csv").read_bytes()
    assert computed(fake) == len(tasks())
    outcome = rerun("all", output=fake, jobs=1)
    assert computed(fake) == 0
    assert (outcome.computed, outcome.reused) == (0, len(tasks()) + len(reproduce.COMPUTED))
    assert (fake / "table1.csv").read_bytes() == before
    rerun("all", output=fake, jobs=1, fresh=True)
    assert computed(fake) == len(tasks())


def test_a_failed_cell_is_tried_again(fake):
    behave(fail="NB")
    outcome = rerun("table1", output=fake, datasets=["heart"], jobs=1)
    assert [item.error for item in outcome.failures] == ["no NB to be had"]
    assert [row["method"] for row in table(fake)] == ["pSVM"] * 6 + ["RF"]
    assert "no NB to be had" in (fake / "report.md").read_text()
    behave(log=str(fake.parent / "log"))
    rerun("table1", output=fake, datasets=["heart"], jobs=1)
    assert computed(fake) == 1
    assert [row["method"] for row in table(fake)] == ["pSVM"] * 6 + ["NB", "RF"]


def test_without_its_data_a_set_fails_and_the_others_do_not(fake):
    behave(unavailable="wine")
    outcome = rerun("all", output=fake, datasets=["wine", "heart"], jobs=1)
    assert {row["dataset"] for row in table(fake)} == {"heart"}
    assert len(outcome.failures) == 8 + 1  # the cells of the table, and Figure 2
    assert {item.error for item in outcome.failures} == {"no wine without a network"}


def test_an_interrupted_run_goes_on(fake):
    behave(slow="RF")

    def interrupt(progress):
        if progress.done >= 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rerun("table1", output=fake, quick=True, jobs=2, watch=interrupt)
    behave()
    outcome = rerun("table1", output=fake, quick=True, jobs=1)
    assert (outcome.reused, outcome.computed) == (7, 1)


def test_a_quick_run_is_a_part_of_the_full_one(fake):
    rerun("table1", output=fake, quick=True, jobs=1)
    assert {row["dataset"] for row in table(fake)} == {"cancer"}
    assert computed(fake) == 8
    rerun("table1", output=fake, jobs=1)
    # All but the baseline that a quick run repeats less often.
    assert computed(fake) == len(tasks()) - 7
    assert len(table(fake)) == len(tasks())
    cells = [json.loads(line)["key"] for line in (fake / "cells.jsonl").read_text().splitlines()]
    assert len(cells) == len(tasks()) + 1


def test_a_figure_alone_computes_no_cell(fake):
    outcome = rerun("figure2", output=fake, quick=True, jobs=1)
    assert computed(fake) == 0
    assert {path.name for path in outcome.files} == {
        "figure2.png",
        "figure2.svg",
        "report.html",
        "report.md",
    }
    assert (fake / "figure2.png").read_text() == "drawn from [0.5, 0.75]"
    data = json.loads((fake / "figure2.json").read_text())
    assert data["quick"] is True
    rerun("figure2", output=fake, jobs=1)
    assert json.loads((fake / "figure2.json").read_text())["quick"] is False


def test_datasets_leave_out_the_figures_of_others(fake):
    outcome = rerun("all", output=fake, datasets=["wine"], jobs=1)
    assert {row["dataset"] for row in table(fake)} == {"wine"}
    names = {path.name for path in outcome.files}
    assert "figure2.svg" in names
    assert "figure3.svg" not in names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "table3"}, "`target` must be one of table1, .*, all, got 'table3'"),
        ({"target": "all", "jobs": 0}, "`jobs` must be at least 1, got 0"),
        ({"target": "table1", "datasets": ["usps"]}, "'usps' is no data set of table1: .*cancer"),
        ({"target": "figure2", "datasets": ["wine"]}, "figure2 has none"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(fake, arguments, message):
    with pytest.raises(ValueError, match=message):
        rerun(**arguments, output=fake)
    assert not fake.exists()
