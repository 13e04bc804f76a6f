"""What is seen while a file is read, and while its rows are predicted; on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl


@contextmanager
def reading_shown(path: Path, *, quiet: bool) -> Iterator[None]:
    """Say that a file is being read, which takes seconds if it is large.

    Parameters
    ----------
    path : Path
        The file.
    quiet : bool
        Whether to show nothing.
    """
    if quiet or str(path) == "-" or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(f"reading {path.name}")):
        yield


def rows_shown(
    frames: Iterable[pl.DataFrame], total: int | None, path: Path | None, *, quiet: bool
) -> Iterator[pl.DataFrame]:
    """The frames, with a bar of the rows that have passed, on a terminal only.

    Parameters
    ----------
    frames : iterable of DataFrame
        What passes.
    total : int or None
        How many rows there will be, if that is known.
    path : Path or None
        Where the rows go; those that go to the terminal are progress enough.
    quiet : bool
        Whether to show nothing.
    """
    to_screen = (path is None or str(path) == "-") and sys.stdout.isatty()
    if quiet or to_screen or not sys.stderr.isatty():
        yield from frames
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("predict"),
        BarColumn(30),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as screen:
        task = screen.add_task("", total=total)
        for frame in frames:
            screen.advance(task, frame.height)
            yield frame
