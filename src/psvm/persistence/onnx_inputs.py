"""The first part of an ONNX graph: rows as they come, as one array or column by column."""

from __future__ import annotations

from typing import Any, Literal

from psvm.persistence.decision_rule import ExportedModel
from psvm.persistence.onnx_graph import Graph, Rows

Inputs = Literal["auto", "array", "columns"]


def output_names(exported: ExportedModel) -> tuple[str, ...]:
    """Names of outputs, which inputs must not have."""
    return ("prediction",) if exported.classes is None else ("label", "decision", "probabilities")


def by_columns(exported: ExportedModel, inputs: Inputs) -> bool:
    """Whether every column is an input: as asked, else where there are texts and names."""
    if inputs == "columns" and exported.feature_names is None:
        raise ValueError(
            "`inputs` is 'columns', but the model knows no names of columns; fit it to a data "
            "frame, or use inputs='array'."
        )
    by_name = exported.feature_names is not None and bool(exported.text_columns)
    return inputs == "columns" or (inputs == "auto" and by_name)


def input_names(exported: ExportedModel, columns: list[int]) -> list[str]:
    """The names of inputs of single columns: theirs, with "_" behind what is taken.

    Parameters
    ----------
    exported : ExportedModel
        The model, which knows names.
    columns : list of int
        Numbers of columns.

    Returns
    -------
    list of str
    """
    every = exported.feature_names or []
    taken: set[str] = set(output_names(exported))
    found = {}
    for j, own in enumerate(every):
        name = f"_{own}" if own.startswith("psvm.") else own  # names inside the graph begin so
        while not name or name in taken or (name != own and name in every):
            name = f"{name}_"
        taken.add(name)
        found[j] = name
    return [found[j] for j in columns]


def input_rows(graph: Graph, exported: ExportedModel, one_by_one: bool) -> tuple[Rows, list[Any]]:
    """Add the inputs.

    Parameters
    ----------
    graph : Graph
        The graph to add to.
    exported : ExportedModel
        The model.
    one_by_one : bool
        Whether every column is an input of its own.

    Returns
    -------
    rows : Rows
        The columns of the model, before preprocessing; those that nothing reads are of no array.
    inputs : list of onnx.ValueInfoProto
        Inputs of the graph.
    """
    info, types = graph.onnx.helper.make_tensor_value_info, graph.onnx.TensorProto
    number = graph.onnx.helper.np_dtype_to_tensor_dtype(graph.dtype)
    columns = [("", 0)] * exported.n_features
    inputs: dict[int, Any] = {}
    kinds = (
        ("X", exported.number_columns, number),
        ("texts", exported.text_columns, types.STRING),
    )
    for name, places, kind in kinds:
        if not places:
            continue
        if one_by_one:
            names = input_names(exported, places)
            inputs |= {j: info(own, kind, ["n", 1]) for j, own in zip(places, names, strict=True)}
            value = graph.joined(names)
        else:
            inputs[-1 if name == "X" else 0] = info(name, kind, ["n", len(places)])
            value = name
        if name == "X":
            value = graph.cast(value, graph.arithmetic)
        own_rows = graph.rows(value, len(places))
        for j, column in zip(places, own_rows.columns, strict=True):
            columns[j] = column
    return Rows(tuple(columns)), [inputs[j] for j in sorted(inputs)]
