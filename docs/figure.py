"""Draw docs/images/psvm.png, the figure of the README: ``python docs/figure.py``."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from psvm import PSVC

# Okabe-Ito colours, told apart by colour-blind readers.
P_COLOURS = {1: "#000000", 1.5: "#0072B2", 2: "#009E73", 3: "#E69F00"}
CLASS_COLOURS = ("#D55E00", "#56B4E9")


def draw_loss(panel: plt.Axes) -> None:
    margin = np.linspace(-1, 1.6, 300)
    for p, colour in P_COLOURS.items():
        panel.plot(margin, np.maximum(0, 1 - margin) ** p, color=colour, lw=2, label=f"p = {p:g}")
    panel.axvline(0, color="0.8", lw=1, zorder=0)
    panel.set(
        xlabel="margin  y f(x)",
        ylabel="loss",
        title="One exponent shapes the loss",
        xlim=(-1, 1.6),
        ylim=(0, 4),
    )
    panel.legend(frameon=False)


def draw_boundaries(panel: plt.Axes) -> None:
    X, y = make_moons(160, noise=0.32, random_state=3)
    x1, x2 = np.meshgrid(np.linspace(-1.9, 2.7, 400), np.linspace(-1.7, 2.1, 400))
    points = np.column_stack([x1.ravel(), x2.ravel()])
    for label, colour, marker in zip((0, 1), CLASS_COLOURS, "^o", strict=True):
        panel.scatter(*X[y == label].T, s=20, color=colour, marker=marker, alpha=0.7, lw=0)
    for p, colour in P_COLOURS.items():
        model = PSVC(p=p, C=3, gamma=1.5).fit(X, y)
        decision = model.decision_function(points).reshape(x1.shape)
        panel.contour(x1, x2, decision, [0], colors=colour, linewidths=2)
    panel.set(title="… and with it the boundary", xticks=[], yticks=[])
    panel.spines[:].set_visible(False)


def draw_gaps(panel: plt.Axes) -> None:
    X, y = make_moons(6000, noise=0.32, random_state=3)
    for p, colour in P_COLOURS.items():
        model = PSVC(p=p, C=3, gamma=1.5, tol=1e-6).fit(X, y)
        rounds = model.history_[0]
        panel.semilogy(
            [record["iteration"] for record in rounds],
            [record["gap"] for record in rounds],
            "o-",
            ms=3,
            color=colour,
        )
    panel.axhline(1e-4, color="0.5", lw=1, ls=":")
    panel.text(
        0.99, 1.2e-4, "default tol", color="0.4", ha="right", transform=panel.get_yaxis_transform()
    )
    panel.set(xlabel="round", ylabel="relative duality gap", title="Every fit is certified")


def main() -> None:
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
    for panel, draw in zip(panels, (draw_loss, draw_boundaries, draw_gaps), strict=True):
        draw(panel)
        panel.spines[["top", "right"]].set_visible(False)
    path = Path(__file__).parent / "images" / "psvm.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"saved {path}")


if __name__ == "__main__":
    main()
