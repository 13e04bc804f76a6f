"""Tables: files with named columns, read a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import polars as pl


@dataclass(frozen=True)
class TableBlock:
    """Consecutive rows of a table, and where each of them is in the file ("line 7")."""

    frame: pl.DataFrame
    place: Callable[[int], str]


class TableFile(Protocol):
    """A table that can be read once, from its first row to its last."""

    name: str
    columns: list[str]

    def blocks(self, columns: Sequence[str]) -> Iterator[TableBlock]:
        """The rows in order, with the named columns only; at least one block, even if empty."""


def row_place(start: int, row: int) -> str:
    """Where a row is in a file without lines, for blocks that begin at row ``start``."""
    return f"row {start + row + 1}"
