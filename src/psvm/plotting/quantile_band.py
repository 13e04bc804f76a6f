"""QuantileBandDisplay: predicted quantiles as nested bands, with the rows that they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm.plotting.canvas import (
    BLUE,
    GREY,
    axes_for,
    final_model,
    legend_beside,
    require_matplotlib,
    with_defaults,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Array = npt.NDArray[np.float64]
# Rows up to which each is a point of some size.
_MANY_ROWS = 500


class QuantileBandDisplay:
    """Bands between predicted quantiles, over one feature or over rows sorted by prediction.

    Use :meth:`from_estimator`. A band reaches from a quantile to its counterpart at the other end,
    the 5 % to the 95 % quantile for instance; a quantile without one, as the median, is a line.
    Over one of several features, where neighbours on the axis differ in the other features, a band
    is a bar for every row.

    Parameters
    ----------
    x : array-like of shape (n_rows,)
        Where each row is on the x-axis.
    predicted : array-like of shape (n_rows, n_quantiles)
        Predicted quantiles, one column each.
    quantiles : array-like of shape (n_quantiles,)
        The quantiles.
    y : array-like of shape (n_rows,) or None, default=None
        True targets.
    x_name : str, default="x"
        What the x-axis is.
    bars : bool, default=False
        Whether rows are bars of their own instead of one band.

    Attributes
    ----------
    bands_ : list of matplotlib PolyCollection or LineCollection
        The bands, from the widest to the narrowest.
    lines_ : list of matplotlib Line2D
        Quantiles without a counterpart.
    points_ : matplotlib PathCollection or None
        The true targets.
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
        Figure that holds it.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import psvm_quantiles
    >>> from psvm.plotting import QuantileBandDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(200, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=200)
    >>> model = psvm_quantiles(X, y, quantiles=(0.05, 0.25, 0.5, 0.75, 0.95), C=10)
    >>> display = QuantileBandDisplay.from_estimator(model, X, y)
    >>> len(display.bands_), len(display.lines_)
    (2, 1)
    """

    bands_: list[Any]
    lines_: list[Any]
    points_: Any
    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self,
        *,
        x: Any,
        predicted: Any,
        quantiles: Any,
        y: Any = None,
        x_name: str = "x",
        bars: bool = False,
    ) -> None:
        self.x = x
        self.predicted = predicted
        self.quantiles = quantiles
        self.y = y
        self.x_name = x_name
        self.bars = bars

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        feature: int | str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Predict the quantiles of the rows of X, and draw them.

        Parameters
        ----------
        estimator : PSVRQuantiles, or a pipeline that ends in one
            Fitted.
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows to predict for.
        y : array-like of shape (n_rows,), default=None
            Their true targets, drawn as points; the legend says how many are inside each band.
        feature : int, str or None, default=None
            The feature of the x-axis, by its number or name. None takes the only one of X, or where
            there are several the rows in the order of their predictions.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        **options
            Further arguments of :meth:`plot`.

        Returns
        -------
        QuantileBandDisplay
            The display, drawn.
        """
        model = final_model(
            estimator,
            "quantiles_",
            "QuantileBandDisplay.from_estimator",
            "PSVRQuantiles, or a pipeline that ends in one",
        )
        require_matplotlib("QuantileBandDisplay.from_estimator")
        predicted = np.asarray(estimator.predict(X))
        columns = np.shape(X)[1] if len(np.shape(X)) == 2 else 0
        if feature is None and columns != 1:
            middle = predicted[:, np.argmin(np.abs(model.quantiles_ - 0.5))]
            x = np.argsort(np.argsort(middle, kind="stable")) + 1.0
            name = "rows, by the prediction in the middle"
        else:
            x, name = _column(X, 0 if feature is None else feature)
        display = cls(
            x=x,
            predicted=predicted,
            quantiles=model.quantiles_,
            y=y,
            x_name=name,
            bars=feature is not None and columns > 1,
        )
        return display.plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        band_kw: dict[str, Any] | None = None,
        line_kw: dict[str, Any] | None = None,
        scatter_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the bands.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        band_kw : dict, default=None
            Further arguments of every band.
        line_kw : dict, default=None
            Further arguments of every line.
        scatter_kw : dict, default=None
            Further arguments of the points.

        Returns
        -------
        QuantileBandDisplay
            The display itself.
        """
        x = np.asarray(self.x, dtype=np.float64)
        predicted = np.asarray(self.predicted, dtype=np.float64)
        quantiles = np.asarray(self.quantiles, dtype=np.float64)
        if predicted.shape != (x.size, quantiles.size):
            raise ValueError(
                f"`predicted` must have a row for each of {x.size} rows and a column for each of "
                f"{quantiles.size} quantiles, got the shape {predicted.shape}."
            )
        y = None if self.y is None else np.asarray(self.y, dtype=np.float64)
        if y is not None and y.shape != x.shape:
            raise ValueError(f"`y` must have {x.size} values, got the shape {y.shape}.")
        ax = axes_for(ax, "QuantileBandDisplay.plot")
        along = np.argsort(x, kind="stable")
        x, predicted = x[along], predicted[along]
        y = None if y is None else y[along]
        self.points_ = None
        if y is not None:
            size = 14.0 if x.size <= _MANY_ROWS else 5.0
            points: dict[str, Any] = {
                "s": size,
                "color": GREY,
                "alpha": 0.55,
                "linewidths": 0.0,
                "zorder": 2.5,
            }
            self.points_ = ax.scatter(x, y, **{**points, "label": "rows", **(scatter_kw or {})})
        self._draw_bands(ax, x, predicted, quantiles, y, band_kw, line_kw)
        ax.set_xlabel(self.x_name)
        ax.set_ylabel("predicted" if y is None else "true and predicted")
        legend_beside(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_bands(
        self,
        ax: Axes,
        x: Array,
        predicted: Array,
        quantiles: Array,
        y: Array | None,
        band_kw: dict[str, Any] | None,
        line_kw: dict[str, Any] | None,
    ) -> None:
        order = np.argsort(quantiles)
        pairs = [(order[k], order[-1 - k]) for k in range(order.size // 2)]
        self.bands_, self.lines_ = [], []
        for number, (low, high) in enumerate(pairs):
            label = f"{100 * quantiles[low]:.3g} % to {100 * quantiles[high]:.3g} %"
            if y is not None:
                inside = np.mean((predicted[:, low] <= y) & (y <= predicted[:, high]))
                label += f" ({100 * inside:.1f} % of rows)"
            style: dict[str, Any] = {"color": BLUE, "label": label}
            style["alpha"] = 0.6 * (number + 1) / (len(pairs) + 1)
            ends = predicted[:, low], predicted[:, high]
            if self.bars:
                style |= {"linewidth": 1.0 + 1.5 * number, **(band_kw or {})}
                self.bands_.append(ax.vlines(x, *ends, **style))
            else:
                style |= {"linewidth": 0.0, **(band_kw or {})}
                self.bands_.append(ax.fill_between(x, *ends, **style))
        if order.size % 2:
            middle = order[order.size // 2]
            line: dict[str, Any] = {
                "color": BLUE,
                "label": f"{100 * quantiles[middle]:.3g} %",
                "zorder": 3.0,
            }
            # Rows that are bars are no line, either.
            line |= {"linestyle": "", "marker": "_"} if self.bars else {"linewidth": 1.8}
            self.lines_ += ax.plot(x, predicted[:, middle], **with_defaults(line_kw, **line))


def _column(X: Any, feature: int | str) -> tuple[Array, str]:
    """The values of one feature, and its name."""
    names = [str(name) for name in getattr(X, "columns", [])]
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(
                f"`feature` must be a column of X ({', '.join(names) or 'which has no names'}), "
                f"got {feature!r}."
            )
        feature = names.index(feature)
    columns = np.shape(X)[1] if len(np.shape(X)) == 2 else 0
    if not 0 <= feature < columns:
        raise ValueError(f"`feature` must be from 0 to {columns - 1}, got {feature!r}.")
    if names:
        return np.asarray(X[X.columns[feature]], dtype=np.float64), names[feature]
    rows = X.toarray() if sp.issparse(X) else np.asarray(X)
    return np.asarray(rows[:, feature], dtype=np.float64), f"feature {feature}"
