"""The first part of an ONNX graph: rows as they come, and their preprocessing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.persistence.decision_rule import DecisionRule
from psvm.persistence.onnx_graph import Graph
from psvm.persistence.preprocessing import Arithmetic, Branches, Clip, Impute, OneHot, Operation

Array = npt.NDArray[np.float64]

_ARITHMETIC = {"subtract": "Sub", "divide": "Div", "multiply": "Mul"}


def prepared_rows(graph: Graph, rule: DecisionRule) -> tuple[str, list[Any]]:
    """Add inputs and preprocessing.

    Parameters
    ----------
    graph : Graph
        The graph to add to.
    rule : DecisionRule
        The model.

    Returns
    -------
    rows : str
        Name of the preprocessed rows.
    inputs : list of onnx.ValueInfoProto
        Inputs of the graph: ``X`` of numbers, ``texts``, or both.
    """
    rows, inputs = _inputs(graph, rule)
    for operation in rule.operations[1:] if rule.text_columns else rule.operations:
        rows = _preprocessed(graph, rows, operation)
    return rows, inputs


def _inputs(graph: Graph, rule: DecisionRule) -> tuple[str, list[Any]]:
    """The inputs, and the rows as numbers: where some are texts, after the first operation."""
    info = graph.onnx.helper.make_tensor_value_info
    kind = graph.onnx.helper.np_dtype_to_tensor_dtype(graph.dtype)
    texts, numbers = rule.text_columns, rule.number_columns
    inputs = [info("X", kind, ["n", len(numbers)])] if numbers else []
    rows = graph.cast("X", graph.arithmetic) if numbers else ""
    if not texts:
        return rows, inputs
    inputs.append(info("texts", graph.onnx.TensorProto.STRING, ["n", len(texts)]))
    first = rule.operations[0]
    assert isinstance(first, Branches)

    def select(columns: npt.NDArray[np.int64]) -> str:
        of_texts = columns[0] in texts
        places = [(texts if of_texts else numbers).index(column) for column in columns]
        return graph.columns("texts" if of_texts else rows, places)

    return _branches(graph, first, select), inputs


def _preprocessed(graph: Graph, rows: str, operation: Operation) -> str:
    if isinstance(operation, Arithmetic) and operation.operator == "subtract":
        return _minus(graph, rows, operation.values)
    if isinstance(operation, Arithmetic):
        return graph.op(_ARITHMETIC[operation.operator], rows, graph.array(operation.values))
    if isinstance(operation, Clip):
        return graph.op("Clip", rows, graph.number(operation.low), graph.number(operation.high))
    if isinstance(operation, Impute):
        values = graph.values(operation.values)
        empty = graph.texts([""]) if operation.of_texts else ""
        missing = graph.op("Equal", rows, empty) if empty else graph.op("IsNaN", rows)
        return graph.op("Where", missing, values, rows)
    if isinstance(operation, OneHot):
        columns = [
            graph.op("Equal", graph.columns(rows, [j]), graph.values(found))
            for j, found in enumerate(operation.categories)
        ]
        return graph.cast(graph.joined(columns), graph.arithmetic)
    return _branches(graph, operation, lambda columns: graph.columns(rows, columns.tolist()))


def _branches(
    graph: Graph, operation: Branches, select: Callable[[npt.NDArray[np.int64]], str]
) -> str:
    parts = []
    for columns, inside in zip(operation.columns, operation.operations, strict=True):
        part = select(columns)
        for inner in inside:
            part = _preprocessed(graph, part, inner)
        parts.append(part)
    return graph.joined(parts)


def _minus(graph: Graph, rows: str, values: Array) -> str:
    """``rows - values`` for values of more digits than the arithmetic has.

    The first difference is exact where the two are close, so that a row far from the origin
    loses no digits that it had.
    """
    high = values.astype(graph.arithmetic)
    rows = graph.op("Sub", rows, graph.array(high))
    low = values - high
    return graph.op("Sub", rows, graph.array(low)) if low.any() else rows
