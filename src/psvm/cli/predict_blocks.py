"""Rows of a file through a model, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import typer

from psvm.cli.errors import DataError
from psvm.cli.files.labels import known_labels
from psvm.cli.files.open_data import Matrix, ReadOptions, Table, open_data
from psvm.cli.files.training_set import checked_target, labels_of_block
from psvm.cli.fitted_model import Model
from psvm.cli.model_rows import RowReader
from psvm.cli.scores import scores_of

Array = npt.NDArray[Any]


def predictions(
    model_path: Path, path: Path, options: ReadOptions, *, proba: bool, decision: bool
) -> Iterator[pl.DataFrame]:
    """Predictions of a file's rows, in order.

    Parameters
    ----------
    model_path, path : Path
        The model and the data.
    options : ReadOptions
        What to assume about text files.
    proba, decision : bool
        Whether to add columns with probabilities and decision values.

    Yields
    ------
    DataFrame
        Columns ``prediction``, ``decision`` (with three or more classes, one ``decision_<class>``
        each) and ``proba_<class>``. At least one, even if it has no rows.
    """
    model = Model.load(model_path)
    if proba and not hasattr(model.estimator, "predict_proba"):
        what = "the model knows no probabilities: make it by fit --proba, or use --decision"
        raise typer.BadParameter(f"--proba: {model_path}: {what}")
    for X, _ in _rows(model, path, options, target=None, labelled=False):
        yield _predicted(model, X, proba=proba, decision=decision)


def evaluation(
    model_path: Path, path: Path, options: ReadOptions, target: str | None
) -> dict[str, Any]:
    """Scores of a model on a file with labels; see :func:`psvm.cli.scores.scores_of`."""
    model = Model.load(model_path)
    y, predicted, decision = [], [], []
    for X, labels in _rows(model, path, options, target, labelled=True):
        if len(labels):
            y.append(labels)
            predicted.append(model.estimator.predict(X))
            decision.append(model.decision(X))
    if not y:
        raise DataError(str(path), "there are no rows")
    return scores_of(
        np.concatenate(y), np.concatenate(predicted), np.concatenate(decision), model.classes
    )


def _rows(
    model: Model, path: Path, options: ReadOptions, target: str | None, *, labelled: bool
) -> Iterator[tuple[Any, Array]]:
    """Features and, if asked for, labels, as the model takes and knows them."""
    with open_data(path, options, target) as data:
        if isinstance(data, Table):
            yield from _table_rows(model, data, options, target, labelled=labelled)
        else:
            yield from _matrix_rows(model, data, target, labelled=labelled)


def _table_rows(
    model: Model, data: Table, options: ReadOptions, target: str | None, *, labelled: bool
) -> Iterator[tuple[Any, Array]]:
    labels: Array = np.empty(0)
    column = checked_target(data, target) if labelled else ""
    columns = model.columns_in(data, column or None)
    reader = RowReader(model, columns, data.name, options)
    for block in data.blocks([*columns, column] if labelled else columns):
        X = reader.rows(block)
        if labelled:
            values = block.frame.get_column(column)
            labels = known_labels(values, model.classes, block.place, data.name, column)
        yield X, labels
    reader.warn()


def _matrix_rows(
    model: Model, data: Matrix, target: str | None, *, labelled: bool
) -> Iterator[tuple[Any, Array]]:
    labels: Array = np.empty(0)
    model.check_matrix(data)
    column = target or "y"
    for block in data.blocks():
        X = model.matrix_rows(block, data)
        if labelled:
            values = labels_of_block(block, data.name, column)
            labels = known_labels(values, model.classes, block.place, data.name, column)
        yield X, labels


def _predicted(model: Model, X: Any, *, proba: bool, decision: bool) -> pl.DataFrame:
    names = [str(one) for one in model.classes.tolist()]
    empty = X.shape[0] == 0
    labels = model.classes[:0] if empty else model.estimator.predict(X)
    columns = {"prediction": pl.Series(labels.tolist(), dtype=_dtype(model.classes))}
    if decision:
        values = np.empty((0, len(names))) if empty else np.asarray(model.decision(X))
        if values.ndim == 1 or len(names) == 2:
            columns["decision"] = pl.Series(values.reshape(len(labels), -1)[:, 0])
        else:
            columns |= _by_name("decision", names, values)
    if proba:
        values = np.empty((0, len(names))) if empty else model.estimator.predict_proba(X)
        columns |= _by_name("proba", names, values)
    return pl.DataFrame(columns)


def _by_name(what: str, names: list[str], values: Array) -> dict[str, pl.Series]:
    if values.shape[1] != len(names):  # one per pair of classes
        names = [str(number) for number in range(1, values.shape[1] + 1)]
    return {f"{what}_{name}": pl.Series(values[:, i]) for i, name in enumerate(names)}


def _dtype(classes: Array) -> Any:
    kinds = {"i": pl.Int64, "u": pl.Int64, "f": pl.Float64, "b": pl.Boolean}
    return kinds.get(classes.dtype.kind, pl.String)
