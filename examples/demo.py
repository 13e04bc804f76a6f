"""PSVC beside SVC on the breast-cancer data of scikit-learn: one table and one picture.

For every model C is chosen by 5-fold cross-validation on the training rows, then p by the same
score; the test rows are touched only for the column "test". Run with ``make demo``.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no display needed

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from psvm import PSVC
from psvm.mathematics.certificate import DualRows, certify
from psvm.mathematics.loss import PNormHinge

PS = (1, 1.25, 1.5, 2, 3)
CS = np.logspace(-1, 2, 13)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=42)

# Okabe-Ito colours: told apart by colour-blind readers, and in the order of their lightness.
P_COLOURS = dict(zip(PS, ("#000000", "#0072B2", "#009E73", "#E69F00", "#CC79A7"), strict=True))
CLASS_COLOURS = ("#D55E00", "#56B4E9")


@dataclass
class Row:
    """One line of the table."""

    name: str
    p: float
    C: float
    cv: float
    cv_error: float  # standard error over the folds
    test: float
    support: float
    gap: float
    seconds: float


def gap_of_svc(svc: SVC, X: np.ndarray, y: np.ndarray) -> float:
    """The relative duality gap that SVC does not report, by psvm's own certificate."""
    sign = np.where(y == svc.classes_[1], 1.0, -1.0)
    alpha = np.zeros(len(y))
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    decision = svc.decision_function(X) - svc.intercept_[0]
    rows = DualRows(sign, sign, np.full(len(y), float(svc.C)), PNormHinge(1.0))
    return certify(rows, alpha, decision).gap


def choose_C(estimator: SVC | PSVC, X_train, y_train, X_test, y_test) -> Row:
    """Cross-validate C, refit on all training rows, and measure what the table shows."""
    start = time.perf_counter()
    pipeline = make_pipeline(StandardScaler(), estimator)
    grid = {f"{type(estimator).__name__.lower()}__C": CS}
    search = GridSearchCV(pipeline, grid, cv=FOLDS).fit(X_train, y_train)
    seconds = time.perf_counter() - start
    scaler, model = (step for _, step in search.best_estimator_.steps)
    is_psvc = isinstance(model, PSVC)
    return Row(
        name=type(model).__name__,
        p=model.p if is_psvc else 1,
        C=model.C,
        cv=search.best_score_,
        cv_error=search.cv_results_["std_test_score"][search.best_index_] / FOLDS.n_splits**0.5,
        test=search.score(X_test, y_test),
        support=len(model.support_) / len(y_train),
        gap=model.dual_gap_.max()
        if is_psvc
        else gap_of_svc(model, scaler.transform(X_train), y_train),
        seconds=seconds,
    )


def print_table(rows: list[Row], chosen: Row) -> None:
    print(
        "model    p         C   CV accuracy   test accuracy   support vectors       gap   seconds"
    )
    for row in rows:
        gap = f"{row.gap:.1e}" if row.gap > 1e-15 else "< 1e-15"  # rounding errors say no more
        print(
            f"{row.name:4}  {row.p:>4g}  {row.C:>8.3g}  {100 * row.cv:>10.2f} %  "
            f"{100 * row.test:>12.2f} %  {100 * row.support:>14.1f} %  {gap:>8}  "
            f"{row.seconds:>8.2f}" + ("   <- chosen" if row is chosen else "")
        )


def draw(rows: list[Row], chosen: Row, X: np.ndarray, y: np.ndarray, path: Path) -> None:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
    svc, *psvc = rows
    p = [row.p for row in psvc]
    draw_boundaries(left, X, y, chosen.C)

    cv, error = (100 * np.array([getattr(row, k) for row in psvc]) for k in ("cv", "cv_error"))
    middle.plot(p, cv, "o-", color="#0072B2", label="cross-validation")
    middle.fill_between(
        p, cv - error, cv + error, color="#0072B2", alpha=0.12, lw=0, label="its standard error"
    )
    middle.plot(p, [100 * row.test for row in psvc], "s--", color="#E69F00", label="test rows")
    middle.plot(1, 100 * svc.cv, "kx", ms=10, mew=2, label="SVC, cross-validation")
    middle.set(ylabel="accuracy (%)", title="B  Accuracy, with C chosen for each p")
    low, high = middle.get_ylim()
    middle.set_ylim(low - 0.4 * (high - low), high)  # room for the legend

    same_C = [len(PSVC(p=p).fit(StandardScaler().fit_transform(X), y).support_) for p in PS]
    right.plot(p, [100 * row.support for row in psvc], "o-", color="#0072B2", label="C chosen")
    right.plot(p, 100 * np.array(same_C) / len(y), "^--", color="#009E73", label="C = 1")
    right.plot(1, 100 * svc.support, "kx", ms=10, mew=2, label="SVC, C chosen")
    right.set(ylabel="support vectors (% of rows)", title="C  Support vectors")
    right.set_ylim(bottom=0)
    for panel in (middle, right):
        panel.axvline(chosen.p, color="0.6", lw=1, ls=":", zorder=0)
        panel.set_xlabel(f"p  (dotted: chosen, {chosen.p:g})")
        panel.set_xticks(p, [f"{value:g}" for value in p])
        panel.grid(axis="y", color="0.9")
        panel.spines[["top", "right"]].set_visible(False)
        panel.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_boundaries(panel: plt.Axes, X: np.ndarray, y: np.ndarray, C: float) -> None:
    """Where the decision changes, for every p, where the classes meet in the first two components.

    gamma = 1 is narrower than "scale" (1/2 here) and lets the boundaries follow single rows, so
    that what p changes can be seen.
    """
    plane = PCA(2, whiten=True).fit_transform(StandardScaler().fit_transform(X))
    x1, x2 = np.meshgrid(np.linspace(-1.7, 2.7, 400), np.linspace(-2.6, 3.0, 400))
    for p, colour in P_COLOURS.items():
        model = PSVC(p=p, C=C, gamma=1.0).fit(plane, y)
        decision = model.decision_function(np.column_stack([x1.ravel(), x2.ravel()]))
        panel.contour(x1, x2, decision.reshape(x1.shape), [0], colors=colour, linewidths=1.8)
    for label, colour, marker in zip((0, 1), CLASS_COLOURS, "^o", strict=True):
        panel.scatter(*plane[y == label].T, s=16, color=colour, marker=marker, alpha=0.6, lw=0)
    panel.set(
        xlabel="first principal component",
        ylabel="second principal component",
        title=f"A  Decision boundaries in two dimensions, C = {C:.3g}",
        xlim=(x1.min(), x1.max()),
        ylim=(x2.min(), x2.max()),
    )
    lines = [Line2D([], [], color=colour, label=f"p = {p:g}") for p, colour in P_COLOURS.items()]
    dots = [
        Line2D([], [], ls="", marker=marker, color=colour, label=label)
        for label, colour, marker in zip(("malignant", "benign"), CLASS_COLOURS, "^o", strict=True)
    ]
    panel.legend(handles=lines + dots, loc="upper right", fontsize=9, framealpha=0.9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo.png"), help="the picture")
    path = parser.parse_args().output

    X, y = load_breast_cancer(return_X_y=True)
    split = train_test_split(X, y, test_size=0.3, stratify=y, random_state=42)
    X_train, X_test, y_train, y_test = split
    print(
        f"Breast cancer: {len(y_train)} training rows, {len(y_test)} test rows, "
        f"{X.shape[1]} features, rbf kernel.\n"
        f"C from {CS[0]:g} to {CS[-1]:g} by 5-fold cross-validation for each p:",
        end="",
    )
    PSVC().fit(X_train[:50], y_train[:50])  # start the threads outside the clock
    rows = []
    for estimator in (SVC(), *(PSVC(p=p) for p in PS)):
        print(
            f" p = {estimator.p:g}" if isinstance(estimator, PSVC) else " SVC", end=" ", flush=True
        )
        rows.append(choose_C(estimator, X_train, y_train, X_test, y_test))
    # The best cross-validated score; among equals the model with fewer support vectors.
    chosen = max(rows[1:], key=lambda row: (round(row.cv, 6), -row.support))
    print("\n")
    print_table(rows, chosen)
    print(
        f"\nChosen by cross-validation: p = {chosen.p:g}, C = {chosen.C:.3g}."
        "\ngap: how far the fit can be from the optimum, as a fraction (SVC's is computed by psvm)."
        f"\nseconds: the whole search, {len(CS)} values of C x 5 folds, and the final fit."
    )
    draw(rows, chosen, X_train, y_train, path)
    print(f"\nThe picture is saved in {path.resolve()}")


if __name__ == "__main__":
    main()
