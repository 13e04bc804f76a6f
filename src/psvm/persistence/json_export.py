"""Models as JSON: plain numbers, enough to compute decisions in any language.

docs/model-files.md has the schema and the formulas.
"""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from typing import Any

from psvm.persistence.atomic import replacing
from psvm.persistence.decision_rule import DecisionRule, decision_rule_of
from psvm.persistence.preprocessing import Arithmetic, Clip, Impute, OneHot, Operation
from psvm.persistence.summary import plain
from psvm.rows.prediction import KernelModel, LinearModel

FORMAT = "psvm decision rule"
FORMAT_VERSION = 1

# How the values of the problems choose a class: by whether there are more than two, and pairs.
_DECISIONS = {
    (False, False): "sign",
    (True, False): "largest value",
    (True, True): "pairs vote",
}


def to_json(model: Any) -> dict[str, Any]:
    """Model as a dictionary of lists, numbers and text.

    Parameters
    ----------
    model : estimator
        As for :func:`psvm.persistence.to_onnx`.

    Returns
    -------
    dict
        ``format``, ``version``, ``classes``, ``n_features``, ``feature_names``, ``preprocessing``,
        ``kernel``, ``vectors``, ``problems``, ``decision`` and ``scores``; every number with all
        its digits.
        With the kernel K, problem t has the value

        ``f_t(x) = intercept + sum_s coefficients[s] K(vectors[support[s]], x)``

        or ``intercept + <weights, x>`` where the problem has weights.
    """
    rule = decision_rule_of(model)
    name = str(rule.model.kernel.function)
    found: dict[str, Any] = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "psvm": version("psvm"),
        "classes": plain(rule.classes),
        "n_features": rule.n_features,
        "feature_names": rule.feature_names,
        "preprocessing": [_described(operation) for operation in rule.operations],
        "kernel": {"name": name},
        "problems": _problems(rule),
        "decision": _DECISIONS[rule.classes.size > 2, rule.pairwise],
        "scores": "problems" if rule.scores_per_problem else "classes",
    }
    if isinstance(rule.model, KernelModel):
        kernel = rule.model.kernel
        found["kernel"] |= {name: getattr(kernel, name) for name in kernel.facts.parameters}
        if kernel.of_features:
            found["vectors"] = rule.model.dense_vectors.tolist()
    return found


def write_json(model: Any, path: str | os.PathLike[str]) -> None:
    """Write :func:`to_json` to a file, atomically.

    Parameters
    ----------
    model : estimator
        As for :func:`to_json`.
    path : path-like
        The file.
    """
    text = json.dumps(to_json(model), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    with replacing(path) as file:
        file.write(text.encode("utf-8") + b"\n")


def _problems(rule: DecisionRule) -> list[dict[str, Any]]:
    """The binary problems: their classes by number, and the terms of their decision values."""
    model = rule.model
    found: list[dict[str, Any]] = [
        {"positive": positive, "negative": negative, "intercept": float(intercept)}
        for (positive, negative), intercept in zip(rule.problems, model.intercept, strict=True)
    ]
    if isinstance(model, LinearModel):
        for problem, weights in zip(found, model.weights, strict=True):
            problem["weights"] = weights.tolist()
        return found
    precomputed = model.kernel.function == "precomputed"
    for problem, (chosen, values) in zip(found, model.terms(), strict=True):
        problem["support"] = (model.vectors[chosen] if precomputed else chosen).tolist()
        problem["coefficients"] = values.tolist()
    return found


def _described(operation: Operation) -> dict[str, Any]:
    """One operation on the columns of a row."""
    if isinstance(operation, Arithmetic):
        return {"operation": operation.operator, "values": operation.values.tolist()}
    if isinstance(operation, Clip):
        return {"operation": "clip", "low": operation.low, "high": operation.high}
    if isinstance(operation, Impute):
        return {"operation": "impute", "values": operation.values.tolist()}
    if isinstance(operation, OneHot):
        return {
            "operation": "one_hot",
            "categories": [column.tolist() for column in operation.categories],
        }
    return {
        "operation": "branches",
        "branches": [
            {"columns": columns.tolist(), "preprocessing": [_described(inner) for inner in inside]}
            for columns, inside in zip(operation.columns, operation.operations, strict=True)
        ],
    }
