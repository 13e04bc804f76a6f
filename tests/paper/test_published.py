"""The published numbers are those of the paper."""

import csv
from fractions import Fraction

import paper_data
import pytest

from psvm.paper import published


def rows(name):
    """Rows of a file that was transcribed from the paper's source on its own."""
    path = paper_data.PUBLISHED / name
    if not path.exists():
        pytest.skip(f"no {path}")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def optional(text):
    return float(text) if text else None


def test_table_1_is_complete_and_ordered():
    cells = [(cell.dataset, cell.p) for cell in published.table1()]
    assert cells == [(name, p) for name in published.BINARY for p in published.EXPONENTS]
    assert all(
        cell.n_test == pytest.approx(cell.test_size * (cell.n_train + cell.n_test), abs=1)
        for cell in published.table1()
    )


def test_baselines_are_complete_and_ordered():
    methods = ("SVM", "NB", "RF", "KNN", "GB", "LDA", "DT", "AB")
    cells = [(cell.dataset, cell.method) for cell in published.baselines()]
    assert cells == [(name, method) for name in published.BINARY for method in methods]
    assert all((cell.C_best is None) == (cell.method != "SVM") for cell in published.baselines())


def test_table_2_is_complete_and_ordered():
    methods = (
        *("OvR", "OvO", "Crammer", "M-SVM", "Top-k", "Multi-LR", "SMLR", "M3SVM"),
        *("1.5L", "2L"),
    )
    cells = [(cell.dataset, cell.method) for cell in published.table2()]
    assert cells == [(name, method) for name in published.MULTICLASS for method in methods]


def test_the_exponents_are_the_conjugates_of_the_gammas_in_the_table():
    """The paper lists gamma = p / (p - 1), our q, next to p."""
    conjugates = [p / (p - 1) for p in published.EXPONENTS[1:]]
    assert conjugates == pytest.approx([5, 4.5, 4, 3.5, 3, 2.5, 2, 1.5])
    assert published.EXPONENTS[0] == 1.0


@pytest.mark.parametrize(
    ("dataset", "p", "C", "nsv", "accuracy"),
    [
        ("cancer", 1, None, 31.2, 97.66),
        ("heart", Fraction(7, 5), 0.5, 84.1, 85.19),
        ("ionosphere", Fraction(3, 2), 0.1, 94.3, 97.17),
        ("wine", 2, 0.5, 91.7, 75.63),
        ("banknote", 3, 1.0, 82.2, 100.0),
    ],
)
def test_spots_of_table_1(dataset, p, C, nsv, accuracy):
    (cell,) = (c for c in published.table1() if (c.dataset, c.p) == (dataset, float(p)))
    assert (cell.C_best, cell.nsv_percent, cell.accuracy_percent) == (C, nsv, accuracy)


def test_spots_of_the_baselines():
    cells = {(cell.dataset, cell.method): cell for cell in published.baselines()}
    assert cells["ionosphere", "SVM"].C_best == 10.0
    assert cells["heart", "DT"].accuracy_percent == 72.47
    assert cells["wine", "RF"].accuracy_percent == 75.5


def test_spots_of_table_2():
    cells = {(cell.dataset, cell.method): cell for cell in published.table2()}
    assert cells["glass", "2L"].accuracy_percent == 76.7
    assert cells["usps", "M-SVM"].accuracy_percent == 91.0
    assert (cells["vehicle", "1.5L"].n_train, cells["vehicle", "1.5L"].n_test) == (676, 169)


def test_table_1_is_the_transcription():
    cells = [
        published.BinaryCell(
            row["dataset"],
            *(int(row[key]) for key in ("n_features", "n_train", "n_test")),
            float(row["test_size"]),
            float(Fraction(row["p"])),
            optional(row["C_best"]),
            float(row["nsv_percent"]),
            float(row["accuracy_percent"]),
        )
        for row in rows("table1_psvm.csv")
    ]
    assert list(published.table1()) == cells


def test_baselines_are_the_transcription():
    cells = [
        published.BaselineCell(
            row["dataset"],
            row["baseline"],
            float(row["accuracy_percent"]),
            optional(row["C_best"]),
        )
        for row in rows("table1_baselines.csv")
    ]
    assert list(published.baselines()) == cells


def test_table_2_is_the_transcription():
    given = rows("table2.csv")
    cells = published.table2()
    assert len(cells) == len(given)
    for cell, row in zip(cells, given, strict=True):
        assert (cell.dataset, cell.method) == (row["dataset"], row["method"])
        assert (cell.n_train, cell.n_test) == (int(row["n_train"]), int(row["n_test"]))
        assert cell.accuracy_percent == pytest.approx(100 * float(row["accuracy"]), rel=1e-15)
