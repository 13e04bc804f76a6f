"""Fitted imputers and encoders as operations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.persistence.category_operations import (
    Codes,
    Impute,
    Missing,
    OneHot,
    Values,
    column_values,
    holds_texts,
)
from psvm.persistence.operations import Branches, Operation
from psvm.persistence.steps import Step

Places = npt.NDArray[np.int64]


def of_simple_imputer(step: Step) -> list[Operation]:
    """Values for what is missing; columns without one value in training are gone."""
    imputer = step.estimator
    marker = _marker(step, imputer.missing_values)
    statistics = list(imputer.statistics_)
    kept = [j for j, value in enumerate(statistics) if not _is_missing(value)]
    values = [_known_values(step, [statistics[j]]) for j in kept]

    def impute(places: Places) -> list[Operation]:
        if marker is not None and isinstance(marker, str) != texts[places[0]]:
            raise step.refused(
                f"cannot be exported: missing_values={marker!r} is not of the kind of its columns. "
                "Use one imputer for numbers and one for texts."
            )
        return [Impute(np.concatenate([values[j] for j in places]), marker)]

    texts = [holds_texts(value) for value in values]
    found = _by_kind(texts, impute)
    if len(kept) < len(statistics):
        columns = [np.array(kept, dtype=np.int64)]
        found = [Branches(columns, [found])]
    if not imputer.add_indicator:
        return found
    # The indicator sees the columns as they come.
    of_all = dict(zip(kept, texts, strict=True))
    shown = imputer.indicator_.features_
    indicated = _by_kind(
        [of_all.get(int(j), False) for j in shown],
        lambda places: [Missing(of_all.get(int(shown[places[0]]), False), marker)],
    )
    every = np.arange(len(statistics))
    return [Branches([every, np.asarray(shown, dtype=np.int64)], [found, indicated])]


def of_missing_indicator(step: Step) -> list[Operation]:
    """Whether an entry is missing, for numbers."""
    indicator = step.estimator
    places = np.asarray(indicator.features_, dtype=np.int64)
    marker = _marker(step, indicator.missing_values)
    return [Branches([places], [[Missing(isinstance(marker, str), marker)]])]


def of_ordinal_encoder(step: Step) -> list[Operation]:
    """The number of the category, as the encoder counts."""
    encoder = step.estimator
    rare = getattr(encoder, "infrequent_categories_", [None] * len(encoder.categories_))
    strict = encoder.handle_unknown == "error"
    unknown = np.nan if strict else float(encoder.unknown_value)
    known, codes, missing = [], [], []
    for categories, few in zip(encoder.categories_, rare, strict=True):
        given, gone = _split_missing(step, categories)
        numbers = _codes([one for one in categories if not _is_nan(one)], few)
        known.append(given)
        codes.append(numbers[: given.size])
        if gone is None:
            missing.append(unknown)
        elif _is_nan(gone):
            missing.append(float(encoder.encoded_missing_value))
        else:  # None is a category as others are, the last one
            missing.append(float(numbers[-1]))

    def encode(places: Places) -> list[Operation]:
        return [
            Codes(
                [known[j] for j in places],
                [codes[j] for j in places],
                np.array([missing[j] for j in places]),
                np.full(len(places), unknown),
            )
        ]

    return _by_kind([holds_texts(column) for column in known], encode)


def of_one_hot_encoder(step: Step) -> list[Operation]:
    """One column per category that is neither rare nor dropped, and perhaps one of the rare."""
    encoder = step.estimator
    size = len(encoder.categories_)
    rare = getattr(encoder, "infrequent_categories_", [None] * size)
    dropped = [None] * size if encoder.drop_idx_ is None else encoder.drop_idx_
    columns = [
        _OneHotColumn(step, categories, few, drop)
        for categories, few, drop in zip(encoder.categories_, rare, dropped, strict=True)
    ]

    def encode(places: Places) -> list[Operation]:
        chosen = [columns[j] for j in places]
        if all(column.plain for column in chosen):
            return [OneHot([np.delete(one.known, one.dropped) for one in chosen])]
        coded = Codes(
            [one.known for one in chosen],
            [one.codes for one in chosen],
            np.array([one.missing for one in chosen]),
            np.array([one.unknown for one in chosen]),
        )
        return [coded, OneHot([np.delete(one.every_code, one.dropped) for one in chosen])]

    return _by_kind([holds_texts(column.known) for column in columns], encode)


class _OneHotColumn:
    """How a OneHotEncoder numbers the categories of one column: frequent ones first."""

    def __init__(self, step: Step, categories: Any, rare: Any, drop: int | None) -> None:
        self.known, gone = _split_missing(step, categories)
        code = _codes(list(categories), rare)
        self.every_code = np.unique(code)
        self.codes = code[: self.known.size]  # what is missing is the last category
        grouped = rare is not None
        to_rare = grouped and step.estimator.handle_unknown in ("infrequent_if_exist", "warn")
        self.unknown = float(code.max()) if to_rare else -1.0
        self.missing = self.unknown if gone is None else float(code[-1])
        self.dropped = [] if drop is None else [int(code[int(drop)])]
        self.plain = gone is None and not grouped


_NONE = object()  # stands for None, which says that nothing is missing


def _split_missing(step: Step, categories: Any) -> tuple[Values, Any]:
    """The categories of a column, and the missing one: NaN, `_NONE`, or None if there is none."""
    gone = [one for one in categories if _is_missing(one)]
    if len(gone) > 1:
        raise step.refused(
            "cannot be exported: a column has two kinds of missing values, None and NaN, as "
            "categories. Impute first, or use one kind."
        )
    known = _known_values(step, [one for one in categories if not _is_missing(one)])
    return known, None if not gone else gone[0] if _is_nan(gone[0]) else _NONE


def _codes(categories: list[Any], rare: Any) -> npt.NDArray[np.float64]:
    """Numbers of categories: frequent ones in order, then the same for all rare ones."""
    few = set() if rare is None else {one for one in rare.tolist() if not _is_missing(one)}
    lost = rare is not None and any(map(_is_missing, rare.tolist()))
    is_rare = np.array([lost if _is_missing(one) else one in few for one in categories], dtype=bool)
    codes = np.cumsum(~is_rare) - 1.0
    codes[is_rare] = (~is_rare).sum()
    return np.asarray(codes, dtype=np.float64)


def _by_kind(texts: list[bool], convert: Callable[[Places], list[Operation]]) -> list[Operation]:
    """Operations of columns of numbers and of texts, side by side where there are both."""
    runs = [
        np.array([j for j, _ in group], dtype=np.int64)
        for _, group in groupby(enumerate(texts), key=lambda column: column[1])
    ]
    if len(runs) == 1:
        return convert(runs[0])
    return [Branches(runs, [convert(places) for places in runs])]


def _known_values(step: Step, values: list[Any]) -> Values:
    """Categories of one column, or a value for it, as numbers or texts."""
    found = column_values(np.array(values, dtype=object))
    if found is None:
        raise step.refused(
            f"can be exported for columns of numbers or of texts, got {values[:3]} in one."
        )
    return found


def _is_missing(value: Any) -> bool:
    """Whether it is None, NaN or pandas's NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return _is_nan(value)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _marker(step: Step, missing: Any) -> float | str | None:
    """What stands for a missing entry, None for what does so by itself."""
    if _is_missing(missing):
        return None
    if isinstance(missing, str):
        return missing
    if isinstance(missing, float | int | np.number):
        return float(missing)
    raise step.refused(
        f"can be exported with a number, a text, NaN or None for missing_values, got {missing!r}."
    )
