"""What the Displays share: axes, colours, and the way to the model inside an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_regressor

from psvm.mathematics.multiclass import problem_signs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

# The palette of Okabe and Ito, which people with any colour vision can tell apart. Its yellow is
# left out: it is not seen on white.
BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PURPLE, SKY, GREY = "#CC79A7", "#56B4E9", "#595959"
_COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, GREY)
# Dashes tell lines apart in print without colours.
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (5, 1.2, 1.2, 1.2)),
    (0, (8, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (2, 2)),
)


# A gap of rounding errors is drawn here: a logarithm has no 0.
LEAST_GAP = 1e-16
# Length of a line in a legend that shows its dashes on both sides of a marker.
HANDLE = 3.2


def require_matplotlib(caller: str) -> None:
    """An error that says how to install matplotlib, unless it is; before a long computation."""
    try:
        import matplotlib.pyplot  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib: pip install '.[plot]' in a clone of the repository"
        ) from error


def axes_for(ax: Axes | None, caller: str) -> Axes:
    """The axes to draw on: those given, whose frame and grid stay as they are, else new ones."""
    if ax is not None:
        return ax
    require_matplotlib(caller)
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.92")
    ax.set_axisbelow(True)
    return ax


def series_styles(n: int) -> list[dict[str, Any]]:
    """Colour and dashes of each of n lines: a palette for a few, a scale of colours for many."""
    if n <= len(_COLOURS):
        return [{"color": _COLOURS[k], "linestyle": _DASHES[k]} for k in range(n)]
    from matplotlib import colormaps

    # The last tenth of viridis is too bright for a line on white.
    return [{"color": colour} for colour in colormaps["viridis"](np.linspace(0.0, 0.9, n))]


def with_defaults(given: Mapping[str, Any] | None, **defaults: Any) -> dict[str, Any]:
    """Keyword arguments of a user over those of a Display, whatever short names they use."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return {**defaults, **normalize_kwargs(dict(given or {}), Line2D)}


def legend_beside(ax: Axes, **options: Any) -> Legend:
    """A legend right of the axes where the layout makes room for it, else where it fits best."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if isinstance(ax.figure.get_layout_engine(), ConstrainedLayoutEngine):
        options |= {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    return ax.legend(frameon=False, handlelength=HANDLE, **options)


def label_ticks(ax: Axes, axis: str, at: Any, names: Sequence[str], *, share: float = 1.0) -> None:
    """Ticks with names, turned or left out where they would be printed over each other.

    ``share`` is how much of its present length the axis keeps, beside a colour bar for instance.
    """
    limits = ax.get_xlim() if axis == "x" else ax.get_ylim()
    extent = ax.get_window_extent()
    length = share * (extent.width if axis == "x" else extent.height) * 72.0 / ax.figure.dpi
    points = length * np.abs(np.asarray(at, dtype=np.float64) - limits[0]) / abs(np.diff(limits)[0])
    size = 10.0  # of tick labels, in points; a character is 0.62 of it wide
    needed = 0.62 * size * (max(map(len, names), default=0) + 1)
    turned = axis == "x" and len(names) > 1 and float(np.diff(points).min()) < needed
    # Turned by half a right angle, labels need the height of a line and its slope.
    room = (1.5 if turned else 1.2) * size if axis == "y" or turned else 0.0
    shown, last = [], -np.inf
    for place, name in zip(points, names, strict=True):
        fits = place - last >= room
        shown.append(name if fits else "")
        last = place if fits else last
    if axis == "x":
        ax.set_xticks(at, shown)
        if turned:
            for label in ax.get_xticklabels():
                label.set(rotation=45.0, ha="right", rotation_mode="anchor")
    else:
        ax.set_yticks(at, shown)


def mark_tol(ax: Axes, tol: float) -> Line2D:
    """A line across the axes at the gap that was asked for, with its name."""
    ax.annotate(
        f"tol = {tol:g}",
        (0.0, tol),
        xycoords=("axes fraction", "data"),
        xytext=(4, 3),
        textcoords="offset points",
        color=GREY,
        fontsize="small",
    )
    return ax.axhline(tol, color=GREY, linestyle=":", linewidth=1.2)


def score_name(scoring: Any, estimator: Any = None) -> str:
    """What a score is, as far as ``scoring`` tells, or without it the estimator."""
    if scoring is None:
        if getattr(estimator, "quantile", 0.5) != 0.5 and hasattr(estimator, "epsilons"):
            return "negative pinball loss"
        return "r2" if estimator is not None and is_regressor(estimator) else "accuracy"
    return scoring.replace("_", " ") if isinstance(scoring, str) else "score"


def problem_sides(classes: npt.NDArray[Any], multi_class: str) -> list[tuple[str, str]]:
    """Names of what is positive and what is negative in every binary problem."""

    def name(labels: npt.NDArray[Any]) -> str:
        return f"class {labels[0]}" if labels.size == 1 else "the rest"

    signs = problem_signs(classes.size, multi_class)
    return [(name(classes[row > 0]), name(classes[row < 0])) for row in signs]


def final_model(
    estimator: Any,
    attribute: str,
    caller: str,
    expected: str = "PSVC, LinearPSVC, or a pipeline or search of them",
) -> Any:
    """The model with ``attribute`` in an estimator, a pipeline's last step or a search's best."""
    model = estimator
    while not hasattr(model, attribute):
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps"):
            model = model.steps[-1][1]
        else:
            raise ValueError(
                f"{caller} needs an estimator with `{attribute}` ({expected}), got "
                f"{type(estimator).__name__}"
                f"{'; fit it first' if attribute.endswith('_') else ''}."
            )
    return model
