"""The paper's three figures, drawn again.

``figureN_data`` computes what a figure shows, as a dictionary of plain lists that can be kept as
JSON; ``figureN`` draws it; :func:`save` writes PNG and SVG. Matplotlib is imported when something
is drawn.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from psvm.bounds import margin_loss
from psvm.estimators.linear_svc import LinearPSVC
from psvm.paper import psmo
from psvm.paper.psmo_classifier import published_votes, shuffled_pair
from psvm.paper.published import EXPONENTS
from psvm.paper.recipe import SEED, SUPPORT_THRESHOLD, Split, accuracy_percent, fit_published, split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]
FigureData = dict[str, Any]
Progress = Callable[[int, int], None]
"""Receives how much is done, and of how much."""

# The palette of Okabe and Ito, which people with any colour vision can tell apart.
BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY = "#CC79A7", "#56B4E9", "#595959"

FIGURE2_C = 0.5
"""The cost of every model in Figure 2."""

FIGURE3_P, FIGURE3_C = 2.0, 0.25
"""Exponent and cost of Figure 3."""

FIGURE3_STEPS = 300_000
"""Steps per pair of classes in the published run of Figure 3."""


# --- Figure 1 ------------------------------------------------------------------------------------


def figure1() -> Figure:
    r"""Figure 1: the margin loss :math:`\Phi_{p,\rho}` for several p.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, (axes,) = _canvas(1, 1, (6.0, 4.0))
    margin = np.linspace(-0.5, 1.5, 401)  # in units of rho
    styles = zip(
        (1.0, 1.25, 1.5, 2.0, 3.0, 5.0),
        (GREY, SKY, BLUE, GREEN, ORANGE, VERMILLION),
        ("-", (0, (1, 1)), "--", "-.", (0, (5, 1)), (0, (3, 1, 1, 1))),
        strict=True,
    )
    for p, colour, style in styles:
        loss = margin_loss(margin, p=p, rho=1.0)
        axes.plot(margin, loss, color=colour, linestyle=style, linewidth=2, label=f"p = {p:g}")
    axes.set_xlabel("margin x")
    axes.set_ylabel(r"margin loss $\Phi_{p,\rho}(x)$")
    axes.set_xticks([0.0, 0.5, 1.0], ["0", "ρ/2", "ρ"])
    axes.set_yticks([0.0, 0.5, 1.0])
    axes.set_xlim(-0.5, 1.5)
    axes.legend(frameon=False, loc="upper right")
    return figure


# --- Figure 2 ------------------------------------------------------------------------------------


def figure2_data(quick: bool = False, progress: Progress | None = None) -> FigureData:
    """Accuracy and support vectors on Wine against the number of training rows.

    The models are those of Table 1 as published (:func:`psvm.paper.recipe.fit_published`) with
    C = 0.5, each trained on the first k rows of the training part.

    Parameters
    ----------
    quick : bool, default=False
        Whether three sizes and three exponents are enough.
    progress : callable or None
        Called with the number of models trained and to be trained.

    Returns
    -------
    dict
        ``p``; ``size`` and ``share`` of each training set; and, one list per p, ``train_accuracy``,
        ``test_accuracy`` and ``nsv`` in percent.
    """
    data = split("wine")
    whole = data.y_train.size
    sizes = [29, 154, 304] if quick else training_sizes(whole)
    exponents = [1.0, 1.5, 2.0] if quick else list(EXPONENTS)
    points: list[list[dict[str, float]]] = []
    for p in exponents:
        points.append([published_point(data, k, p) for k in sizes])
        if progress is not None:
            progress(len(points) * len(sizes), len(exponents) * len(sizes))
    answer: FigureData = {"p": exponents, "size": sizes, "share": [k / whole for k in sizes]}
    for key in ("train_accuracy", "test_accuracy", "nsv"):
        answer[key] = [[point[key] for point in of_one_p] for of_one_p in points]
    return answer


def training_sizes(whole: int) -> list[int]:
    """The numbers of training rows in Figure 2.

    Parameters
    ----------
    whole : int
        Number of all training rows.

    Returns
    -------
    list of int
        4, 29, 54, ... and ``whole``.
    """
    return [*range(4, whole, 25), whole]


def published_point(data: Split, k: int, p: float) -> dict[str, float]:
    """The published model on the first k training rows, with C = 0.5.

    Parameters
    ----------
    data : Split
        Training and test part.
    k : int
        Number of training rows.
    p : float
        Exponent.

    Returns
    -------
    dict
        ``train_accuracy``, ``test_accuracy`` and ``nsv``, all in percent.
    """
    X, y = data.X_train[:k], data.y_train[:k]
    model = fit_published(X, y, p=p, C=FIGURE2_C)
    return {
        "train_accuracy": accuracy_percent(model, X, y),
        "test_accuracy": accuracy_percent(model, data.X_test, data.y_test),
        "nsv": model.nsv_percent,
    }


def figure2(data: FigureData) -> Figure:
    """Draw Figure 2, one panel per p.

    Parameters
    ----------
    data : dict
        From :func:`figure2_data`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    n_rows = -(-len(data["p"]) // 3)
    figure, panels = _canvas(n_rows, 3, (9.0, 0.8 + 2.4 * n_rows), shared=True)
    lines = (
        ("train_accuracy", "training accuracy", BLUE, "--"),
        ("test_accuracy", "test accuracy", VERMILLION, "-"),
        ("nsv", "support vectors", GREEN, ":"),
    )
    for t, (axes, p) in enumerate(zip(panels, data["p"], strict=True)):
        for key, label, colour, style in lines:
            axes.plot(data["share"], data[key][t], style, color=colour, linewidth=1.8, label=label)
        axes.set_title("p = 1 (hard margin)" if p == 1.0 else f"p = {p:.3g}", fontsize=10)
        axes.set_ylim(45, 103)
    figure.supxlabel("share of the training rows used", fontsize=10)
    figure.supylabel("percent", fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


# --- Figure 3 ------------------------------------------------------------------------------------


def figure3_data(quick: bool = False, progress: Progress | None = None) -> FigureData:
    """The training process of pSMO on USPS with p = 2 and C = 0.25.

    One run of the published classifier, looked at after 100, 200, 500, 1,000, ... steps of each of
    its 45 pairs of classes.

    Parameters
    ----------
    quick : bool, default=False
        Whether the first 3,000 steps on a fifth of the rows are enough.
    progress : callable or None
        Called with the number of pairs of classes trained and to be trained.

    Returns
    -------
    dict
        ``steps``; for each of them ``train_accuracy`` and ``test_accuracy`` in percent,
        ``dual_objective`` (summed over the pairs) and ``support_vectors`` (alpha > 1e-5, summed);
        and under ``exact`` the same four numbers of the certified optimum.
    """
    data = split("usps")
    budget = FIGURE3_STEPS
    if quick:
        data, budget = data._replace(X_train=data.X_train[::5], y_train=data.y_train[::5]), 3_000
    steps = [s for s in _round_numbers(100, budget) if s < budget] + [budget]
    classes, first_row, codes = np.unique(data.y_train, return_index=True, return_inverse=True)
    pairs = list(combinations(np.argsort(first_row).tolist(), 2))
    weights = np.zeros((len(steps), len(pairs), data.X_train.shape[1]))
    intercepts = np.zeros((len(steps), len(pairs)))
    objective, support = np.zeros(len(steps)), np.zeros(len(steps), dtype=np.int64)
    rng = random.Random(SEED)
    for t, (first, second) in enumerate(pairs):
        rows, signs = shuffled_pair(codes, first, second, rng)
        X = data.X_train[rows]
        rng.seed(SEED)
        for s, state in enumerate(_states(X @ X.T, signs, steps, rng)):
            weights[s, t] = (state.alpha * signs) @ X
            intercepts[s, t] = state.intercept
            support[s] += np.count_nonzero(state.alpha > SUPPORT_THRESHOLD)
            objective[s] += psmo.objective(
                state.alpha, state.decision, signs, p=FIGURE3_P, C=FIGURE3_C
            )
        if progress is not None:
            progress(t + 1, len(pairs))

    def accuracy(X: Array, y: npt.NDArray[Any]) -> list[float]:
        values = []
        for w, b in zip(weights, intercepts, strict=True):
            votes = published_votes(X @ w.T + b, np.array(pairs), classes.size)
            values.append(100.0 * float(np.mean(classes[votes.argmax(axis=1)] == y)))
        return values

    return {
        "steps": steps,
        "train_accuracy": accuracy(data.X_train, data.y_train),
        "test_accuracy": accuracy(data.X_test, data.y_test),
        "dual_objective": objective.tolist(),
        "support_vectors": support.tolist(),
        "exact": _exact_optimum(data),
    }


def _round_numbers(least: int, limit: int) -> list[int]:
    """1, 2, 5, 10, ... times ``least``, up to ``limit``."""
    numbers, decade = [], least
    while decade <= limit:
        numbers += [decade * digit for digit in (1, 2, 5)]
        decade *= 10
    return [number for number in numbers if number <= limit]


def _states(K: Array, y: Array, steps: list[int], rng: random.Random) -> list[psmo.Snapshot]:
    """The state after each number of steps; after convergence it stays what it is."""
    states = list(
        psmo.train(
            K,
            y,
            p=FIGURE3_P,
            C=FIGURE3_C,
            eps=1e-4,
            max_steps=steps[-1],
            rng=rng,
            record_at=steps,
        )
    )
    if states[-1].converged and len(states) > 1 and states[-2].n_steps == states[-1].n_steps:
        del states[-2]  # recorded at the very step of convergence
    return states + states[-1:] * (len(steps) - len(states))


def _exact_optimum(data: Split) -> dict[str, float]:
    """What pSMO approaches: the certified optimum of the same binary problems."""
    model = LinearPSVC(p=FIGURE3_P, C=FIGURE3_C, multi_class="ovo", tol=1e-8, n_jobs=1)
    model.fit(data.X_train, data.y_train)
    arrays, support = model._as_arrays(), 0  # of two classes or of the pairs of more
    for t, (first, second) in enumerate(combinations(model.classes_, 2)):
        rows = np.isin(data.y_train, (first, second))
        signs = np.where(data.y_train[rows] == first, 1.0, -1.0)
        decision = data.X_train[rows] @ arrays.weights[t] + arrays.intercept[t]
        # At the optimum alpha is the slope of the loss, p C slack^(p - 1).
        slack = np.maximum(1.0 - signs * decision, 0.0)
        alpha = FIGURE3_P * FIGURE3_C * slack ** (FIGURE3_P - 1.0)
        support += int(np.count_nonzero(alpha > SUPPORT_THRESHOLD))
    return {
        "train_accuracy": accuracy_percent(model, data.X_train, data.y_train),
        "test_accuracy": accuracy_percent(model, data.X_test, data.y_test),
        "dual_objective": float(model.dual_objective_.sum()),
        "support_vectors": support,
    }


def figure3(data: FigureData) -> Figure:
    """Draw Figure 3: accuracy, distance to the optimum and support vectors.

    Parameters
    ----------
    data : dict
        From :func:`figure3_data`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, (accuracy, objective, support) = _canvas(1, 3, (11.0, 3.6))
    steps, exact = data["steps"], data["exact"]
    for key, label, colour, marker in (
        ("train_accuracy", "training rows", BLUE, "s"),
        ("test_accuracy", "test rows", VERMILLION, "o"),
    ):
        accuracy.plot(steps, data[key], color=colour, marker=marker, markersize=4, label=label)
        accuracy.axhline(exact[key], color=colour, linestyle=":", label=f"{label}, exact optimum")
    accuracy.set_title("accuracy in percent", fontsize=10)
    accuracy.legend(frameon=False, fontsize=8)

    optimum = exact["dual_objective"]
    distance = [100.0 * (1.0 - value / optimum) for value in data["dual_objective"]]
    objective.plot(steps, distance, color=GREEN, marker="o", markersize=4)
    objective.set_yscale("log")
    objective.yaxis.set_major_formatter("{x:g}")
    objective.set_title("dual objective: percent below the optimum", fontsize=10)

    support.plot(
        steps, data["support_vectors"], color=PURPLE, marker="o", markersize=4, label="pSMO"
    )
    support.axhline(exact["support_vectors"], color=PURPLE, linestyle=":", label="exact optimum")
    support.set_title("support vectors, sum over the pairs", fontsize=10)
    support.legend(frameon=False, fontsize=8)
    support.yaxis.set_major_formatter("{x:,.0f}")
    for axes in (accuracy, objective, support):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlabel("pSMO steps per pair of classes")
    return figure


# --- drawing -------------------------------------------------------------------------------------


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG (150 dots per inch) and SVG.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    folder : Path
        Where to; made if it does not exist.
    name : str
        Name of the files without their ending.

    Returns
    -------
    list of Path
        The two files.
    """
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.png", folder / f"{name}.svg"]
    # Without a date and with fixed identifiers, the same figure is the same file.
    with matplotlib.rc_context({"svg.hashsalt": "psvm"}):
        figure.savefig(files[0], dpi=150)
        figure.savefig(files[1], metadata={"Date": None})
    return files


def _canvas(
    n_rows: int, n_columns: int, size: tuple[float, float], shared: bool = False
) -> tuple[Figure, list[Axes]]:
    """An empty figure and its panels, row by row, with ``shared`` axes or one pair each.

    There is no window and no global state.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(n_rows, n_columns, squeeze=False, sharex=shared, sharey=shared)
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9")
        axes.set_axisbelow(True)
    return figure, list(panels.flat)
