"""Stand-ins for the modules that compute the paper: the same interface, no computing.

:func:`behave` says what goes wrong. It reaches the workers through a file, since they outlive a
test.
"""

import json
import os
import tempfile
import time
import warnings
from pathlib import Path

from psvm.paper import published
from psvm.paper.table_row import COLUMNS, Task

BEHAVIOUR = Path(
    os.environ.setdefault("FAKE_TABLES", tempfile.mkdtemp(prefix="fake_tables")), "behaviour.json"
)


def tasks(*, quick=False, datasets=None):
    names = ("cancer",) if quick and datasets is None else published.BINARY
    found = []
    for name in names:
        if datasets is None or name in datasets:
            found += [Task(name, "pSVM", "published", "exponential", p) for p in (1.0, 1.5, 2.0)]
            found += [Task(name, "pSVM", "exact", "rbf", p) for p in (1.0, 1.5, 2.0)]
            found += [
                Task(name, "NB", "rerun"),
                Task(name, "RF", "rerun", runs=3 if quick else 20),
            ]
    return found


def install(reproduce):
    """Make :mod:`psvm.paper.reproduce` take its cells from here."""
    reproduce.TABLE_MODULES = {"table1": "fake_tables", "table2": "fake_table2"}
    reproduce.FIGURE_MODULE = reproduce.BOUND_MODULE = "fake_figures"
    reproduce.PROPORTION_MODULE = "fake_proportions"
    reproduce.load = load


def behave(**wanted):
    """Append computed cells to ``log``; let a method ``fail``, be ``slow`` or let the worker
    ``die``; let a data set be ``unavailable``."""
    wanted = dict.fromkeys(("log", "fail", "slow", "die", "unavailable")) | wanted
    BEHAVIOUR.write_text(json.dumps(wanted))


def behaviour():
    return json.loads(BEHAVIOUR.read_text())


def load(name, progress=False):
    if name == behaviour()["unavailable"]:
        raise OSError(f"no {name} without a network")


def run(task):
    faults = behaviour()
    if task.method == faults["die"]:
        os._exit(1)
    if task.method == faults["fail"]:
        raise ValueError(f"no {task.method}\nto be had")
    if task.method == faults["slow"]:
        time.sleep(600)
    if faults["log"]:
        with Path(faults["log"]).open("a") as log:
            log.write(f"{task.key}\n")
    if task.method == "RF":
        warnings.warn("a forest of one tree", stacklevel=1)
    if task.method == "pSVM":
        cell = next(c for c in published.table1() if (c.dataset, c.p) == (task.dataset, task.p))
        accuracy, nsv = cell.accuracy_percent, cell.nsv_percent
        C = cell.C_best
    else:
        cells = published.baselines()
        cell = next(c for c in cells if (c.dataset, c.method) == (task.dataset, task.method))
        accuracy, nsv, C = cell.accuracy_percent, None, None
    return row(
        **{name: getattr(task, name) for name in COLUMNS[:5]},
        C_best=C,
        C_cv=C,
        nsv_percent=nsv,
        accuracy_percent=accuracy,
        published_accuracy_percent=accuracy,
        published_nsv_percent=nsv,
        n_train=100,
        n_test=50,
        seconds=0.5,
        note=f"{os.environ.get('OMP_NUM_THREADS')} thread",
    )


def row(**values):
    """A row with its differences; what is not given is None."""
    made = {name: values.get(name) for name in COLUMNS}
    made["note"] = made["note"] or ""
    for kind, difference in (("accuracy", "accuracy_difference"), ("nsv", "nsv_difference")):
        ours, theirs = made[f"{kind}_percent"], made[f"published_{kind}_percent"]
        made[difference] = None if ours is None or theirs is None else ours - theirs
    return made
