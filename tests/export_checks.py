"""Exported models beside the model itself: in onnxruntime, and by the evaluator of the docs."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

from psvm.persistence import to_json, to_onnx

PAGE = Path(__file__).parents[1] / "docs" / "model-files.md"
AGREES = {"float32": 1e-5, "float64": 1e-10}


@functools.cache
def evaluator():
    """The function ``evaluate(model, row)`` that docs/model-files.md shows."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    source = next(block for block in blocks if "def evaluate(" in block)
    assert "psvm" not in re.sub(r"#.*", "", source)
    names = {}
    exec(compile(source, str(PAGE), "exec"), names)
    return names["evaluate"]


def session(graph):
    """A session of onnxruntime for a graph."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(graph.SerializeToString(), options)


def feed_of(graph, X, dtype):
    """What to feed a graph with: an array, or the columns of a frame by name."""
    if isinstance(X, np.ndarray):
        name = graph.graph.input[0].name
        return {name: X if name == "texts" else X.astype(dtype)}
    told = {item.key: item.value for item in graph.metadata_props}
    own = json.loads(told["columns of inputs"])
    feed = {}
    for value in graph.graph.input:
        column = X[own[value.name]]
        if value.type.tensor_type.elem_type == 8:  # text
            column = column.astype(object).where(column.notna(), "").to_numpy(dtype=object)
        else:
            column = column.to_numpy(dtype=dtype, na_value=np.nan)
        feed[value.name] = column.reshape(-1, 1)
    return feed


def in_onnx(model, X, dtype="float64", **options):
    """Outputs of onnxruntime by name."""
    graph = to_onnx(model, dtype=dtype, **options)
    names = [value.name for value in graph.graph.output]
    return dict(zip(names, session(graph).run(names, feed_of(graph, X, dtype)), strict=True))


def in_json(model, X):
    """What the evaluator of the docs makes of rows, in the names of ONNX."""
    document = json.loads(json.dumps(to_json(model), allow_nan=False))
    if isinstance(X, pd.DataFrame):
        rows = [[None if pd.isna(a) else a for a in row] for row in X.to_numpy(object).tolist()]
    else:
        rows = X.tolist()
    found = [evaluator()(document, row) for row in rows]
    if document["classes"] is None:
        return {"prediction": np.array([one[0] for one in found])}
    names = ("label", "decision", "probabilities")
    every = {name: [one[i] for one in found] for i, name in enumerate(names)}
    return {name: np.array(value) for name, value in every.items() if value[0] is not None}


def expected_of(model, X):
    """The same by the model itself."""
    if not hasattr(model, "classes_"):
        return {"prediction": model.predict(X)}
    found = {"label": model.predict(X)}
    for name, method in (("decision", "decision_function"), ("probabilities", "predict_proba")):
        if hasattr(model, method):
            found[name] = getattr(model, method)(X)
    return found


def assert_same(found, expected, agrees):
    """That outputs agree: labels, and numbers to a share of the largest."""
    assert set(found) == set(expected)
    for name in set(found) - {"label"}:
        ours = expected[name]
        assert found[name].shape == ours.shape, name
        worst = np.abs(found[name] - ours).max()
        assert worst <= agrees * np.abs(ours).max(), f"{name} differs by {worst}"
    if "label" in expected:
        np.testing.assert_array_equal(found["label"], expected["label"])


def assert_exports_agree(model, X, json_rows=40):
    """That ONNX in both types and JSON agree with a fitted model on rows."""
    for dtype, agrees in AGREES.items():
        # The same rows for both: of a frame, those with numbers rounded to the type.
        if isinstance(X, np.ndarray):
            rows = X if X.dtype == object else X.astype(dtype).astype(np.float64)
        else:
            numbers = X.select_dtypes("float64").columns
            rows = X.astype(dict.fromkeys(numbers, dtype)).astype(dict.fromkeys(numbers, "float64"))
        assert_same(in_onnx(model, rows, dtype), expected_of(model, rows), agrees)
    some = X[:json_rows]
    assert_same(in_json(model, some), expected_of(model, some), 1e-9)
