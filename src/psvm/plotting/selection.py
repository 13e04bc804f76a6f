"""SelectionDisplay: cross-validated scores and support vectors over p, C, gamma and epsilon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from psvm.plotting.canvas import (
    BLUE,
    VERMILLION,
    axes_for,
    final_model,
    label_ticks,
    score_name,
    with_defaults,
)
from psvm.plotting.selection_values import (
    as_numbers,
    costs_in_units,
    levels_of,
    score_format,
    standard_error,
    values_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Array = npt.NDArray[np.float64]
Parameter = Literal["p", "C", "gamma", "epsilon"]
Value = Literal["score", "support"]
_LABELS = {
    "p": "exponent p",
    "C": "cost C",
    "gamma": "kernel width gamma",
    "epsilon": "tube epsilon",
}
# Of a search whose costs follow the standard deviation s of y.
_COST_IN_UNITS = r"cost $C\,s^{p-2}$"
# Cells up to which each shows its number.
_FEW_CELLS = 80
# Standard errors that the colours of scores span at least: one of them is a quarter of the scale.
_ERRORS = 4.0
# What a map keeps of its width beside a colour bar.
_BESIDE_BAR = 0.8


class SelectionDisplay:
    """Results of a search over p, C, gamma, epsilon: a map over two of them, or a curve over one.

    A cell or point shows the best candidate, by mean score, among those that share its x and y: the
    best over all parameters that are not shown. Use :meth:`from_estimator` for PSVCCV, PSVRCV,
    GridSearchCV and their like, and :meth:`from_cv_results` for their ``cv_results_``.

    Parameters
    ----------
    parameters : dict of str to array-like of shape (n_candidates,)
        Values of "p", "C", "gamma" and "epsilon", as far as they were searched.
    score, score_std : array-like of shape (n_candidates,)
        Mean and standard deviation of the score over the folds.
    score_error : array-like of shape (n_candidates,) or None, default=None
        Standard error of the mean score. The colours of a map of scores span at least four of it,
        so that a difference of chance looks like one; None takes the range of the scores.
    n_support : array-like of shape (n_candidates,) or None, default=None
        Mean number of support vectors.
    best_index : int or None, default=None
        The candidate chosen; None takes the first with the best score.
    score_name : str, default="score"
        What the score is.
    cost_name : str, default="cost C"
        What the values of "C" are.

    Attributes
    ----------
    image_ : matplotlib AxesImage
        The map.
    colorbar_ : matplotlib Colorbar
        Its scale.
    text_ : ndarray of matplotlib Text or None
        The numbers in the cells, where there are not too many.
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib PolyCollection or None
        One standard deviation of the score around the curve.
    best_ : matplotlib Artist
        The mark of the candidate chosen.
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
        Figure that holds it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from psvm import PSVC
    >>> from psvm.plotting import SelectionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(PSVC(), {"p": [1, 1.5, 2], "C": [0.1, 1, 10]}).fit(X, y)
    >>> display = SelectionDisplay.from_estimator(search)
    >>> display.image_.get_array().shape
    (3, 3)
    """

    image_: Any
    colorbar_: Any
    text_: npt.NDArray[Any] | None
    line_: Any
    band_: Any
    best_: Any
    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self,
        *,
        parameters: Mapping[str, Any],
        score: Any,
        score_std: Any,
        score_error: Any = None,
        n_support: Any = None,
        best_index: int | None = None,
        score_name: str = "score",
        cost_name: str = "cost C",
    ) -> None:
        self.parameters = parameters
        self.score = score
        self.score_std = score_std
        self.score_error = score_error
        self.n_support = n_support
        self.best_index = best_index
        self.score_name = score_name
        self.cost_name = cost_name

    @classmethod
    def from_estimator(
        cls, search: Any, *, metric: str = "score", ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draw the results of a fitted search.

        Parameters
        ----------
        search : estimator
            A fitted PSVCCV, PSVRCV, GridSearchCV, RandomizedSearchCV or another with
            ``cv_results_``, or a pipeline that ends in one.
        metric : str, default="score"
            Which score, if there are several: "accuracy" for ``mean_test_accuracy``.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        **options
            Further arguments of :meth:`plot`.

        Returns
        -------
        SelectionDisplay
            The display, drawn.
        """
        search = final_model(
            search,
            "cv_results_",
            "SelectionDisplay.from_estimator",
            "PSVCCV, PSVRCV, GridSearchCV, or a pipeline that ends in one",
        )
        # A search by several scores knows the best candidate of only one of them.
        best = getattr(search, "best_index_", None) if metric == "score" else None
        if metric == "score":
            name = score_name(getattr(search, "scoring", "score"), search)
            options = {"name": name, **options}
        return cls.from_cv_results(
            search.cv_results_,
            metric=metric,
            best_index=best,
            target_scale=getattr(search, "target_scale_", 1.0),
            ax=ax,
            **options,
        )

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        *,
        metric: str = "score",
        best_index: int | None = None,
        name: str | None = None,
        target_scale: float = 1.0,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the results of a search, given as ``cv_results_``.

        Parameters
        ----------
        cv_results : dict
            With the keys ``param_p``, ``param_C``, ``param_gamma``, ``param_epsilon`` as far as
            searched (or ``param_<step>__p`` for a pipeline), ``mean_test_score``,
            ``std_test_score`` and, for support vectors, ``mean_n_support`` or a score
            ``mean_test_n_support``.
        metric : str, default="score"
            Which score, if there are several: "accuracy" for ``mean_test_accuracy``.
        best_index : int or None, default=None
            The candidate chosen; None takes the first with the best score.
        name : str or None, default=None
            What the score is called in the picture; None takes ``metric``.
        target_scale : float, default=1.0
            ``target_scale_`` of a PSVRCV. Where it gave each p costs of its own, they are shown in
            units of ``target_scale ** (2 - p)``, which are those of all p.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        **options
            Further arguments of :meth:`plot`.

        Returns
        -------
        SelectionDisplay
            The display, drawn.
        """
        parameters = {name: values_of(cv_results, name) for name in _LABELS}
        parameters = {name: values for name, values in parameters.items() if values is not None}
        if not parameters:
            raise ValueError(
                "`cv_results` must tell of p, C, gamma or epsilon under 'param_p', 'param_C', "
                f"'param_gamma' or 'param_epsilon' (or 'param_<step>__p'), got the keys "
                f"{sorted(cv_results)}."
            )
        if f"mean_test_{metric}" not in cv_results:
            known = [key[10:] for key in cv_results if key.startswith("mean_test_")]
            raise ValueError(f"`metric` must be a score of the search, {known}, got {metric!r}.")
        cost_name = _LABELS["C"]
        if target_scale != 1.0 and (costs := costs_in_units(parameters, target_scale)) is not None:
            parameters["C"], cost_name = costs, _COST_IN_UNITS
        display = cls(
            parameters=parameters,
            cost_name=cost_name,
            score=cv_results[f"mean_test_{metric}"],
            score_std=cv_results[f"std_test_{metric}"],
            score_error=standard_error(cv_results, metric),
            n_support=cv_results.get("mean_n_support", cv_results.get("mean_test_n_support")),
            best_index=best_index,
            score_name=score_name(metric) if name is None else name,
        )
        return display.plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        x: Parameter = "C",
        y: Parameter | None = "p",
        value: Value = "score",
        colorbar: bool = True,
        im_kw: dict[str, Any] | None = None,
        text_kw: dict[str, Any] | None = None,
        line_kw: dict[str, Any] | None = None,
        fill_between_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw a map over two parameters, or a curve over one.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        x : {"p", "C", "gamma", "epsilon"}, default="C"
            Parameter of the x-axis.
        y : {"p", "C", "gamma", "epsilon"} or None, default="p"
            Parameter of the y-axis of a map; None draws a curve over x.
        value : {"score", "support"}, default="score"
            What to show: the mean score, or the mean number of support vectors.
        colorbar : bool, default=True
            Whether a map has a scale beside it.
        im_kw, text_kw : dict, default=None
            Further arguments of the map and of the numbers in its cells.
        line_kw, fill_between_kw : dict, default=None
            Further arguments of the curve and of the band around it.

        Returns
        -------
        SelectionDisplay
            The display itself.
        """
        self._check(x, y, value)
        ax = axes_for(ax, "SelectionDisplay.plot")
        if y is None:
            self._draw_curve(ax, x, value, line_kw, fill_between_kw)
        else:
            self._draw_map(ax, x, y, value, colorbar, im_kw, text_kw)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _check(self, x: Any, y: Any, value: Any) -> None:
        if np.isnan(np.asarray(self.score, dtype=np.float64)).all():
            raise ValueError("There is nothing to show: the score of every candidate is NaN.")
        for name, parameter in (("x", x), ("y", y)):
            if parameter not in self.parameters and not (name == "y" and parameter is None):
                known = ", ".join(repr(known) for known in self.parameters)
                raise ValueError(
                    f"`{name}` must be a parameter of the search ({known}), got {parameter!r}"
                    f"{'; None draws a curve' if name == 'y' else ''}."
                )
        if x == y:
            raise ValueError(f"`x` and `y` must differ, got {x!r} twice; y=None draws a curve.")
        if value not in ("score", "support"):
            raise ValueError(f"`value` must be 'score' or 'support', got {value!r}.")
        if value == "support" and self.n_support is None:
            raise ValueError(
                "value='support' needs the numbers of support vectors: 'mean_n_support', as PSVCCV "
                "counts them, or a score named 'n_support' in GridSearchCV(scoring=...)."
            )

    @property
    def _best(self) -> int:
        return int(np.nanargmax(self.score)) if self.best_index is None else self.best_index

    def _values(self, value: Value) -> Array:
        chosen = self.score if value == "score" else self.n_support
        return np.asarray(chosen, dtype=np.float64)

    def _label(self, value: Value) -> str:
        return f"mean {self.score_name}" if value == "score" else "mean number of support vectors"

    def _axis(self, parameter: str) -> str:
        return self.cost_name if parameter == "C" else _LABELS[parameter]

    def _best_at(self, places: npt.NDArray[np.intp], n: int) -> npt.NDArray[np.intp]:
        """The candidate with the best score at each of n places; -1 where there is none."""
        score = np.asarray(self.score, dtype=np.float64)
        known = np.flatnonzero(~np.isnan(score))
        order = known[np.argsort(score[known], kind="stable")]
        best = np.full(n, -1)
        # The last one written stays: of the best scores the chosen candidate, if it is among them.
        best[places[order]] = order
        chosen = self._best
        if score[chosen] >= score[best[places[chosen]]]:
            best[places[chosen]] = chosen
        return best

    def _draw_map(
        self, ax: Axes, x: str, y: str, value: Value, colorbar: bool, im_kw: Any, text_kw: Any
    ) -> None:
        x_names, x_place = levels_of(self.parameters[x])
        y_names, y_place = levels_of(self.parameters[y])
        shape = (len(y_names), len(x_names))
        best = self._best_at(y_place * shape[1] + x_place, shape[0] * shape[1])
        cells = np.where(best >= 0, self._values(value)[best], np.nan).reshape(shape)
        options: dict[str, Any] = {"cmap": "viridis", "aspect": "auto", "origin": "lower"}
        if value == "score":
            options["vmin"] = self._lowest_colour(cells, best[best >= 0])
        options |= im_kw or {}
        ax.grid(False)
        ax.spines[:].set_visible(False)
        ax.set_facecolor("0.9")  # of cells that were not searched
        self.image_ = ax.imshow(cells, **options)
        label_ticks(ax, "x", range(shape[1]), x_names, share=_BESIDE_BAR if colorbar else 1.0)
        label_ticks(ax, "y", range(shape[0]), y_names)
        ax.tick_params(length=0)
        ax.set_xlabel(self._axis(x))
        ax.set_ylabel(self._axis(y))
        ax.set_title(self._label(value), fontsize="medium")
        self.text_ = None
        if cells.size <= _FEW_CELLS:
            self.text_ = self._write_numbers(
                ax, cells, score_format(cells) if value == "score" else "{:,.0f}", text_kw
            )
        if colorbar:
            below = bool(np.nanmin(cells) < self.image_.norm.vmin)
            self.colorbar_ = ax.figure.colorbar(
                self.image_, ax=ax, extend="min" if below else "neither"
            )
            self.colorbar_.outline.set_visible(False)
        self.best_ = _frame(ax, int(x_place[self._best]), int(y_place[self._best]))

    def _write_numbers(self, ax: Axes, cells: Array, form: str, text_kw: Any) -> Any:
        """The number of every cell, dark on bright and bright on dark."""
        from psvm.plotting.cell_text import CellText

        numbers = [form.format(cell) for cell in cells.ravel() if not np.isnan(cell)]
        longest = max(map(len, numbers))
        text = np.full(cells.shape, None, dtype=object)
        colours = self.image_.cmap(self.image_.norm(cells))[..., :3]
        bright = colours @ [0.299, 0.587, 0.114] > 0.55
        for i, j in zip(*np.nonzero(~np.isnan(cells)), strict=True):
            options: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small"}
            options |= {"color": "black" if bright[i, j] else "white", **(text_kw or {})}
            text[i, j] = ax.add_artist(
                CellText(j, i, form.format(cells[i, j]), longest, clip_on=True, **options)
            )
        return text

    def _lowest_colour(self, cells: Array, shown: npt.NDArray[np.intp]) -> float:
        """One colour for the worst fifth: a cell that fails must not make all others alike.

        Nor must chance look like a difference: the scale spans several standard errors.
        """
        lowest = float(np.nanquantile(cells, 0.2))
        if self.score_error is None:
            return lowest
        errors = np.asarray(self.score_error, dtype=np.float64)[shown]
        if not np.isfinite(errors).any():
            return lowest
        return min(lowest, float(np.nanmax(cells) - _ERRORS * np.nanmedian(errors)))

    def _draw_curve(self, ax: Axes, x: str, value: Value, line_kw: Any, fill_kw: Any) -> None:
        names, place = levels_of(self.parameters[x])
        best = self._best_at(place, len(names))
        known = best >= 0
        values = self._values(value)[best[known]]
        numbers = as_numbers(self.parameters[x])
        at = np.flatnonzero(known).astype(float) if numbers is None else np.unique(numbers)[known]
        style = {"color": BLUE, "marker": "o", "linewidth": 1.8, "label": f"best for each {x}"}
        (self.line_,) = ax.plot(at, values, **with_defaults(line_kw, **style))
        self.band_ = None
        if value == "score":
            deviation = np.asarray(self.score_std, dtype=np.float64)[best[known]]
            band = {"color": self.line_.get_color(), "alpha": 0.15, "linewidth": 0.0}
            band |= {"label": "± one standard deviation", **(fill_kw or {})}
            self.band_ = ax.fill_between(at, values - deviation, values + deviation, **band)
        chosen = np.flatnonzero(best[known] == self._best)
        (self.best_,) = ax.plot(
            at[chosen], values[chosen], "D", color=VERMILLION, markersize=9, label="chosen"
        )
        if numbers is None:
            ax.set_xticks(range(len(names)), names)
        elif x != "p" and at[0] > 0:
            ax.set_xscale("log")
            if x == "epsilon":  # of less than two decades, whose minor ticks would run together
                ax.set_xticks(at, [f"{value:.3g}" for value in at])
                ax.minorticks_off()
        else:
            label_ticks(
                ax, "x", at, [name for name, there in zip(names, known, strict=True) if there]
            )
        ax.set_xlabel(self._axis(x))
        ax.set_ylabel(self._label(value))
        if value == "support":
            ax.set_ylim(0.0, 1.08 * float(values.max()))
        ax.legend(frameon=False)


def _frame(ax: Axes, column: int, row: int) -> Any:
    """A frame around a cell."""
    from matplotlib.patches import Rectangle

    frame = Rectangle(
        (column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=VERMILLION, linewidth=3
    )
    frame.set_clip_on(False)
    frame.set_label("chosen")
    return ax.add_patch(frame)
