"""An ONNX graph under construction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Rows:
    """The columns of rows in a graph: each a column of some array, of numbers or of texts.

    So columns are chosen and put side by side without a node, until an operation needs them as one
    array (`Graph.matrix`).
    """

    columns: tuple[tuple[str, int], ...]

    def chosen(self, places: Iterable[int]) -> Rows:
        """Some of the columns."""
        return Rows(tuple(self.columns[j] for j in places))

    def __add__(self, other: Rows) -> Rows:
        return Rows(self.columns + other.columns)


class Graph:
    """Nodes and constants, added one operation at a time; methods take and return names of values.

    Parameters
    ----------
    onnx : module
        The package onnx.
    dtype, arithmetic : dtype
        Types of what goes in and out, and of what is in between.
    opset : int
        Version of the operators.
    prefix : str, default="psvm."
        What the names of all values but inputs and outputs begin with.
    """

    def __init__(
        self,
        onnx: Any,
        dtype: np.dtype[Any],
        arithmetic: np.dtype[Any],
        opset: int,
        prefix: str = "psvm.",
    ) -> None:
        self.onnx = onnx
        self.dtype, self.arithmetic, self.opset = dtype, arithmetic, opset
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._prefix = prefix
        self._widths: dict[str, int] = {}

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node with one output, and return the name of that."""
        output = output or f"{self._prefix}{kind.lower()}_{len(self.nodes)}"
        node = self.onnx.helper.make_node(kind, list(inputs), [output], **attributes)
        self.nodes.append(node)
        return output

    def cast(self, value: str, dtype: Any, output: str | None = None) -> str:
        """The value as another type."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.op("Cast", value, output=output, to=kind)

    # --- constants -------------------------------------------------------------------------------

    def constant(self, values: npt.NDArray[Any]) -> str:
        """Add an array as it is."""
        name = self._constant_name()
        tensor = self.onnx.numpy_helper.from_array(np.array(values, order="C"), name)
        self.constants.append(tensor)
        return name

    def texts(self, values: list[str]) -> str:
        """Add a list of texts."""
        name = self._constant_name()
        content = [value.encode("utf-8") for value in values]
        kind = self.onnx.TensorProto.STRING
        self.constants.append(self.onnx.helper.make_tensor(name, kind, [len(content)], content))
        return name

    def array(self, values: npt.NDArray[Any]) -> str:
        """Add an array, as the type of the arithmetic."""
        return self.constant(values.astype(self.arithmetic))

    def number(self, value: float) -> str:
        """Add a number, as the type of the arithmetic."""
        return self.constant(np.array(value, dtype=self.arithmetic))

    def integers(self, values: list[int]) -> str:
        """Add a list of whole numbers."""
        return self.constant(np.array(values, dtype=np.int64))

    def values(self, values: npt.NDArray[Any]) -> str:
        """A constant of numbers or texts."""
        return self.array(values) if values.dtype.kind == "f" else self.texts(values.tolist())

    def _constant_name(self) -> str:
        return f"{self._prefix}constant_{len(self.constants)}"

    # --- columns ---------------------------------------------------------------------------------

    def rows(self, value: str, width: int) -> Rows:
        """An array of so many columns as rows."""
        self._widths[value] = width
        return Rows(tuple((value, j) for j in range(width)))

    def matrix(self, rows: Rows) -> str:
        """The rows as one array."""
        parts = []
        for value, group in groupby(rows.columns, key=lambda column: column[0]):
            chosen = [j for _, j in group]
            whole = chosen == list(range(self._widths[value]))
            parts.append(value if whole else self.columns(value, chosen))
        return self.joined(parts)

    def columns(self, rows: str, chosen: list[int]) -> str:
        """Some columns of an array."""
        return self.op("Gather", rows, self.integers(chosen), axis=1)

    def joined(self, parts: list[str]) -> str:
        """Arrays side by side."""
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=1)

    def filled(self, rows: str, width: int, value: float) -> str:
        """An array of as many rows and so many columns, all of one value."""
        helper = self.onnx.helper
        size = self.op("Slice", self.op("Shape", rows), self.integers([0]), self.integers([1]))
        size = self.op("Concat", size, self.integers([width]), axis=0)
        kind = helper.np_dtype_to_tensor_dtype(self.arithmetic)
        return self.op(
            "ConstantOfShape", size, value=helper.make_tensor("value", kind, [1], [value])
        )

    def ascending(self, rows: str, width: int) -> str:
        """Every row of so many entries in ascending order."""
        output = f"{self._prefix}ascending_{len(self.nodes)}"
        inputs = [rows, self.integers([width])]
        node = self.onnx.helper.make_node(
            "TopK", inputs, [output, f"{output}_places"], axis=1, largest=0, sorted=1
        )
        self.nodes.append(node)
        return output

    def row_sums(self, rows: str) -> str:
        """The sum of every row, as a column."""
        return self.op("ReduceSum", rows, self.integers([1]), keepdims=1)

    def row_maxima(self, rows: str) -> str:
        """The largest entry of every row, as a column."""
        if self.opset < 18:
            return self.op("ReduceMax", rows, axes=[1], keepdims=1)
        return self.op("ReduceMax", rows, self.integers([1]), keepdims=1)
