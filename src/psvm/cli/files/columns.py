"""Columns of a table as numbers or as texts, and where they are neither."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from psvm.cli.errors import DataError
from psvm.cli.files.tables import TableBlock

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
"""What stands for a missing value in a text file."""

_TEXTS = (pl.String, pl.Categorical, pl.Enum, pl.Boolean)


def as_texts(column: pl.Series) -> pl.Series:
    """The values as texts without blanks around them, null where missing."""
    texts = column.cast(pl.String).str.strip_chars()
    return texts.set(texts.is_in(MISSING), None)


def as_numbers(column: pl.Series) -> pl.Series:
    """The values as float64, null where missing or not a number."""
    if column.dtype in _TEXTS:
        texts = as_texts(column)
        return texts.cast(pl.Float64, strict=False).fill_nan(None)
    return column.cast(pl.Float64, strict=False).fill_nan(None)


@dataclass
class ColumnSurvey:
    """What a column was found to hold so far: the first cell of each kind, with its place."""

    file: str
    name: str
    missing: str | None = None
    text: tuple[str, str] | None = None
    infinite: str | None = None
    some_number: bool = False

    def add(self, block: TableBlock) -> None:
        """Look at the column in one more block."""
        column = block.frame.get_column(self.name)
        self._refuse_type(column.dtype)
        numbers = as_numbers(column)
        known = numbers.is_not_null()
        self.some_number = self.some_number or bool(known.any())
        if self.infinite is None and (row := _first(numbers.is_infinite())) is not None:
            self.infinite = block.place(row)
        if known.all():
            return
        texts = as_texts(column)
        if self.missing is None and (row := _first(texts.is_null())) is not None:
            self.missing = block.place(row)
        if self.text is None and (row := _first(texts.is_not_null() & ~known)) is not None:
            self.text = block.place(row), str(texts[row])

    def _refuse_type(self, dtype: pl.DataType) -> None:
        if not (dtype.is_numeric() or dtype in _TEXTS or dtype == pl.Null):
            what = f"values of type {dtype} are neither numbers nor texts: leave the column out"
            raise self.error(f"{what} (--drop {self.name}), or turn it into numbers")

    def error(self, what: str, place: str = "") -> DataError:
        """An error about this column."""
        return DataError(self.file, what, place=place, column=self.name)


def checked_numbers(block: TableBlock, name: str, file: str, *, may_miss: bool) -> pl.Series:
    """A column as numbers; an error names the first cell that is none, or missing."""
    survey = ColumnSurvey(file, name)
    survey.add(block)
    if survey.text is not None:
        place, text = survey.text
        raise survey.error(f"the model expects a number, not {text!r}", place)
    refuse_unusable(survey, may_miss=may_miss)
    return as_numbers(block.frame.get_column(name)).fill_null(float("nan"))


def refuse_unusable(survey: ColumnSurvey, *, may_miss: bool) -> None:
    """Raise if the column has infinities, or missing values that nobody fills."""
    if survey.infinite is not None and survey.text is None:
        raise survey.error("the value is infinite: remove the row, or bound it", survey.infinite)
    if survey.missing is not None and not may_miss:
        what = "the value is missing: fill it in, remove the row, or fit the model with --impute"
        raise survey.error(what, survey.missing)


def _first(flags: pl.Series) -> int | None:
    """Position of the first true value."""
    row = flags.fill_null(False).arg_max() if len(flags) else None
    return row if row is not None and flags[row] else None
