"""The model that a search ends with."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from psvm.search.explore import Explorer
from psvm.search.preparation import FinalRows
from psvm.search.task import Task


def refitted(task: Task, explorer: Explorer, final: FinalRows, y: Any, sample_weight: Any) -> Any:
    """The model of the chosen cell and all rows; behind its preprocessor, if there is one."""
    best = explorer.fit_chosen(task.model(), final.given, y, sample_weight)
    if final.preprocessor is None:
        return best
    return Pipeline([("preprocessor", final.preprocessor), (task.final_step, best)])
