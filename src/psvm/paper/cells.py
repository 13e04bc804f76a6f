"""Rows of the two tables: choosing, judging and naming them."""

from __future__ import annotations

from collections.abc import Iterable

from psvm.paper.published import BASELINES
from psvm.paper.store import Row

ACCURACY_TOLERANCE = 0.11
"""Points: half a digit of the paper's print, and one test row of Wine in either direction."""

NSV_TOLERANCE = 3.5
"""Points: which alpha lie above 1e-5 depends on how accurately a solver stops."""

BASELINE_TOLERANCE = 1.0
"""Points: the paper's baselines had no seeds and an older scikit-learn."""

OURS = ("1.5L", "2L")
"""The methods of Table 2 that are p-norm machines."""

SAME = 0.005
"""Points: two accuracies closer than this are one, in a table with two digits."""

PRINTED = 0.05
"""Points by which a number of Table 2 may be off in print: it has one digit after the point."""


def select(rows: Iterable[Row], **conditions: object) -> list[Row]:
    """Rows whose columns have the given values.

    Parameters
    ----------
    rows : iterable of dict
        Any rows.
    **conditions : object
        Value of each column; a tuple means any of its values.

    Returns
    -------
    list of dict
        In the order of ``rows``.
    """
    return [
        row
        for row in rows
        if all(
            row[name] in wanted if isinstance(wanted, tuple) else row[name] == wanted
            for name, wanted in conditions.items()
        )
    ]


def compared(rows: Iterable[Row], column: str) -> list[Row]:
    """Rows that have a value in a column.

    Parameters
    ----------
    rows : iterable of dict
        Any rows.
    column : str
        For instance "accuracy_difference", which a row without a published figure lacks.

    Returns
    -------
    list of dict
        In the order of ``rows``.
    """
    return [row for row in rows if row[column] is not None]


def datasets_of(rows: Iterable[Row]) -> list[str]:
    """Names of the data sets in order of appearance.

    Parameters
    ----------
    rows : iterable of dict
        Any rows.

    Returns
    -------
    list of str
        Each once.
    """
    return list(dict.fromkeys(str(row["dataset"]) for row in rows))


def rivals_of(rows: Iterable[Row]) -> list[Row]:
    """Rows of the methods that are no p-norm machines.

    Parameters
    ----------
    rows : iterable of dict
        Rows of either table.

    Returns
    -------
    list of dict
        The baselines of Table 1, the rivals of Table 2.
    """
    return select(rows, variant="rerun")


def one_test_row(row: Row) -> float:
    """Accuracy points that one test row is worth, and what the paper's print may hide.

    Parameters
    ----------
    row : dict
        A row of Table 2.

    Returns
    -------
    float
        Points; a difference up to it is at most one test row.
    """
    return 100.0 / float(row["n_test"]) + PRINTED


def is_met(row: Row) -> bool:
    """Whether a row meets the published accuracy as well as can be asked of it.

    Parameters
    ----------
    row : dict
        A row with a published accuracy.

    Returns
    -------
    bool
        Within :data:`ACCURACY_TOLERANCE` for the p-norm machines of Table 1, within
        :data:`BASELINE_TOLERANCE` for its baselines, within one test row in Table 2.
    """
    difference = abs(float(row["accuracy_difference"]))
    if row["method"] == "pSVM":
        return difference <= ACCURACY_TOLERANCE
    if row["method"] in BASELINES:
        return difference <= BASELINE_TOLERANCE
    return difference <= one_test_row(row)


def cell_name(row: Row) -> str:
    """A cell in words, such as "Wine, p = 1.40" or "Glass, M-SVM".

    Parameters
    ----------
    row : dict
        A row of either table.

    Returns
    -------
    str
        Its name.
    """
    return f"{title(row['dataset'])}, {machine_name(row)}"


def machine_name(row: Row) -> str:
    """What tells a row from the others of its data set, such as "p = 1.40" or "M-SVM".

    Parameters
    ----------
    row : dict
        A row of either table.

    Returns
    -------
    str
        The exponent of a pSVM in Table 1, else the method.
    """
    return f"p = {row['p']:.2f}" if row["method"] == "pSVM" else spelled(row["method"])


def spelled(method: str) -> str:
    """A method as the paper writes it.

    Parameters
    ----------
    method : str
        Its name in the tables.

    Returns
    -------
    str
        "M³SVM" for "M3SVM"; the others are written as they are named.
    """
    return "M³SVM" if method == "M3SVM" else method


def title(dataset: str) -> str:
    """A data set as the paper writes it.

    Parameters
    ----------
    dataset : str
        Its name in psvm.

    Returns
    -------
    str
        "USPS", "Cancer" and so on.
    """
    return "USPS" if dataset == "usps" else dataset.capitalize()
