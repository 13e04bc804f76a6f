"""Labels: from a column of a file to classes, and back to the classes of a model."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from psvm.cli.errors import DataError, listed
from psvm.cli.files.columns import as_numbers, as_texts

# Beyond this not every integer is a float64: two labels would be one.
_EXACT = 2.0**53
_CODE = re.compile(r"[-+]?0\d")
Labels = npt.NDArray[Any]
Place = Callable[[int], str]


def canonical(text: str) -> str:
    """The same text for the same label: 1, 1.0 and +1 are one, but 01 is a code of its own."""
    if _CODE.match(text):
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() and abs(number) < _EXACT else text


def training_labels(values: pl.Series, file: str, target: str) -> Labels:
    """Labels as integers where all of them are, else as texts; none of the values is missing."""
    texts, numbers = as_texts(values), as_numbers(values)
    names = texts.unique().to_list()
    if not any(_CODE.match(name) for name in names):
        odd = numbers.filter((numbers != numbers.round()) | (numbers.abs() >= _EXACT))
        integers = all(re.fullmatch(r"[-+]?\d+", canonical(name)) for name in names)
        if integers and odd.is_empty():
            return numbers.cast(pl.Int64).to_numpy()
        if not integers and not numbers.is_null().any():
            what = f"{odd[0]:g} is a measurement and no class: say --task regression"
            raise DataError(file, what, column=target)
    return np.asarray(texts.to_list(), dtype=str)


def refuse_missing_labels(values: pl.Series, place: Place, file: str, column: str) -> None:
    """Raise if a row of a block has no label."""
    absent = as_texts(values).is_null()
    if absent.any():
        what = "the label is missing: fill it in, or remove the row"
        raise DataError(file, what, place=place(int(absent.arg_max() or 0)), column=column)


def known_labels(
    values: pl.Series, classes: Labels, place: Place, file: str, column: str
) -> Labels:
    """Labels as those of the model; an error names the first that is none of them."""
    refuse_missing_labels(values, place, file, column)
    number_of = {canonical(str(one)): number for number, one in enumerate(classes.tolist())}
    texts = as_texts(values)
    number_of_text = {text: number_of.get(canonical(text), -1) for text in texts.unique().to_list()}
    if not number_of_text:
        return classes[:0]
    numbers = texts.replace_strict(number_of_text, return_dtype=pl.Int64).to_numpy()
    if (numbers < 0).any():
        row = int(np.argmax(numbers < 0))
        known = listed([str(one) for one in classes.tolist()])
        rows = texts.filter(pl.Series(numbers < 0)).value_counts().sort("count", descending=True)
        others = listed([text for text in rows.to_series(0) if text != texts[row]])
        more = f" ({int(rows.to_series(1).sum())} rows, also with {others})" if others else ""
        what = f"the model knows no class {texts[row]!r}{more}, only {known}"
        raise DataError(file, what, place=place(row), column=column)
    return np.asarray(classes[numbers])
