"""Probabilities of classes from decision values: curves, and how they are put together.

As the operations, these are frozen descriptions: JSON holds their fields, `onnx` adds them to a
graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from psvm.mathematics.multiclass import class_pairs
from psvm.persistence.onnx_graph import Graph
from psvm.persistence.steps import Step
from psvm.search.calibration import HAIR, SURE, Calibration

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SigmoidCurve:
    """``1 / (1 + exp(-(slope f + offset)))``; if ``symmetric``, on the side of 1/2 that f is of 0.

    What is on the wrong side is moved to 1/2 and a hair beyond, in the order of f.
    """

    slope: float
    offset: float
    symmetric: bool = False

    def described(self) -> dict[str, Any]:
        """What JSON holds of it."""
        return {"slope": self.slope, "offset": self.offset, "symmetric": self.symmetric}

    def onnx(self, graph: Graph, values: str) -> str:
        """Add it to a graph, for a column of decision values."""
        exponent = graph.op("Mul", values, graph.number(self.slope))
        curve = graph.op("Sigmoid", graph.op("Add", exponent, graph.number(self.offset)))
        if not self.symmetric:
            return curve
        size = graph.op("Add", graph.op("Abs", values), graph.number(1.0))
        share = graph.op("Mul", graph.op("Div", values, size), graph.number(HAIR))
        half = graph.op("Add", share, graph.number(0.5))
        positive = graph.op("Greater", values, graph.number(0.0))
        return graph.op(
            "Where", positive, graph.op("Max", curve, half), graph.op("Min", curve, half)
        )


@dataclass(frozen=True)
class StepsCurve:
    """Straight lines between the points (``x``, ``y``), level outside of them."""

    x: Array
    y: Array

    def described(self) -> dict[str, Any]:
        """What JSON holds of it."""
        return {"x": self.x.tolist(), "y": self.y.tolist()}

    def onnx(self, graph: Graph, values: str) -> str:
        """Add it to a graph, for a column of decision values."""
        x, y = self.x, self.y
        if x.size == 1:
            return graph.op("Add", graph.op("Mul", values, graph.number(0.0)), graph.array(y))
        inside = graph.op("Max", graph.op("Min", values, graph.number(x[-1])), graph.number(x[0]))
        # The line: how many of the points between the first and the last are below.
        below = graph.op("GreaterOrEqual", inside, graph.array(x[None, 1:-1]))
        place = graph.cast(graph.row_sums(graph.cast(below, graph.arithmetic)), np.int64)

        def of_line(numbers: Array) -> str:
            return graph.op("Gather", graph.array(numbers), place, axis=0)

        along = graph.op("Sub", inside, of_line(x[:-1]))
        rise = graph.op("Mul", along, of_line(np.diff(y) / np.diff(x)))
        return graph.op("Add", rise, of_line(y[:-1]))


Curve = SigmoidCurve | StepsCurve


@dataclass(frozen=True)
class Probabilities:
    """Probabilities of all classes.

    Attributes
    ----------
    of : {"problems", "scores"}
        Whether the curves take the values of the binary problems, or what ``decision_function``
        gives.
    curves : sequence of curve
        One for each value.
    classes : list of int
        The class that a curve is about, among ``n_classes``; of pairs the first.
    n_classes : int
        Number of classes; those without a curve have probability 0.
    combined : {"two classes", "pairs coupled", "shares", "softmax"}
        p and 1 - p; the coupling of Wu, Lin and Weng; parts of the sum; or the softmax of the
        values times ``slope``, which has no curves.
    least : float
        For "shares", what a curve gives at least.
    slope : float
        For "softmax".
    """

    of: Literal["problems", "scores"]
    curves: Sequence[Curve]
    classes: list[int]
    n_classes: int
    combined: Literal["two classes", "pairs coupled", "shares", "softmax"]
    least: float = 0.0
    slope: float = 1.0

    def described(self) -> dict[str, Any]:
        """What JSON holds of it."""
        found: dict[str, Any] = {"of": self.of, "combined": self.combined}
        if self.combined == "softmax":
            return {**found, "slope": self.slope}
        found["curves"] = [curve.described() for curve in self.curves]
        if self.combined == "shares":
            found |= {"classes": self.classes, "least": self.least}
        return found

    def onnx(self, graph: Graph, values: str) -> str:
        """Add it to a graph, for values of shape (n, n_curves)."""
        if self.combined == "softmax":
            return self._softmax(graph, values)
        columns = [
            curve.onnx(graph, graph.columns(values, [t])) for t, curve in enumerate(self.curves)
        ]
        if self.combined == "two classes":
            other = graph.op("Sub", graph.number(1.0), columns[0])
            return graph.joined([other, columns[0]])
        if self.combined == "pairs coupled":
            return _coupled(graph, graph.joined(columns), self.n_classes)
        return self._shares(graph, columns)

    def _softmax(self, graph: Graph, values: str) -> str:
        if self.n_classes == 2:
            values = graph.joined([graph.op("Neg", values), values])
        return graph.op("Softmax", graph.op("Mul", values, graph.number(self.slope)), axis=1)

    def _shares(self, graph: Graph, columns: list[str]) -> str:
        own = graph.joined(columns)
        if self.least > 0.0:
            own = graph.op("Max", own, graph.number(self.least))
        if self.classes != list(range(self.n_classes)):
            spread = np.zeros((len(self.classes), self.n_classes))
            spread[np.arange(len(self.classes)), self.classes] = 1.0
            own = graph.op("MatMul", own, graph.array(spread))
        total = graph.row_sums(own)
        none = graph.op("Equal", total, graph.number(0.0))
        shares = graph.op("Div", own, graph.op("Where", none, graph.number(1.0), total))
        return graph.op("Where", none, graph.number(1.0 / self.n_classes), shares)


def _coupled(graph: Graph, pairs: str, k: int) -> str:
    """The p that minimises ``sum (r_ji p_i - r_ij p_j)^2`` with sum 1, by elimination.

    p solves ``(Q + 1 1^T) p = 1`` up to a factor, whose matrix is positive definite: no pivoting.
    """
    sure = graph.op("Clip", pairs, graph.number(SURE), graph.number(1.0 - SURE))
    both = graph.joined([sure, graph.op("Sub", graph.number(1.0), sure)])
    count = k * (k - 1) // 2
    # r as k x k entries of a row, each a probability or, on the diagonal, 0.
    place = np.zeros((2 * count, k * k))
    for t, (i, j) in enumerate(class_pairs(k)):
        place[t, i * k + j] = place[count + t, j * k + i] = 1.0
    shape = graph.integers([-1, k, k])
    r = graph.op("Reshape", graph.op("MatMul", both, graph.array(place)), shape)
    turned = graph.op("Transpose", r, perm=[0, 2, 1])
    squares = graph.op("ReduceSum", graph.op("Mul", r, r), graph.integers([1]), keepdims=1)
    diagonal = graph.op("Mul", squares, graph.array(np.eye(k)[None]))
    Q = graph.op("Sub", diagonal, graph.op("Mul", r, turned))
    system = graph.op("Add", Q, graph.number(1.0))
    ones = graph.op("Mul", graph.op("Slice", system, *_ends(graph, 0, 1)), graph.number(0.0))
    system = graph.op("Concat", system, graph.op("Add", ones, graph.number(1.0)), axis=2)
    for j in range(k):
        row = graph.op("Gather", system, graph.integers([j]), axis=1)
        column = graph.op("Gather", system, graph.integers([j]), axis=2)
        pivot = graph.op("Gather", row, graph.integers([j]), axis=2)
        unit = graph.array(np.eye(k)[None, :, j : j + 1])
        change = graph.op("Mul", graph.op("Sub", column, unit), graph.op("Div", row, pivot))
        system = graph.op("Sub", system, change)
    p = graph.op("Gather", system, graph.constant(np.array(k, dtype=np.int64)), axis=2)
    p = graph.op("Max", p, graph.number(0.0))
    return graph.op("Div", p, graph.row_sums(p))


def _ends(graph: Graph, begin: int, end: int) -> tuple[str, str, str]:
    """Begin, end and axis of a slice of the last of three axes."""
    return graph.integers([begin]), graph.integers([end]), graph.integers([2])


def of_search(calibration: Calibration) -> Probabilities:
    """Those of a PSVCCV."""
    k = calibration.n_classes
    curves = [SigmoidCurve(one.slope, one.offset, one.symmetric) for one in calibration.sigmoids]
    if k == 2:
        return Probabilities("problems", curves, [1], k, "two classes")
    if calibration.pairwise:
        first = [i for i, _ in class_pairs(k)]
        return Probabilities("problems", curves, first, k, "pairs coupled")
    return Probabilities("problems", curves, list(range(k)), k, "shares", least=SURE)


def of_calibrators(step: Step, member: Any) -> Probabilities:
    """Those of one model of a CalibratedClassifierCV.

    Parameters
    ----------
    step : Step
        The CalibratedClassifierCV.
    member : object
        One of its ``calibrated_classifiers_``.

    Returns
    -------
    Probabilities
    """
    k = len(member.classes)
    if member.method == "temperature":
        slope = float(member.calibrators[0].beta_)
        return Probabilities("scores", [], [], k, "softmax", slope=slope)
    if member.method not in ("sigmoid", "isotonic"):
        raise step.refused(
            f"with method={member.method!r} cannot be exported; use 'sigmoid', 'isotonic' or "
            "'temperature'."
        )
    curves = [_curve(one) for one in member.calibrators]
    if k == 2:
        return Probabilities("scores", curves, [1], k, "two classes")
    classes = np.searchsorted(member.classes, member.estimator.classes_).tolist()
    # A model that was shown two of the classes has one score, and scikit-learn takes that for the
    # first of them.
    count = 1 if len(classes) == 2 else len(classes)
    return Probabilities("scores", curves[:count], classes[:count], k, "shares")


def _curve(calibrator: Any) -> Curve:
    if hasattr(calibrator, "a_"):
        return SigmoidCurve(-float(calibrator.a_), -float(calibrator.b_))
    x = np.asarray(calibrator.X_thresholds_, dtype=np.float64)
    return StepsCurve(x, np.asarray(calibrator.y_thresholds_, dtype=np.float64))
