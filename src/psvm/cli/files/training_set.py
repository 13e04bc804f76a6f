"""Reading what a model is fitted to: features, labels, and what kind each column is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy.sparse as sp
import typer

from psvm.cli.errors import DataError, Problem, listed, not_there, refuse
from psvm.cli.files.kinds import Hints
from psvm.cli.files.labels import refuse_missing_labels
from psvm.cli.files.matrices import LibsvmFile, MatrixBlock
from psvm.cli.files.open_data import Matrix, ReadOptions, Table, open_data
from psvm.cli.files.readings import Readings
from psvm.cli.files.survey import Demands, survey_of
from psvm.cli.files.tables import TableBlock
from psvm.cli.files.targets import Context, Target, read_target
from psvm.cli.tasks import Task


@dataclass(frozen=True)
class Wanted:
    """What of a file is to be learned, and how."""

    target: str | None
    drop: Sequence[str] = ()
    impute: bool = False
    max_categories: int = 50
    dates: str | None = None
    as_text: Sequence[str] = ()
    as_number: Sequence[str] = ()
    task: Task = Task.auto


@dataclass(frozen=True)
class TrainingSet:
    """Rows and labels or numbers, ready for a pipeline.

    Parameters
    ----------
    X, y : matrix or DataFrame, and ndarray
        Features, and labels or numbers.
    numbers, texts : list of str
        Names of the columns of each kind.
    readings : dict
        How columns of the file that are neither plain numbers nor texts were read.
    max_categories : int or None
        Categories of a column, the rarest texts together as one of them.
    notes : list of str
        What a user should know about the reading, a line each.
    task : Task
        Classification or regression.
    why, told : str
        What the target looks like, if the task was found out by that, and the line that tells it;
        a doubtful choice is told by a warning instead.
    """

    X: Any
    y: npt.NDArray[Any]
    numbers: list[str]
    texts: list[str]
    readings: Readings = field(default_factory=dict)
    max_categories: int | None = None
    notes: list[str] = field(default_factory=list)
    task: Task = Task.classification
    why: str = ""
    told: str = ""

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
            return _read_table(data, options, wanted)
        return _read_matrix(data, wanted)


# --- tables --------------------------------------------------------------------------------------


def _read_table(data: Table, options: ReadOptions, wanted: Wanted) -> TrainingSet:
    _refuse_unknown_names(data, wanted)
    target = checked_target(data, wanted.target)
    features = [name for name in data.columns if name != target and name not in wanted.drop]
    if not features:
        raise DataError(data.name, f"there is no column beside the target {target!r}")
    blocks = list(data.blocks([*features, target]))
    table = pl.concat([block.frame for block in blocks])
    if table.height == 0:
        raise DataError(data.name, "there are names of columns, but no rows")
    place = partial(_place_in, blocks)
    hints = Hints(
        options.decimal, options.date_order, frozenset(wanted.as_text), frozenset(wanted.as_number)
    )
    demands = Demands(hints, wanted.impute, wanted.dates, wanted.max_categories)
    survey = survey_of(table.select(features), place, data.delimiter, demands)
    context = Context(data.name, place, hints, survey.decimal, data.delimiter)
    found = read_target(table.get_column(target), wanted.task, context)
    problems = [*found.problems, *survey.problems]
    names = [column.name for column in survey.columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        problems.append(Problem(f"parts of dates and columns are both called {listed(twice)}"))
    if not names and not problems:
        problems.append(Problem("no column is left to learn from"))
    refuse(data.name, problems)
    for doubt in (*found.doubts, *(f"{data.name}, {doubt}" for doubt in survey.doubts)):
        warnings.warn(doubt, stacklevel=2)
    own: Readings = {} if found.reading is None else {target: found.reading}
    return TrainingSet(
        pl.DataFrame(survey.columns),
        found.y,
        [name for name in names if name not in set(survey.texts)],
        survey.texts,
        readings=survey.readings | own,
        max_categories=wanted.max_categories,
        notes=[*found.notes, *(f"{data.name}: {note}" for note in survey.notes)],
        task=found.task,
        why=found.why,
        told=found.told,
    )


def _place_in(blocks: Sequence[TableBlock | MatrixBlock], row: int) -> str:
    """Where a row of the whole file is."""
    for block in blocks:
        rows = block.frame.height if isinstance(block, TableBlock) else block.X.shape[0]
        if row < rows:
            return block.place(row)
        row -= rows
    raise IndexError(row)


def _refuse_unknown_names(data: Table, wanted: Wanted) -> None:
    """Raise if options name columns that the file has not, all of them in one message."""
    given: dict[str, Sequence[str]]
    given = {"--drop": wanted.drop, "--text": wanted.as_text, "--number": wanted.as_number}
    if wanted.target is not None:
        given = {"--target": [wanted.target], **given}
    unknown = {
        option: missing
        for option, names in given.items()
        if (missing := [name for name in names if name not in data.columns])
    }
    if set(unknown) - {"--target"}:  # a target alone is the business of `checked_target`
        told = [
            f"{option}: {data.name} has no column {not_there(names, data.columns)}"
            for option, names in unknown.items()
        ]
        raise typer.BadParameter(f"{'; '.join(told)}; the columns are {listed(data.columns)}")


def checked_target(data: Table, target: str | None) -> str:
    """The target if it is a column; else an error with the columns there are."""
    if target in data.columns:
        return str(target)
    there = f"the columns are {listed(data.columns)}"
    if target is None:
        raise typer.BadParameter(f"say with --target which column has the labels; {there}")
    hint = " (if they are values of the first row, use --no-header)" if _numeric(data) else ""
    what = f"there is no column {not_there([target], data.columns)}"
    raise DataError(data.name, f"{what}; {there}{hint}")


def _numeric(data: Table) -> bool:
    """Whether the names of the columns are numbers, as when there are no names."""
    return pl.Series(data.columns).cast(pl.Float64, strict=False).is_not_null().all()


# --- matrices ------------------------------------------------------------------------------------


def _read_matrix(data: Matrix, wanted: Wanted) -> TrainingSet:
    by_name = {"--drop": wanted.drop, "--text": wanted.as_text, "--number": wanted.as_number}
    for option in [option for option, given in by_name.items() if given]:
        raise typer.BadParameter(f"{option}: {data.name} has no names of columns")
    if wanted.dates:
        raise typer.BadParameter(f"--dates: {data.name} holds numbers only")
    if isinstance(data, LibsvmFile) and wanted.target is not None:
        what = f"--target: every line of {data.name} begins with its label; leave --target out"
        raise typer.BadParameter(what)
    rows, labels = [], []
    column = wanted.target or "y"
    blocks = list(data.blocks())
    for block in blocks:
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
    found = read_target(values, wanted.task, Context(data.name, partial(_place_in, blocks)))
    refuse(data.name, found.problems)
    for doubt in found.doubts:
        warnings.warn(doubt, stacklevel=2)
    learned = partial(_without_texts, found)
    if data.feature_names is None or data.sparse:
        return learned(X, [])
    if len(data.feature_names) != X.shape[1]:
        what = f"{len(data.feature_names)} feature_names for {X.shape[1]} columns of X"
        raise DataError(data.name, what)
    frame = pl.DataFrame(X.astype(np.float64), schema=data.feature_names)
    return learned(frame, data.feature_names)


def _without_texts(target: Target, X: Any, numbers: list[str]) -> TrainingSet:
    """What a file of numbers only holds."""
    return TrainingSet(
        X,
        target.y,
        numbers,
        [],
        notes=target.notes,
        task=target.task,
        why=target.why,
        told=target.told,
    )


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
    more = int(wrong.sum()) - 1
    others = f" (and {more} more entries are missing or infinite)" if more else ""
    raise DataError(file, f"feature {feature + 1} is {kind}{others}", place=place(row))


def _stack(rows: list[Any]) -> Any:
    """Blocks of rows as one matrix; sparse blocks are as wide as their largest index."""
    if not sp.issparse(rows[0]):
        return rows[0] if len(rows) == 1 else np.concatenate(rows)
    width = max(block.shape[1] for block in rows)
    for block in rows:
        block.resize(block.shape[0], width)
    return sp.csr_matrix(sp.vstack(rows, format="csr"))
