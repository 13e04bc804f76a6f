"""Dates and times of day: how a column writes them, and what numbers are made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

ORDERS = ("ymd", "dmy", "mdy", "ym", "time")
"""In which order year, month and day may stand; a month of a year, and a time of day alone."""

ASKED = ("dmy", "mdy")
"""Those that a user may be asked to tell apart."""

PARTS = ("days", "month", "day", "weekday", "hour")
"""Numbers of a date: days since 1970, month, day of the month, weekday (Monday is 1), hour."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES = {
    name: f"{number:02d}"
    for number, short in enumerate(_MONTHS, 1)
    for name in (short, short.capitalize(), short.upper())
}
_YEAR, _FEW = r"(\d{4})", r"(\d{1,2})"
_CLOCK = r"(\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d+)?))?\s*([AaPp]\.?[Mm]\.?)?"
_ZONE = r"\s*(?:Z|UTC|GMT|[-+]\d{2}:?\d{2})?"
_TIME = rf"(?:[T ,]\s*{_CLOCK}{_ZONE})?$"
_DATE = {
    "ymd": rf"^{_YEAR}[-/.]{_FEW}[-/.]{_FEW}",
    "dmy": rf"^{_FEW}[-/. ]{{1,2}}{_FEW}[-/., ]{{1,2}}(\d{{4}}|\d{{2}})",
    "mdy": rf"^{_FEW}[-/ ]{_FEW}[-/, ]{{1,2}}(\d{{4}}|\d{{2}})",
}
# What is less than a date, with what completes it. Codes as 1234-01 are no months of a year.
_COMPLETED = {
    "ym": (r"^((?:19|20)\d{2})[-/](0[1-9]|1[0-2])$", "${1}-${2}-01"),
    "time": (r"^(\d{1,2}:\d{2}.*)$", "1970-01-01 ${1}"),
}
# The numbers that it has.
_ONLY = {"ym": ("days", "month"), "time": ("hour",)}


@dataclass(frozen=True)
class DateFormat:
    """How a column writes its dates, and which numbers are made of them.

    Parameters
    ----------
    order : str
        Of ``ORDERS``.
    parts : tuple of str
        Of ``PARTS``.
    """

    order: str
    parts: tuple[str, ...] = PARTS

    def __post_init__(self) -> None:
        if self.order not in ORDERS or not set(self.parts) <= set(PARTS):
            raise ValueError(f"no format of dates: {self}")

    def parse(self, column: pl.Series) -> pl.Series:
        """The dates with their time of day, as written; null where missing or none."""
        if column.dtype == pl.Date:
            return column.cast(pl.Datetime("us"))
        if column.dtype == pl.Time:
            return column.cast(pl.Duration("us")).cast(pl.Int64).cast(pl.Datetime("us"))
        if isinstance(column.dtype, pl.Datetime):
            return column.dt.replace_time_zone(None).cast(pl.Datetime("us"))
        return _parsed(column, self.order)

    def expand(self, column: pl.Series) -> list[pl.Series]:
        """One column of numbers for each part, NaN where the date is missing."""
        found = self.parse(column)
        numbers = {
            "days": found.dt.epoch("us") / 86_400e6,
            "month": found.dt.month(),
            "day": found.dt.day(),
            "weekday": found.dt.weekday(),
            "hour": found.dt.hour() + found.dt.minute() / 60 + found.dt.second() / 3600,
        }
        return [
            numbers[part].cast(pl.Float64).fill_null(float("nan")).alias(name)
            for part, name in zip(self.parts, self.names(column.name), strict=True)
        ]

    def names(self, column: str) -> list[str]:
        """What the columns of numbers are called."""
        return [f"{column}.{part}" for part in self.parts]

    def described(self) -> str:
        """For people."""
        if self.order == "time":
            return "time of day"
        words = {"y": "year", "m": "month", "d": "day"}
        return ", ".join(words[letter] for letter in self.order)

    def as_json(self) -> dict[str, Any]:
        """For the header of a model file."""
        return {"order": self.order, "parts": list(self.parts)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> DateFormat:
        """From the header of a model file."""
        return cls(str(values["order"]), tuple(str(part) for part in values["parts"]))


def is_dates(dtype: pl.DataType) -> bool:
    """Whether a file says itself that a column holds dates."""
    return dtype in (pl.Date, pl.Time) or isinstance(dtype, pl.Datetime)


def _parsed(texts: pl.Series, order: str) -> pl.Series:
    """Texts with year, month and day in this order, and perhaps a time of day."""
    if order in _COMPLETED:
        pattern, completed = _COMPLETED[order]
        cells = texts.str.strip_chars()
        dates = pl.when(cells.str.contains(pattern)).then(cells.str.replace(pattern, completed))
        return _parsed(pl.select(dates.alias(texts.name)).to_series(), "ymd")
    named = texts
    if texts.str.contains("[A-Za-z]{3}").any():
        # May 31 is a month and a day in whatever order the rest is written.
        named = texts.str.replace(r"^([A-Za-z]{3})[a-z]*\.? (\d{1,2}),? ", "${2}-${1}-")
        named = named.str.replace(r"([A-Za-z]{3})[a-z]*\.?", "${1}")
        moved = named.str.replace_many(list(_NAMES), list(_NAMES.values()))
        if order == "mdy":
            swapped = moved.str.replace(r"^(\d{1,2})([-/. ]+)(\d{1,2})", "${3}${2}${1}")
            moved = pl.select(
                pl.when(named.str.contains("[A-Za-z]{3}")).then(swapped).otherwise(moved)
            ).to_series()
        named = moved
    parts = named.str.strip_chars().str.extract_groups(_DATE[order] + _TIME).struct.unnest()
    first, second, third, hour, minute, rest, half = parts.get_columns()
    places = {"ymd": (first, second, third), "dmy": (third, second, first)}
    year, month, day = places.get(order, (third, first, second))
    numbers = pl.select(
        year=year.cast(pl.Int32, strict=False),
        month=month.cast(pl.Int8, strict=False),
        day=day.cast(pl.Int8, strict=False),
        short=year.str.len_chars() <= 2,
        hour=hour.cast(pl.Int32, strict=False).fill_null(0),
        minute=minute.cast(pl.Int32, strict=False).fill_null(0),
        second=rest.str.replace(",", ".").cast(pl.Float64, strict=False).fill_null(0),
        half=half.str.slice(0, 1).str.to_lowercase(),
    )
    # As everywhere, years of two digits lie between 1969 and 2068.
    whole = pl.when(pl.col("short")).then(
        pl.col("year") + pl.when(pl.col("year") < 69).then(2000).otherwise(1900)
    )
    iso = pl.format(
        "{}-{}-{}",
        whole.otherwise(pl.col("year")).cast(pl.String).str.zfill(4),
        pl.col("month").cast(pl.String).str.zfill(2),
        pl.col("day").cast(pl.String).str.zfill(2),
    )
    noon = pl.when(pl.col("half") == "p").then(12).otherwise(0) + pl.when(
        pl.col("half").is_null()
    ).then(pl.col("hour")).otherwise(pl.col("hour") % 12)
    seconds = noon * 3600 + pl.col("minute") * 60 + pl.col("second")
    date = iso.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
    found = date + pl.duration(microseconds=(seconds * 1e6).cast(pl.Int64))
    valid = (noon < 24) & (pl.col("minute") < 60) & (pl.col("second") < 61)
    return numbers.select(pl.when(valid).then(found).alias(texts.name)).to_series()


def orders_of(texts: pl.Series, counts: pl.Series, orders: Sequence[str]) -> dict[str, int]:
    """By order, the cells that are dates in it; texts are different, each with its cells."""
    # Most columns of texts hold no date, and are left alone after a look.
    looked = texts.str.contains(r"^\d{1,4}[-/. ]|^\d{1,2}:\d{2}|^[A-Za-z]{3,9}\.? \d|\d{4}")
    if int(counts.filter(looked).sum()) < int(counts.sum()) / 2:
        return dict.fromkeys(orders, 0)
    return {
        order: int(counts.filter(_parsed(texts, order).is_not_null()).sum()) for order in orders
    }


def varying(column: pl.Series, order: str) -> DateFormat:
    """The format with those parts only that differ between rows; one at least."""
    possible = _ONLY.get(order, PARTS)
    every = DateFormat(order).expand(column)
    there = [
        part
        for part, numbers in zip(PARTS, every, strict=True)
        if part in possible and numbers.fill_nan(None).drop_nulls().n_unique() > 1
    ]
    return DateFormat(order, tuple(there) or possible[:1])
