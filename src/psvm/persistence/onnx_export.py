"""Models as ONNX graphs of primitive operators, which any ONNX runtime can evaluate.

No operator of the machine-learning domain is used: they compute in float32 only. The graph takes
rows ``X`` and gives ``label`` and ``decision``, as ``predict`` and ``decision_function`` do.
"""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from psvm.persistence.atomic import replacing
from psvm.persistence.decision_rule import DecisionRule, decision_rule_of
from psvm.persistence.errors import UnsupportedModelError
from psvm.persistence.onnx_decisions import problem_values, votes
from psvm.persistence.onnx_graph import Graph
from psvm.persistence.onnx_rows import prepared_rows
from psvm.rows.prediction import KernelModel

Precision = Literal["float32", "float64"]

# Read by every onnxruntime since 1.12 (2022); nothing newer is needed.
_OPSET = 17
_IR_VERSION = 8
# The comparison of texts is newer: onnxruntime 1.16 (2023).
_OPSET_TEXT = 19
_IR_VERSION_TEXT = 9


def to_onnx(model: Any, *, dtype: Precision = "float32", arithmetic: Precision = "float64") -> Any:
    """Model as an ONNX graph.

    Parameters
    ----------
    model : estimator
        A fitted PSVC (any kernel by name) or LinearPSVC, a Pipeline of scalers, SimpleImputer,
        OneHotEncoder and ColumnTransformer with one of these at its end, or a search over such
        models.
    dtype : {"float32", "float64"}, default="float32"
        Type of the rows and of the decision values.
    arithmetic : {"float32", "float64"}, default="float64"
        Type of what is between them. With "float64" decisions equal those of psvm to the last
        digits of ``dtype``, and labels always. "float32" halves the file, and is for devices
        without float64: decisions agree to about 1e-5 of the largest, less where C is large, and a
        label can differ where two classes are that close.

    Returns
    -------
    onnx.ModelProto
        Input ``X`` of shape (n, n_features). Where the model encodes columns of texts, these are an
        input ``texts`` of their own, "" for a missing one, and ``X`` has the other columns that are
        used, both in the order of training. Outputs ``label`` of shape (n,), of int64, text, float
        or bool as the labels are, and ``decision`` of shape (n,) for two classes, (n, n_classes) or
        (n, n_pairs), as :meth:`decision_function` gives it.

    Notes
    -----
    Memory at run time is about three arrays of n x n_SV for kernel models, whatever the kernel:
    distances that are not products (laplacian, exponential) are summed one feature at a time. Feed
    many rows in batches. Support vectors are stored dense.
    """
    for name, value in (("dtype", dtype), ("arithmetic", arithmetic)):
        if value not in ("float32", "float64"):
            raise ValueError(f"`{name}` must be 'float32' or 'float64', got {value!r}.")
    rule = decision_rule_of(model)
    return _model_of(Graph(_onnx(), np.dtype(dtype), np.dtype(arithmetic)), rule)


def write_onnx(
    model: Any,
    path: str | os.PathLike[str],
    *,
    dtype: Precision = "float32",
    arithmetic: Precision = "float64",
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
    """
    content = to_onnx(model, dtype=dtype, arithmetic=arithmetic).SerializeToString()
    with replacing(path) as file:
        file.write(content)


def _onnx() -> Any:
    """The package onnx, or an error that says how to get it."""
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "ONNX files are written with the package onnx: pip install 'psvm[onnx]'.",
            name=error.name,
        ) from error
    return onnx


def _model_of(graph: Graph, rule: DecisionRule) -> Any:
    """The whole model: rows in, labels and decisions out."""
    helper = graph.onnx.helper
    rows, inputs = prepared_rows(graph, rule)
    values = problem_values(graph, rows, rule)
    scores = votes(graph, values, rule.classes.size) if rule.pairwise else values
    classes, label_type = _labels(graph, rule.classes)
    if rule.classes.size == 2:
        number = graph.cast(graph.op("Greater", scores, graph.number(0.0)), np.int64)
        number = graph.op("Squeeze", number, graph.integers([1]))
    else:
        number = graph.op("ArgMax", scores, axis=1, keepdims=0)
    graph.op("Gather", classes, number, axis=0, output="label")
    if rule.scores_per_problem:
        decision, shape = values, ["n", rule.model.intercept.size]
    else:
        decision, shape = scores, ["n", rule.classes.size]
    if rule.classes.size == 2:
        decision, shape = graph.op("Squeeze", decision, graph.integers([1])), ["n"]
    graph.cast(decision, graph.dtype, output="decision")
    info, kind = helper.make_tensor_value_info, helper.np_dtype_to_tensor_dtype(graph.dtype)
    outputs = [info("label", label_type, ["n"]), info("decision", kind, shape)]
    texts = bool(rule.text_columns)
    model = helper.make_model(
        helper.make_graph(graph.nodes, "psvm", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", _OPSET_TEXT if texts else _OPSET)],
        ir_version=_IR_VERSION_TEXT if texts else _IR_VERSION,
        producer_name="psvm",
        producer_version=version("psvm"),
    )
    helper.set_model_props(model, _properties(rule))
    graph.onnx.checker.check_model(model)
    return model


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


def _properties(rule: DecisionRule) -> dict[str, str]:
    """What a reader of the file may want to know, as text."""
    classifier = rule.classifier
    found = {
        "estimator": type(classifier).__name__,
        "p": repr(float(classifier.p)),
        "C": repr(float(classifier.C)),
        "classes": json.dumps([str(label) for label in rule.classes.tolist()]),
    }
    if isinstance(rule.model, KernelModel):
        found["kernel"] = str(rule.model.kernel.function)
    names = rule.feature_names
    if names is not None:
        found["columns of X"] = json.dumps([names[j] for j in rule.number_columns])
        if rule.text_columns:
            found["columns of texts"] = json.dumps([names[j] for j in rule.text_columns])
    return found
