"""What is wrong with a user's data, where, and what to do about it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

COLUMN = "COLUMN"
"""Stands in an advice for the name of the column."""

_SHOWN = 20  # columns of one kind of problem; the others are only named


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Parameters
    ----------
    what : str
        What is wrong.
    advice : str
        What to do about it; ``COLUMN`` in it stands for the column's name.
    place : str
        Where in the file, for instance "line 7"; empty if it is all of it.
    column : str or None
        Name of the column concerned, if one is.
    """

    what: str
    advice: str = ""
    place: str = ""
    column: str | None = None

    def sentence(self) -> str:
        """What is wrong, and what to do."""
        name = "" if self.column is None else shlex.quote(self.column)
        advice = self.advice.replace(COLUMN, name)
        return f"{self.what}: {advice}" if advice else self.what


class DataError(ValueError):
    """Data that cannot be used as asked, for one reason, told in one line.

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
        self.problem = Problem(what, place=place, column=column)
        where = [file, place, "" if column is None else f"column {column!r}"]
        super().__init__(f"{', '.join(part for part in where if part)}: {what}")


class DataErrors(DataError):
    """Data that cannot be used for several reasons, each told in its own line.

    Parameters
    ----------
    file : str
        Name of the file.
    problems : sequence of Problem
        All that is wrong.
    """

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        self.lines = [f"{file}: {len(problems)} problems"]
        by_advice: dict[str, list[Problem]] = {}
        for problem in problems:
            by_advice.setdefault(problem.advice, []).append(problem)
        for advice, alike in by_advice.items():
            self.lines += [f"  {_where(one)}{one.what}" for one in alike[:_SHOWN]]
            if rest := [str(one.column) for one in alike[_SHOWN:]]:
                self.lines.append(f"  and likewise {listed(rest, 40)}")
            if advice:
                name = alike[0].column if len(alike) == 1 else None
                done = advice if name is None else advice.replace(COLUMN, shlex.quote(name))
                self.lines.append(f"    → {done}")
        ValueError.__init__(self, "\n".join(self.lines))


def _where(problem: Problem) -> str:
    where = [] if problem.column is None else [f"column {problem.column!r}"]
    where += [problem.place] if problem.place else []
    return f"{', '.join(where)}: " if where else ""


def refuse(file: str, problems: Sequence[Problem]) -> None:
    """Raise if there are problems, all of them in one message."""
    if len(problems) == 1:
        only = problems[0]
        raise DataError(file, only.sentence(), place=only.place, column=only.column)
    if problems:
        raise DataErrors(file, problems)


def listed(names: Sequence[str], limit: int = 8) -> str:
    """Names for a message: the first few, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:limit])
    more = len(names) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def did_you_mean(name: str, there: Sequence[str]) -> str:
    """A question about the name that is most like one that is not there; empty if none is."""
    folded = {one.casefold(): one for one in reversed(there)}
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f" (did you mean {folded[close[0]]!r}?)" if close else ""


def not_there(names: Sequence[str], there: Sequence[str]) -> str:
    """All of the names, each with what it may have been meant for."""
    return ", ".join(f"{name!r}{did_you_mean(name, there)}" for name in names)
