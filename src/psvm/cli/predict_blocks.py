"""Rows of a file through a model, a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import typer

from psvm.cli.errors import DataError, listed, not_there
from psvm.cli.files.columnar import ColumnarFile
from psvm.cli.files.labels import known_labels
from psvm.cli.files.numbers import PLAIN, NumberFormat
from psvm.cli.files.open_data import Matrix, ReadOptions, Table, open_data
from psvm.cli.files.targets import known_numbers
from psvm.cli.files.training_set import checked_target, labels_of_block
from psvm.cli.fitted_model import Model
from psvm.cli.model_rows import RowReader, as_told
from psvm.cli.regression import regression_scores_of
from psvm.cli.scores import scores_of
from psvm.persistence import info as header_of

Array = npt.NDArray[Any]

# Rows that are predicted at once: progress is to be seen while a block of the file takes minutes.
_AT_ONCE = 10_000
# Bytes from which the number of lines of a file is judged.
_HEAD = 1 << 16


def predictions(
    model_path: Path,
    path: Path,
    options: ReadOptions,
    *,
    proba: bool,
    decision: bool,
    ids: Sequence[str] = (),
) -> Iterator[pl.DataFrame]:
    """Predictions of a file's rows, in order: labels, or numbers.

    Parameters
    ----------
    model_path, path : Path
        The model and the data.
    options : ReadOptions
        What to assume about text files.
    proba, decision : bool
        Whether to add columns with probabilities and decision values.
    ids : sequence of str
        Columns of the file that come first, as they are.

    Yields
    ------
    DataFrame
        Columns ``prediction``, ``decision`` (with three or more classes, one ``decision_<class>``
        each) and ``proba_<class>``. At least one, even if it has no rows.
    """
    model = Model.load(model_path)
    if model.regression and (proba or decision):
        option = "--proba" if proba else "--decision"
        raise typer.BadParameter(
            f"{option} is for classification, and {model_path} predicts numbers: leave it out"
        )
    if proba and not hasattr(model.estimator, "predict_proba"):
        what = "the model knows no probabilities: make it by fit --proba, or use --decision"
        raise typer.BadParameter(f"--proba: {model_path}: {what}")
    for X, _, carried in _rows(model, path, options, target=None, labelled=False, ids=ids):
        for start in range(0, max(1, X.shape[0]), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            frame = _predicted(model, X[part], proba=proba, decision=decision)
            yield frame if carried is None else _beside(carried[part], frame, path)


def rows_in(path: Path, options: ReadOptions) -> int | None:
    """How many rows a file has, if that can be known at once: of text files about."""
    if str(path) == "-" or not path.is_file():
        return None
    with open_data(path, options) as data:
        if isinstance(data, ColumnarFile):
            return data.rows
    with path.open("rb") as file:
        head = file.read(_HEAD)
    lines = head.count(b"\n")
    if lines < 2 or b"\0" in head:
        return None
    return max(1, round(path.stat().st_size / len(head) * lines))


def _beside(carried: pl.DataFrame, frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    if both := [name for name in carried.columns if name in frame.columns]:
        raise DataError(str(path), f"--id {both[0]}: a column of the output has this name")
    return pl.concat([carried, frame], how="horizontal")


def evaluation(
    model_path: Path, path: Path, options: ReadOptions, target: str | None
) -> dict[str, Any]:
    """Scores of a model on a file with labels or numbers.

    See :func:`psvm.cli.scores.scores_of` and :func:`psvm.cli.regression.regression_scores_of`.
    The model knows the target that it was fitted to, unless another one is given.
    """
    model = Model.load(model_path)
    known = header_of(model_path)["model"].get("target")
    if known in model.readings and target is not None:  # another column is written alike
        model.readings.setdefault(target, model.readings[known])
    target = known if target is None else target
    y, predicted, decision = [], [], []
    for X, labels, _ in _rows(model, path, options, target, labelled=True):
        if len(labels):
            y.append(labels)
            predicted.append(model.estimator.predict(X))
            if not model.regression:
                decision.append(model.decision(X))
    if not y:
        raise DataError(str(path), "there are no rows")
    truth, found = np.concatenate(y), np.concatenate(predicted)
    if found.ndim == 2 and model.regression:
        raise typer.BadParameter(
            f"{model_path} predicts several numbers for a row, and there are scores for one only"
        )
    if model.regression:
        quantile = float(getattr(model.innermost, "quantile", 0.5))
        return {"task": "regression", **regression_scores_of(truth, found, quantile)}
    return scores_of(truth, found, np.concatenate(decision), model.classes)


def _rows(
    model: Model,
    path: Path,
    options: ReadOptions,
    target: str | None,
    *,
    labelled: bool,
    ids: Sequence[str] = (),
) -> Iterator[tuple[Any, Array, pl.DataFrame | None]]:
    """Features and, if asked for, labels, as the model takes and knows them, and other columns."""
    with open_data(path, options, target) as data:
        if isinstance(data, Table):
            yield from _table_rows(model, data, options, target, labelled=labelled, ids=ids)
            return
        if ids:
            raise typer.BadParameter(f"--id: {data.name} is no table, it has no columns with names")
        for X, labels in _matrix_rows(model, data, options, target, labelled=labelled):
            yield X, labels, None


def _table_rows(
    model: Model,
    data: Table,
    options: ReadOptions,
    target: str | None,
    *,
    labelled: bool,
    ids: Sequence[str],
) -> Iterator[tuple[Any, Array, pl.DataFrame | None]]:
    labels: Array = np.empty(0)
    column = checked_target(data, target) if labelled else ""
    if unknown_ids := [name for name in ids if name not in data.columns]:
        what = f"--id: there is no column {not_there(unknown_ids, data.columns)}; the columns are"
        raise DataError(data.name, f"{what} {listed(data.columns)}")
    columns = model.columns_in(data, column or None)
    wanted = dict.fromkeys([*columns, *ids, *([column] if labelled else [])])
    reader = RowReader(model, columns, data.name, options)
    for block in data.blocks(list(wanted)):
        X = reader.rows(block)
        if labelled:
            values = block.frame.get_column(column)
            labels = _known(model, values, block.place, data.name, options)
        yield X, labels, block.frame.select(ids) if ids else None
    reader.warn()


def _matrix_rows(
    model: Model, data: Matrix, options: ReadOptions, target: str | None, *, labelled: bool
) -> Iterator[tuple[Any, Array]]:
    labels: Array = np.empty(0)
    model.check_matrix(data)
    column = target or "y"
    for block in data.blocks():
        X = model.matrix_rows(block, data)
        if labelled:
            values = labels_of_block(block, data.name, column)
            labels = _known(model, values, block.place, data.name, options)
        yield X, labels


def _known(
    model: Model, values: pl.Series, place: Callable[[int], str], file: str, options: ReadOptions
) -> Array:
    """Labels as those of the model, or numbers as its target was read."""
    if not model.regression:
        return known_labels(values, model.classes, place, file, values.name)
    format = as_told(model.readings.get(values.name, PLAIN), options)
    return known_numbers(values, format if isinstance(format, NumberFormat) else PLAIN, place, file)


def _predicted(model: Model, X: Any, *, proba: bool, decision: bool) -> pl.DataFrame:
    names = [str(one) for one in model.classes.tolist()]
    empty = X.shape[0] == 0
    if model.regression:
        quantiles = getattr(model.innermost, "quantiles_", None)
        names = [] if quantiles is None else [f"{one:g}" for one in quantiles]
        shape = (0, len(names)) if names else (0,)
        numbers = np.empty(shape) if empty else np.asarray(model.estimator.predict(X))
        if numbers.ndim == 2:  # several quantiles, or several targets
            return pl.DataFrame(_by_name("prediction", names, numbers))
        return pl.DataFrame({"prediction": pl.Series(numbers, dtype=pl.Float64)})
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
