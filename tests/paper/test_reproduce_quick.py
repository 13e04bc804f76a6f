"""The smoke run of a new user: ``psvm reproduce all --quick``, as a process, for real."""

import csv
import re
import subprocess
import sys

import pytest

# The whole of `psvm reproduce all --quick`; its parts have tests of their own.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quick") / "results"
    command = [sys.executable, "-m", "psvm.cli", "reproduce", "--quick", "--output", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def test_cancer_is_as_published(folder):
    with open(folder / "table1.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    published = [row for row in rows if row["variant"] == "published"]
    assert len(published) == 9
    for row in published:
        assert (row["dataset"], row["method"]) == ("cancer", "pSVM")
        assert float(row["accuracy_percent"]) == pytest.approx(97.66, abs=0.11)
        assert abs(float(row["nsv_difference"])) <= 3.5
        assert float(row["gap"]) <= 1e-8
    assert {row["variant"] for row in rows} == {"published", "exact", "rerun"}


def test_the_report_stands_alone(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<title>" in page
    loaded = re.findall(r"(?:src|href)=\"([^\"]+)\"", page) + re.findall(r"url\(([^)]+)\)", page)
    assert all(target.startswith(("#", "data:")) for target in loaded)
    assert "<script" not in page
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "| 1.50 | 5 | 97.66 | 97.66 |" in text
    for said in (text, page):
        assert "This is a quick run" in said
        assert "none of 52 cells of Table 2" in said
        assert "of 0" not in said
        assert "Every number" not in said
    assert '<span class="word">--quick</span>' in page
    for name in ("figure1.png", "figure1.svg"):
        assert (folder / name).stat().st_size > 1000


def test_running_it_again_computes_nothing(folder):
    before = (folder / "cells.jsonl").read_bytes()
    command = [sys.executable, "-m", "psvm.cli", "reproduce", "all", "--quick", "--output", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (folder / "cells.jsonl").read_bytes() == before
