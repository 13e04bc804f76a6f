"""Sentences of the page, every number in them computed from the results.

Nothing here knows how the study came out: with other results the same functions say the opposite.
What the results are missing leaves its sentence out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from benchmarks.study import statistics
from benchmarks.study.machines import EXPONENTS
from benchmarks.study.statistics import ALPHA, Comparison, Ranks

RECOMMENDED = (1.25, 2.0)
"""Where the paper says that the best p lies."""


def fixed(family: str) -> list[str]:
    """The methods of a family with p fixed."""
    return [f"{family}-{p:g}" for p in EXPONENTS]


def spelled(method: str) -> str:
    """A method in words."""
    family, _, rest = method.partition("-")
    if family not in ("kernel", "linear"):
        return {
            "svc": "GridSearchCV(SVC)",
            "lightgbm": "LightGBM",
            "lightgbm-same": "LightGBM on the kernel machines' rows",
            "lightgbm-tuned": "LightGBM, tuned",
            "forest": "RandomForest",
            "logistic": "LogisticRegression",
            "knn": "KNN",
            "dummy": "the most frequent class",
            "ridge": "RidgeCV",
        }[method]
    words = {
        "best": "p chosen",
        "one_se": "p by one standard error",
        "repeated": "p by two rounds of folds",
        "prior": "p shrunk to 1.5",
        "log_loss": "p by log loss",
        "average": "the average over p",
    }
    if rest.startswith("untuned-"):
        return f"{family}, p = {rest.removeprefix('untuned-')}, untuned"
    return f"{family}, {words.get(rest, f'p = {rest}')}"


def points(share: float) -> str:
    """A difference of accuracies in points."""
    text = f"{100 * share:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text.replace("-", "−")


def short(one: Comparison) -> str:
    """A comparison in a sentence; a table has the rest."""
    probability, verdict = max(
        (one.better, f"{spelled(one.first)} is better by more than half a point"),
        (one.alike, "they are alike within half a point"),
        (one.worse, f"{spelled(one.second)} is better by more than half a point"),
    )
    return (
        f"{_capital(spelled(one.first))}, beside {spelled(one.second)}: **{points(one.mean)} "
        f"points** ({one.wins} wins, {one.ties} ties, {one.losses} losses on {one.n_sets} sets); "
        f"{verdict} with probability {probability:.2f}."
    )


def line(one: Comparison) -> dict[str, str]:
    """A comparison as the cells of a table."""
    return {
        "first": spelled(one.first),
        "second": spelled(one.second),
        "counts": f"{one.wins} / {one.ties} / {one.losses}",
        "mean": points(one.mean),
        "median": points(one.median),
        "better": f"{one.better:.2f}",
        "alike": f"{one.alike:.2f}",
        "worse": f"{one.worse:.2f}",
        "p_value": small(one.p_value),
    }


def small(p_value: float) -> str:
    """A p-value; those below a thousandth are only said to be."""
    return "< 0.001" if p_value < 1e-3 else f"{p_value:.3f}"


def ranked_shortly(found: Ranks) -> str:
    """The order of the ranks, and whether it means anything."""
    exponent = {str(name): str(name).rpartition("-")[2] for name in found.mean.index}
    order = ", ".join(f"{exponent[str(name)]} ({rank:.2f})" for name, rank in found.mean.items())
    if found.p_value >= ALPHA:
        told = f"which Friedman's test does not tell apart (p = {small(found.p_value)})"
    else:
        told = f"of which {', '.join(exponent[name] for name in found.leaders)} are not told apart"
    return f"p by mean rank: {order}, {told}."


def ranked(found: Ranks) -> str:
    """Ranks in a sentence."""
    order = ", ".join(f"{spelled(str(name))} ({rank:.2f})" for name, rank in found.mean.items())
    if found.p_value >= ALPHA:
        verdict = f"Friedman's test does not tell them apart (p = {small(found.p_value)})"
    else:
        others = [spelled(name) for name in found.leaders[1:]]
        verdict = f"{spelled(found.leaders[0])} is first" + (
            f"; not told apart from it: {', '.join(others)}" if others else ", alone"
        )
    return (
        f"Mean ranks over {found.n_sets} sets, 1 is best: {order}. {_capital(verdict)} (critical "
        f"difference {found.critical_difference:.2f})."
    )


def best_exponents(rows: pd.DataFrame, family: str) -> str:
    """The paper's sentence about the best p, on these sets."""
    table = statistics.means(rows, fixed(family))
    inside = [f"{family}-{p:g}" for p in EXPONENTS if RECOMMENDED[0] <= p <= RECOMMENDED[1]]
    top = table.max(axis=1)
    only = (table[inside].max(axis=1) >= top) & (table.drop(columns=inside).max(axis=1) < top)
    spread = 100 * (top - table.min(axis=1))
    values = table.to_numpy()
    steps = np.sign(np.diff(values, axis=1))
    unimodal = [
        bool(np.all(np.diff(line[line != 0]) <= 0)) for line in steps
    ]  # once it falls it falls on
    return (
        f"The best of five fixed p lies in [1.25, 2] on {int(only.sum())} of {len(table)} sets, "
        f"and accuracy rises and then falls with p on {sum(unimodal)}. Between the best and the "
        f"worst p lie {spread.median():.2f} points in the median and {spread.max():.2f} at most "
        f"({spread.idxmax()})."
    )


def support_vectors(rows: pd.DataFrame) -> str:
    """The paper's sentence about support vectors, on these sets."""
    table = statistics.means(rows, fixed("kernel"), "support_share")
    grows = int((np.diff(table.to_numpy(), axis=1) >= 0).all(axis=1).sum())
    middle = 100 * table.median()
    shares = ", ".join(f"{middle[f'kernel-{p:g}']:.0f} % at p = {p:g}" for p in EXPONENTS)
    return (
        f"Support vectors in the median over {len(table)} sets, C and gamma tuned for each p: "
        f"{shares}. Their share grows from each p to the next on {grows} sets."
    )


def overfitting(rows: pd.DataFrame, family: str = "kernel") -> str:
    """The paper's sentence about overfitting, on these sets: what the largest p loses."""
    table = statistics.means(rows, fixed(family))
    (one,) = statistics.compare(table, [(f"{family}-3", f"{family}-2")])
    return (
        f"From p = 2 to p = 3 accuracy falls on {one.losses} of {one.n_sets} sets, stays within "
        f"{100 * statistics.ROPE / 10:g} points on {one.ties} and rises on {one.wins}; "
        f"{points(one.mean)} points on average (Wilcoxon's p {_equal(one.p_value)})."
    )


def of_the_paper(rows: pd.DataFrame) -> dict[str, str]:
    """The sentences that the report of the paper takes from here."""
    n_sets = rows["dataset"].nunique()
    head = f"On {n_sets} other real tables, C and gamma tuned for each p (docs/study.md)"
    sentences = {
        "best_exponent": best_exponents(rows, "kernel"),
        "support_vectors": support_vectors(rows),
        "overfitting": overfitting(rows),
    }
    return {name: f"{head}: {text[0].lower()}{text[1:]}" for name, text in sentences.items()}


def confirmed(rows: pd.DataFrame, family: str) -> str:
    """The best fixed p of one half of the sets, on the other half."""
    table = statistics.means(rows, fixed(family))
    first, second = statistics.halves(list(table.index))
    if not first or not second:
        raise statistics.Lacking("halves need two sets or more")
    chosen = str(table.loc[first].mean().idxmax())
    gain = table.loc[second]
    others = gain.drop(columns=chosen).mean()
    return (
        f"On every second set ({len(first)}) the best fixed p by mean accuracy is "
        f"{spelled(chosen)}; on the other {len(second)} it is "
        f"{points(gain[chosen].mean() - others.max())} points from the best of the others and "
        f"{points(gain[chosen].mean() - gain[f'{family}-1'].mean())} from p = 1."
    )


def edges(rows: pd.DataFrame) -> str:
    """How often the choice is at the edge of the grid."""
    chosen = rows[rows["method"] == "kernel-best"]["chosen"]
    if chosen.empty:
        raise statistics.Lacking("the results have no kernel-best")
    ps = np.array([cell["p"] for cell in chosen])
    counts = ", ".join(f"{p:g} on {100 * np.mean(ps == p):.0f} %" for p in EXPONENTS)
    ends = []
    for name, size in (("C", 6), ("gamma", 5)):
        place = np.array([cell[f"{name}_place"] for cell in chosen])
        ends.append(
            f"{name} is the lowest of its grid on {100 * np.mean(place == 0):.0f} % and the "
            f"highest on {100 * np.mean(place == size - 1):.0f} %"
        )
    return f"Over {len(chosen)} splits the search chooses p = {counts}; {', '.join(ends)}."


def svc_check(rows: pd.DataFrame) -> str:
    """p = 1 beside scikit-learn's SVC, split by split."""
    seconds = statistics.means(rows, ["svc", "kernel-1"], "fit_seconds")
    both = rows[rows["method"].isin(["svc", "kernel-1"])]
    wide = both.pivot_table(index=["dataset", "repeat"], columns="method", values="accuracy")
    gain = (wide["kernel-1"] - wide["svc"]).dropna()
    ratio = (seconds["svc"] / seconds["kernel-1"]).median()
    return (
        f"On {len(gain)} splits with GridSearchCV(SVC) over the same grid and folds, p = 1 has the "
        f"same test accuracy on {int((gain.abs() < 1e-9).sum())}; the mean difference is "
        f"{points(gain.mean())} points, the largest {points(gain[gain.abs().idxmax()])}. SVC takes "
        f"{ratio:.1f} times as long in the median."
    )


def effect_sentences(rows: pd.DataFrame, first: str, second: str) -> list[str]:
    """How the gain of one method over another goes with the traits of the sets."""
    table = statistics.means(rows, [first, second])
    gain = table[first] - table[second]
    found = []
    names = {
        "rows": ("fewest rows", "most rows"),
        "features": ("fewest features", "most features"),
        "balance": ("least balanced classes", "most balanced classes"),
        "noise": ("least noise", "most noise"),
    }
    for one in statistics.effects(gain, statistics.traits_of(rows)):
        low, high = names[one.trait]
        told = "significant" if one.p_value < ALPHA else "not significant"
        found.append(
            f"{_capital(one.trait)}: {points(one.low)} points on the third of the sets with the "
            f"{low}, {points(one.middle)} in the middle, {points(one.high)} with the {high} "
            f"(Spearman {one.correlation:+.2f}, p {_equal(one.p_value)} after Holm: {told})."
        )
    return found


def unfinished(rows: pd.DataFrame) -> str:
    """How many searches their budget stopped."""
    stopped = sum("unfinished" in chosen for chosen in rows["chosen"])
    return f"{stopped} of {len(rows)} rows come from a search that its budget stopped."


def time_and_accuracy(
    rows: pd.DataFrame, methods: Sequence[str]
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Median seconds of a fit and mean accuracy of each method, and the frontier."""
    accuracy = statistics.means(rows, methods).mean()
    seconds = statistics.means(rows, methods, "fit_seconds").median()
    found = {name: (float(seconds[name]), float(accuracy[name])) for name in methods}
    return found, statistics.frontier(found)


def _equal(p_value: float) -> str:
    return small(p_value) if p_value < 1e-3 else f"= {small(p_value)}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
