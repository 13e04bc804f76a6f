"""Who trains and who tests: repeated stratified splits, the same for every method.

70 % of the rows train, at most 10,000 of the others test. A method that cannot take all training
rows has a cap, and trains on a stratified sample of the same training part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split

from benchmarks.study.sets import Table

TRAIN_SHARE = 0.7
MOST_TEST_ROWS = 10_000

Labels = npt.NDArray[np.intp]


class Part(NamedTuple):
    """Rows and their classes."""

    X: pd.DataFrame
    y: Labels


class Split(NamedTuple):
    """A training and a test part."""

    train: Part
    test: Part


def split(table: Table, repeat: int) -> Split:
    """One split of a table; the number of the repeat is its seed."""
    n = len(table.y)
    train = int(TRAIN_SHARE * n)
    test = min(n - train, MOST_TEST_ROWS)
    draw = StratifiedShuffleSplit(1, train_size=train, test_size=test, random_state=repeat)
    first, second = next(draw.split(table.X, table.y))
    return Split(_part(table, first), _part(table, second))


def _part(table: Table, rows: Labels) -> Part:
    return Part(table.X.iloc[rows].reset_index(drop=True), table.y[rows])


def capped(part: Part, most: int, seed: int) -> Part:
    """At most so many rows of a part, stratified as far as the classes allow."""
    if len(part.y) <= most:
        return part
    alone = np.bincount(part.y)[part.y] < 2  # a class of one row cannot be stratified
    rows = np.flatnonzero(~alone)
    chosen, _ = train_test_split(rows, train_size=most, stratify=part.y[rows], random_state=seed)
    chosen = np.sort(chosen)
    return Part(part.X.iloc[chosen].reset_index(drop=True), part.y[chosen])
