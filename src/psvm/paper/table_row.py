"""One row of Table 1 or Table 2: what is asked for, what was found, and both beside the paper."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psvm.paper.recipe import Split

COLUMNS: tuple[str, ...] = (
    "dataset",
    "method",
    "variant",
    "kernel",
    "p",
    "C_best",
    "nsv_percent",
    "accuracy_percent",
    "published_accuracy_percent",
    "published_nsv_percent",
    "accuracy_difference",
    "nsv_difference",
    "n_train",
    "n_test",
    "C_cv",
    "gap",
    "seconds",
    "note",
)
"""Columns of a row of either table.

``C_best`` is the C of the model whose accuracy stands in the row, ``C_cv`` the one that
cross-validation on the training part picks here. Differences are ours minus the paper's, in points.
``nsv_percent`` counts the training rows with alpha above the paper's threshold, in either variant.
``gap`` is the certified relative duality gap, the largest where there are several binary problems.
"""


@dataclass(frozen=True)
class Task:
    """One row of a table, before it is computed.

    Attributes
    ----------
    dataset : str
        A set of the paper.
    method : str
        "pSVM" or a baseline; in Table 2 "1.5L", "2L" or a rival.
    variant : {"published", "exact", "rerun"}
        Whose rules are followed; "rerun" for all that is not a p-norm machine.
    kernel : str or None
        Kernel of a p-norm machine.
    p : float or None
        Exponent of a p-norm machine.
    runs : int or None
        Number of runs averaged, where there are several.
    """

    dataset: str
    method: str
    variant: str
    kernel: str | None = None
    p: float | None = None
    runs: int | None = None

    @property
    def key(self) -> str:
        """A name for the row, unique within its table and the same from run to run."""
        parts = [self.dataset, self.method, self.variant]
        parts += [] if self.kernel is None else [self.kernel]
        parts += [] if self.p is None else [f"p{self.p:.6g}"]
        parts += [] if self.runs is None else [f"runs{self.runs}"]
        return "-".join(parts)


@dataclass(frozen=True)
class Result:
    """What a task found: the part of its row that is neither its name nor published.

    Attributes
    ----------
    accuracy_percent : float
        Accuracy on the test part.
    C_best, C_cv : float or None
        The C of the model, and the C that cross-validation picks.
    nsv_percent : float or None
        Support vectors in percent of the training rows.
    gap : float or None
        Certified relative duality gap.
    note : str
        What a reader of the row must know.
    """

    accuracy_percent: float
    C_best: float | None = None
    C_cv: float | None = None
    nsv_percent: float | None = None
    gap: float | None = None
    note: str = ""


def compute_row(
    task: Task,
    variants: Mapping[str, Callable[[Task, Split], Result]],
    published_accuracy_percent: float | None,
    published_nsv_percent: float | None = None,
) -> dict[str, object]:
    """Split the data, compute the task by its variant, and take the time.

    Parameters
    ----------
    task : Task
        What to compute.
    variants : mapping of str to callable
        By variant, ``compute(task, data)``.
    published_accuracy_percent, published_nsv_percent : float or None
        The paper's figures, where it has any.

    Returns
    -------
    dict
        By :data:`COLUMNS`.
    """
    # Here and not above: who only names tasks and columns need not wait for scikit-learn.
    from psvm.paper.recipe import split

    started = time.perf_counter()
    data = split(task.dataset)
    result = variants[task.variant](task, data)
    seconds = time.perf_counter() - started
    return make_row(task, result, data, seconds, published_accuracy_percent, published_nsv_percent)


def make_row(
    task: Task,
    result: Result,
    data: Split,
    seconds: float,
    published_accuracy_percent: float | None,
    published_nsv_percent: float | None = None,
) -> dict[str, object]:
    """A row of either table, with the published figures and the differences from them.

    Parameters
    ----------
    task, published_accuracy_percent, published_nsv_percent
        As for :func:`compute_row`.
    result : Result
        What was found.
    data : Split
        The data it was computed on.
    seconds : float
        The time it took, the choice of C included.

    Returns
    -------
    dict
        By :data:`COLUMNS`.
    """
    values: tuple[object, ...] = (
        task.dataset,
        task.method,
        task.variant,
        task.kernel,
        task.p,
        result.C_best,
        result.nsv_percent,
        result.accuracy_percent,
        published_accuracy_percent,
        published_nsv_percent,
        _difference(result.accuracy_percent, published_accuracy_percent),
        _difference(result.nsv_percent, published_nsv_percent),
        len(data.y_train),
        len(data.y_test),
        result.C_cv,
        result.gap,
        seconds,
        result.note,
    )
    return dict(zip(COLUMNS, values, strict=True))


def _difference(ours: float | None, theirs: float | None) -> float | None:
    return None if ours is None or theirs is None else ours - theirs
