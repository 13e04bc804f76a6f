"""Cells of a column as texts, numbers or dates: which are missing, and which are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from psvm.cli.files.dates import DateFormat, is_dates
from psvm.cli.files.numbers import NumberFormat

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
"""What stands for a missing value in a text file."""

MISSING_AMONG_NUMBERS = (
    *("-", "--", "---", "–", "—", ".", "..", "??", "na", "n/a", "n.a.", "nan"),
    *("nil", "none", "null", "missing", "unknown", "not available", "#n/a", "#na", "#null!"),
    *("#num!", "#div/0!", "#value!", "#ref!"),
)
"""What stands for a missing value among numbers and dates, besides; in small letters."""

DECLARED = (pl.Categorical, pl.Enum, pl.Boolean)
"""Types of columns that say themselves that they hold categories."""

TEXTS = (pl.String, *DECLARED)
"""Types of columns that hold texts, of whatever."""


def as_texts(column: pl.Series) -> pl.Series:
    """The values as texts without blanks around them, null where missing."""
    texts = column.cast(pl.String).str.strip_chars()
    return texts.set(texts.is_in(MISSING), None)


def as_numbers(column: pl.Series) -> pl.Series:
    """The values as float64, null where missing or not a number as computers write it."""
    values = as_texts(column) if column.dtype in TEXTS else column
    return values.cast(pl.Float64, strict=False).fill_nan(None)


@dataclass(frozen=True)
class Cells:
    """A column that was read: its values, and why some are null.

    Parameters
    ----------
    values : Series
        Numbers or dates, null where missing or wrong.
    missing, wrong : Series of bool
        Which cells are empty or stand for nothing, and which hold something else.
    """

    values: pl.Series
    missing: pl.Series
    wrong: pl.Series


def read_cells(column: pl.Series, format: NumberFormat | DateFormat) -> Cells:
    """The cells of a column as its format says."""
    if column.dtype not in TEXTS:
        if isinstance(format, DateFormat) != is_dates(column.dtype):  # nothing is what it should be
            values = pl.Series(column.name, [None] * len(column), dtype=pl.Float64)
            return Cells(values, column.is_null(), column.is_not_null())
        values = format.parse(column) if isinstance(format, DateFormat) else as_numbers(column)
        return Cells(values, values.is_null(), pl.zeros(len(values), dtype=pl.Boolean, eager=True))
    texts = as_texts(column)
    values = format.parse(texts)
    if values.null_count() == 0:
        none = values.is_null()
        return Cells(values, none, none)
    missing = texts.is_null() | stands_for_missing(texts)
    return Cells(values, missing, values.is_null() & ~missing)


def stands_for_missing(texts: pl.Series) -> pl.Series:
    """Which texts mean among numbers that there is none; false where null."""
    return texts.str.to_lowercase().is_in(MISSING_AMONG_NUMBERS).fill_null(False)


def first_place(flags: pl.Series, place: Callable[[int], str]) -> str:
    """Where the first cell is that is flagged."""
    return place(int(flags.arg_max() or 0))


def none_of(count: int, rows: int, kind: str) -> str:
    """So many cells are no number, or no date."""
    return f"{count} of {rows} cells {f'is no {kind}' if count == 1 else f'are no {kind}s'}"


def examples(column: pl.Series, flags: pl.Series, limit: int = 3) -> str:
    """The most frequent of the flagged cells, with counts."""
    texts = column.filter(flags).cast(pl.String).str.strip_chars().fill_null("")
    found = texts.alias("text").value_counts().sort("count", "text", descending=[True, False])
    shown = [
        f"{repr(text) if text else 'empty'}{f' {count} times' if 1 < count < len(texts) else ''}"
        for text, count in found.head(limit).iter_rows()
    ]
    return ", ".join([*shown, *(["..."] if found.height > limit else [])])
