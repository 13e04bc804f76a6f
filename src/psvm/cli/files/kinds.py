"""What kind of values a column holds: numbers, dates or texts, found out from its cells."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from psvm.cli.errors import COLUMN, Problem
from psvm.cli.files.columns import DECLARED, TEXTS, as_texts, stands_for_missing
from psvm.cli.files.dates import ASKED, ORDERS, DateFormat, is_dates, orders_of
from psvm.cli.files.numbers import (
    PLAIN,
    Evidence,
    NumberFormat,
    evidence_of,
    format_of,
    readable,
)

MOSTLY = 0.8
"""Share of the cells that must be numbers, or dates, for the others to be mistakes."""

_SOME = 0.5  # share of numbers above which it is said that a column is taken for texts

# More different numbers than anybody has codes, or numbers that seldom repeat: then what is no
# number is a mistake; else, as in 0, 1, 2, 3+, it is a code like the others.
_MANY_DIFFERENT, _SELDOM_AGAIN = 20, 0.5

# A point before one, two, or more than three decimals, or after a zero: nobody's thousands.
_DECIMAL_POINT = r"^[-+]?0?\.|\.\d{0,2}$|\.\d{4,}|\d{4,}\.|[eE]"


@dataclass(frozen=True)
class Hints:
    """What the user says about the cells of text columns."""

    decimal: str | None = None
    date_order: str | None = None
    as_text: frozenset[str] = frozenset()
    as_number: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Look:
    """What was seen in a column of texts: its different cells, missing ones apart.

    Parameters
    ----------
    texts, counts : Series
        The different texts, and how many cells each has.
    evidence : Evidence
        What they say about decimal signs.
    code : str
        A number that begins with a zero like a postal code, if there is one.
    """

    texts: pl.Series
    counts: pl.Series
    evidence: Evidence
    code: str = ""

    @property
    def cells(self) -> int:
        """Cells that are not missing."""
        return int(self.counts.sum())

    def share(self, decimal: str) -> float:
        """Share of the cells that are numbers with this decimal sign."""
        return float(self.counts.filter(readable(self.texts, decimal)).sum() / max(1, self.cells))

    def measured(self, decimal: str) -> bool:
        """Whether cells that are no numbers are mistakes, and not codes."""
        numbers = readable(self.texts, decimal)
        different, cells = int(numbers.sum()), int(self.counts.filter(numbers).sum())
        return different > _MANY_DIFFERENT or different > _SELDOM_AGAIN * cells


@dataclass(frozen=True)
class Kind:
    """How a column is to be read.

    Parameters
    ----------
    format : NumberFormat, DateFormat or None
        None reads texts.
    problem : Problem or None
        Why it cannot be read without a word of the user.
    note : str
        What the user may not expect.
    doubt : str
        A choice between two readings that had to be made.
    """

    format: NumberFormat | DateFormat | None
    problem: Problem | None = None
    note: str = ""
    doubt: str = ""


def look_at(column: pl.Series, hints: Hints) -> Look | None:
    """Look at a column of texts; None where its kind is plain without."""
    if column.dtype != pl.String and not _forced(column, hints):
        return None
    if column.name in hints.as_text or column.dtype not in TEXTS:
        return None
    texts = as_texts(column).drop_nulls()
    plain = texts.cast(pl.Float64, strict=False).null_count() == 0
    if plain and _says_nothing_else(texts):
        point = int(texts.str.contains(".", literal=True).sum())
        evidence = Evidence({".": point, ",": 0}, {".": 0, ",": 0}, len(texts), {}, len(texts))
        codes = texts.filter(texts.str.contains(r"^0\d+$"))
        return Look(texts.head(0), pl.Series([], dtype=pl.UInt32), evidence, *codes.head(1))
    found = texts.alias("text").value_counts().sort("text")
    found = found.filter(~stands_for_missing(found.get_column("text")))
    different, counts = found.get_column("text"), found.get_column("count")
    return Look(different, counts, evidence_of(different, counts))


def _forced(column: pl.Series, hints: Hints) -> bool:
    return column.name in hints.as_number and column.dtype in DECLARED


def _says_nothing_else(texts: pl.Series) -> bool:
    """Whether numbers as computers write them are whole, or some have a point for decimals."""
    if any(part.str.contains(_DECIMAL_POINT).any() for part in (texts.head(1000), texts)):
        return True
    return not texts.str.contains(".", literal=True).any()


def decimal_of(looks: list[Look]) -> str | None:
    """The decimal sign of a file: that of all columns that have one; None if they differ."""
    signs = {look.evidence.decimal for look in looks} - {None}
    sure = {
        sign
        for sign in signs
        for look in looks
        if look.evidence.decimal == sign and (not look.cells or look.share(str(sign)) >= MOSTLY)
    }
    return sure.pop() if len(sure) == 1 else None


def kind_of(
    column: pl.Series, look: Look | None, hints: Hints, sign: str | None, delimiter: str
) -> Kind:
    """How to read a column.

    Parameters
    ----------
    column : Series
        All its cells.
    look : Look or None
        What :func:`look_at` saw.
    hints : Hints
        What the user says.
    sign : str or None
        The decimal sign of the file's other columns.
    delimiter : str
        What separates the fields of the file; a semicolon goes with decimal commas.

    Returns
    -------
    Kind
    """
    if look is None:
        return _kind_by_type(column, hints)
    if not look.cells:  # as computers write it, or all is missing
        if not look.evidence.votes["."]:
            note = f"numbers, though {look.code!r} may be a code; --text has it as a category"
            return Kind(NumberFormat(hints.decimal or sign or "."), note=note if look.code else "")
        return Kind(PLAIN, _not_with_decimal(column, ",") if hints.decimal == "," else None)
    decimal, doubt = hints.decimal or look.evidence.decimal, ""
    if decimal is None and look.evidence.ambiguous and _are_numbers(column, look, hints):
        decimal = sign
        if decimal is None and not _point_by_habit(look, delimiter):
            return Kind(PLAIN, _two_readings(column, look))
        if decimal is None:
            example = look.texts.filter(look.texts.str.contains(".", literal=True))[0]
            doubt = f"{example!r} is read with a decimal point; --decimal , reads thousands"
    decimal = decimal or sign or "."
    forced = column.name in hints.as_number
    if forced or look.share(decimal) >= MOSTLY:
        kind = _numbers(column, look, decimal, forced=forced)
        if kind is not None:
            return Kind(kind.format, kind.problem, kind.note, doubt)
    if (kind := _dates(column, look, hints)) is not None:
        return kind
    return _texts(column, look, hints, decimal)


def _kind_by_type(column: pl.Series, hints: Hints) -> Kind:
    if column.dtype in TEXTS or column.name in hints.as_text:
        return Kind(None)
    if is_dates(column.dtype):
        return Kind(DateFormat("time" if column.dtype == pl.Time else "ymd"))
    if column.dtype.is_numeric() or column.dtype == pl.Null:
        return Kind(PLAIN)
    what = f"values of type {column.dtype} are neither numbers nor texts"
    advice = f"leave the column out (--drop {COLUMN}), or turn it into numbers"
    return Kind(PLAIN, Problem(what, advice, column=column.name))


# --- numbers -------------------------------------------------------------------------------------


def _are_numbers(column: pl.Series, look: Look, hints: Hints) -> bool:
    return column.name in hints.as_number or max(look.share("."), look.share(",")) >= MOSTLY


def _point_by_habit(look: Look, delimiter: str) -> bool:
    """Whether 1.234 has a decimal point: all cells are so, as a program rounds to three digits."""
    evidence = look.evidence
    others = evidence.either[","] + evidence.whole + sum(evidence.votes.values())
    return not others and not evidence.units and delimiter != ";"


def _two_readings(column: pl.Series, look: Look) -> Problem:
    evidence = look.evidence
    if any(evidence.votes.values()):
        what = "as many cells have a decimal comma as have a decimal point"
    else:
        shown = look.texts.filter(look.texts.str.contains(r"\d[.,]\d{3}"))[0]
        what = f"{shown!r} is a thousand and more, or has three decimals"
    advice = 'say which sign is before the decimals: --decimal "." or --decimal ","'
    return Problem(what, advice, column=column.name)


def _not_with_decimal(column: pl.Series, decimal: str) -> Problem:
    other = "," if decimal == "." else "."
    what = f"most numbers cannot have the decimal sign {decimal!r}"
    advice = f"leave --decimal out to have it found out for each column, or say --decimal {other!r}"
    return Problem(what, advice, column=column.name)


def _numbers(column: pl.Series, look: Look, decimal: str, *, forced: bool) -> Kind | None:
    """Numbers, if what is none is a mistake; None if it is a code."""
    good = readable(look.texts, decimal)
    if not (forced or good.all() or look.measured(decimal)):
        return None
    units = look.evidence.units
    unit = max(units, key=lambda one: units[one], default="")
    if sum(units.values()) - units.get(unit, 0) > (1 - MOSTLY) * look.cells:
        there = ", ".join(f"{one!r} in {count} cells" for one, count in units.items())
        advice = f"convert them to one, or leave the column out (--drop {COLUMN})"
        return Kind(PLAIN, Problem(f"numbers of different kinds: {there}", advice, "", column.name))
    format = format_of(look.texts, decimal, unit)
    if format == NumberFormat(format.decimal) and not look.evidence.votes[","]:
        return Kind(format)  # nothing that looks odd
    longest = look.texts.filter(good)
    example = longest[int(longest.str.len_chars().arg_max() or 0)]
    note = f"numbers as {example!r} ({format.described()})"
    if unit and (bare := look.evidence.numbers - sum(units.values())):
        note += f"; {bare} cells have no {unit!r} and are taken alike"
    return Kind(format, note=note)


# --- dates ---------------------------------------------------------------------------------------


def _dates(column: pl.Series, look: Look, hints: Hints) -> Kind | None:
    """Dates, if most cells are."""
    every = orders_of(look.texts, look.counts, ORDERS)
    if max(every.values()) < MOSTLY * look.cells:
        return None
    told = hints.date_order
    found = {
        order: count
        for order, count in every.items()
        if told in (None, order) or order not in ASKED
    }
    order = max(found, key=lambda one: found[one])
    format = DateFormat(order)
    if found[order] < MOSTLY * look.cells:
        what = f"most dates, as {look.texts[0]!r}, cannot have the order {told}"
        advice = "leave --date-order out to have it found out for each column"
        return Kind(format, Problem(what, advice, "", column.name))
    if found.get("dmy") == found.get("mdy") == found[order]:
        day_first, month_first = (DateFormat(one).parse(look.texts) for one in ("dmy", "mdy"))
        differ = (day_first != month_first).fill_null(False)
        if differ.any():
            example = look.texts.filter(differ)[0]
            what = f"{example!r} begins with a day or with a month"
            advice = "say which: --date-order dmy or --date-order mdy (or --dates drop)"
            return Kind(format, Problem(what, advice, "", column.name))
    return Kind(format, note=f"dates as {look.texts[0]!r} ({format.described()})")


# --- texts ---------------------------------------------------------------------------------------


def _texts(column: pl.Series, look: Look, hints: Hints, decimal: str) -> Kind:
    """Texts, unless they are numbers that were only written in two ways."""
    other = {".": ",", ",": "."}.get(hints.decimal or "")
    if other and look.share(other) >= MOSTLY > look.share(str(hints.decimal)):
        return Kind(PLAIN, _not_with_decimal(column, str(hints.decimal)))
    either = readable(look.texts, ".") | readable(look.texts, ",")
    both = float(look.counts.filter(either).sum() / max(1, look.cells))
    if both >= MOSTLY and all(look.evidence.votes.values()) and not hints.decimal:
        point, comma = look.evidence.votes["."], look.evidence.votes[","]
        what = f"{point} cells have a decimal point, {comma} a decimal comma"
        advice = f"write them alike, or leave the column out (--drop {COLUMN})"
        return Kind(PLAIN, Problem(what, advice, "", column.name))
    if look.share(decimal) < _SOME:
        return Kind(None)
    odd = look.texts.filter(~readable(look.texts, decimal))
    note = f"categories, though {look.share(decimal):.0%} of the cells are numbers; others are "
    note += f"{', '.join(repr(text) for text in odd.head(3).to_list())} (--number {column.name!r} "
    return Kind(None, note=f"{note}takes these for missing)")
