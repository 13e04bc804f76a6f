"""All columns of a table: how each is read, what is wrong with it, and what a user should know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from psvm.cli.errors import COLUMN, Problem, listed
from psvm.cli.files.columns import Cells, as_texts, examples, first_place, none_of, read_cells
from psvm.cli.files.dates import DateFormat, varying
from psvm.cli.files.kinds import Hints, Kind, decimal_of, kind_of, look_at
from psvm.cli.files.numbers import NumberFormat
from psvm.cli.files.readings import Readings

Place = Callable[[int], str]
_FILL = f"use --impute, leave the column out (--drop {COLUMN}), or fill it in"
_LEAVE_OUT = f"leave the column out (--drop {COLUMN})"
_EMPTY = "all values are missing"
_CORRECT = (
    f"correct them, use --impute to take them for missing, or --text {COLUMN} to take all cells "
    "for categories"
)
# As a share of the rows: more different texts than this are names, of which each is new.
_NAMES = 0.5


@dataclass(frozen=True)
class Demands:
    """What is to be made of columns that are no plain numbers.

    Parameters
    ----------
    hints : Hints
        What the user says about the cells.
    impute : bool
        Whether missing values may be.
    dates : str or None
        Whether dates are to ``"expand"`` or to ``"drop"``.
    max_categories : int
        Different texts, above which rare ones become one category.
    """

    hints: Hints
    impute: bool
    dates: str | None
    max_categories: int


@dataclass
class Survey:
    """What came out.

    Parameters
    ----------
    columns : list of Series
        Features, texts or float64 with NaN where missing.
    texts : list of str
        Names of those that are texts.
    readings : dict
        Formats of columns of the file that are not plain.
    problems : list of Problem
        Why it cannot be used.
    doubts, notes : list of str
        Choices between two readings, and what else is good to know.
    decimal : str or None
        The decimal sign of all columns that have one.
    """

    columns: list[pl.Series] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    readings: Readings = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    decimal: str | None = None


def survey_of(table: pl.DataFrame, place: Place, delimiter: str, demands: Demands) -> Survey:
    """Read all columns of a table of features.

    Parameters
    ----------
    table : DataFrame
        All rows.
    place : callable
        Where a row is in the file.
    delimiter : str
        What separates the fields of the file; empty if nothing does.
    demands : Demands
        What is to be made of the columns.

    Returns
    -------
    Survey
    """
    looks = {column.name: look_at(column, demands.hints) for column in table}
    sign = decimal_of([look for look in looks.values() if look is not None])
    surveyor = _Surveyor(Survey(decimal=sign), place, demands)
    for column in table:
        look = looks.pop(column.name)
        surveyor.add(column, kind_of(column, look, demands.hints, sign, delimiter))
    return surveyor.finish()


class _Surveyor:
    """Goes from column to column, and tells together what several have in common."""

    def __init__(self, survey: Survey, place: Place, demands: Demands) -> None:
        self._survey, self._place, self._demands = survey, place, demands
        self._alike: dict[str, list[str]] = {}  # columns by note
        self._filled: list[str] = []
        self._dropped: list[str] = []
        self._constant: list[str] = []

    def add(self, column: pl.Series, kind: Kind) -> None:
        """One more column."""
        dates = isinstance(kind.format, DateFormat)
        if dates and self._demands.dates == "drop":
            self._dropped.append(column.name)
        elif kind.problem is not None:
            self._survey.problems.append(kind.problem)
        elif dates and self._demands.dates is None:
            what = kind.note or "dates"
            advice = "say --dates expand (to days, months, weekdays, hours) or --dates drop"
            self._problem(column, what, f"{advice}; --text {COLUMN} takes them for categories")
        elif kind.format is None:
            self._add_texts(column, kind)
        else:
            self._add_values(column, kind, kind.format)

    def _problem(self, column: pl.Series, what: str, advice: str, where: str = "") -> None:
        self._survey.problems.append(Problem(what, advice, where, column.name))

    # --- numbers and dates -----------------------------------------------------------------------

    def _add_values(self, column: pl.Series, kind: Kind, format: NumberFormat | DateFormat) -> None:
        cells = read_cells(column, format)
        if not self._usable(column, cells, "date" if isinstance(format, DateFormat) else "number"):
            return
        survey, name = self._survey, column.name
        if isinstance(format, DateFormat):
            format = varying(cells.values, format.order)
            survey.columns += format.expand(cells.values)
            kind = replace(kind, note=f"{kind.note or 'dates'} become {', '.join(format.parts)}")
        else:
            survey.columns.append(cells.values.fill_null(float("nan")).alias(name))
            if cells.values.min() == cells.values.max():
                self._constant.append(name)
        if isinstance(format, DateFormat) or not format.plain:
            survey.readings[name] = format
        if kind.doubt:
            survey.doubts.append(f"column {name!r}: {kind.doubt}")
        self._note(name, kind.note)

    def _usable(self, column: pl.Series, cells: Cells, kind: str) -> bool:
        """Whether the cells can be used; else a problem says why not."""
        rows, impute = len(column), self._demands.impute
        missing, wrong = int(cells.missing.sum()), int(cells.wrong.sum())
        if cells.values.null_count() == rows:
            what = f"no cell is a {kind} ({examples(column, cells.wrong)})" if wrong else _EMPTY
            self._problem(column, what, _LEAVE_OUT)
            return False
        good = True
        if wrong and not impute:
            what = f"{none_of(wrong, rows, kind)} ({examples(column, cells.wrong)})"
            self._problem(column, what, _CORRECT, first_place(cells.wrong, self._place))
            good = False
        elif wrong:
            self._survey.doubts.append(
                f"column {column.name!r}: {none_of(wrong, rows, kind)}, taken for missing "
                f"({examples(column, cells.wrong)})"
            )
        if missing and not self._may_miss(column, cells.missing):
            good = False
        if cells.values.dtype == pl.Float64 and cells.values.is_infinite().any():
            infinite = cells.values.is_infinite().fill_null(False)
            self._problem(
                column,
                _counted(int(infinite.sum()), rows, "infinite"),
                "remove the row, or bound it",
                first_place(infinite, self._place),
            )
            good = False
        return good

    def _may_miss(self, column: pl.Series, missing: pl.Series) -> bool:
        """Whether missing values are filled in later, which is said then."""
        count, rows = int(missing.sum()), len(column)
        if self._demands.impute:
            self._filled.append(f"{column.name!r} {count} ({examples(column, missing, 2)})")
            return True
        where = first_place(missing, self._place)
        self._problem(column, _counted(count, rows, "missing"), _FILL, where)
        return False

    # --- texts -----------------------------------------------------------------------------------

    def _add_texts(self, column: pl.Series, kind: Kind) -> None:
        texts = as_texts(column)
        missing, rows = texts.is_null(), len(column)
        if missing.all():
            self._problem(column, _EMPTY, _LEAVE_OUT)
            return
        good = not missing.any() or self._may_miss(column, missing)
        different, most = texts.drop_nulls().n_unique(), self._demands.max_categories
        note = kind.note
        if different > most and different > _NAMES * int((~missing).sum()):
            where = first_place(~missing, self._place)
            shown = texts.drop_nulls()[0]
            what = f"{shown!r} is no number, and {different} different texts in {rows} rows are "
            self._problem(column, f"{what}names, too many for categories", _LEAVE_OUT, where)
            good = False
        elif different > most:
            note = f"{note}; " if note else ""
            note += self._grouped(texts, different, most)
        if not good:
            return
        self._survey.columns.append(texts.alias(column.name))
        self._survey.texts.append(column.name)
        if different == 1:
            self._constant.append(column.name)
        self._note(column.name, note)

    def _grouped(self, texts: pl.Series, different: int, most: int) -> str:
        counts = texts.drop_nulls().alias("text").value_counts(sort=True).get_column("count")
        rare = int(counts[most - 1 :].sum())
        return (
            f"{different} different texts: the {different - most + 1} rarest, {rare} cells, become "
            f"one category (--max-categories {most})"
        )

    # --- what is said ----------------------------------------------------------------------------

    def _note(self, name: str, note: str) -> None:
        if note:
            self._alike.setdefault(note, []).append(name)

    def finish(self) -> Survey:
        """The survey with its notes."""
        notes = self._survey.notes
        for note, names in self._alike.items():
            notes.append(f"column{'' if len(names) == 1 else 's'} {listed(names)}: {note}")
        if self._dropped:
            notes.append(f"left out (--dates drop): {listed(self._dropped)}")
        if self._filled:
            notes.append(f"missing values to fill in: {_some(self._filled)}")
        if self._constant:
            what = "the same value in all rows, which tells nothing"
            notes.append(f"{what}: {listed(self._constant)}")
        return self._survey


def _counted(count: int, rows: int, what: str) -> str:
    return f"the value is {what}" if count == 1 else f"{count} of {rows} values are {what}"


def _some(parts: Sequence[str], limit: int = 8) -> str:
    more = len(parts) - limit
    return ", ".join(parts[:limit]) + (f" and {more} more columns" if more > 0 else "")
