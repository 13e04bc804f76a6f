"""Preprocessing as a few operations on columns, which every language and runtime has.

A fitted scaler, imputer, encoder or ColumnTransformer becomes a list of the operations below; rows
go through them from first to last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from psvm.persistence.errors import UnsupportedModelError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Arithmetic:
    """Every column j with a number of its own: ``x_j (operator) values_j``."""

    operator: Literal["subtract", "divide", "multiply"]
    values: Array


@dataclass(frozen=True)
class Clip:
    """Every entry cut to ``[low, high]``."""

    low: float
    high: float


@dataclass(frozen=True)
class Impute:
    """``values_j`` wherever column j, of numbers or of texts, is missing."""

    values: npt.NDArray[Any]

    @property
    def of_texts(self) -> bool:
        """Whether the columns hold texts."""
        return self.values.dtype.kind != "f"


@dataclass(frozen=True)
class OneHot:
    """Every column j replaced by one column per category, 1 where the entry equals it, else 0."""

    categories: list[npt.NDArray[Any]]

    @property
    def of_texts(self) -> bool:
        """Whether the columns hold texts."""
        return self.categories[0].dtype.kind != "f"


@dataclass(frozen=True)
class Branches:
    """Some columns through their own operations each, the results side by side."""

    columns: list[npt.NDArray[np.int64]]
    operations: list[list[Operation]]

    @property
    def text_columns(self) -> list[int]:
        """Columns that hold texts, ascending."""
        found = {
            int(column)
            for columns, inside in zip(self.columns, self.operations, strict=True)
            if inside and getattr(inside[0], "of_texts", False)
            for column in columns
        }
        return sorted(found)


Operation = Arithmetic | Clip | Impute | OneHot | Branches


def operations_of(steps: Sequence[Any]) -> list[Operation]:
    """The operations of fitted transformers, in order.

    Parameters
    ----------
    steps : sequence of transformer
        StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, SimpleImputer, OneHotEncoder,
        ColumnTransformer, or Pipelines of them.

    Returns
    -------
    list of Operation

    Raises
    ------
    UnsupportedModelError
        If a step is of another kind or does something that no operation expresses.
    """
    operations: list[Operation] = []
    for step in steps:
        if step is None or step == "passthrough":
            continue
        convert = _CONVERTERS.get(type(step))
        if convert is None:
            known = ", ".join(sorted(kind.__name__ for kind in _CONVERTERS))
            raise UnsupportedModelError(
                f"The step {type(step).__name__} cannot be exported; these can: {known}. Apply it "
                "before the exported model, and export the steps after it."
            )
        operations.extend(convert(step))
    return operations


def _standard_scaler(step: StandardScaler) -> list[Operation]:
    mean = step.mean_ if step.with_mean else None  # it is computed in any case
    return _arithmetic(("subtract", mean), ("divide", step.scale_))


def _robust_scaler(step: RobustScaler) -> list[Operation]:
    center = step.center_ if step.with_centering else None
    return _arithmetic(("subtract", center), ("divide", step.scale_ if step.with_scaling else None))


def _max_abs_scaler(step: MaxAbsScaler) -> list[Operation]:
    scaled = _arithmetic(("divide", step.scale_))
    return [*scaled, Clip(-1.0, 1.0)] if getattr(step, "clip", False) else scaled


def _min_max_scaler(step: MinMaxScaler) -> list[Operation]:
    # x * scale + min, written so that nothing cancels for data far from the origin.
    scaled = _arithmetic(("subtract", -step.min_ / step.scale_), ("multiply", step.scale_))
    low, high = (float(end) for end in step.feature_range)
    return [*scaled, Clip(low, high)] if step.clip else scaled


def _arithmetic(*terms: tuple[Any, Any]) -> list[Operation]:
    """Operations with given values; None stands for nothing to do."""
    return [
        Arithmetic(operator, np.asarray(values, dtype=np.float64))
        for operator, values in terms
        if values is not None
    ]


def _simple_imputer(step: SimpleImputer) -> list[Operation]:
    values = _column_values(step.statistics_)
    missing = step.missing_values
    usual = missing is None or (isinstance(missing, float) and np.isnan(missing))
    if values is None or not usual or step.add_indicator:
        raise UnsupportedModelError(
            "SimpleImputer can be exported with missing_values=nan or None, for columns that were "
            "not empty in training, without add_indicator; remove other columns and fit again."
        )
    return [Impute(values)]


def _one_hot_encoder(step: OneHotEncoder) -> list[Operation]:
    if any(found is not None for found in getattr(step, "infrequent_categories_", [])):
        raise UnsupportedModelError(
            "OneHotEncoder with infrequent categories cannot be exported; fit it without "
            "min_frequency and max_categories."
        )
    dropped = [None] * len(step.categories_) if step.drop_idx_ is None else step.drop_idx_
    found = [_column_values(column) for column in step.categories_]
    kept = [
        column if drop is None else np.delete(column, int(drop))
        for column, drop in zip(found, dropped, strict=True)
        if column is not None
    ]
    if len(kept) < len(found) or len({column.dtype.kind for column in kept}) > 1:
        raise UnsupportedModelError(
            "OneHotEncoder can be exported for columns that are all of numbers or all of texts, "
            "without missing values; impute first, and use one encoder for each kind."
        )
    return [OneHot(kept)]


def _column_values(values: Any) -> npt.NDArray[Any] | None:
    """Numbers as float64 or texts as an array of str; None for anything else, and for NaN."""
    values = np.asarray(values)
    if values.dtype.kind in "US" or all(isinstance(value, str) for value in values.tolist()):
        return np.asarray(values.astype(str))
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        return None
    return None if np.isnan(numbers).any() else numbers


def _column_transformer(step: ColumnTransformer) -> list[Operation]:
    if step.transformer_weights:
        raise UnsupportedModelError(
            "ColumnTransformer with transformer_weights cannot be exported; fit without them."
        )
    place = {name: j for j, name in enumerate(getattr(step, "feature_names_in_", []))}
    every = np.arange(step.n_features_in_)
    columns, operations = [], []
    for _, transformer, chosen in step.transformers_:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        names = [chosen] if isinstance(chosen, str) else chosen
        if isinstance(names, list | np.ndarray) and all(isinstance(name, str) for name in names):
            names = [place[name] for name in names]
        indices = np.atleast_1d(every[np.asarray(names) if isinstance(names, list) else names])
        if indices.size == 0:
            continue
        inside = operations_of([transformer])
        if any(isinstance(inner, Branches) and inner.text_columns for inner in inside):
            raise UnsupportedModelError(
                "A ColumnTransformer of texts inside another cannot be exported; use one."
            )
        columns.append(indices.astype(np.int64))
        operations.append(inside)
    return [Branches(columns, operations)]


def _pipeline(step: Pipeline) -> list[Operation]:
    return operations_of([inner for _, inner in step.steps])


_CONVERTERS: dict[type, Callable[[Any], list[Operation]]] = {
    ColumnTransformer: _column_transformer,
    MaxAbsScaler: _max_abs_scaler,
    MinMaxScaler: _min_max_scaler,
    OneHotEncoder: _one_hot_encoder,
    Pipeline: _pipeline,
    RobustScaler: _robust_scaler,
    SimpleImputer: _simple_imputer,
    StandardScaler: _standard_scaler,
}
