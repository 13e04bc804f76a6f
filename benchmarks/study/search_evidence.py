"""What the results of ``searches`` say: which strategies pay.

Candidates are chosen by one half of the tables: those that no other beats in both seconds and
accuracy, that take no longer than the default grid and lose less than a tenth of a point. They are
confirmed by the other half, with Holm's correction over the candidates.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from benchmarks.study import statistics
from benchmarks.study.findings import points
from benchmarks.study.strategies import STRATEGIES

MARGIN = 0.001
"""A tenth of a point of accuracy: a cheaper search may lose so much."""

CHEAPER = 0.5
"""The share of the default's seconds that is clearly less."""


def half_of(dataset: str) -> int:
    """0 for the tables that strategies are chosen by, 1 for those that confirm: by the name."""
    return int(hashlib.sha256(dataset.encode()).hexdigest(), 16) % 2


class Standing(NamedTuple):
    """A strategy on some tables, beside the default grid.

    Attributes
    ----------
    method : str
    accuracy : float
        Mean over the tables.
    gain : float
        Beyond the default.
    fits, seconds : float
        Shares of the default's, geometric means over the tables.
    """

    method: str
    accuracy: float
    gain: float
    fits: float
    seconds: float


def standings(rows: pd.DataFrame) -> list[Standing]:
    """All strategies, the cheapest first."""
    methods = [method for method in STRATEGIES if method in set(rows["method"])]
    tables = {
        measure: statistics.means(rows, methods, measure)
        for measure in ("accuracy", "fits", "seconds")
    }
    shares = {
        cost: np.exp(np.log(tables[cost]).sub(np.log(tables[cost]["default"]), axis=0).mean())
        for cost in ("fits", "seconds")
    }
    mean = tables["accuracy"].mean()
    found = [
        Standing(
            method,
            float(mean[method]),
            float(mean[method] - mean["default"]),
            float(shares["fits"][method]),
            float(shares["seconds"][method]),
        )
        for method in methods
    ]
    return sorted(found, key=lambda one: one.seconds)


def candidates(found: Iterable[Standing]) -> list[str]:
    """Strategies that may pay: no other is cheaper and better, and not clearly worse than default.

    They take at most the seconds of the default grid.
    """
    points = {
        one.method: (one.seconds, one.accuracy)
        for one in found
        if one.method != "default" and one.seconds <= 1.0 and one.gain >= -MARGIN
    }
    return statistics.frontier(points)


class Confirmation(NamedTuple):
    """A strategy beside the default on the tables that it was not chosen by.

    Attributes
    ----------
    comparison : Comparison
        Wins, ties, losses, mean; its p value is that of any difference, after Holm.
    not_worse : float
        The p value, after Holm, of a loss of a tenth of a point or more.
    standing : Standing
        Its cost.
    """

    comparison: statistics.Comparison
    not_worse: float
    standing: Standing

    @property
    def better(self) -> bool:
        """Whether it is more accurate, and costs no more."""
        one = self.comparison
        return one.mean > 0.0 and one.p_value < statistics.ALPHA and self.standing.seconds <= 1.0

    @property
    def cheaper(self) -> bool:
        """Whether it is as accurate within the margin, and clearly cheaper."""
        return self.not_worse < statistics.ALPHA and self.standing.seconds <= CHEAPER

    @property
    def pays(self) -> bool:
        """One of them."""
        return self.better or self.cheaper


def confirmed(rows: pd.DataFrame, methods: Sequence[str]) -> list[Confirmation]:
    """The candidates on the tables of ``rows``, as one family of tests."""
    if not methods:
        return []
    table = statistics.means(rows, ["default", *methods])
    compared = statistics.compare(table, [(method, "default") for method in methods])
    gains = [(table[method] - table["default"]).to_numpy() for method in methods]
    not_worse = statistics.holm(
        [float(wilcoxon(gain + MARGIN, alternative="greater").pvalue) for gain in gains]
    )
    standing = {one.method: one for one in standings(rows)}
    return [
        Confirmation(one, p_value, standing[one.first])
        for one, p_value in zip(compared, not_worse, strict=True)
    ]


class Evidence(NamedTuple):
    """Both halves: all strategies on each, and the candidates of the first on the second.

    ``n_train`` is the most training rows.
    """

    chosen_by: list[Standing]
    confirmations: list[Confirmation]
    n_tables: tuple[int, int]
    n_splits: int
    n_train: int
    confirmed_by: list[Standing]


def evidence(rows: pd.DataFrame) -> Evidence:
    """Candidates by the first half, confirmed by the second."""
    half = rows["dataset"].map(half_of)
    first, second = rows[half == 0], rows[half == 1]
    if first.empty or second.empty:
        raise statistics.Lacking("the results lack one of the halves of the tables")
    found = standings(first)
    return Evidence(
        found,
        confirmed(second, candidates(found)),
        (first["dataset"].nunique(), second["dataset"].nunique()),
        len(rows.drop_duplicates(["dataset", "repeat"])),
        int(rows["n_train"].max()),
        standings(second),
    )


def told(it: Evidence) -> list[str]:
    """The evidence as Markdown."""
    second = {one.method: one for one in it.confirmed_by}
    lines = [
        f"| strategy | fits | seconds | points, {it.n_tables[0]} tables to choose by "
        f"| points, {it.n_tables[1]} to confirm |",
        "|---|---:|---:|---:|---:|",
        *(
            f"| {one.method} | {100 * one.fits:.0f} % | {100 * one.seconds:.0f} % "
            f"| {points(one.gain)} | {points(second[one.method].gain)} |"
            for one in it.chosen_by
        ),
        "",
        "| candidate, on the tables to confirm | wins / ties / losses | points | p of a difference "
        "| p of a loss of 0.1 | seconds | pays |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for one in it.confirmations:
        beside = one.comparison
        lines.append(
            f"| {beside.first} | {beside.wins} / {beside.ties} / {beside.losses} "
            f"| {points(beside.mean)} | {beside.p_value:.3f} | {one.not_worse:.3f} "
            f"| {100 * one.standing.seconds:.0f} % | {'yes' if one.pays else 'no'} |"
        )
    return lines


def sentences(it: Evidence) -> list[str]:
    """What follows, in words."""
    found = []
    for one in it.confirmations:
        beside = one.comparison
        cost = f"{100 * one.standing.seconds:.0f} % of the seconds"
        gain = f"{points(beside.mean)} points beside the default grid at {cost}"
        if one.better:
            verdict = f"it is better (p = {beside.p_value:.3f})"
        elif one.cheaper:
            verdict = f"a loss of a tenth of a point is ruled out (p = {one.not_worse:.3f})"
        else:
            verdict = "that is not enough to say that it pays"
        found.append(f'"{beside.first}": {gain}; {verdict}.')
    if not found:
        return ["No strategy came near the default grid for less on the tables to choose by."]
    paying = [f'"{one.comparison.first}"' for one in it.confirmations if one.pays]
    return [*found, f"What pays: {', '.join(paying) or 'none of them'}."]
