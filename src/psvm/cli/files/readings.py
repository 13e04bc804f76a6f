"""How the columns of a table are read, as a model keeps it for the files it is given later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psvm.cli.files.dates import DateFormat
from psvm.cli.files.numbers import NumberFormat

Readings = dict[str, NumberFormat | DateFormat]
"""Formats by column, of those that are not plain numbers or texts."""


def readings_as_json(readings: Readings) -> dict[str, Any]:
    """For the header of a model file."""
    return {
        name: {"kind": "dates" if isinstance(one, DateFormat) else "numbers", **one.as_json()}
        for name, one in readings.items()
    }


def readings_from_json(values: Any) -> Readings:
    """From the header of a model file, whoever wrote it; a ValueError if it makes no sense."""
    try:
        return {str(name): _format(one) for name, one in dict(values or {}).items()}
    except (KeyError, TypeError) as error:
        raise ValueError(f"its header does not say how columns are read ({error})") from error


def _format(values: Mapping[str, Any]) -> NumberFormat | DateFormat:
    kinds: dict[str, type[NumberFormat | DateFormat]] = {
        "dates": DateFormat,
        "numbers": NumberFormat,
    }
    return kinds[values["kind"]].from_json(values)
