"""The few operations on columns that preprocessing is made of.

An operation is a frozen description with three faces: its fields are what JSON holds of it, `onnx`
adds it to a graph, and `width` and `of_texts` tell which columns it takes and gives. To add one,
write a class here (or beside `category_operations`), a line in docs/model-files.md and one in the
evaluator there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from psvm.persistence.errors import UnsupportedModelError
from psvm.persistence.onnx_graph import Graph, Rows
from psvm.persistence.onnx_kernels import kernel_values
from psvm.rows.kernel import Kernel

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.int64]


# Rounding errors of float32 so many times are a thousandth.
_MOST_AMPLIFIED = 2.0**13


@dataclass(frozen=True)
class Operation:
    """Some columns in, some columns out, row by row.

    Attributes
    ----------
    name : str
        What JSON calls it.
    since : int
        Version of the JSON format that has it first.
    """

    name: ClassVar[str]
    since: ClassVar[int] = 2

    @property
    def of_texts(self) -> bool:
        """Whether the columns that go in hold texts."""
        return False

    def width(self, n_columns: int) -> int:
        """How many columns come out."""
        return n_columns

    def origins(self, columns: list[Origin]) -> list[Origin]:
        """The input column that each column that comes out is a copy of, if it is one."""
        return [None] * self.width(len(columns))

    def onnx(self, graph: Graph, rows: Rows) -> Rows:
        """Add it to a graph."""
        value = self._on_matrix(graph, graph.matrix(rows))
        return graph.rows(value, self.width(len(rows.columns)))

    def _on_matrix(self, graph: Graph, rows: str) -> str:
        """The same for rows that are one array."""
        raise NotImplementedError

    def described(self) -> dict[str, Any]:
        """What JSON holds of it."""
        told = {field.name: listed(getattr(self, field.name)) for field in fields(self)}
        return {"operation": self.name, **told}

    @property
    def version(self) -> int:
        """Version of the JSON format that this one needs."""
        return self.since


Origin = int | None


def listed(value: Any) -> Any:
    """Arrays as lists, and what JSON has no number for as null."""
    if isinstance(value, np.ndarray):
        return listed(value.tolist())
    if isinstance(value, list | tuple):
        return [listed(item) for item in value]
    if isinstance(value, Kernel):
        return described_kernel(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def described_kernel(kernel: Kernel) -> dict[str, Any]:
    """Name and parameters of a kernel for JSON."""
    parameters = {name: getattr(kernel, name) for name in kernel.facts.parameters}
    return {"name": str(kernel.function), **parameters}


@dataclass(frozen=True)
class Arithmetic(Operation):
    """Every column j with a number of its own: ``x_j (operator) values_j``."""

    operator: Literal["subtract", "divide", "multiply"]
    values: Array

    since: ClassVar[int] = 1
    _onnx_name: ClassVar[dict[str, str]] = {"divide": "Div", "multiply": "Mul"}

    def described(self) -> dict[str, Any]:
        """What JSON holds of it."""
        return {"operation": self.operator, "values": listed(self.values)}

    def _on_matrix(self, graph: Graph, rows: str) -> str:
        if self.operator != "subtract":
            return graph.op(self._onnx_name[self.operator], rows, graph.array(self.values))
        # Values may have more digits than the arithmetic. The first difference is exact where the
        # two are close, so that a row far from the origin loses no digits that it had.
        high = self.values.astype(graph.arithmetic)
        rows = graph.op("Sub", rows, graph.array(high))
        low = self.values - high
        return graph.op("Sub", rows, graph.array(low)) if low.any() else rows


@dataclass(frozen=True)
class Clip(Operation):
    """Every entry cut to ``[low, high]``."""

    low: float
    high: float

    name: ClassVar[str] = "clip"
    since: ClassVar[int] = 1

    def _on_matrix(self, graph: Graph, rows: str) -> str:
        return graph.op("Clip", rows, graph.number(self.low), graph.number(self.high))


@dataclass(frozen=True)
class Project(Operation):
    """The row times a matrix of shape (columns in, columns out)."""

    matrix: Array

    name: ClassVar[str] = "project"

    def width(self, n_columns: int) -> int:
        """How many columns come out."""
        return int(self.matrix.shape[1])

    def _on_matrix(self, graph: Graph, rows: str) -> str:
        size = float(np.abs(self.matrix).sum(axis=0).max(initial=0.0))
        if graph.arithmetic == np.float32 and size > _MOST_AMPLIFIED:
            raise UnsupportedModelError(
                f"A step multiplies rounding errors by up to {size:.0e}, which leaves float32 no "
                "digits (Nystroem does so where its components depend on each other); use "
                "arithmetic='float64'."
            )
        return graph.op("MatMul", rows, graph.array(self.matrix))


@dataclass(frozen=True)
class Normalize(Operation):
    """The row divided by its norm, or as it is where the norm is below ``least``."""

    norm: Literal["l1", "l2", "max"]
    least: float

    name: ClassVar[str] = "normalize"

    def _on_matrix(self, graph: Graph, rows: str) -> str:
        if self.norm == "l2":
            size = graph.op("Sqrt", graph.row_sums(graph.op("Mul", rows, rows)))
        else:
            sizes = graph.op("Abs", rows)
            size = graph.row_sums(sizes) if self.norm == "l1" else graph.row_maxima(sizes)
        tiny = graph.op("Less", size, graph.number(self.least))
        return graph.op("Div", rows, graph.op("Where", tiny, graph.number(1.0), size))


@dataclass(frozen=True)
class Cosine(Operation):
    """The cosine of every entry."""

    name: ClassVar[str] = "cosine"

    def _on_matrix(self, graph: Graph, rows: str) -> str:
        return graph.op("Cos", rows)


@dataclass(frozen=True)
class Products(Operation):
    """One column for each list of columns: their product, 1 for an empty list."""

    terms: Sequence[tuple[int, ...]]

    name: ClassVar[str] = "products"

    def width(self, n_columns: int) -> int:
        """How many columns come out."""
        return len(self.terms)

    def _on_matrix(self, graph: Graph, rows: str) -> str:
        needed: dict[int, set[tuple[int, ...]]] = {}
        for term in self.terms:
            for length in range(1, len(term) + 1):  # a product is that of its beginning times one
                needed.setdefault(length, set()).add(term[:length])
        blocks = []
        place: dict[tuple[int, ...], int] = {}
        before, before_place = "", dict(place)
        for length in sorted(needed):
            terms = sorted(needed[length])
            last = graph.columns(rows, [term[-1] for term in terms])
            if length > 1:
                first = graph.columns(before, [before_place[term[:-1]] for term in terms])
                last = graph.op("Mul", first, last)
            begin = len(place)
            place |= {term: begin + i for i, term in enumerate(terms)}
            before, before_place = last, {term: i for i, term in enumerate(terms)}
            blocks.append(last)
        if () in self.terms:
            place[()] = len(place)
            blocks.append(graph.filled(rows, 1, 1.0))
        return graph.columns(graph.joined(blocks), [place[term] for term in self.terms])


@dataclass(frozen=True)
class KernelValues(Operation):
    """One column for each vector: the kernel of the row and that vector."""

    kernel: Kernel
    vectors: Array

    name: ClassVar[str] = "kernel"

    def width(self, n_columns: int) -> int:
        """How many columns come out."""
        return int(self.vectors.shape[0])

    def _on_matrix(self, graph: Graph, rows: str) -> str:
        return kernel_values(graph, rows, self.kernel, self.vectors)


@dataclass(frozen=True)
class Branches(Operation):
    """Some columns through their own operations each, the results side by side."""

    columns: list[Columns]
    operations: list[list[Operation]]

    name: ClassVar[str] = "branches"

    def width(self, n_columns: int) -> int:
        """How many columns come out."""
        return sum(
            width_after(inside, columns.size)
            for columns, inside in zip(self.columns, self.operations, strict=True)
        )

    def onnx(self, graph: Graph, rows: Rows) -> Rows:
        """Add it to a graph."""
        found = Rows(())
        for columns, inside in zip(self.columns, self.operations, strict=True):
            part = rows.chosen(columns.tolist())
            for operation in inside:
                part = operation.onnx(graph, part)
            found += part
        return found

    def described(self) -> dict[str, Any]:
        """What JSON holds of it."""
        branches = [
            {
                "columns": columns.tolist(),
                "preprocessing": [operation.described() for operation in inside],
            }
            for columns, inside in zip(self.columns, self.operations, strict=True)
        ]
        return {"operation": self.name, "branches": branches}

    @property
    def version(self) -> int:
        """Version of the JSON format that this one needs."""
        inner = (operation.version for inside in self.operations for operation in inside)
        return max(inner, default=1)


def chosen_columns(places: npt.NDArray[Any]) -> Branches:
    """The operation that keeps only some columns."""
    return Branches([np.asarray(places, dtype=np.int64)], [[]])


def width_after(operations: Sequence[Operation], n_columns: int) -> int:
    """How many columns come out of several operations."""
    for operation in operations:
        n_columns = operation.width(n_columns)
    return n_columns
