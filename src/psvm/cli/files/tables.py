"""Tables: files with named columns, read a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class TableBlock:
    """Consecutive rows of a table, and where each of them is in the file ("line 7")."""

    frame: pl.DataFrame
    place: Callable[[int], str]


def row_place(start: int, row: int) -> str:
    """Where a row is in a file without lines, for blocks that begin at row ``start``."""
    return f"row {start + row + 1}"
