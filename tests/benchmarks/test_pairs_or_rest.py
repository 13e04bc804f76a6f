"""One class against the rest beside pairs: the table of the guide is the one that was measured."""

from pathlib import Path

import pytest

from benchmarks import environment
from benchmarks.cases import data_folder
from benchmarks.pairs_or_rest import SETS, WAYS, main, measure, report
from benchmarks.run import RESULTS

ROOT = Path(__file__).parents[2]
PRESENT = pytest.mark.skipif(
    not data_folder().is_dir(), reason="the data sets are not part of the project"
)


def rows_in(text):
    """The rows of tables that begin with a name of the sets, without the markup of columns."""
    return [line for line in text.splitlines() if line.startswith(tuple(f"| {s} " for s in SETS))]


def test_the_guide_has_the_table_that_was_measured():
    measured = rows_in((RESULTS / "pairs_or_rest.md").read_text())
    assert len(measured) == len(SETS)
    assert rows_in((ROOT / "docs" / "guide.md").read_text()) == measured


@PRESENT
def test_both_ways_on_a_small_set():
    found = measure("vehicle")
    assert (found["classes"], found["features"]) == (4, 18)
    for way in WAYS:
        accuracy, seconds = found[way]
        assert 0.7 < accuracy < 0.9
        assert 0 < seconds < 5
    assert found["ovr"][0] != found["ovo"][0]


@PRESENT
def test_a_quick_run_writes_nothing(capsys):
    before = (RESULTS / "pairs_or_rest.md").read_bytes()
    main(["--quick"])
    assert "| vehicle | 4 | 18 |" in capsys.readouterr().out
    assert (RESULTS / "pairs_or_rest.md").read_bytes() == before


def test_the_report_has_percent_and_seconds():
    record = {"set": "a", "classes": 3, "features": 5, "ovr": (0.5, 1.0), "ovo": (0.75, 2.0)}
    lines = report([record], {"command": "", **environment.describe(1, ("psvm",))})
    assert "| a | 3 | 5 | 50.0, 1.00 s | 75.0, 2.00 s |" in lines
