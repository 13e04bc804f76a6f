"""Kernel values in an ONNX graph: of rows and the support vectors, or any other fixed vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.persistence.errors import UnsupportedModelError
from psvm.persistence.onnx_graph import Graph
from psvm.rows.kernel import Kernel

Array = npt.NDArray[np.float64]

# Terms of a product times the largest exponent of rbf up to which its distances are products: by
# those of psvm itself, and by the five digits that float32 promises.
_MOST_CANCELLED = {"float64": _core.MOST_CANCELLED, "float32": 2.0**12}
# Change of an exponent by rounding beyond which a type has too few digits for a model.
_MOST_CHANGED = 1e-3


def kernel_values(graph: Graph, rows: str, kernel: Kernel, vectors: Array) -> str:
    """Add ``K(x, vectors)``.

    Parameters
    ----------
    graph : Graph
        The graph to add to.
    rows : str
        Rows x.
    kernel : Kernel
        A kernel of features, by name.
    vectors : ndarray of shape (n_vectors, n_features)
        The other side.

    Returns
    -------
    str
        Name of the values, of shape (n, n_vectors).
    """
    name = str(kernel.function)
    if kernel.facts.of_difference:
        return _of_distances(graph, rows, kernel, vectors)
    if name == "linear":
        return graph.op("MatMul", rows, graph.array(vectors.T))
    product = graph.op("MatMul", rows, graph.array(kernel.gamma * vectors.T))
    product = graph.op("Add", product, graph.number(kernel.coef0))
    if name == "sigmoid":
        return graph.op("Tanh", product)
    return graph.op("Pow", product, graph.number(float(kernel.degree)))


def _of_distances(graph: Graph, rows: str, kernel: Kernel, vectors: Array) -> str:
    """``exp(-gamma d)`` of a distance or squared distance d, from products only if these do."""
    name, gamma = str(kernel.function), kernel.gamma
    centre = vectors.mean(axis=0) if vectors.size else np.zeros(vectors.shape[1])
    centre = centre.astype(graph.arithmetic).astype(np.float64)
    from_centre = vectors - centre
    squares = np.einsum("ij,ij->i", from_centre, from_centre)
    terms = vectors.shape[1] + 2
    limit = _MOST_CANCELLED[graph.arithmetic.name]
    products = name == "rbf" and terms * gamma * squares.max(initial=0.0) <= limit
    if products or graph.arithmetic == np.float32:
        # Around the mean numbers are small, and so is what they lose.
        rows, vectors = graph.op("Sub", rows, graph.array(centre)), from_centre
        check_digits(kernel, vectors, "arithmetic", graph.arithmetic)
    if products:
        distance = _squared_by_products(graph, rows, vectors)
    else:
        distance = _summed_differences(graph, rows, vectors, squared=name != "laplacian")
    if name == "exponential":
        distance = graph.op("Sqrt", distance)
    return graph.op("Exp", graph.op("Mul", distance, graph.number(-gamma)))


def check_digits(kernel: Kernel, vectors: Array, parameter: str, dtype: np.dtype[Any]) -> None:
    """Refuse a type whose rounding of the vectors would change kernel values.

    Parameters
    ----------
    kernel : Kernel
        Only those of distances are looked at.
    vectors : ndarray of shape (n_vectors, n_features)
        Support vectors.
    parameter : str
        What the type was given as, for the error.
    dtype : dtype
        The type.
    """
    if not kernel.facts.of_difference:
        return
    gamma = kernel.gamma
    lost = np.abs(vectors - vectors.astype(dtype))
    if kernel.facts.of_absolute:
        change = gamma * lost.sum(axis=1)
    else:
        moved = np.linalg.norm(lost, axis=1)
        # Of rbf at the distance where it is steepest.
        change = 2.0 * math.sqrt(gamma) * moved if kernel.facts.of_squares else gamma * moved
    if change.max(initial=0.0) > _MOST_CHANGED:
        raise UnsupportedModelError(
            f"Rounded to {dtype.name}, the support vectors would change values of the "
            f"{kernel.function} kernel by up to {change.max():.0e}; use "
            f"{parameter}='float64', or scale X before the fit."
        )


def _squared_by_products(graph: Graph, rows: str, vectors: Array) -> str:
    """``|x|^2 + |s|^2 - 2 <x, s>``."""
    of_rows = graph.row_sums(graph.op("Mul", rows, rows))
    product = graph.op("MatMul", rows, graph.array(-2.0 * vectors.T))
    squares = graph.op("Add", of_rows, graph.array(np.einsum("ij,ij->i", vectors, vectors)))
    return graph.op("Max", graph.op("Add", squares, product), graph.number(0.0))


def _summed_differences(graph: Graph, rows: str, vectors: Array, *, squared: bool) -> str:
    """``sum_j |x_j - s_j|`` or ``sum_j (x_j - s_j)^2``, one feature j at a time.

    Not as a product: the root of a cancelled difference has half the digits. And not as one
    array of all differences, which would have n x n_SV x n_features entries.
    """
    helper = graph.onnx.helper
    kind = helper.np_dtype_to_tensor_dtype(graph.arithmetic)
    start = graph.filled(rows, vectors.shape[0], 0.0)

    def make(kind: str, inputs: str, output: str) -> Any:
        # A name inside must not be one outside: those of columns are the user's.
        return helper.make_node(
            kind, [f"psvm.{name}" for name in inputs.split()], [f"psvm.{output}"]
        )

    def info(name: str, *shape: Any) -> Any:
        return helper.make_tensor_value_info(f"psvm.{name}", kind, shape)

    body = helper.make_graph(
        [
            make("Unsqueeze", "x last", "column"),
            make("Sub", "column s", "d"),
            make("Mul", "d d", "a") if squared else make("Abs", "d", "a"),
            make("Add", "sum a", "next"),
        ],
        "one_feature",
        [info("sum", "n", vectors.shape[0]), info("x", "n"), info("s", vectors.shape[0])],
        [info("next", "n", vectors.shape[0])],
        [graph.onnx.numpy_helper.from_array(np.array([1], dtype=np.int64), "psvm.last")],
    )
    columns = graph.op("Transpose", rows, perm=[1, 0])
    return graph.op("Scan", start, columns, graph.array(vectors.T), body=body, num_scan_inputs=2)
