"""Opening a data file of any format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from psvm.cli.files.columnar import ColumnarFile
from psvm.cli.files.delimited import DelimitedFile
from psvm.cli.files.matrices import LibsvmFile, NpzFile
from psvm.cli.files.sources import Format, Source


@dataclass(frozen=True)
class ReadOptions:
    """What a user says about a file that it does not say itself, and how much is read at a time."""

    delimiter: str | None = None
    header: bool = True
    zero_based: bool = False
    decimal: str | None = None
    date_order: str | None = None
    block_bytes: int = 1 << 24  # of text: its numbers take some hundred megabytes at most
    block_cells: int = 1 << 22  # of other formats: 32 MB of float64


# Each can be read once, from its first row to its last: ``blocks`` gives the rows in order, and at
# least one block, even if it is empty.
Table = DelimitedFile | ColumnarFile
Matrix = NpzFile | LibsvmFile


@contextmanager
def open_data(
    path: Path, options: ReadOptions, target: str | None = None
) -> Iterator[Table | Matrix]:
    """Open a file by what is in it.

    Parameters
    ----------
    path : Path
        Where it is; ``-`` is standard input.
    options : ReadOptions
        What to assume about text files.
    target : str or None
        Array of an NPZ file that has the labels.

    Yields
    ------
    DelimitedFile, ColumnarFile, NpzFile or LibsvmFile
        At its first row.
    """
    source = Source(path, options.block_bytes)
    try:
        yield _as_its_format(source, options, target)
    finally:
        source.close()


def _as_its_format(source: Source, options: ReadOptions, target: str | None) -> Table | Matrix:
    if source.format is Format.NPZ:
        return NpzFile(source, options.block_cells, target=target or "y")
    if source.format is Format.LIBSVM:
        return LibsvmFile(source, zero_based=options.zero_based)
    if source.format is Format.DELIMITED:
        return DelimitedFile(source, delimiter=options.delimiter, header=options.header)
    return ColumnarFile(source, options.block_cells)
