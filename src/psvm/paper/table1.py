"""Table 1 of the paper, rerun: five binary sets, nine exponents, eight baselines.

Every exponent is run in three ways:

- ``published``, kernel "exponential": the paper's recipe as it was run (:mod:`psvm.paper.recipe`);
- ``exact``, kernel "rbf": the model that the paper defines. A true Gaussian kernel with
  ``2 sigma^2 = M Var[X]``, the exact intercept, and a soft margin at p = 1 as well;
- ``exact``, kernel "exponential": the same model with the kernel that the paper really used, at the
  published width.

The baselines have the variant ``rerun``. :func:`tasks` lists the rows and :func:`run` computes one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psvm.estimators.svc import PSVC
from psvm.paper import baselines, published
from psvm.paper.recipe import (
    GRID,
    SOLVED,
    SUPPORT_THRESHOLD,
    Array,
    Labels,
    Split,
    accuracy_percent,
    choose_C,
    fit_published,
    published_gamma,
)
from psvm.paper.table_row import Result, Task, compute_row

QUICK_EXPONENTS = (1.0, 1.5, 2.0)
"""The p of the exact model in a quick run."""

QUICK_RUNS = 3
"""Runs of a baseline in a quick run."""


def tasks(*, quick: bool = False, datasets: Sequence[str] | None = None) -> list[Task]:
    """The rows of Table 1, in its order.

    Parameters
    ----------
    quick : bool, default=False
        Whether to take a small part of the rows: Cancer only unless ``datasets`` says otherwise,
        three exponents of the exact model, and three runs of a baseline.
    datasets : sequence of str, default=None
        The sets wanted; those that are not in Table 1 are left out. None takes all.

    Returns
    -------
    list of Task
        One per row.
    """
    wanted = datasets if datasets is not None else (("cancer",) if quick else published.BINARY)
    exponents = QUICK_EXPONENTS if quick else published.EXPONENTS
    runs = QUICK_RUNS if quick else baselines.RUNS
    found = []
    for dataset in (name for name in published.BINARY if name in wanted):
        found += [Task(dataset, "pSVM", "published", "exponential", p) for p in published.EXPONENTS]
        found += [
            Task(dataset, "pSVM", "exact", kernel, p)
            for kernel in ("rbf", "exponential")
            for p in exponents
        ]
        found += [
            Task(dataset, method, "rerun", runs=runs if method in baselines.REPEATED else None)
            for method in published.BASELINES
        ]
    return found


def run(task: Task) -> dict[str, object]:
    """Compute one row.

    Parameters
    ----------
    task : Task
        One of :func:`tasks`.

    Returns
    -------
    dict
        The row, by :data:`~psvm.paper.table_row.COLUMNS`.
    """
    variants = {"published": _published, "exact": _exact, "rerun": _baseline}
    if task.method == "pSVM":
        cell = _cell(task)
        return compute_row(task, variants, cell.accuracy_percent, cell.nsv_percent)
    return compute_row(task, variants, _baseline_cell(task).accuracy_percent)


def _cell(task: Task) -> published.BinaryCell:
    """The published p-norm machine that the task stands beside."""
    return next(
        cell for cell in published.table1() if (cell.dataset, cell.p) == (task.dataset, task.p)
    )


def _published(task: Task, data: Split) -> Result:
    """The paper's model at the paper's C, and the C that its cross-validation picks here."""
    cell = _cell(task)
    if cell.C_best is None:
        C_cv, note = None, "hard margin: C plays no part"
        model = fit_published(data.X_train, data.y_train, p=cell.p, C=np.inf)
    else:
        C_cv = choose_C(
            lambda X, y, C: fit_published(X, y, p=cell.p, C=C), data.X_train, data.y_train, GRID
        )
        note = ""
        if C_cv != cell.C_best:
            note = f"at the published C = {cell.C_best:g}; cross-validation picks C = {C_cv:g} here"
        model = fit_published(data.X_train, data.y_train, p=cell.p, C=cell.C_best)
    return Result(
        accuracy_percent=accuracy_percent(model, data.X_test, data.y_test),
        C_best=cell.C_best,
        C_cv=C_cv,
        nsv_percent=model.nsv_percent,
        gap=model.gap,
        note=note,
    )


def fit_exact(X: Array, y: Labels, *, kernel: str, p: float, C: float) -> PSVC:
    """Train the p-norm machine to its certified optimum.

    Parameters
    ----------
    X, y : ndarray
        Training rows and labels.
    kernel : {"rbf", "exponential"}
        Kernel. Its width comes from ``2 sigma^2 = M Var[X]`` as the paper says: gamma is
        ``1 / (2 sigma^2)`` for "rbf" and ``1 / (sqrt(2) sigma)`` for "exponential".
    p : float
        Exponent of the hinge, >= 1.
    C : float
        Cost of slack, at p = 1 too.

    Returns
    -------
    PSVC
        The fitted classifier.
    """
    gamma = published_gamma(X) if kernel == "exponential" else published_gamma(X) ** 2
    model = PSVC(p=p, C=C, kernel=kernel, gamma=gamma, tol=SOLVED, n_jobs=1)
    model.fit(X, y)
    return model


def _exact(task: Task, data: Split) -> Result:
    """The true model, with C chosen for it by the paper's cross-validation."""
    kernel, p = task.kernel, task.p
    assert kernel is not None
    assert p is not None

    def fit(X: Array, y: Labels, C: float) -> PSVC:
        return fit_exact(X, y, kernel=kernel, p=p, C=C)

    C = choose_C(fit, data.X_train, data.y_train, GRID)
    model = fit(data.X_train, data.y_train, C)
    n_support = np.count_nonzero(np.abs(model.dual_coef_) > SUPPORT_THRESHOLD)
    return Result(
        accuracy_percent=accuracy_percent(model, data.X_test, data.y_test),
        C_best=C,
        C_cv=C,
        nsv_percent=100.0 * n_support / len(data.y_train),
        gap=float(model.dual_gap_[0]),
        note="soft margin; the published cell is a hard margin" if p == 1.0 else "",
    )


def _baseline_cell(task: Task) -> published.BaselineCell:
    """The published baseline that the task repeats."""
    return next(
        cell
        for cell in published.baselines()
        if (cell.dataset, cell.method) == (task.dataset, task.method)
    )


def _baseline(task: Task, data: Split) -> Result:
    """A baseline of today's scikit-learn."""
    found = baselines.run_baseline(task.method, data, runs=task.runs or baselines.RUNS)
    note, theirs = found.note, _baseline_cell(task).C_best
    if found.C_best != theirs:
        note += f"; the paper's was C = {theirs:g}"
    return Result(found.accuracy_percent, found.C_best, found.C_best, note=note)
