"""Parquet and Arrow (Feather) files, a slice of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import polars as pl

from psvm.cli.errors import DataError
from psvm.cli.files.sources import Format, Source
from psvm.cli.files.tables import TableBlock, row_place

_SCAN: dict[Format, Callable[..., pl.LazyFrame]] = {
    # A name with * or [ in it is a name and no pattern.
    Format.PARQUET: partial(pl.scan_parquet, glob=False),
    Format.ARROW: partial(pl.scan_ipc, glob=False),
    Format.ARROW_STREAM: lambda file: pl.read_ipc_stream(file).lazy(),
}


# Of some damage polars makes a panic, which is no Exception.
_DAMAGED = (pl.exceptions.PolarsError, pl.exceptions.PanicException)


class ColumnarFile:
    """A table stored by columns, whose types and length are known before it is read.

    Parameters
    ----------
    source : Source
        The file.
    block_cells : int
        Values read at a time.
    """

    def __init__(self, source: Source, block_cells: int) -> None:
        self.name = source.name
        self.delimiter = ""
        self._block_cells = block_cells
        self._format = source.format
        try:
            self._table = _SCAN[self._format](source.seekable())
            self.columns = self._table.collect_schema().names()
            self.rows = int(self._table.select(pl.len()).collect().item())
        except _DAMAGED as error:
            raise self._damaged(error) from error

    def _damaged(self, error: BaseException) -> DataError:
        detail = str(error).partition("\n")[0]
        # Names of the reader and its parts tell nobody anything.
        inner = "::" in detail or "polars" in detail.lower()
        said = f" ({detail})" if detail and not inner else ""
        return DataError(self.name, f"the {self._format.value} data is damaged or cut short{said}")

    def blocks(self, columns: Sequence[str]) -> Iterator[TableBlock]:
        """The rows in order, with the named columns only; at least one block, even if empty."""
        wanted = self._table.select(columns)
        size = max(1, self._block_cells // max(1, len(columns)))
        for start in range(0, max(1, self.rows), size):
            try:
                frame = wanted.slice(start, size).collect()
            except _DAMAGED as error:
                raise self._damaged(error) from error
            yield TableBlock(frame, partial(row_place, start))
