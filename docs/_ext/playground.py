"""The models of the playground: fitted at build, written as a script for the page to evaluate.

For every data set, p, C and gamma a ``PSVC`` is fitted; what the page gets is what
``psvm.persistence.to_json`` exports: support vectors, coefficients and intercept, the vectors as
numbers of rows, as all models of a set share these. A script, and no JSON to fetch, because a
browser does not let a page that was opened from a file read other files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_circles, make_moons

from psvm import PSVC
from psvm.persistence import to_json

PS = (1, 1.1, 1.25, 1.5, 2, 3, 5, 10)
CS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 1000)
GAMMAS = (0.1, 0.3, 1, 3, 10)
ROWS = 80


def data_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Three small sets with two classes, within about [-1, 1] in both directions."""
    rng = np.random.default_rng(3)
    moons, of_moons = make_moons(ROWS, noise=0.25, random_state=3)
    rings, of_rings = make_circles(ROWS, noise=0.15, factor=0.45, random_state=1)
    clouds = np.vstack([rng.normal(c, 0.32, size=(ROWS // 2, 2)) for c in (-0.45, 0.45)])
    of_clouds = np.repeat([0, 1], ROWS // 2)
    of_clouds[[3, 45, 60]] ^= 1  # wrong labels
    return {
        "Two moons": ((moons - [0.5, 0.25]) / 1.35, of_moons),
        "Two clouds, three wrong labels": (clouds, of_clouds),
        "A ring": (rings / 1.15, of_rings),
    }


def digits(values: np.ndarray, count: int = 4) -> list[float]:
    """Numbers with so many digits: the screen shows no more."""
    return [float(f"{value:.{count}g}") for value in values]


def model(X: np.ndarray, y: np.ndarray, p: float, C: float, gamma: float) -> dict[str, Any]:
    """A fit in the least space: rows, coefficients, intercept and certificate."""
    fitted = PSVC(p=p, C=C, gamma=gamma).fit(X, y)
    rule = to_json(fitted)["problems"][0]
    rows = fitted.support_[rule["support"]]
    return {
        "rows": rows.tolist(),
        "coefficients": digits(np.array(rule["coefficients"])),
        "intercept": digits(np.array([rule["intercept"]]), 6)[0],
        "gap": digits(fitted.dual_gap_, 2)[0],
    }


def models() -> dict[str, Any]:
    """All that the page needs."""
    sets = []
    for name, (X, y) in data_sets().items():
        X = np.round(X, 3)
        grid = [[[model(X, y, p, C, gamma) for gamma in GAMMAS] for C in CS] for p in PS]
        sets.append({"name": name, "points": X.tolist(), "labels": y.tolist(), "models": grid})
    return {"ps": PS, "Cs": CS, "gammas": GAMMAS, "sets": sets}


def write_models(app: Any, _: Any) -> None:
    """Write the script; 1,200 small fits take seconds."""
    target = Path(app.srcdir).parent / "build" / "site-static" / "playground-models.js"
    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(models(), separators=(",", ":"))
    target.write_text(f"window.psvmModels = {text};\n", encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", write_models)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
