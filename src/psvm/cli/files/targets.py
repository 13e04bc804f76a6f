"""What is to be learned: classes or numbers, found out from the values of the target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from psvm.cli.errors import DataError, Problem, refuse
from psvm.cli.files.columns import as_texts, examples, first_place, none_of, read_cells
from psvm.cli.files.kinds import Hints, Kind, kind_of, look_at
from psvm.cli.files.labels import training_labels
from psvm.cli.files.numbers import NumberFormat
from psvm.cli.tasks import Task

Place = Callable[[int], str]

# Different whole numbers up to which nobody asks; up to which they are classes if each is there
# twice in the mean; and from which they are surely amounts. By these, all of 71 tables with classes
# are taken for such, and of 22 tables with amounts all but two with marks (3 to 9, and 1 to 8).
_TWO, _FEW, _MANY = 2, 20, 50
# Whole classes beyond a few that are numbered without a gap, and have so many rows each.
_ROWS_OF_A_CLASS = 10
# Different fractions up to which they may be marks, and whole classes from which they may be.
_MARKS = 10


@dataclass(frozen=True)
class Target:
    """A target that was read.

    Parameters
    ----------
    task : Task
        Classification or regression.
    y : ndarray
        Labels, integers or texts, or numbers.
    why, told : str
        What the target looks like, and the line that tells it where that decided the task.
    reading : NumberFormat or None
        How its numbers are written.
    notes, doubts : list of str
        What a user should know, and choices that may be wrong.
    problems : list of Problem
        Why it cannot be used.
    """

    task: Task
    y: npt.NDArray[Any]
    why: str = ""
    told: str = ""
    reading: NumberFormat | None = None
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class Context:
    """What the file around a target tells: the decimal sign of its numbers, and its delimiter."""

    file: str
    place: Place
    hints: Hints = field(default_factory=Hints)
    sign: str | None = None
    delimiter: str = ""


def read_target(values: pl.Series, asked: Task, context: Context) -> Target:
    """Read a target, as what is asked for or as what it looks like.

    Parameters
    ----------
    values : Series
        All values.
    asked : Task
        ``auto`` finds out.
    context : Context
        What else is known of the file.

    Returns
    -------
    Target
    """
    if asked is Task.classification:
        return _classes(values, context)
    hints, name = context.hints, values.name
    if asked is Task.regression:  # then all cells are numbers, and what is none is a mistake
        hints = replace(
            hints, as_text=hints.as_text - {name}, as_number=hints.as_number | {str(name)}
        )
    kind = kind_of(values, look_at(values, hints), hints, context.sign, context.delimiter)
    if asked is Task.regression:
        return _numbers(values, kind, context)
    verdict = judge(values, kind)
    told = f"{verdict.task}: the target {name!r} {verdict.why}"
    if verdict.close:
        other = {Task.classification: "regression takes them for amounts"}.get(
            verdict.task, "classification takes them for classes"
        )
        told += f"; that is a close call, and --task {other}"
    if verdict.task is Task.classification:
        found = _classes(values, context)
    else:
        found = _numbers(values, kind, context)
    return replace(
        found,
        why=f"the target {verdict.why}",
        told="" if verdict.close else told,
        doubts=[*([told] if verdict.close else []), *found.doubts],
    )


# --- which task ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What a target looks like: the task, why, and whether it might as well be the other one."""

    task: Task
    why: str
    close: bool = False


def judge(values: pl.Series, kind: Kind) -> Verdict:
    """Classes or amounts.

    Texts, truth values and codes as 01 are classes, numbers with decimals amounts. Whole numbers
    are classes if there are two, or up to 20 of which each is there twice or more in the mean, or
    more that count from 0 or 1 without a gap and have ten rows each; else they are amounts.

    Parameters
    ----------
    values : Series
        All values of the target.
    kind : Kind
        How they would be read as a feature.

    Returns
    -------
    Verdict
    """
    if not isinstance(kind.format, NumberFormat):
        return Verdict(Task.classification, "holds dates" if kind.format else "holds texts")
    if kind.problem is not None:  # numbers, but of which sign for the decimals?
        return Verdict(Task.regression, "holds numbers")
    codes = _codes(values)
    if len(codes):
        return Verdict(Task.classification, f"holds codes as {codes[0]!r}")
    numbers = read_cells(values, kind.format).values.drop_nulls()
    rows = len(numbers)
    counts = numbers.alias("number").value_counts().sort("number")
    different, least = counts.height, min(counts.get_column("count").to_list(), default=0)
    there = counts.get_column("number")
    whole = bool((there == there.round()).all())
    kinds = "whole number" if whole else "number"
    why = f"has {different:,} different {kinds}{'' if different == 1 else 's'} in {rows:,} rows"
    if not whole:
        return Verdict(Task.regression, why, close=different <= _MARKS)
    if different <= _TWO:
        return Verdict(Task.classification, why)
    numbered = there[0] in (0, 1) and there[-1] - there[0] == different - 1
    if different <= _FEW and 2 * different <= rows:
        return Verdict(Task.classification, why, close=different > _MARKS and not numbered)
    if different > _FEW and numbered and least >= _ROWS_OF_A_CLASS:
        return Verdict(Task.classification, why, close=True)
    return Verdict(Task.regression, why, close=different <= _MANY)


def _codes(values: pl.Series) -> pl.Series:
    """Numbers that begin with a zero, as only names do."""
    if values.dtype != pl.String:
        return pl.Series([], dtype=pl.String)
    texts = as_texts(values)
    return texts.filter(texts.str.contains(r"^[-+]?0\d+$").fill_null(False))


# --- classes -------------------------------------------------------------------------------------


def _classes(values: pl.Series, context: Context) -> Target:
    missing = as_texts(values).is_null()
    problems, y = _missing(missing, "label", values, context), np.empty(0)
    if not missing.all():
        try:
            y = training_labels(values.filter(~missing), context.file, values.name)
            _refuse_one_class(y, context.file, values.name)
        except DataError as error:
            problems.append(error.problem)
    return Target(Task.classification, y, problems=problems)


def _refuse_one_class(y: npt.NDArray[Any], file: str, column: str) -> None:
    classes = np.unique(y)
    if classes.size < 2:
        what = f"all labels are {classes[0].item()!r}: two classes are needed"
        raise DataError(file, what, column=column)


def _missing(missing: pl.Series, what: str, values: pl.Series, context: Context) -> list[Problem]:
    count = int(missing.sum())
    if not count:
        return []
    number = f"the {what} is" if count == 1 else f"{count} of {len(values)} {what}s are"
    where = first_place(missing, context.place)
    advice = "fill it in, or remove the row"
    return [Problem(f"{number} missing", advice, where, values.name)]


# --- numbers -------------------------------------------------------------------------------------


def _numbers(values: pl.Series, kind: Kind, context: Context) -> Target:
    format = kind.format if isinstance(kind.format, NumberFormat) else NumberFormat()
    cells, name = read_cells(values, format), values.name
    problems = [] if kind.problem is None else [kind.problem]
    problems += _missing(cells.missing, "target", values, context)
    if kind.problem is None and cells.wrong.any():
        count = int(cells.wrong.sum())
        what = f"{none_of(count, len(values), 'number')} ({examples(values, cells.wrong)})"
        advice = "correct them, or say --task classification to take all values for classes"
        problems.append(Problem(what, advice, first_place(cells.wrong, context.place), name))
    infinite = cells.values.is_infinite().fill_null(False)
    if infinite.any():
        what = "the target is infinite"
        advice = "remove the row, or bound it"
        problems.append(Problem(what, advice, first_place(infinite, context.place), name))
    y = cells.values.drop_nulls().to_numpy().astype(np.float64)
    if not problems and y.min() == y.max():
        what = f"all targets are {y[0]:g}: there is nothing to learn"
        problems.append(Problem(what, column=name))
    return Target(
        Task.regression,
        y,
        reading=None if format.plain else format,
        notes=[f"the target {name!r}: {kind.note}"] if kind.note else [],
        doubts=[f"the target {name!r}: {kind.doubt}"] if kind.doubt else [],
        problems=problems,
    )


def known_numbers(
    values: pl.Series, format: NumberFormat, place: Place, file: str
) -> npt.NDArray[np.float64]:
    """Targets of rows to evaluate with, read as those of the fit; an error names what is none."""
    cells, name = read_cells(values, format), values.name
    context = Context(file, place)
    problems = _missing(cells.missing, "target", values, context)
    if cells.wrong.any():
        how = "" if format.plain else f" ({format.described()})"
        what = f"the model expects a number{how}, not {examples(values, cells.wrong)}"
        advice = "correct it, or say --decimal if this file writes numbers in another way"
        problems.append(Problem(what, advice, first_place(cells.wrong, place), name))
    infinite = cells.values.is_infinite().fill_null(False)
    if infinite.any():
        where = first_place(infinite, place)
        problems.append(Problem("the target is infinite", "remove the row", where, name))
    refuse(file, problems)
    return cells.values.to_numpy().astype(np.float64)
