"""Models as ONNX graphs of primitive operators, which any ONNX runtime can evaluate.

No operator of the machine-learning domain is used: they compute in float32 only. The graph takes
rows ``X`` and gives ``label``, ``decision`` and ``probabilities``, as ``predict``,
``decision_function`` and ``predict_proba`` do; of a regressor ``prediction``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from psvm.persistence.atomic import replacing
from psvm.persistence.decision_rule import DecisionRule, ExportedModel, exported_model_of
from psvm.persistence.errors import UnsupportedModelError
from psvm.persistence.onnx_decisions import problem_values, votes
from psvm.persistence.onnx_graph import Graph, Rows
from psvm.persistence.onnx_inputs import (
    Inputs,
    by_columns,
    input_names,
    input_rows,
    output_names,
)
from psvm.persistence.onnx_kernels import check_digits
from psvm.rows.prediction import KernelModel

Precision = Literal["float32", "float64"]

# Read by every onnxruntime since 1.12 (2022); nothing newer is needed.
_OPSET = 17
_IR_VERSION = 8
# The comparison of texts is newer: onnxruntime 1.16 (2023).
_OPSET_TEXT = 19
_IR_VERSION_TEXT = 9


def to_onnx(
    model: Any,
    *,
    dtype: Precision = "float32",
    arithmetic: Precision = "float64",
    inputs: Inputs = "auto",
) -> Any:
    """Model as an ONNX graph.

    Parameters
    ----------
    model : estimator
        A fitted PSVC (any kernel by name) or LinearPSVC, in a CalibratedClassifierCV or not, a
        PSVR, LinearPSVR or PSVRQuantiles, at the end of a Pipeline or as the best of a search. The
        error for a step that has no place in a graph lists those that have.
    dtype : {"float32", "float64"}, default="float32"
        Type of the rows and of the decision values or predictions.
    arithmetic : {"float32", "float64"}, default="float64"
        Type of what is between them. With "float64" decisions equal those of psvm to the last
        digits of ``dtype``, and labels always. "float32" halves the file, and is for devices
        without float64: decisions agree to about 1e-5 of the largest, less where C is large, and a
        label can differ where two classes are that close.

    inputs : {"auto", "array", "columns"}, default="auto"
        "array" is one input ``X`` of shape (n, n_features). Where the model encodes columns of
        texts, these are an input ``texts`` of their own, and ``X`` has the other columns that are
        used, both in the order of training. "columns" is one input of shape (n, 1) for every column
        of a data frame that is used, by its name, as of skl2onnx. "auto" takes columns where some
        are texts and the model knows their names. A missing number is NaN, a missing text "".

    Returns
    -------
    onnx.ModelProto
        Outputs ``label`` of shape (n,), of int64, text, float or bool as the labels are;
        ``decision`` of shape (n,) for two classes, (n, n_classes) or (n, n_pairs), as
        :meth:`decision_function` gives it; and, for PSVCCV and CalibratedClassifierCV (which has no
        decisions), ``probabilities`` of shape (n, n_classes). Of a regressor ``prediction`` alone,
        of shape (n,), or (n, n_quantiles) of PSVRQuantiles.

    Notes
    -----
    Memory at run time is about three arrays of n x n_SV for kernel models, whatever the kernel:
    distances that are not products (laplacian, exponential) are summed one feature at a time. Feed
    many rows in batches. Support vectors are stored dense.
    """
    for name, value in (("dtype", dtype), ("arithmetic", arithmetic)):
        if value not in ("float32", "float64"):
            raise ValueError(f"`{name}` must be 'float32' or 'float64', got {value!r}.")
    if inputs not in ("auto", "array", "columns"):
        raise ValueError(f"`inputs` must be 'auto', 'array' or 'columns', got {inputs!r}.")
    exported = exported_model_of(model)
    opset = _OPSET_TEXT if exported.text_columns else _OPSET
    graph = Graph(_onnx(), np.dtype(dtype), np.dtype(arithmetic), opset)
    return _model_of(graph, exported, by_columns(exported, inputs))


def write_onnx(
    model: Any,
    path: str | os.PathLike[str],
    *,
    dtype: Precision = "float32",
    arithmetic: Precision = "float64",
    inputs: Inputs = "auto",
) -> None:
    """Write a model as an ONNX file, atomically.

    Parameters
    ----------
    model : estimator
        As for :func:`to_onnx`.
    path : path-like
        The file.
    dtype, arithmetic : {"float32", "float64"}
        As for :func:`to_onnx`.
    inputs : {"auto", "array", "columns"}, default="auto"
        As for :func:`to_onnx`.
    """
    model = to_onnx(model, dtype=dtype, arithmetic=arithmetic, inputs=inputs)
    content = model.SerializeToString()
    with replacing(path) as file:
        file.write(content)


def _onnx() -> Any:
    """The package onnx, or an error that says how to get it."""
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "ONNX files are written with the package onnx: pip install '.[onnx]' in a clone of the "
            "repository.",
            name=error.name,
        ) from error
    return onnx


def _model_of(graph: Graph, exported: ExportedModel, one_by_one: bool) -> Any:
    """The whole model: rows in, labels, decisions and probabilities out."""
    helper = graph.onnx.helper
    rows, inputs = input_rows(graph, exported, one_by_one)
    outputs = model_outputs(graph, exported, rows)
    texts = bool(exported.text_columns)
    model = helper.make_model(
        helper.make_graph(graph.nodes, "psvm", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", graph.opset)],
        ir_version=_IR_VERSION_TEXT if texts else _IR_VERSION,
        producer_name="psvm",
        producer_version=version("psvm"),
    )
    helper.set_model_props(model, _properties(exported, one_by_one))
    graph.onnx.checker.check_model(model)
    return model


def model_outputs(
    graph: Graph, exported: ExportedModel, rows: Rows, names: Mapping[str, str] | None = None
) -> list[Any]:
    """Add everything from the columns of the rows to the outputs.

    Parameters
    ----------
    graph : Graph
        The graph to add to.
    exported : ExportedModel
        The model.
    rows : Rows
        Its columns, before preprocessing.
    names : mapping of str to str, optional
        Other names for the outputs.

    Returns
    -------
    list of onnx.ValueInfoProto
        The outputs: ``label``, ``decision`` and ``probabilities``, as far as the model has them, or
        ``prediction``.
    """
    info = graph.onnx.helper.make_tensor_value_info
    kind = graph.onnx.helper.np_dtype_to_tensor_dtype(graph.dtype)
    called = {name: name for name in output_names(exported)} | dict(names or {})
    for operation in exported.operations:
        rows = operation.onnx(graph, rows)
    if exported.classes is None:
        rule = exported.rules[0]
        value = _rule_values(graph, rule, rows, not exported.operations)
        shape: list[str | int] = ["n"]
        if rule.quantiles is None:
            value = graph.op("Squeeze", value, graph.integers([1]))
        else:
            ranks = np.argsort(np.argsort(rule.quantiles)).tolist()
            value = graph.columns(graph.ascending(value, len(ranks)), ranks)
            shape = ["n", len(ranks)]
        graph.cast(value, graph.dtype, output=called["prediction"])
        return [info(called["prediction"], kind, shape)]
    k = exported.classes.size
    parts = [_rule_outputs(graph, rule, rows, not exported.operations) for rule in exported.rules]
    classes, label_type = _labels(graph, exported.classes)
    outputs = [info(called["label"], label_type, ["n"])]
    mean: str | None
    if exported.averaged:
        total = graph.op("Sum", *(str(part.probabilities) for part in parts))
        mean = graph.op("Div", total, graph.number(float(len(parts))))
        number = graph.op("ArgMax", mean, axis=1, keepdims=0)
    else:
        (part,) = parts
        mean, number = part.probabilities, part.number
        decision, shape = part.decision, ["n", part.n_decisions]
        if k == 2:
            decision, shape = graph.op("Squeeze", decision, graph.integers([1])), ["n"]
        graph.cast(decision, graph.dtype, output=called["decision"])
        outputs.append(info(called["decision"], kind, shape))
    graph.op("Gather", classes, number, axis=0, output=called["label"])
    if mean is not None:
        graph.cast(mean, graph.dtype, output=called["probabilities"])
        outputs.append(info(called["probabilities"], kind, ["n", k]))
    return outputs


class _RuleOutputs(NamedTuple):
    """Names of what a rule gives."""

    decision: str
    n_decisions: int
    number: str
    probabilities: str | None


def _rule_outputs(graph: Graph, rule: DecisionRule, rows: Rows, bare: bool) -> _RuleOutputs:
    """Add a rule of classes: its decisions, the number of its class, and its probabilities."""
    assert rule.classes is not None
    values = _rule_values(graph, rule, rows, bare)
    model, k = rule.model, rule.classes.size
    scores = votes(graph, values, k) if rule.pairwise else values
    if k == 2:
        number = graph.cast(graph.op("Greater", scores, graph.number(0.0)), np.int64)
        number = graph.op("Squeeze", number, graph.integers([1]))
    else:
        number = graph.op("ArgMax", scores, axis=1, keepdims=0)
    by_problem = rule.scores_per_problem
    decision, n_decisions = (values, model.intercept.size) if by_problem else (scores, k)
    found = rule.probabilities
    shown = None if found is None else values if found.of == "problems" else decision
    probabilities = None if found is None or shown is None else found.onnx(graph, shown)
    return _RuleOutputs(decision, n_decisions, number, probabilities)


def _rule_values(graph: Graph, rule: DecisionRule, rows: Rows, bare: bool) -> str:
    """Add the values of a rule's problems, after its own preprocessing."""
    for operation in rule.operations:
        rows = operation.onnx(graph, rows)
    model = rule.model
    if bare and not rule.operations and isinstance(model, KernelModel):
        check_digits(model.kernel, model.dense_vectors, "dtype", graph.dtype)
    return problem_values(graph, graph.matrix(rows), rule)


def _labels(graph: Graph, classes: npt.NDArray[Any]) -> tuple[str, int]:
    """The labels as a constant, and their type."""
    types = graph.onnx.TensorProto
    if all(isinstance(label, str) for label in classes.tolist()):
        return graph.texts(classes.tolist()), int(types.STRING)
    to = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}.get(classes.dtype.kind)
    if to is None:
        raise UnsupportedModelError(
            f"Labels must be numbers or text to be exported, got {classes.tolist()[:3]}."
        )
    name = graph.constant(classes.astype(to))
    return name, int(graph.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def _properties(exported: ExportedModel, one_by_one: bool) -> dict[str, str]:
    """What a reader of the file may want to know, as text."""
    rule = exported.rules[0]
    own = rule.estimator
    found = {"estimator": type(own).__name__, "p": repr(float(own.p)), "C": repr(float(own.C))}
    if exported.classes is None:
        found["epsilon"] = repr(float(own.epsilon))
        if rule.quantiles is None:
            found["quantile"] = repr(float(own.quantile))
        else:
            found["quantiles"] = json.dumps(rule.quantiles.tolist())
    else:
        found["classes"] = json.dumps([str(label) for label in exported.classes.tolist()])
    if isinstance(rule.model, KernelModel):
        found["kernel"] = str(rule.model.kernel.function)
    names, texts, numbers = exported.feature_names, exported.text_columns, exported.number_columns
    if names is not None and one_by_one:
        used = sorted([*texts, *numbers])
        called = zip(input_names(exported, used), used, strict=True)
        found["columns of inputs"] = json.dumps({name: names[j] for name, j in called})
    elif names is not None:
        found["columns of X"] = json.dumps([names[j] for j in numbers])
        if texts:
            found["columns of texts"] = json.dumps([names[j] for j in texts])
    return found
