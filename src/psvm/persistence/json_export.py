"""Models as JSON: plain numbers, enough to compute predictions in any language.

docs/model-files.md has the schema and the formulas.
"""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from typing import Any

from psvm.persistence.atomic import replacing
from psvm.persistence.decision_rule import DecisionRule, ExportedModel, exported_model_of
from psvm.persistence.operations import described_kernel
from psvm.persistence.summary import plain
from psvm.rows.prediction import KernelModel, LinearModel

FORMAT = "psvm decision rule"

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
        ``kernel``, ``vectors``, ``problems``, ``decision`` and ``scores``, and ``probabilities``
        where the model has them; every number with all its digits.
        With the kernel K, problem t has the value

        ``f_t(x) = intercept + sum_s coefficients[s] K(vectors[support[s]], x)``

        or ``intercept + <weights, x>`` where the problem has weights. A regressor has no
        ``classes`` (null) and one problem, whose value is the prediction, or one for each of its
        ``quantiles``.
    """
    exported = exported_model_of(model)
    found: dict[str, Any] = {
        "format": FORMAT,
        "version": _version(exported),
        "psvm": version("psvm"),
        "classes": None if exported.classes is None else plain(exported.classes),
        "n_features": exported.n_features,
        "feature_names": exported.feature_names,
        "preprocessing": [operation.described() for operation in exported.operations],
    }
    if not exported.averaged:
        return found | _described(exported.rules[0])
    own = [
        {
            "classes": plain(rule.classes),
            "preprocessing": [one.described() for one in rule.operations],
            **_described(rule),
        }
        for rule in exported.rules
    ]
    return found | {"decision": "mean probability", "members": own}


def _version(exported: ExportedModel) -> int:
    """The lowest whose readers understand the file."""
    if exported.classes is None:
        return 3
    if exported.averaged:
        return 2
    steps = [*exported.operations, *(one for rule in exported.rules for one in rule.operations)]
    return max((one.version for one in steps), default=1)


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


def _described(rule: DecisionRule) -> dict[str, Any]:
    """One rule: kernel, vectors, problems, and how they choose a class or are the prediction."""
    several = rule.classes is not None and rule.classes.size > 2
    found: dict[str, Any] = {
        "kernel": described_kernel(rule.model.kernel),
        "problems": _problems(rule),
        "decision": _DECISIONS[several, rule.pairwise],
        "scores": "problems" if rule.scores_per_problem else "classes",
    }
    if rule.classes is None:
        found["decision"] = "value" if rule.quantiles is None else "sorted values"
    if rule.quantiles is not None:
        found["quantiles"] = rule.quantiles.tolist()
    if isinstance(rule.model, KernelModel) and rule.model.kernel.of_features:
        found["vectors"] = rule.model.dense_vectors.tolist()
    if rule.probabilities is not None:
        found["probabilities"] = rule.probabilities.described()
    return found


def _problems(rule: DecisionRule) -> list[dict[str, Any]]:
    """The problems: the classes of binary ones by number, and the terms of their values."""
    model = rule.model
    found: list[dict[str, Any]] = [
        {"positive": positive, "negative": negative} for positive, negative in rule.problems
    ] or [{} for _ in model.intercept]
    for problem, intercept in zip(found, model.intercept, strict=True):
        problem["intercept"] = float(intercept)
    if isinstance(model, LinearModel):
        for problem, weights in zip(found, model.weights, strict=True):
            problem["weights"] = weights.tolist()
        return found
    precomputed = model.kernel.function == "precomputed"
    for problem, (chosen, values) in zip(found, model.terms(), strict=True):
        problem["support"] = (model.vectors[chosen] if precomputed else chosen).tolist()
        problem["coefficients"] = values.tolist()
    return found
