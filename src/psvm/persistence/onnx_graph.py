"""An ONNX graph under construction."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class Graph:
    """Nodes and constants, added one operation at a time; methods take and return names of values.

    Parameters
    ----------
    onnx : module
        The package onnx.
    dtype, arithmetic : dtype
        Types of what goes in and out, and of what is in between.
    """

    def __init__(self, onnx: Any, dtype: np.dtype[Any], arithmetic: np.dtype[Any]) -> None:
        self.onnx = onnx
        self.dtype, self.arithmetic = dtype, arithmetic
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node with one output, and return the name of that."""
        output = output or f"{kind.lower()}_{len(self.nodes)}"
        node = self.onnx.helper.make_node(kind, list(inputs), [output], **attributes)
        self.nodes.append(node)
        return output

    def cast(self, value: str, dtype: Any, output: str | None = None) -> str:
        """The value as another type."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.op("Cast", value, output=output, to=kind)

    def constant(self, values: npt.NDArray[Any]) -> str:
        """Add an array as it is."""
        name = f"constant_{len(self.constants)}"
        tensor = self.onnx.numpy_helper.from_array(np.array(values, order="C"), name)
        self.constants.append(tensor)
        return name

    def texts(self, values: list[str]) -> str:
        """Add a list of texts."""
        name = f"constant_{len(self.constants)}"
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

    def columns(self, rows: str, chosen: list[int]) -> str:
        """Some columns of the rows."""
        return self.op("Gather", rows, self.integers(chosen), axis=1)

    def joined(self, parts: list[str]) -> str:
        """Arrays side by side."""
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=1)

    def values(self, values: npt.NDArray[Any]) -> str:
        """A constant of numbers or texts."""
        return self.array(values) if values.dtype.kind == "f" else self.texts(values.tolist())
