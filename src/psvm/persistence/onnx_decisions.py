"""The second part of an ONNX graph: from preprocessed rows to decision values and votes."""

from __future__ import annotations

import numpy as np

from psvm.mathematics.multiclass import class_pairs, problem_signs
from psvm.persistence.decision_rule import DecisionRule
from psvm.persistence.onnx_graph import Graph
from psvm.persistence.onnx_kernels import kernel_values
from psvm.rows.prediction import KernelModel, LinearModel


def problem_values(graph: Graph, rows: str, rule: DecisionRule) -> str:
    """Add the values of all problems.

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
    if isinstance(model, LinearModel):
        values = graph.op("MatMul", rows, graph.array(model.weights.T))
    else:
        if model.kernel.function == "precomputed":
            kernel = graph.columns(rows, model.vectors.tolist())
        else:
            kernel = kernel_values(graph, rows, model.kernel, model.dense_vectors)
        if rule.pairwise:
            values = _pair_products(graph, kernel, model)
        else:
            values = graph.op("MatMul", kernel, graph.array(model.dual_coef.T))
    return graph.op("Add", values, graph.array(model.intercept))


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
