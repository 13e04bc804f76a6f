"""Comparisons of methods over data sets, by autorank, baycomp, statsmodels and scipy.

A data set counts once: the mean over its splits. Splits of one set overlap, so they are no
independent observations, and are never tested against each other.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr, wilcoxon

ROPE = 0.005
"""Half a point of accuracy: a smaller difference does not matter in practice."""

ALPHA = 0.05
SAMPLES = 20_000
"""Draws from the posterior; a probability is then within 0.01."""

LOWER_IS_BETTER = frozenset({"log_loss", "mae", "support_share", "fit_seconds", "predict_seconds"})


class Lacking(ValueError):
    """The results do not have what a statistic needs."""


def means(rows: pd.DataFrame, methods: Sequence[str], measure: str = "accuracy") -> pd.DataFrame:
    """One row per data set that has all the methods, one column per method: means over splits.

    Of a data set only the splits that every one of the methods has are taken.
    """
    wide = rows[rows["method"].isin(list(methods))].pivot_table(
        index=["dataset", "repeat"], columns="method", values=measure, dropna=False
    )
    absent = [method for method in methods if method not in wide]
    if absent:
        raise Lacking(f"the results have no {', '.join(absent)}")
    return wide[list(methods)].dropna().groupby(level="dataset").mean()


@dataclass(frozen=True)
class Ranks:
    """Mean ranks over data sets, 1 is best.

    Attributes
    ----------
    mean : Series
        By method, the best first.
    critical_difference : float
        Nemenyi: mean ranks that are closer are not told apart.
    p_value : float
        Friedman: of the hypothesis that all methods are alike.
    n_sets : int
        Data sets.
    result : object
        That of autorank, for its picture.
    """

    mean: pd.Series
    critical_difference: float
    p_value: float
    n_sets: int
    result: Any

    @property
    def leaders(self) -> list[str]:
        """The best, and those that are not told apart from it; all if nothing is significant."""
        if self.p_value >= ALPHA:
            return list(self.mean.index)
        limit = self.mean.iloc[0] + self.critical_difference
        return [str(name) for name, rank in self.mean.items() if rank < limit]


def ranks(table: pd.DataFrame, measure: str = "accuracy") -> Ranks:
    """Friedman's test and Nemenyi's critical difference, of three methods or more."""
    if table.shape[1] < 3:
        raise Lacking("ranks with a critical difference need three methods or more")
    if len(table) < 5:
        raise Lacking(f"ranks need five data sets or more, got {len(table)}")
    from autorank import autorank

    order = "ascending" if measure in LOWER_IS_BETTER else "descending"
    # It prints and warns of tests for normality, which are not used.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        result = autorank(
            table.reset_index(drop=True), alpha=ALPHA, order=order, force_mode="nonparametric"
        )
    mean = result.rankdf["meanrank"].sort_values(kind="stable")
    return Ranks(mean, float(result.cd), float(result.pvalue), len(table), result)


class Comparison(NamedTuple):
    """One method beside another, over data sets; differences are first minus second.

    Attributes
    ----------
    first, second : str
        The methods.
    n_sets, wins, ties, losses : int
        Data sets; a tie is a difference of less than a tenth of the ROPE.
    mean, median : float
        Of the differences, positive where the first is better.
    better, alike, worse : float
        Probabilities of the Bayesian signed-rank test with the ROPE.
    p_value : float
        Wilcoxon; corrected by Holm where several comparisons are made together.
    """

    first: str
    second: str
    n_sets: int
    wins: int
    ties: int
    losses: int
    mean: float
    median: float
    better: float
    alike: float
    worse: float
    p_value: float


def compare(
    table: pd.DataFrame, pairs: Sequence[tuple[str, str]], measure: str = "accuracy"
) -> list[Comparison]:
    """Several pairs of methods, as one family of tests."""
    sign = -1.0 if measure in LOWER_IS_BETTER else 1.0
    found = []
    for first, second in pairs:
        a, b = sign * table[first].to_numpy(), sign * table[second].to_numpy()
        gain = a - b
        tie = np.abs(gain) < ROPE / 10
        found.append(
            Comparison(
                first,
                second,
                len(gain),
                int(np.sum(~tie & (gain > 0))),
                int(tie.sum()),
                int(np.sum(~tie & (gain < 0))),
                float(gain.mean()),
                float(np.median(gain)),
                *practical(a, b),
                float(wilcoxon(gain).pvalue) if np.any(gain) else 1.0,
            )
        )
    corrected = holm([one.p_value for one in found])
    return [one._replace(p_value=p) for one, p in zip(found, corrected, strict=True)]


def practical(
    first: np.ndarray, second: np.ndarray, rope: float = ROPE
) -> tuple[float, float, float]:
    """Probabilities that the first is better, that they are alike, that the second is better."""
    from baycomp import SignedRankTest

    worse, alike, better = SignedRankTest(
        second, first, rope, nsamples=SAMPLES, random_state=0
    ).probs()
    # baycomp's left is its first argument: higher there means that `second` is better.
    return float(better), float(alike), float(worse)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for several tests."""
    from statsmodels.stats.multitest import multipletests

    if not p_values:
        return []
    return [float(p) for p in multipletests(p_values, method="holm")[1]]


class Effect(NamedTuple):
    """How a difference between two methods goes with a trait of the data sets.

    Attributes
    ----------
    trait : str
        Name of the trait.
    correlation : float
        Spearman's.
    p_value : float
        Corrected by Holm over the traits.
    low, middle, high : float
        Mean difference over the thirds of the sets by the trait.
    """

    trait: str
    correlation: float
    p_value: float
    low: float
    middle: float
    high: float


def effects(gain: pd.Series, traits: pd.DataFrame) -> list[Effect]:
    """The difference by each trait; sets without a trait are left out."""
    found = []
    for trait in traits:
        values = traits[trait].reindex(gain.index)
        known = values.notna()
        own, by = gain[known].to_numpy(), values[known].to_numpy(dtype=float)
        if len(own) < 5 or np.ptp(by) == 0:
            continue
        alike = np.ptp(own) == 0
        test = None if alike else spearmanr(own, by)
        thirds = np.array_split(own[np.argsort(by, kind="stable")], 3)
        found.append(
            Effect(
                str(trait),
                0.0 if test is None else float(test.statistic),
                1.0 if test is None else float(test.pvalue),
                *(float(part.mean()) for part in thirds),
            )
        )
    corrected = holm([one.p_value for one in found])
    return [one._replace(p_value=p) for one, p in zip(found, corrected, strict=True)]


def traits_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows, features, imbalance and noise of the data sets, as the results tell them.

    Imbalance is the share of the smallest class times the number of classes, from 1 (balanced)
    down. Noise is the error of the best method, the mean over the splits.
    """
    told = rows[rows["method"] == "dummy"].drop_duplicates("dataset").set_index("dataset")["chosen"]
    if told.empty:
        raise Lacking("the traits of the sets are in the rows of dummy, and there are none")
    frame = pd.DataFrame({name: dict(chosen) for name, chosen in told.items()}).T
    best = rows.groupby(["dataset", "method"])["accuracy"].mean().groupby("dataset").max()
    return pd.DataFrame(
        {
            "rows": frame["rows"].astype(float),
            "features": frame["features"].astype(float),
            "balance": (frame["smallest_share"] * frame["classes"]).astype(float),
            "noise": 1.0 - best.reindex(frame.index),
        }
    )


def frontier(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Methods that no other beats in both: (seconds, accuracy), by seconds."""
    kept = []
    highest = -np.inf
    for name, (_, accuracy) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1])):
        if accuracy > highest:
            kept.append(name)
            highest = accuracy
    return kept


def halves(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Two halves of the data sets, by their order: one to choose by, one to confirm with."""
    ordered = sorted(names)
    return ordered[::2], ordered[1::2]
