"""The numbers that the paper prints, as they are printed.

They are read from the CSV files in ``numbers``, which hold Table 1 (the p-norm machines and the
eight baselines) and Table 2. Data sets and methods are spelled as there.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import resources

BINARY = ("cancer", "heart", "ionosphere", "wine", "banknote")
"""Data sets of Table 1, in its order."""

MULTICLASS = ("glass", "vehicle", "dermatology", "usps")
"""Data sets of Table 2, in its order."""

BASELINES = ("SVM", "NB", "RF", "KNN", "GB", "LDA", "DT", "AB")
"""Baselines of Table 1, in its order."""

EXPONENTS: tuple[float, ...] = tuple(
    float(Fraction(p)) for p in ("1", "5/4", "9/7", "4/3", "7/5", "3/2", "5/3", "2", "3")
)
"""The nine p of Table 1. All but 1 are ``q / (q - 1)`` for q = 5, 4.5, 4, 3.5, 3, 2.5, 2 and 1.5;
q is the conjugate exponent that the paper calls gamma."""


@dataclass(frozen=True)
class BinaryCell:
    """One p-norm machine of Table 1.

    Attributes
    ----------
    dataset : str
        One of :data:`BINARY`.
    n_features, n_train, n_test : int
        Size of the data set and of its two parts.
    test_size : float
        Fraction of the rows in the test part.
    p : float
        Exponent, one of :data:`EXPONENTS`.
    C_best : float or None
        The C chosen by cross-validation; None at p = 1, where the paper has no upper bound on alpha
        (a hard margin).
    nsv_percent : float
        Support vectors in percent of the training rows.
    accuracy_percent : float
        Accuracy on the test part.
    """

    dataset: str
    n_features: int
    n_train: int
    n_test: int
    test_size: float
    p: float
    C_best: float | None
    nsv_percent: float
    accuracy_percent: float


@dataclass(frozen=True)
class BaselineCell:
    """One baseline of Table 1.

    Attributes
    ----------
    dataset : str
        One of :data:`BINARY`.
    method : str
        One of :data:`BASELINES`.
    accuracy_percent : float
        Accuracy on the test part.
    C_best : float or None
        The C chosen by cross-validation, for "SVM" only.
    """

    dataset: str
    method: str
    accuracy_percent: float
    C_best: float | None


@dataclass(frozen=True)
class MulticlassCell:
    """One method of Table 2.

    Attributes
    ----------
    dataset : str
        One of :data:`MULTICLASS`.
    n_train, n_test : int
        Size of the two parts.
    method : str
        A rival, or "1.5L" and "2L", the linear p-norm machines with p = 1.5 and 2.
    accuracy_percent : float
        Accuracy on the test part (the paper prints it as a fraction).
    """

    dataset: str
    n_train: int
    n_test: int
    method: str
    accuracy_percent: float


@cache
def table1() -> tuple[BinaryCell, ...]:
    """The 45 p-norm machines of Table 1: five data sets, nine p.

    Returns
    -------
    tuple of BinaryCell
        In the order of the table.
    """
    return tuple(
        BinaryCell(
            dataset=row["dataset"],
            n_features=int(row["n_features"]),
            n_train=int(row["n_train"]),
            n_test=int(row["n_test"]),
            test_size=float(row["test_size"]),
            p=float(Fraction(row["p"])),
            C_best=_number_or_none(row["C_best"]),
            nsv_percent=float(row["nsv_percent"]),
            accuracy_percent=float(row["accuracy_percent"]),
        )
        for row in _rows("table1_psvm.csv")
    )


@cache
def baselines() -> tuple[BaselineCell, ...]:
    """The 40 baselines of Table 1: five data sets, eight methods.

    Returns
    -------
    tuple of BaselineCell
        In the order of the table.
    """
    return tuple(
        BaselineCell(
            dataset=row["dataset"],
            method=row["baseline"],
            accuracy_percent=float(row["accuracy_percent"]),
            C_best=_number_or_none(row["C_best"]),
        )
        for row in _rows("table1_baselines.csv")
    )


@cache
def table2() -> tuple[MulticlassCell, ...]:
    """The 40 cells of Table 2: four data sets, eight rivals and two linear p-norm machines.

    Returns
    -------
    tuple of MulticlassCell
        In the order of the table.
    """
    return tuple(
        MulticlassCell(
            dataset=row["dataset"],
            n_train=int(row["n_train"]),
            n_test=int(row["n_test"]),
            method=row["method"],
            # As a fraction, because 100 times the float 0.656 is not the float 65.6.
            accuracy_percent=float(100 * Fraction(row["accuracy"])),
        )
        for row in _rows("table2.csv")
    )


def _rows(name: str) -> Iterator[dict[str, str]]:
    """Rows of one file of ``numbers``, by column name."""
    text = resources.files("psvm.paper").joinpath("numbers", name).read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines())


def _number_or_none(text: str) -> float | None:
    """A cell that may be empty."""
    return float(text) if text else None
