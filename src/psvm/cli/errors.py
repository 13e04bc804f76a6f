"""What is wrong with a user's data, where, and what to do about it, in one line."""

from __future__ import annotations


class DataError(ValueError):
    """Data that cannot be used as asked.

    Parameters
    ----------
    file : str
        Name of the file, as the user knows it.
    what : str
        What is wrong, and after a semicolon or colon what to do.
    place : str
        Where in the file, for instance "line 7"; empty if it is all of it.
    column : str or None
        Name of the column concerned, if one is.
    """

    def __init__(self, file: str, what: str, *, place: str = "", column: str | None = None) -> None:
        where = [file, place, "" if column is None else f"column {column!r}"]
        super().__init__(f"{', '.join(part for part in where if part)}: {what}")


def listed(names: list[str], limit: int = 8) -> str:
    """Names for a message: the first few, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:limit])
    more = len(names) - limit
    return f"{shown} and {more} more" if more > 0 else shown
