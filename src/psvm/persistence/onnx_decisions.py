"""The second part of an ONNX graph: from preprocessed rows to decision values and votes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.mathematics.multiclass import class_pairs, problem_signs
from psvm.persistence.decision_rule import DecisionRule
from psvm.persistence.errors import UnsupportedModelError
from psvm.persistence.onnx_graph import Graph
from psvm.rows.prediction import KernelModel, LinearModel

Array = npt.NDArray[np.float64]

# Terms of a product times the largest exponent of rbf up to which its distances are products: by
# those of psvm itself, and by the five digits that float32 promises.
_MOST_CANCELLED = {"float64": _core.MOST_CANCELLED, "float32": 2.0**12}
# Change of an exponent by rounding beyond which a type has too few digits for a model.
_MOST_CHANGED = 1e-3


def problem_values(graph: Graph, rows: str, rule: DecisionRule) -> str:
    """Add the decision values of all binary problems.

    Parameters
    ----------
    graph : Graph
        The graph to add to.
    rows : str
        Preprocessed rows.
    rule : DecisionRule
        The model.

    Returns
    -------
    str
        Name of the values, of shape (n, n_problems).
    """
    model = rule.model
    if not rule.operations:
        _check_digits(model, "dtype", graph.dtype)
    if isinstance(model, LinearModel):
        values = graph.op("MatMul", rows, graph.array(model.weights.T))
    else:
        kernel = _kernel_values(graph, rows, model)
        if rule.pairwise:
            values = _pair_products(graph, kernel, model)
        else:
            values = graph.op("MatMul", kernel, graph.array(model.dual_coef.T))
    return graph.op("Add", values, graph.array(model.intercept))


def _kernel_values(graph: Graph, rows: str, model: KernelModel) -> str:
    """``K(x, support vectors)``, shape (n, n_SV)."""
    kernel = model.kernel
    name = str(kernel.function)
    if name == "precomputed":
        return graph.columns(rows, model.vectors.tolist())
    if kernel.facts.of_difference:
        return _of_distances(graph, rows, model)
    vectors = model.dense_vectors
    product = graph.op("MatMul", rows, graph.array(kernel.gamma * vectors.T))
    product = graph.op("Add", product, graph.number(kernel.coef0))
    if name == "sigmoid":
        return graph.op("Tanh", product)
    return graph.op("Pow", product, graph.number(float(kernel.degree)))


def _of_distances(graph: Graph, rows: str, model: KernelModel) -> str:
    """``exp(-gamma d)`` of a distance or squared distance d, from products only if these do."""
    name, gamma = str(model.kernel.function), model.kernel.gamma
    vectors = model.dense_vectors
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
        _check_digits(replace(model, vectors=vectors), "arithmetic", graph.arithmetic)
    if products:
        distance = _squared_by_products(graph, rows, vectors)
    else:
        distance = _summed_differences(graph, rows, vectors, squared=name != "laplacian")
    if name == "exponential":
        distance = graph.op("Sqrt", distance)
    return graph.op("Exp", graph.op("Mul", distance, graph.number(-gamma)))


def _check_digits(model: KernelModel | LinearModel, parameter: str, dtype: np.dtype[Any]) -> None:
    """Refuse a type whose rounding of the support vectors would change kernel values."""
    if not model.kernel.facts.of_difference or not isinstance(model, KernelModel):
        return
    vectors, gamma = model.dense_vectors, model.kernel.gamma
    lost = np.abs(vectors - vectors.astype(dtype))
    if model.kernel.facts.of_absolute:
        change = gamma * lost.sum(axis=1)
    else:
        moved = np.linalg.norm(lost, axis=1)
        # Of rbf at the distance where it is steepest.
        change = 2.0 * math.sqrt(gamma) * moved if model.kernel.facts.of_squares else gamma * moved
    if change.max(initial=0.0) > _MOST_CHANGED:
        raise UnsupportedModelError(
            f"Rounded to {dtype.name}, the support vectors would change values of the "
            f"{model.kernel.function} kernel by up to {change.max():.0e}; use "
            f"{parameter}='float64', or scale X before the fit."
        )


def _squared_by_products(graph: Graph, rows: str, vectors: Array) -> str:
    """``|x|^2 + |s|^2 - 2 <x, s>``."""
    axis = graph.integers([1])
    of_rows = graph.op("ReduceSum", graph.op("Mul", rows, rows), axis, keepdims=1)
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
    size = graph.op("Slice", graph.op("Shape", rows), graph.integers([0]), graph.integers([1]))
    size = graph.op("Concat", size, graph.integers([vectors.shape[0]]), axis=0)
    zero = helper.make_tensor("value", kind, [1], [0.0])
    start = graph.op("ConstantOfShape", size, value=zero)
    make = helper.make_node
    second = make("Mul", ["d", "d"], ["a"]) if squared else make("Abs", ["d"], ["a"])
    body = helper.make_graph(
        [
            make("Unsqueeze", ["x", "last"], ["column"]),
            make("Sub", ["column", "s"], ["d"]),
            second,
            make("Add", ["sum", "a"], ["next"]),
        ],
        "one_feature",
        [
            helper.make_tensor_value_info("sum", kind, ["n", vectors.shape[0]]),
            helper.make_tensor_value_info("x", kind, ["n"]),
            helper.make_tensor_value_info("s", kind, [vectors.shape[0]]),
        ],
        [helper.make_tensor_value_info("next", kind, ["n", vectors.shape[0]])],
        [graph.onnx.numpy_helper.from_array(np.array([1], dtype=np.int64), "last")],
    )
    columns = graph.op("Transpose", rows, perm=[1, 0])
    return graph.op("Scan", start, columns, graph.array(vectors.T), body=body, num_scan_inputs=2)


def _pair_products(graph: Graph, kernel: str, model: KernelModel) -> str:
    """The sums of all pairs: only support vectors of its two classes enter into a pair."""
    k = len(model.n_support)
    ends = np.cumsum(model.n_support)
    of_class = []
    for count, end in zip(model.n_support, ends, strict=True):
        begin = int(end) - count
        columns = graph.op("Slice", kernel, *(graph.integers([at]) for at in (begin, int(end), 1)))
        coef = graph.array(model.dual_coef[:, begin:end].T)
        of_class.append(graph.op("MatMul", columns, coef))
    sums = graph.op("Concat", *of_class, axis=1)  # (n, k (k - 1)), the k - 1 of a class together
    pairs = class_pairs(k)
    first = graph.columns(sums, [i * (k - 1) + j - 1 for i, j in pairs])
    second = graph.columns(sums, [j * (k - 1) + i for i, j in pairs])
    return graph.op("Add", first, second)


def votes(graph: Graph, values: str, n_classes: int) -> str:
    """Add one score per class from those of the pairs, as `multiclass.votes_of_pairs` does.

    Parameters
    ----------
    graph : Graph
        The graph to add to.
    values : str
        Decision values of the pairs.
    n_classes : int
        Number of classes.

    Returns
    -------
    str
        Name of the scores, of shape (n, n_classes).
    """
    signs = problem_signs(n_classes, "ovo").astype(np.float64)
    confidence = graph.op("MatMul", values, graph.array(signs))
    against = graph.cast(graph.op("Less", values, graph.number(0.0)), graph.arithmetic)
    # A pair votes for its first class, or takes that vote away and gives it to the second.
    count = graph.op("MatMul", against, graph.array(-signs))
    count = graph.op("Add", count, graph.array((signs > 0).sum(axis=0)))
    size = graph.op("Add", graph.op("Abs", confidence), graph.number(1.0))
    share = graph.op("Div", confidence, graph.op("Mul", size, graph.number(3.0)))
    return graph.op("Add", count, share)
