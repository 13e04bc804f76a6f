"""A search as a problem: data checked, rows prepared, grid and splits made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from psvm.estimators import validation as check
from psvm.estimators.kernel_input import check_kernel_data
from psvm.rows.given_rows import as_given
from psvm.search.folds import read_splits
from psvm.search.preparation import FinalRows, Preparation, check_raw_rows, prepare
from psvm.search.problem import SearchProblem
from psvm.search.routing import routed_in_fit, routed_to_preprocessor
from psvm.search.scoring import HeldOutScorer
from psvm.search.settings import SearchSettings
from psvm.search.task import Task


@dataclass(frozen=True)
class PosedSearch:
    """All that a search needs of its data.

    Attributes
    ----------
    seen : SeenFeatures
        The features of X.
    X, y
        Rows, checked unless they are a preprocessor's to check, and answers.
    final : FinalRows
        The rows of the final model.
    problem : SearchProblem
    scorer : HeldOutScorer
    model : estimator
        Makes whole fits, for the problem's ``answers``.
    spread : float
        The unit of y that default grids follow.
    """

    seen: check.SeenFeatures
    X: Any
    y: npt.NDArray[Any]
    final: FinalRows
    problem: SearchProblem
    scorer: HeldOutScorer
    model: Any
    spread: float


@contextmanager
def _hint_of_preprocessor(search: Any) -> Iterator[None]:
    """A note on errors of texts and missing values: they are what a preprocessor is for."""
    try:
        yield
    except ValueError as error:
        if "X contains NaN" in str(error) or "could not convert string" in str(error):
            error.add_note(
                f"{type(search).__name__}(preprocessor=...) takes tables with texts and missing "
                "values: give it a ColumnTransformer with SimpleImputer, StandardScaler and "
                "OneHotEncoder, which is fitted to the training rows of every split."
            )
        raise


def pose(
    search: Any,
    task: Task,
    settings: SearchSettings,
    X: Any,
    y: Any,
    sample_weight: Any,
    params: dict[str, Any],
    end: float,
    on_rows: Callable[[str], None],
) -> PosedSearch:
    """The problem of a search and the data of its ``fit``.

    ``end`` is when ``max_time`` is over, by ``time.monotonic``; ``on_rows`` hears which rows the
    preprocessor begins with.
    """
    task.refuse(y)
    given = X
    if search.preprocessor is None:
        with _hint_of_preprocessor(search):
            seen, X, y = check_kernel_data(search, X, y)
        X = X.toarray() if search.kernel == "precomputed" and hasattr(X, "toarray") else X
    else:
        seen, X, y = check_raw_rows(search, X, y)
    weight = check.check_weights(sample_weight, y.size)
    y = task.checked(y, weight)
    preparation: Preparation | None = None
    final = FinalRows(None, given, X)
    if search.preprocessor is not None:
        metadata = routed_to_preprocessor(search, sample_weight, params)
        preparation = Preparation(search.preprocessor, X, y, metadata, task.model())
        on_rows("all rows")
        final = preparation.of_all_rows()
    spread = task.spread(y, weight)
    grid = settings.grid.over(search.kernel, final.X, weight, spread)
    rows = task.encoded(y, weight, grid)
    routed = routed_in_fit(search, settings.scorer, sample_weight, rows.weight, params)
    splits = settings.splitter(y).split(as_given(X), y, **routed.splitter)
    folds = [
        rows.fold(number, train, test)
        for number, (train, test) in enumerate(read_splits(splits, y.size))
    ]
    problem = rows.problem(
        kernel=settings.kernel,
        prepared=prepare(preparation, final.X, folds, end, on_rows),
        grid=grid,
        folds=folds,
        fit_intercept=bool(search.fit_intercept),
    )
    seen_by_scorer = X if problem.precomputed else given
    scorer = rows.scorer(problem, settings.scorer, seen_by_scorer, y, routed.scorer)
    return PosedSearch(seen, as_given(X), y, final, problem, scorer, rows.model, spread)
