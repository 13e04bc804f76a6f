"""A search as a problem: data checked, rows prepared, grid and splits made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from psvm.estimators import validation as check
from psvm.estimators.kernel_input import check_kernel_data
from psvm.estimators.labels import encode_labels, weights_for_all
from psvm.rows.given_rows import as_given
from psvm.search.folds import make_fold, read_splits
from psvm.search.models import model_of
from psvm.search.preparation import FinalRows, Preparation, check_raw_rows, prepare
from psvm.search.problem import SearchProblem
from psvm.search.routing import routed_in_fit, routed_to_preprocessor
from psvm.search.scoring import HeldOutScorer
from psvm.search.settings import SearchSettings


@dataclass(frozen=True)
class PosedSearch:
    """All that a search needs of its data.

    Attributes
    ----------
    seen : SeenFeatures
        The features of X.
    X, y
        Rows, checked unless they are a preprocessor's to check, and labels.
    final : FinalRows
        The rows of the final model.
    problem : SearchProblem
    scorer : HeldOutScorer
    model : PSVC or LinearPSVC
        Makes whole fits, for the numbers of the classes.
    """

    seen: check.SeenFeatures
    X: Any
    y: npt.NDArray[Any]
    final: FinalRows
    problem: SearchProblem
    scorer: HeldOutScorer
    model: Any


@contextmanager
def _hint_of_preprocessor() -> Iterator[None]:
    """A note on errors of texts and missing values: they are what a preprocessor is for."""
    try:
        yield
    except ValueError as error:
        if "X contains NaN" in str(error) or "could not convert string" in str(error):
            error.add_note(
                "PSVCCV(preprocessor=...) takes tables with texts and missing values: give it a "
                "ColumnTransformer with SimpleImputer, StandardScaler and OneHotEncoder, which is "
                "fitted to the training rows of every split."
            )
        raise


def pose(
    search: Any,
    settings: SearchSettings,
    X: Any,
    y: Any,
    sample_weight: Any,
    params: dict[str, Any],
    end: float,
    on_rows: Callable[[str], None],
) -> PosedSearch:
    """The problem of a PSVCCV and the data of its ``fit``.

    ``end`` is when ``max_time`` is over, by ``time.monotonic``; ``on_rows`` hears which rows the
    preprocessor begins with.
    """
    given = X
    if search.preprocessor is None:
        with _hint_of_preprocessor():
            seen, X, y = check_kernel_data(search, X, y)
        X = X.toarray() if search.kernel == "precomputed" and hasattr(X, "toarray") else X
    else:
        seen, X, y = check_raw_rows(search, X, y)
    weight = check.check_weights(sample_weight, y.size)
    labels = encode_labels(y, weight, search.class_weight, 1.0)
    preparation: Preparation | None = None
    final = FinalRows(None, given, X)
    if search.preprocessor is not None:
        metadata = routed_to_preprocessor(search, sample_weight, params)
        preparation = Preparation(search.preprocessor, X, y, metadata, model_of(search))
        on_rows("all rows")
        final = preparation.of_all_rows()
    grid = settings.grid.over(search.kernel, final.X, weight)
    weight = weights_for_all(y, weight, search.class_weight, grid.C)
    labels = encode_labels(y, weight, search.class_weight, 1.0)
    routed = routed_in_fit(search, settings.scorer, sample_weight, weight, params)
    coded = model_of(search, labels.classes)
    splits = settings.splitter(y).split(as_given(X), y, **routed.splitter)
    folds = [
        make_fold(number, train, test, coded.class_weight, labels.codes, weight)
        for number, (train, test) in enumerate(read_splits(splits, y.size))
    ]
    problem = SearchProblem(
        kernel=settings.kernel,
        prepared=prepare(preparation, final.X, folds, end, on_rows),
        codes=labels.codes,
        classes=labels.classes,
        weight=weight,
        grid=grid,
        folds=folds,
        multi_class=search.multi_class,
        fit_intercept=bool(search.fit_intercept),
    )
    accuracy = search.scoring is None or search.scoring == "accuracy"
    linear = search.kernel == "linear"  # LinearPSVC has one score per class
    scorer = HeldOutScorer(
        problem,
        None if accuracy else settings.scorer,
        X if problem.precomputed else given,
        y,
        routed.scorer,
        decision_function_shape="ovr" if linear else search.decision_function_shape,
        symmetric=search.class_weight is None,
    )
    return PosedSearch(seen, as_given(X), y, final, problem, scorer, coded)
