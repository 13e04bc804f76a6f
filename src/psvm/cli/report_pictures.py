"""Pictures inside the report of ``psvm tune``: drawings as addresses that hold them."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]
Draw = Callable[[Any], Any]

# Rows beyond which points hide each other, and make a file of megabytes.
_POINTS = 2_000


def picture(draw: Draw, caption: str) -> dict[str, str]:
    """A drawing with its caption, for the template.

    Parameters
    ----------
    draw : callable
        Draws on the axes that it is given.
    caption : str
        What it shows.
    """
    # Small, so that letters can be read where all of it fits on a phone.
    figure = Figure(figsize=(4.6, 3.2), layout="constrained")
    draw(figure.subplots())
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "path"}):
        figure.savefig(stream, format="svg")
    data = base64.b64encode(stream.getvalue().encode()).decode()
    return {"uri": f"data:image/svg+xml;base64,{data}", "alt": caption, "caption": caption}


def residual_pictures(y: Array, predicted: Array) -> list[dict[str, str]]:
    """Predicted against true numbers, and what is left against the predicted ones.

    Parameters
    ----------
    y, predicted : ndarray of shape (n,)
        True and predicted numbers; of many rows some are drawn, chosen at random.
    """
    from sklearn.metrics import PredictionErrorDisplay

    some = f" ({_POINTS:,} of {y.size:,} rows)" if y.size > _POINTS else ""
    if some:
        chosen = np.sort(np.random.default_rng(0).permutation(y.size)[:_POINTS])
        y, predicted = y[chosen], predicted[chosen]

    def drawn(kind: str) -> Draw:
        dots = {"s": 8, "alpha": 0.5, "linewidths": 0}

        def draw(ax: Any) -> None:
            PredictionErrorDisplay.from_predictions(
                y, predicted, kind=kind, ax=ax, subsample=None, scatter_kwargs=dots
            )

        return draw

    return [
        picture(
            drawn("actual_vs_predicted"),
            f"True against predicted values{some}; on the line they are equal.",
        ),
        picture(
            drawn("residual_vs_predicted"),
            f"Residuals (true minus predicted) against predicted values{some}: a pattern in them "
            f"is what the model has missed.",
        ),
    ]
