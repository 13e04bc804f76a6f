"""Rows of a table as a model wants them, read as the table of its fit was."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import polars as pl

from psvm.cli.errors import Problem, refuse
from psvm.cli.files.columns import as_texts, examples, first_place, none_of, read_cells
from psvm.cli.files.dates import ASKED, DateFormat
from psvm.cli.files.kinds import MOSTLY
from psvm.cli.files.numbers import PLAIN, NumberFormat, any_thousands
from psvm.cli.files.open_data import ReadOptions
from psvm.cli.files.tables import TableBlock
from psvm.cli.fitted_model import Model

_FILL = "fill it in, remove the row, or fit the model with --impute"


class RowReader:
    """Reads a table block by block, and counts what is odd.

    Parameters
    ----------
    model : Model
        Says which columns are what.
    columns : list of str
        The columns of the table that it needs.
    file : str
        Name of the file, for messages.
    options : ReadOptions
        What the user says about numbers and dates of this file.
    """

    def __init__(self, model: Model, columns: list[str], file: str, options: ReadOptions) -> None:
        self._model, self._columns, self._file = model, columns, file
        self._formats = {
            name: as_told(model.readings.get(name, PLAIN), options)
            for name in columns
            if name not in model.categories
        }
        self._rows = 0
        self._unknown: dict[str, int] = {}
        self._wrong: dict[str, int] = {}

    def rows(self, block: TableBlock) -> Any:
        """Rows, checked, as the estimator takes them; one error tells all that is wrong in them."""
        problems: list[Problem] = []
        series: list[pl.Series] = []
        self._rows += block.frame.height
        for name in self._columns:
            column = block.frame.get_column(name)
            if name in self._formats:
                series += self._values(column, self._formats[name], block, problems)
            else:
                series.append(self._texts(column, block, problems))
        refuse(self._file, problems)
        frame = pl.DataFrame(series)
        names = self._model.columns
        return frame.to_numpy() if names is None else frame.select(names)

    def _values(
        self,
        column: pl.Series,
        format: NumberFormat | DateFormat,
        block: TableBlock,
        problems: list[Problem],
    ) -> list[pl.Series]:
        cells, name = read_cells(column, format), column.name
        if cells.wrong.any():
            self._wrong[name] = self._wrong.get(name, 0) + int(cells.wrong.sum())
            # Few are mistakes, as in the fit; many say that the file is written in another way.
            if not self._model.imputes or self._wrong[name] > (1 - MOSTLY) * self._rows:
                where = first_place(cells.wrong, block.place)
                problems.append(_unreadable(column, cells.wrong, format, where))
        if cells.missing.any() and not self._model.imputes:
            where = first_place(cells.missing, block.place)
            problems.append(Problem(_counted(cells.missing, "missing"), _FILL, where, name))
        if isinstance(format, DateFormat):
            return format.expand(cells.values.alias(name))
        infinite = cells.values.is_infinite().fill_null(False)
        if infinite.any():
            where = first_place(infinite, block.place)
            advice = "remove the row, or bound it"
            problems.append(Problem(_counted(infinite, "infinite"), advice, where, name))
        return [cells.values.fill_null(float("nan")).alias(name)]

    def _texts(self, column: pl.Series, block: TableBlock, problems: list[Problem]) -> pl.Series:
        texts, name = as_texts(column), column.name
        missing = texts.is_null()
        if missing.any() and not self._model.imputes:
            where = first_place(missing, block.place)
            problems.append(Problem(_counted(missing, "missing"), _FILL, where, name))
        new = int((~texts.drop_nulls().is_in(self._model.categories[name])).sum())
        if new:
            self._unknown[name] = self._unknown.get(name, 0) + new
        return texts

    def warn(self) -> None:
        """After the last block, say what was odd."""
        for name, count in self._unknown.items():
            rare = name in self._model.with_rare
            such = "like its rare texts" if rare else "as none of the column's categories"
            warnings.warn(
                f"{self._file}, column {name!r}: {count} values that the fit did not see; they "
                f"count {such}",
                stacklevel=2,
            )
        for name, count in self._wrong.items():
            kind = "date" if isinstance(self._formats[name], DateFormat) else "number"
            told = f"{none_of(count, self._rows, kind)}, taken for missing"
            warnings.warn(f"{self._file}, column {name!r}: {told}", stacklevel=2)


def as_told(format: NumberFormat | DateFormat, options: ReadOptions) -> NumberFormat | DateFormat:
    """The format of the fit, unless the user says that this file has another."""
    if isinstance(format, DateFormat):
        order = options.date_order if format.order in ASKED else None
        return format if order is None else replace(format, order=order)
    return format if options.decimal is None else any_thousands(options.decimal, format.unit)


def _counted(flags: pl.Series, what: str) -> str:
    count = int(flags.sum())
    return f"the value is {what}" if count == 1 else f"{count} values are {what}"


def _unreadable(
    column: pl.Series, wrong: pl.Series, format: NumberFormat | DateFormat, where: str
) -> Problem:
    count = int(wrong.sum())
    shown = examples(column, wrong)
    number = f"{count} cells are none" if count > 1 else ""
    if isinstance(format, DateFormat):
        what = f"the model expects a date ({format.described()}), not {shown}"
        other = ", or say --date-order if this file has another order"
        advice = f"correct it{other if format.order in ASKED else ''}"
    else:
        how = "" if format.plain else f" ({format.described()})"
        what = f"the model expects a number{how}, not {shown}"
        advice = "correct it, or say --decimal if this file writes numbers in another way"
    return Problem(f"{what}; {number}" if number else what, advice, where, column.name)
