"""How a column writes its numbers: decimal sign, thousands, percent and currency signs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

# Spaces, apostrophes and minus signs that mean the same.
_SAME = {"\u00a0": " ", "\u2009": " ", "\u202f": " ", "’": "'", "−": "-"}
_GROUPING = ",. '"
_CODES = (
    *("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "BRL"),
    *("CAD", "AUD", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF"),
)
UNITS = ("%", "€", "$", "£", "¥", "₹", "₽", "₩", "₺", "kr", "zł", *_CODES)
"""Signs that may stand before or after a number."""

_SIGN = r"([-+]?)"
_UNIT = "|".join(re.escape(unit) for unit in UNITS)
_EXPONENT = r"(?:[eE][-+]?\d+)?"
# Signs and unit, the body, and unit again, perhaps in the parentheses of accountants.
_BEFORE, _AFTER = rf"^(\(?)\s*{_SIGN}\s*({_UNIT})?\s*{_SIGN}\s*", rf"\s*({_UNIT})?\s*(\)?)$"
_ANY_BODY = rf"[0-9.,](?:[0-9.,' ]*[0-9.,])?{_EXPONENT}"


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written.

    Parameters
    ----------
    decimal : str
        The sign before the decimals, a point or a comma.
    thousands : str
        All signs that may stand between groups of three digits.
    unit : str
        The sign that may stand before or after a number.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        grouping = self.thousands.strip(_GROUPING) == "" and self.decimal not in self.thousands
        if self.decimal not in (".", ",") or not grouping or self.unit not in ("", *UNITS):
            raise ValueError(f"no format of numbers: {self}")

    @property
    def plain(self) -> bool:
        """Whether this is how computers write numbers."""
        return self == PLAIN

    def parse(self, texts: pl.Series) -> pl.Series:
        """The numbers, null where a text is missing or none."""
        if not self.plain:
            return self._written(texts)
        numbers = texts.cast(pl.Float64, strict=False).fill_nan(None)
        if numbers.null_count() == texts.null_count():
            return numbers
        return pl.select(pl.coalesce(numbers, self._written(texts))).to_series()

    def _written(self, texts: pl.Series) -> pl.Series:
        body = _taken_apart(texts, self._body(), self.unit)
        number = body.get_column("body").str.replace_all(f"[{re.escape(self.thousands)} ']", "")
        number = number.str.replace(self.decimal, ".", literal=True).cast(pl.Float64, strict=False)
        return pl.select(
            pl.when(body.get_column("negative")).then(-number).otherwise(number)
        ).to_series()

    def _body(self) -> str:
        groups = "|".join(rf"\d{{1,3}}(?:{re.escape(one)}\d{{3}})+" for one in self.thousands)
        whole = rf"(?:{groups}|\d+)" if groups else r"\d+"
        point = re.escape(self.decimal)
        return rf"(?:{whole}(?:{point}\d*)?|{point}\d+){_EXPONENT}"

    def described(self) -> str:
        """For people."""
        parts = [f"decimal {'comma' if self.decimal == ',' else 'point'}"]
        if self.thousands:
            parts.append(f"thousands {' '.join(repr(one) for one in self.thousands)}")
        if self.unit:
            parts.append(f"sign {self.unit!r}")
        return ", ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """For the header of a model file."""
        return {"decimal": self.decimal, "thousands": self.thousands, "unit": self.unit}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> NumberFormat:
        """From the header of a model file."""
        return cls(*(str(values[name]) for name in ("decimal", "thousands", "unit")))


PLAIN = NumberFormat()


def any_thousands(decimal: str, unit: str = "") -> NumberFormat:
    """Numbers with a known decimal sign, and any other sign between thousands."""
    return NumberFormat(decimal, _GROUPING.replace(decimal, ""), unit)


def _same(texts: pl.Series) -> pl.Series:
    return texts.str.replace_many(list(_SAME), list(_SAME.values()))


def _taken_apart(texts: pl.Series, body: str, unit: str | None = None) -> pl.DataFrame:
    """Body, unit and whether it is negative, for each text; nulls for what is no number.

    With a ``unit`` given, no other is taken; an empty one is none.
    """
    parts = _same(texts).str.extract_groups(f"{_BEFORE}({body}){_AFTER}").struct.unnest()
    opened, first, before, second, number, after, closed = parts.get_columns()
    found = pl.select(
        body=pl.when((opened == "(") == (closed == ")")).then(number),
        unit=pl.coalesce(before, after).fill_null(""),
        negative=(opened == "(") | (first == "-") | (second == "-"),
    )
    if unit is not None:
        known = found.get_column("unit").is_in(["", unit])
        found = found.with_columns(pl.when(known).then(pl.col("body")).alias("body"))
    return found


@dataclass(frozen=True)
class Evidence:
    """What the numbers of a column, told apart by their counts, say about their format.

    Parameters
    ----------
    votes : dict
        By decimal sign, the cells that can have no other.
    either : dict
        By the sign that stands in them, the cells as 1.234, which may be thousands or decimals.
    whole : int
        Cells without a point or comma.
    units : dict
        By unit, the cells that have it.
    numbers : int
        Cells that are numbers of any format.
    """

    votes: dict[str, int]
    either: dict[str, int]
    whole: int
    units: dict[str, int]
    numbers: int

    @property
    def decimal(self) -> str | None:
        """The decimal sign of most cells that tell; None if none tells, or as many each."""
        point, comma = self.votes["."], self.votes[","]
        return None if point == comma else "." if point > comma else ","

    @property
    def ambiguous(self) -> bool:
        """Whether the cells can be read in two ways, and nothing in the column says which."""
        return self.decimal is None and any((*self.either.values(), *self.votes.values()))


def evidence_of(texts: pl.Series, counts: pl.Series) -> Evidence:
    """Look at different texts of a column, each with the number of its cells."""
    parts = _taken_apart(texts, _ANY_BODY)
    body = parts.get_column("body")
    votes, either = {".": 0, ",": 0}, {".": 0, ",": 0}

    def cells(flags: pl.Series) -> int:
        return int(counts.filter(flags.fill_null(False)).sum())

    for sign, other in ((".", ","), (",", ".")):
        s, o = re.escape(sign), re.escape(other)
        doubtful = body.str.contains(rf"^[1-9]\d{{0,2}}{s}\d{{3}}$")
        single = body.str.contains(rf"^[^{s}{o}]*{s}[^{s}{o}]*$")
        last = body.str.contains(rf"^[^{s}]*{o}[^{s}]*{s}[^{s}{o}]*$")
        grouped = body.str.contains(rf"^\d{{1,3}}(?:{o}\d{{3}}){{2,}}$")
        votes[sign] = cells(last | grouped | (single & ~doubtful))
        either[sign] = cells(doubtful)
    units = parts.get_column("unit").filter(body.is_not_null()).unique().sort().to_list()
    return Evidence(
        votes,
        either,
        whole=cells(~body.str.contains("[.,]")),
        units={u: cells((parts["unit"] == u) & body.is_not_null()) for u in units if u},
        numbers=cells(body.is_not_null()),
    )


def format_of(texts: pl.Series, decimal: str, unit: str) -> NumberFormat:
    """The narrowest format with this decimal sign that reads what any format reads."""
    body = _taken_apart(texts, any_thousands(decimal)._body()).get_column("body")
    there = [
        sign
        for sign in _GROUPING.replace(decimal, "")
        if body.str.contains(sign, literal=True).any()
    ]
    return NumberFormat(decimal, "".join(there), unit)


def readable(texts: pl.Series, decimal: str) -> pl.Series:
    """Which texts are numbers with this decimal sign, of any unit."""
    body = _taken_apart(texts, any_thousands(decimal)._body()).get_column("body").is_not_null()
    return body | texts.cast(pl.Float64, strict=False).is_infinite().fill_null(False)
