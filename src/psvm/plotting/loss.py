"""LossDisplay: the p-norm hinge and the margin loss for several p."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from psvm.bounds import margin_loss
from psvm.mathematics.loss import PNormHinge
from psvm.plotting.canvas import GREY, axes_for, final_model, series_styles, with_defaults

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

Array = npt.NDArray[np.float64]
Kind = Literal["both", "hinge", "margin"]
# Loss up to which the hinge is shown: enough to see which p rises faster.
_HIGHEST = 3.0


class LossDisplay:
    r"""The p-norm hinge :math:`\max(0, 1 - x/\rho)^p`, and the margin loss, for several p.

    The margin loss :math:`\Phi_{p,\rho}(x) = \min(1, \max(0, 1 - x/\rho)^p)` is the paper's
    Figure 1: the hinge, but never above 1. Use :meth:`from_exponents` or :meth:`from_estimator`.

    Parameters
    ----------
    ps : array-like of shape (n_ps,)
        Exponents.
    margin : ndarray of shape (n_points,)
        Margins x at which the losses are known.
    hinge, margin_loss : ndarray of shape (n_ps, n_points)
        The losses.
    rho : float, default=1.0
        Margin from which on there is no loss.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        First the margin loss for every p, then the hinge for every p (as far as drawn).
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure that holds them.

    Examples
    --------
    >>> from psvm.plotting import LossDisplay
    >>> display = LossDisplay.from_exponents([1, 1.5, 2])
    >>> len(display.lines_)
    6
    """

    lines_: list[Line2D]
    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(
        self, *, ps: Any, margin: Array, hinge: Array, margin_loss: Array, rho: float = 1.0
    ) -> None:
        self.ps = ps
        self.margin = margin
        self.hinge = hinge
        self.margin_loss = margin_loss
        self.rho = rho

    @classmethod
    def from_exponents(
        cls,
        ps: Any = (1.0, 1.25, 1.5, 2.0, 3.0),
        *,
        rho: float = 1.0,
        margin: Any = None,
        ax: Axes | None = None,
        kind: Kind = "both",
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Compute the losses and draw them.

        Parameters
        ----------
        ps : float or array-like of shape (n_ps,), default=(1, 1.25, 1.5, 2, 3)
            Exponents, >= 1.
        rho : float, default=1.0
            Margin from which on there is no loss, > 0.
        margin : array-like of shape (n_points,), default=None
            Margins at which to compute the losses; None takes -rho to 1.5 rho.
        ax, kind, line_kw
            As for :meth:`plot`.

        Returns
        -------
        LossDisplay
            The display, drawn.
        """
        ps = np.atleast_1d(np.asarray(ps, dtype=np.float64))
        if margin is None:
            margin = rho * np.linspace(-1.0, 1.5, 501)
        margin = np.asarray(margin, dtype=np.float64)
        clipped = np.array([margin_loss(margin, p, rho) for p in ps])  # checks p and rho
        slack, cost = np.maximum(1.0 - margin / rho, 0.0), np.ones_like(margin)
        hinge = np.array([PNormHinge(float(p)).value(slack, cost) for p in ps])
        display = cls(ps=ps, margin=margin, hinge=hinge, margin_loss=clipped, rho=rho)
        return display.plot(ax, kind=kind, line_kw=line_kw)

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw the loss that an estimator minimises.

        Parameters
        ----------
        estimator : estimator
            PSVC, LinearPSVC, or a pipeline or fitted search of them; its ``p`` is taken.
        **options
            As for :meth:`from_exponents`.

        Returns
        -------
        LossDisplay
            The display, drawn.
        """
        model = final_model(estimator, "p", "LossDisplay.from_estimator")
        return cls.from_exponents([model.p], **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Kind = "both",
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the losses.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a figure.
        kind : {"both", "hinge", "margin"}, default="both"
            Which loss. With "both" the hinge is dashed where it leaves the margin loss.
        line_kw : dict, default=None
            Further arguments of every line.

        Returns
        -------
        LossDisplay
            The display itself.
        """
        names = {"both": "loss", "hinge": "p-norm hinge", "margin": "margin loss"}
        if kind not in names:
            raise ValueError(f"`kind` must be one of {', '.join(map(repr, names))}, got {kind!r}.")
        ax = axes_for(ax, "LossDisplay.plot")
        self.lines_ = []
        styles = series_styles(len(self.ps))
        losses = {"margin": self.margin_loss, "hinge": self.hinge}
        for name in losses if kind == "both" else [kind]:
            for loss, p, style in zip(losses[name], self.ps, styles, strict=True):
                style = {**style, "linewidth": 2.0, "label": f"p = {p:.4g}"}
                if kind == "both" and name == "margin":
                    style["linestyle"] = "-"
                elif kind == "both":
                    style |= {"linestyle": "--", "linewidth": 1.3, "label": "_hinge"}
                self.lines_ += ax.plot(self.margin, loss, **with_defaults(line_kw, **style))
        if kind == "both":
            for name, dashes in (("margin loss, at most 1", "-"), ("p-norm hinge", "--")):
                ax.plot([], [], color=GREY, linestyle=dashes, label=name)
            wrong = self.margin[self.margin <= 0.0]
            ax.plot(wrong, np.ones_like(wrong), color=GREY, linewidth=2.5)  # the same for all p
        ax.set_xlim(float(self.margin.min()), float(self.margin.max()))
        ax.set_ylim(-0.04, 1.1 if kind == "margin" else _HIGHEST)
        ax.set_xlabel("margin $y\\,f(x)$")
        ax.set_ylabel(names[kind])
        ax.legend(frameon=False, loc="upper right")
        self.ax_, self.figure_ = ax, ax.figure
        return self
