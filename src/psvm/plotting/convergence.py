"""ConvergenceDisplay: the certified gap of fits against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from psvm.plotting.canvas import (
    HANDLE,
    LEAST_GAP,
    axes_for,
    final_model,
    mark_tol,
    problem_sides,
    series_styles,
    with_defaults,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

History = Sequence[Mapping[str, Any]]
_X_LABELS = {"seconds": "seconds", "iteration": "round"}
# Binary problems of one estimator that get a line in the legend each.
_FEW = 7


class ConvergenceDisplay:
    """Relative duality gap ``(P - D) / P`` of every round against seconds or rounds.

    Use :meth:`from_estimator` for one fitted estimator and :meth:`from_estimators` for several.

    Parameters
    ----------
    histories : dict of str to list of list of dict
        For every estimator the records of its binary problems, as in ``history_``.
    tol : float or None, default=None
        Gap to mark by a line.
    problem_names : list of str or None, default=None
        Names of the binary problems, if there is one estimator.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One per estimator and binary problem.
    tol_line_ : matplotlib Line2D or None
        The line at ``tol``.
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure that holds them.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from psvm import PSVC
    >>> from psvm.plotting import ConvergenceDisplay
    >>> X, y = make_moons(600, noise=0.3, random_state=0)
    >>> display = ConvergenceDisplay.from_estimator(PSVC().fit(X, y), x="iteration")
    >>> display.ax_.get_xlabel()
    'round'
    """

    lines_: list[Line2D]
    tol_line_: Line2D | None
    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self,
        *,
        histories: Mapping[str, Sequence[History]],
        tol: float | None = None,
        problem_names: Sequence[str] | None = None,
    ) -> None:
        self.histories = histories
        self.tol = tol
        self.problem_names = problem_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        x: Literal["seconds", "iteration"] = "seconds",
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the convergence of one fitted estimator, a line for every binary problem.

        Parameters
        ----------
        estimator : estimator
            A fitted PSVC or LinearPSVC, or a pipeline or search of them.
        name : str, default=None
            Its name in the legend; None takes the name of its class and its p.
        ax, x, line_kw
            As for :meth:`plot`.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.
        """
        model = final_model(estimator, "history_", "ConvergenceDisplay.from_estimator")
        if name is None:
            name = f"{type(model).__name__}, p = {model.p:.4g}"
        sides = problem_sides(model.classes_, model.multi_class)
        display = cls(
            histories={name: model.history_},
            tol=model.tol,
            problem_names=[f"{one} against {other}".replace("class ", "") for one, other in sides],
        )
        return display.plot(ax, x=x, line_kw=line_kw)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        *,
        ax: Axes | None = None,
        x: Literal["seconds", "iteration"] = "seconds",
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the convergence of several fitted estimators, each in its colour.

        Parameters
        ----------
        estimators : dict of str to estimator
            Fitted estimators by the names that the legend shows.
        ax, x, line_kw
            As for :meth:`plot`.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn. The line of ``tol`` is there if all have the same.
        """
        if not isinstance(estimators, Mapping) or not estimators:
            raise ValueError(
                f"`estimators` must be a dict of names and fitted estimators, got {estimators!r}."
            )
        caller = "ConvergenceDisplay.from_estimators"
        models = {name: final_model(one, "history_", caller) for name, one in estimators.items()}
        tols = {model.tol for model in models.values()}
        display = cls(
            histories={name: model.history_ for name, model in models.items()},
            tol=tols.pop() if len(tols) == 1 else None,
        )
        return display.plot(ax, x=x, line_kw=line_kw)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        x: Literal["seconds", "iteration"] = "seconds",
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the gaps.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        x : {"seconds", "iteration"}, default="seconds"
            Against what.
        line_kw : dict, default=None
            Further arguments of every line.

        Returns
        -------
        ConvergenceDisplay
            The display itself.
        """
        if x not in _X_LABELS:
            raise ValueError(f"`x` must be 'seconds' or 'iteration', got {x!r}.")
        ax = axes_for(ax, "ConvergenceDisplay.plot")
        self.lines_ = []
        for history, style in self._styled():
            points = [(record[x], max(record["gap"], LEAST_GAP)) for record in history]
            style = {"linewidth": 1.6, "marker": "o", "markersize": 3.5, **style}
            self.lines_ += ax.plot(*np.array(points).T, **with_defaults(line_kw, **style))
        self.tol_line_ = None
        if self.tol is not None:
            self.tol_line_ = mark_tol(ax, self.tol)
        ax.set_yscale("log")
        ax.set_xlabel(_X_LABELS[x])
        ax.set_ylabel("relative duality gap")
        if x == "iteration":
            ax.locator_params(axis="x", integer=True)
        ax.legend(frameon=False, handlelength=HANDLE)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _styled(self) -> list[tuple[History, dict[str, Any]]]:
        """Every line to draw: its records, and its colour, dashes and label."""
        if len(self.histories) == 1:
            ((name, problems),) = self.histories.items()
            names = self.problem_names
            if names is not None and 1 < len(problems) <= _FEW:
                styles = series_styles(len(problems))
                return [
                    (history, {**style, "label": label})
                    for history, style, label in zip(problems, styles, names, strict=True)
                ]
        lines: list[tuple[History, dict[str, Any]]] = []
        styles = series_styles(len(self.histories))
        for (name, problems), style in zip(self.histories.items(), styles, strict=True):
            style["label"] = name
            if len(problems) > 1:
                style |= {"linewidth": 1.0, "alpha": 0.6, "markersize": 2.0}
                style["label"] = f"{name} ({len(problems)} problems)"
            for history in problems:
                lines.append((history, style))
                style = {**style, "label": f"_{name}"}  # once in the legend
        return lines
