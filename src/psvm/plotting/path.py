"""PathDisplay: what changes along a path over p and C."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.linear_svr import LinearPSVR
from psvm.estimators.path import PSVMPath, psvm_path
from psvm.estimators.svc import PSVC
from psvm.estimators.svr import PSVR
from psvm.plotting.canvas import (
    BLUE,
    LEAST_GAP,
    VERMILLION,
    axes_for,
    label_ticks,
    legend_beside,
    mark_tol,
    problem_sides,
    require_matplotlib,
    series_styles,
    with_defaults,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

Array = npt.NDArray[np.float64]
Quantity = Literal["support", "coef", "dual_coef", "objective", "gap", "score"]
_LABELS = {
    "support": "support vectors",
    "coef": "weight",
    "dual_coef": r"$y_i\,\alpha_i\,/\,C$",
    "objective": "primal objective",
    "gap": "relative duality gap",
    "score": "validation score",
}
# The same of a regression, where y is something else.
_COEF = r"$(\alpha_i^+ - \alpha_i^-)\,/\,C$"
# Training rows whose dual variables are drawn: more only blacken the picture.
_MANY_ROWS = 300


class PathDisplay:
    """Weights, dual variables, support vectors, objective, gap or score along C or along p.

    Use :meth:`from_path`, or :meth:`from_estimator` to compute the path as well.

    Parameters
    ----------
    path : PSVMPath
        From :func:`psvm.psvm_path`.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One per p (or C), feature or training row, in their order.
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure that holds them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from psvm import psvm_path
    >>> from psvm.plotting import PathDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> path = psvm_path(X, y, ps=[1, 2], Cs=5)
    >>> display = PathDisplay.from_path(path, quantity="support")
    >>> [line.get_label() for line in display.lines_]
    ['p = 1', 'p = 2']
    """

    lines_: list[Line2D]
    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, *, path: PSVMPath) -> None:
        self.path = path

    @classmethod
    def from_path(cls, path: PSVMPath, *, ax: Axes | None = None, **options: Any) -> Self:
        """Draw a path.

        Parameters
        ----------
        path : PSVMPath
            From :func:`psvm.psvm_path`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        **options
            Further arguments of :meth:`plot`.

        Returns
        -------
        PathDisplay
            The display, drawn.
        """
        if not isinstance(path, PSVMPath):
            raise TypeError(
                f"PathDisplay.from_path needs the result of psvm_path, got {type(path).__name__}."
            )
        return cls(path=path).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        ps: Any = None,
        Cs: Any = 10,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        scoring: Any = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Follow the path of an estimator's other parameters over p and C, and draw it.

        Parameters
        ----------
        estimator : PSVC, LinearPSVC, PSVR or LinearPSVR
            It need not be fitted; all its parameters but p and C are those of the path.
        X, y
            Training rows and labels or targets.
        ps, Cs
            As for :func:`psvm.psvm_path`; None takes its default.
        sample_weight, X_val, y_val, scoring
            As for :func:`psvm.psvm_path`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        **options
            Further arguments of :meth:`plot`.

        Returns
        -------
        PathDisplay
            The display, drawn.
        """
        if not isinstance(estimator, PSVC | LinearPSVC | PSVR | LinearPSVR):
            raise TypeError(
                f"PathDisplay.from_estimator needs a PSVC, LinearPSVC, PSVR or LinearPSVR, got "
                f"{type(estimator).__name__}; transform X first and give the last step."
            )
        require_matplotlib("PathDisplay.from_estimator")
        known = set(inspect.signature(psvm_path).parameters)
        chosen = {k: v for k, v in estimator.get_params(deep=False).items() if k in known}
        if isinstance(estimator, LinearPSVC | LinearPSVR):
            chosen["kernel"] = "linear"
        if isinstance(estimator, PSVR | LinearPSVR):
            chosen["task"] = "regression"
        if ps is not None:
            chosen["ps"] = ps
        rest = {"sample_weight": sample_weight, "X_val": X_val, "y_val": y_val, "scoring": scoring}
        return cls(path=psvm_path(X, y, Cs=Cs, **chosen, **rest)).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        quantity: Quantity = "support",
        along: Literal["C", "p"] = "C",
        at: Any = None,
        problem: int = 0,
        n_labels: int = 6,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw one quantity.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        quantity : {"support", "coef", "dual_coef", "objective", "gap", "score"}
            What to show; default "support".

            - "support": number of support vectors, a line for every p
            - "coef": weights of the features at one p, for the linear kernel
            - "dual_coef": dual variables of the training rows at one p, as ``y_i alpha_i / C``,
              for the other kernels
            - "objective": primal objective, the sum over the binary problems
            - "gap": the largest relative duality gap among the binary problems
            - "score": score on the validation rows
        along : {"C", "p"}, default="C"
            The x-axis. Along "p" there is a line for every C, or one C is chosen.
        at : float, list of float or None, default=None
            Values of the other parameter. None takes all; for "coef" and "dual_coef", which show
            one, that of the best score, or the middle one.
        problem : int, default=0
            The binary problem of "coef" and "dual_coef".
        n_labels : int, default=6
            Features in the legend: those with the largest weights.
        line_kw : dict, default=None
            Further arguments of every line.

        Returns
        -------
        PathDisplay
            The display itself.
        """
        if quantity not in _LABELS:
            names = ", ".join(map(repr, _LABELS))
            raise ValueError(f"`quantity` must be one of {names}, got {quantity!r}.")
        if along not in ("C", "p"):
            raise ValueError(f"`along` must be 'C' or 'p', got {along!r}.")
        if quantity in ("coef", "dual_coef"):
            values = self._vectors(quantity, problem)
            at = self._one(along, at)
            ax = axes_for(ax, "PathDisplay.plot")
            values = values[:, at] if along == "p" else values[at]
            if quantity == "coef":
                self._draw_weights(ax, along, values, n_labels, line_kw)
            else:
                self._draw_dual_variables(ax, along, values, problem, line_kw)
            ax.set_title(self._title(along, at, problem), fontsize="medium")
            ax.axhline(0.0, color="0.5", linewidth=0.8, zorder=1)
        else:
            table = self._table(quantity)
            places = self._several(along, at)
            ax = axes_for(ax, "PathDisplay.plot")
            self._draw_table(ax, along, table, places, line_kw)
            if quantity in ("objective", "gap"):
                ax.set_yscale("log")
            if quantity == "gap":
                mark_tol(ax, self.path.tol)
        self._label_x(ax, along)
        regression = self.path.task == "regression"
        ax.set_ylabel(_COEF if regression and quantity == "dual_coef" else _LABELS[quantity])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    # --- what to draw ----------------------------------------------------------------------------

    def _table(self, quantity: str) -> Array:
        """A number for every model, NaN for those that are missing."""
        path = self.path
        if quantity == "score":
            if path.score is None:
                raise ValueError(
                    "quantity='score' needs a path with scores: give X_val and y_val to psvm_path."
                )
            return path.score
        if quantity == "support":
            return np.where(path.computed, path.n_support.sum(axis=2), np.nan)
        if quantity == "objective":
            return np.asarray(path.primal_objective.sum(axis=2))
        return np.asarray(np.maximum(path.dual_gap.max(axis=2), LEAST_GAP))

    def _vectors(self, quantity: str, problem: int) -> Array:
        """Weights or dual variables of one binary problem, shape (n_ps, n_Cs, n)."""
        path = self.path
        if quantity == "coef":
            path._check_problem(problem)
            if path.coef is None:
                raise ValueError(
                    "quantity='coef' needs the path of a linear kernel; take 'dual_coef' for this."
                )
            return path.coef[:, :, problem]
        return path.problem_dual_coef(problem) / path.Cs[None, :, None]

    def _others(self, along: str) -> tuple[str, Array]:
        """The parameter that is fixed along a line, and its values."""
        return ("p", self.path.ps) if along == "C" else ("C", self.path.Cs)

    def _place(self, along: str, value: float) -> int:
        name, _ = self._others(along)
        path = self.path
        i, j = path.index(value, path.Cs[0]) if name == "p" else path.index(path.ps[0], value)
        return i if name == "p" else j

    def _several(self, along: str, at: Any) -> list[int]:
        """Places of the given values, or all."""
        if at is None:
            return list(range(self._others(along)[1].size))
        if np.size(at) == 0:
            raise ValueError(f"`at` must hold a value of {self._others(along)[0]}, got {at!r}.")
        return [self._place(along, value) for value in np.atleast_1d(at)]

    def _one(self, along: str, at: Any) -> int:
        """Place of the given value, of the best score, or of the middle."""
        name, values = self._others(along)
        if at is not None:
            if np.ndim(at) > 0:
                raise ValueError(f"`at` must be one {name} for this quantity, got {at!r}.")
            return self._place(along, at)
        score = self.path.score
        if score is None:
            return int(values.size // 2)
        i, j = np.unravel_index(int(np.nanargmax(score)), score.shape)
        return int(i if name == "p" else j)

    def _title(self, along: str, place: int, problem: int) -> str:
        """The parameter that is fixed and, of several binary problems, which one this is."""
        sides = self._sides()
        name = self._name_of(along, place)
        return name if len(sides) < 2 else f"{name}, {' against '.join(sides[problem])}"

    def _sides(self) -> list[tuple[str, str]]:
        """What is positive and what is negative in every problem."""
        if self.path.task == "regression":
            return [("rows above", "rows below")]
        return problem_sides(self.path.classes, self.path.multi_class)

    def _name_of(self, along: str, place: int) -> str:
        name, values = self._others(along)
        return f"{name} = {values[place]:.3g}"

    # --- drawing ---------------------------------------------------------------------------------

    def _x(self, along: str) -> Array:
        return self.path.Cs if along == "C" else self.path.ps

    def _label_x(self, ax: Axes, along: str) -> None:
        if along == "C":
            ax.set_xscale("log")
            ax.set_xlabel("cost C")
        else:
            label_ticks(ax, "x", self.path.ps, [f"{p:.3g}" for p in self.path.ps])
            ax.set_xlabel("exponent p")

    def _draw_table(
        self, ax: Axes, along: str, table: Array, places: list[int], line_kw: Any
    ) -> None:
        self.lines_ = []
        for place, style in zip(places, series_styles(len(places)), strict=True):
            values = table[place] if along == "C" else table[:, place]
            style = {"linewidth": 1.8, "marker": "o", "markersize": 4.0, **style}
            style["label"] = self._name_of(along, place)
            self.lines_ += ax.plot(self._x(along), values, **with_defaults(line_kw, **style))
        legend_beside(ax)

    def _draw_weights(
        self, ax: Axes, along: str, values: Array, n_labels: int, line_kw: Any
    ) -> None:
        """A line for every feature; those that become largest are coloured and named."""
        names = self.path.feature_names
        largest = np.argsort(-np.nan_to_num(np.abs(values)).max(axis=0), kind="stable")[:n_labels]
        styles = dict(zip(largest.tolist(), series_styles(largest.size), strict=True))
        self.lines_ = []
        for k, weights in enumerate(values.T):
            style = {"color": "0.75", "linewidth": 0.9, "zorder": 1.5, "label": f"_{k}"}
            if k in styles:
                name = f"feature {k}" if names is None else str(names[k])
                style = {**styles[k], "linewidth": 1.8, "label": name}
            self.lines_ += ax.plot(self._x(along), weights, **with_defaults(line_kw, **style))
        order = [self.lines_[k] for k in largest]
        legend_beside(ax, handles=order)

    def _draw_dual_variables(
        self, ax: Axes, along: str, values: Array, problem: int, line_kw: Any
    ) -> None:
        """A line for every support vector, coloured by its class or side."""
        (rows,) = np.nonzero(np.nan_to_num(values).any(axis=0))
        if rows.size > _MANY_ROWS:
            rows = rows[np.linspace(0, rows.size - 1, _MANY_ROWS).astype(np.intp)]
        sides = self._sides()[problem]
        first: dict[bool, Line2D] = {}  # of each side, for the legend
        self.lines_ = []
        for row in rows:
            positive = bool(np.nansum(values[:, row]) > 0)
            style = {"color": BLUE if positive else VERMILLION, "linewidth": 0.8, "alpha": 0.5}
            style["label"] = sides[0 if positive else 1]
            self.lines_ += ax.plot(
                self._x(along), values[:, row], **with_defaults(line_kw, **style)
            )
            first.setdefault(positive, self.lines_[-1])
        legend = legend_beside(ax, handles=[first[side] for side in (True, False) if side in first])
        for line in legend.get_lines():
            line.set(alpha=1.0, linewidth=1.8)
