"""Operations on columns that may hold texts, and on what is missing.

A missing entry is null or NaN in JSON, NaN among the numbers and "" among the texts of ONNX.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from psvm.persistence.errors import UnsupportedModelError
from psvm.persistence.onnx_graph import Graph
from psvm.persistence.operations import Array, Operation, Origin, listed

Values = npt.NDArray[Any]  # of float64, or of texts


@dataclass(frozen=True)
class Impute(Operation):
    """``values_j`` wherever column j, of numbers or of texts, is missing or equals ``marker``."""

    values: Values
    marker: float | str | None = None

    name: ClassVar[str] = "impute"

    @property
    def of_texts(self) -> bool:
        """Whether the columns hold texts."""
        return holds_texts(self.values)

    def origins(self, columns: list[Origin]) -> list[Origin]:
        """Texts stay texts; numbers are numbers from here on."""
        return columns if self.of_texts else [None] * len(columns)

    def _on_matrix(self, graph: Graph, rows: str) -> str:
        gone = is_missing(graph, rows, self.of_texts, self.marker)
        return graph.op("Where", gone, graph.values(self.values), rows)

    def described(self) -> dict[str, Any]:
        """What JSON holds of it."""
        told = {} if self.marker is None else {"marker": self.marker}
        return {"operation": self.name, "values": listed(self.values), **told}

    @property
    def version(self) -> int:
        """Version of the JSON format that this one needs."""
        return 1 if self.marker is None else 2


@dataclass(frozen=True)
class Missing(Operation):
    """1 wherever an entry is missing or equals ``marker``, else 0."""

    texts: bool
    marker: float | str | None = None

    name: ClassVar[str] = "missing"

    @property
    def of_texts(self) -> bool:
        """Whether the columns hold texts."""
        return self.texts

    def _on_matrix(self, graph: Graph, rows: str) -> str:
        return graph.cast(is_missing(graph, rows, self.texts, self.marker), graph.arithmetic)

    def described(self) -> dict[str, Any]:
        """What JSON holds of it."""
        told = {} if self.marker is None else {"marker": self.marker}
        return {"operation": self.name, **told}


@dataclass(frozen=True)
class OneHot(Operation):
    """Every column j replaced by one column per category, 1 where the entry equals it, else 0."""

    categories: Sequence[Values]

    name: ClassVar[str] = "one_hot"
    since: ClassVar[int] = 1

    @property
    def of_texts(self) -> bool:
        """Whether the columns hold texts."""
        return any(holds_texts(column) for column in self.categories)

    def width(self, n_columns: int) -> int:
        """How many columns come out."""
        return sum(column.size for column in self.categories)

    def _on_matrix(self, graph: Graph, rows: str) -> str:
        columns = [
            is_equal(graph, graph.columns(rows, [j]), known)
            for j, known in enumerate(self.categories)
            if known.size
        ]
        return graph.cast(graph.joined(columns), graph.arithmetic)


@dataclass(frozen=True)
class Codes(Operation):
    """Every entry replaced by a number: that of its category, ``missing_j`` or ``unknown_j``."""

    categories: Sequence[Values]
    codes: Sequence[Array]
    missing: Array
    unknown: Array

    name: ClassVar[str] = "codes"

    @property
    def of_texts(self) -> bool:
        """Whether the columns hold texts."""
        return any(holds_texts(column) for column in self.categories)

    def _on_matrix(self, graph: Graph, rows: str) -> str:
        columns = []
        for j, (known, codes) in enumerate(zip(self.categories, self.codes, strict=True)):
            column = graph.columns(rows, [j])
            gone = is_missing(graph, column, holds_texts(known), None)
            missing, unknown = (graph.number(float(one[j])) for one in (self.missing, self.unknown))
            found = graph.op("Where", gone, missing, unknown)
            if known.size:
                equal = graph.cast(is_equal(graph, column, known), graph.arithmetic)
                code = graph.op("MatMul", equal, graph.array(codes[:, None]))
                is_known = graph.op("Greater", graph.row_sums(equal), graph.number(0.0))
                found = graph.op("Where", is_known, code, found)
            columns.append(found)
        return graph.joined(columns)


def is_missing(graph: Graph, rows: str, texts: bool, marker: float | str | None) -> str:
    """Add, for every entry, whether it is missing: by default, or as a marker says."""
    if texts:
        return graph.op("Equal", rows, graph.texts([str(marker or "")]))
    if marker is None:
        return graph.op("IsNaN", rows)
    return is_equal(graph, rows, np.array([float(marker)]))


def is_equal(graph: Graph, rows: str, values: Values) -> str:
    """Add whether entries equal values; numbers as the type holds them in which rows come in."""
    if holds_texts(values):
        return graph.op("Equal", rows, graph.texts(values.tolist()))
    kind = min(graph.dtype, graph.arithmetic, key=lambda dtype: dtype.itemsize)
    rounded = values.astype(kind)
    if np.unique(rounded).size < values.size:
        raise UnsupportedModelError(
            f"Some numbers that are categories are the same in {kind.name}, for instance "
            f"{_same(values, rounded)}; use dtype='float64' and arithmetic='float64'."
        )
    return graph.op("Equal", graph.cast(rows, kind), graph.constant(rounded))


def _same(values: Values, rounded: Values) -> list[float]:
    """Values that have become one."""
    found, counts = np.unique(rounded, return_counts=True)
    return [float(value) for value in values[rounded == found[counts.argmax()]]]


def holds_texts(values: Values) -> bool:
    """Whether an array holds texts, not numbers."""
    return values.dtype.kind != "f"


def column_values(values: Any) -> Values | None:
    """Numbers as float64 or texts as an array of str; None for anything else, and for NaN."""
    values = np.asarray(values)
    if values.dtype.kind in "US" or all(isinstance(value, str) for value in values.tolist()):
        return np.asarray(values.astype(str))
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        return None
    return None if np.isnan(numbers).any() else numbers
