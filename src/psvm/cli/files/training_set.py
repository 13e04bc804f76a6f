"""Reading what a model is fitted to: features, labels, and what kind each column is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy.sparse as sp
import typer

from psvm.cli.errors import DataError, listed
from psvm.cli.files.columns import ColumnSurvey, as_numbers, as_texts, refuse_unusable
from psvm.cli.files.labels import refuse_missing_labels, training_labels
from psvm.cli.files.matrices import LibsvmFile, MatrixBlock
from psvm.cli.files.open_data import Matrix, ReadOptions, Table, open_data


@dataclass(frozen=True)
class Wanted:
    """What of a file is to be learned, and how."""

    target: str | None
    drop: Sequence[str] = ()
    impute: bool = False
    max_categories: int = 50


@dataclass(frozen=True)
class TrainingSet:
    """Rows and labels, ready for a pipeline."""

    X: Any
    y: npt.NDArray[Any]
    numbers: list[str]
    texts: list[str]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def sparse(self) -> bool:
        """Whether most values are zero and not stored."""
        return bool(sp.issparse(self.X))


def read_training(path: Path, options: ReadOptions, wanted: Wanted) -> TrainingSet:
    """Read a whole file to fit a model to.

    Parameters
    ----------
    path : Path
        The file; ``-`` is standard input.
    options : ReadOptions
        What to assume about text files.
    wanted : Wanted
        The target, columns to leave out, and what to do with missing values and texts.

    Returns
    -------
    TrainingSet
        Without missing values unless they are to be imputed, and without infinities.
    """
    with open_data(path, options, wanted.target) as data:
        if isinstance(data, Table):
            return _read_table(data, wanted)
        return _read_matrix(data, wanted)


# --- tables --------------------------------------------------------------------------------------


def _read_table(data: Table, wanted: Wanted) -> TrainingSet:
    target = checked_target(data, wanted.target)
    if unknown := [name for name in wanted.drop if name not in data.columns]:
        raise typer.BadParameter(f"--drop: {data.name} has no column {listed(unknown)}")
    features = [name for name in data.columns if name != target and name not in wanted.drop]
    if not features:
        raise DataError(data.name, f"there is no column beside the target {target!r}")
    surveys = {name: ColumnSurvey(data.name, name) for name in features}
    frames = []
    for block in data.blocks([*features, target]):
        refuse_missing_labels(block.frame.get_column(target), block.place, data.name, target)
        for survey in surveys.values():
            survey.add(block)
        frames.append(block.frame)
    table = pl.concat(frames)
    if table.height == 0:
        raise DataError(data.name, "there are names of columns, but no rows")
    for survey in surveys.values():
        _refuse_column(survey, table, wanted)
    numbers = [name for name, survey in surveys.items() if survey.text is None]
    texts = [name for name in features if name not in numbers]
    columns = [
        as_texts(table.get_column(name))
        if name in texts
        else as_numbers(table.get_column(name)).fill_null(float("nan"))
        for name in features
    ]
    y = training_labels(table.get_column(target), data.name, target)
    _refuse_one_class(y, data.name, target)
    return TrainingSet(pl.DataFrame(columns), y, numbers, texts)


def checked_target(data: Table, target: str | None) -> str:
    """The target if it is a column; else an error with the columns there are."""
    if target in data.columns:
        return str(target)
    there = f"the columns are {listed(data.columns)}"
    if target is None:
        raise typer.BadParameter(f"say with --target which column has the labels; {there}")
    hint = " (if they are values of the first row, use --no-header)" if _numeric(data) else ""
    raise DataError(data.name, f"there is no column {target!r}; {there}{hint}")


def _numeric(data: Table) -> bool:
    """Whether the names of the columns are numbers, as when there are no names."""
    return pl.Series(data.columns).cast(pl.Float64, strict=False).is_not_null().all()


def _refuse_column(survey: ColumnSurvey, table: pl.DataFrame, wanted: Wanted) -> None:
    """Raise if no feature can be made of a column."""
    drop = f"--drop {survey.name}"
    if survey.text is None and not survey.some_number:
        raise survey.error(f"all values are missing: leave the column out ({drop})")
    if survey.missing is not None and not wanted.impute:
        what = f"the value is missing: use --impute, leave the column out ({drop}), or fill it in"
        raise survey.error(what, survey.missing)
    refuse_unusable(survey, may_miss=True)
    if survey.text is not None:
        different = table.get_column(survey.name).n_unique()
        if different > wanted.max_categories:
            place, text = survey.text
            what = (
                f"{text!r} is no number, and {different} different texts are too many for "
                f"categories: correct it, leave the column out ({drop}), or raise --max-categories"
            )
            raise survey.error(what, place)


# --- matrices ------------------------------------------------------------------------------------


def _read_matrix(data: Matrix, wanted: Wanted) -> TrainingSet:
    if wanted.drop:
        raise typer.BadParameter(f"--drop: {data.name} has no names of columns")
    if isinstance(data, LibsvmFile) and wanted.target is not None:
        what = f"--target: every line of {data.name} begins with its label; leave --target out"
        raise typer.BadParameter(what)
    rows, labels = [], []
    column = wanted.target or "y"
    for block in data.blocks():
        values = labels_of_block(block, data.name, column)
        refuse_missing_labels(values, block.place, data.name, column)
        refuse_entries(block.X, block.place, data.name, may_miss=wanted.impute)
        rows.append(block.X)
        labels.append(values)
    X, values = _stack(rows), pl.concat(labels)
    if X.shape[0] == 0:
        raise DataError(data.name, "there are no rows")
    if X.shape[0] != len(values):
        raise DataError(data.name, f"{X.shape[0]} rows in X, but {len(values)} labels")
    y = training_labels(values, data.name, column)
    _refuse_one_class(y, data.name, column)
    if data.feature_names is None or data.sparse:
        return TrainingSet(X, y, [], [])
    if len(data.feature_names) != X.shape[1]:
        what = f"{len(data.feature_names)} feature_names for {X.shape[1]} columns of X"
        raise DataError(data.name, what)
    frame = pl.DataFrame(X.astype(np.float64), schema=data.feature_names)
    return TrainingSet(frame, y, data.feature_names, [])


def labels_of_block(block: MatrixBlock, file: str, column: str) -> pl.Series:
    """The labels of some rows; an error if the file has none."""
    if block.y is None:
        raise DataError(file, f"there is no array {column!r} with the labels; name it by --target")
    y = np.asarray(block.y)
    if y.ndim != 1:
        raise DataError(file, f"the labels {column!r} must be a vector, they are {y.shape}")
    return pl.Series(column, y.tolist() if y.dtype.kind in "US" else y)


def refuse_entries(X: Any, place: Callable[[int], str], file: str, *, may_miss: bool) -> None:
    """Raise if an entry is infinite, or missing and nobody fills it."""
    values = X.data if sp.issparse(X) else X
    if np.isfinite(values.sum(dtype=np.float64)):
        return
    wrong = ~np.isfinite(values) if not may_miss else np.isinf(values)
    if not wrong.any():
        return
    if sp.issparse(X):
        entry = int(np.argmax(wrong))
        row, feature = int(np.searchsorted(X.indptr, entry, "right")) - 1, int(X.indices[entry])
    else:
        row, feature = (int(part) for part in np.argwhere(wrong)[0])
    missing = np.isnan(X[row, feature])
    kind = "missing: use --impute, or fill it in" if missing else "infinite"
    raise DataError(file, f"feature {feature + 1} is {kind}", place=place(row))


def _stack(rows: list[Any]) -> Any:
    """Blocks of rows as one matrix; sparse blocks are as wide as their largest index."""
    if not sp.issparse(rows[0]):
        return rows[0] if len(rows) == 1 else np.concatenate(rows)
    width = max(block.shape[1] for block in rows)
    for block in rows:
        block.resize(block.shape[0], width)
    return sp.csr_matrix(sp.vstack(rows, format="csr"))


def _refuse_one_class(y: npt.NDArray[Any], file: str, column: str) -> None:
    classes = np.unique(y)
    if classes.size < 2:
        what = f"all labels are {classes[0].item()!r}: two classes are needed"
        raise DataError(file, what, column=column)
