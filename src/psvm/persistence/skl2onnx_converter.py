"""psvm's estimators in graphs that skl2onnx makes, beside steps that only skl2onnx knows."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.linear_svr import LinearPSVR
from psvm.estimators.quantiles import PSVRQuantiles
from psvm.estimators.svc import PSVC
from psvm.estimators.svr import PSVR
from psvm.persistence.decision_rule import exported_model_of
from psvm.persistence.errors import UnsupportedModelError
from psvm.persistence.onnx_export import model_outputs
from psvm.persistence.onnx_graph import Graph
from psvm.search import PSVCCV, PSVRCV


def register_skl2onnx() -> None:
    """Teach skl2onnx the estimators of psvm, for this process.

    After it ``skl2onnx.to_onnx`` and ``convert_sklearn`` take pipelines that end with PSVC,
    LinearPSVC, PSVR, LinearPSVR or PSVRQuantiles, or with PSVCCV or PSVRCV, whose ``preprocessor``
    they convert like a step. Outputs are ``label``, ``decision`` and, of PSVCCV,
    ``probabilities``, of regressors ``prediction``, with the nodes of
    :func:`psvm.persistence.to_onnx`: computed in float64, or as the option
    ``{"arithmetic": "float32"}`` of the estimator says; ``probabilities`` are an array whatever the
    option ``zipmap``. Where all steps are known to psvm,
    ``to_onnx`` computes the whole pipeline in float64, while skl2onnx computes its own steps in the
    type of the input. It knows no psvm inside a CalibratedClassifierCV; ``to_onnx`` does.

    Raises
    ------
    ModuleNotFoundError
        If skl2onnx is not installed.
    """
    try:
        import skl2onnx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "register_skl2onnx needs the package skl2onnx: pip install skl2onnx. "
            "psvm.persistence.to_onnx exports models without it.",
            name=error.name,
        ) from error
    for kind in (PSVC, LinearPSVC, PSVCCV, PSVR, LinearPSVR, PSVRCV, PSVRQuantiles):
        skl2onnx.update_registered_converter(
            kind,
            f"Psvm{kind.__name__}",
            _check_inputs,
            _convert,
            parser=_parse,
            # Probabilities are an array in any case; skl2onnx and its users give the option to all
            # classifiers.
            options={"arithmetic": ["float64", "float32"], "zipmap": [False, True]},
        )


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """Declare the operator and its outputs."""
    from skl2onnx._parse import _parse_sklearn
    from skl2onnx._supported_operators import _get_sklearn_operator_name
    from skl2onnx.common.data_types import (
        BooleanTensorType,
        DoubleTensorType,
        Int64TensorType,
        StringTensorType,
        guess_tensor_type,
    )

    if hasattr(model, "preprocessor_"):
        inputs = _parse_sklearn(scope, model.preprocessor_, inputs, custom_parsers=custom_parsers)
        model = _without_preprocessor(model)
    operator = scope.declare_local_operator(_get_sklearn_operator_name(type(model)), model)
    operator.inputs = inputs
    exported = exported_model_of(model)
    number = type(guess_tensor_type(inputs[0].type))
    if exported.classes is None:
        quantiles = exported.rules[0].quantiles
        shape = [None] if quantiles is None else [None, quantiles.size]
        operator.outputs.append(scope.declare_local_variable("prediction", number(shape)))
        return list(operator.outputs)
    rule, k = exported.rules[0], exported.classes.size
    labels = {"i": Int64TensorType, "u": Int64TensorType, "f": DoubleTensorType}
    labels["b"] = BooleanTensorType
    label = labels.get(exported.classes.dtype.kind, StringTensorType)
    width = rule.model.intercept.size if rule.scores_per_problem else k
    outputs = {"label": label([None]), "decision": number([None] if k == 2 else [None, width])}
    if rule.probabilities is not None:
        outputs["probabilities"] = number([None, k])
    for name, kind in outputs.items():
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return list(operator.outputs)


def _without_preprocessor(search: PSVCCV | PSVRCV) -> PSVCCV | PSVRCV:
    """The search as if it had been given what its preprocessor makes."""
    alone = copy.copy(search)
    alone.best_estimator_ = search.best_estimator_[-1]
    del alone.preprocessor_
    return alone


def _check_inputs(operator: Any) -> None:
    """Shapes are known since the parser; only that there are numbers is to be seen."""
    exported = exported_model_of(operator.raw_operator)
    if exported.text_columns:
        raise UnsupportedModelError(
            f"{type(operator.raw_operator).__name__} reads columns of texts, which skl2onnx cannot "
            "hand on to it; use psvm.persistence.to_onnx."
        )


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes."""
    import onnx
    from skl2onnx.common.data_types import guess_numpy_type

    model, inputs = operator.raw_operator, operator.inputs
    exported = exported_model_of(model)
    arithmetic = container.get_options(model, {}).get("arithmetic", "float64")
    dtype = np.dtype(np.float64 if guess_numpy_type(inputs[0].type) == np.float64 else np.float32)
    prefix = scope.get_unique_operator_name("psvm")
    graph = Graph(onnx, dtype, np.dtype(arithmetic), container.target_opset, f"{prefix}.")
    rows = graph.cast(graph.joined([value.full_name for value in inputs]), graph.arithmetic)
    names = {value.raw_name: value.onnx_name for value in operator.outputs}
    # Another estimator's converter declares outputs of its own, or reads ours as its own kind of
    # scores, wrong for two classes; only outputs of the whole graph have a known `is_leaf`.
    wanted = "prediction" if exported.classes is None else "decision"
    if wanted not in names or operator.outputs[0].is_leaf is None:
        raise UnsupportedModelError(
            f"skl2onnx can have {type(model).__name__} at the end of a pipeline, not inside "
            "another estimator. psvm.persistence.to_onnx takes CalibratedClassifierCV and searches."
        )
    model_outputs(graph, exported, graph.rows(rows, exported.n_features), names)
    container.initializers.extend(graph.constants)
    for node in graph.nodes:
        attributes = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
        name = scope.get_unique_operator_name(f"{prefix}_{node.op_type}")
        container.add_node(
            node.op_type, list(node.input), list(node.output), name=name, **attributes
        )
