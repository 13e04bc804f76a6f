"""``psvm`` on real tables, of which some were refused once: a few here, all in the driver."""

import pytest

from benchmarks.cases import data_folder
from benchmarks.real_tables import Outcome, main, run_on

STUDY = data_folder() / "study"
PRESENT = pytest.mark.skipif(not STUDY.is_dir(), reason="the tables are not part of the project")


@PRESENT
@pytest.mark.slow  # tables of many columns
@pytest.mark.parametrize("name", ["census_kdd", "grants", "car", "hepatitis"])
def test_a_real_table_is_fitted(name):
    outcome = run_on(STUDY / f"{name}.parquet", "fit", max_time=60, max_rows=3000)
    assert outcome.code == 0, outcome.said
    assert "Traceback" not in outcome.said
    assert outcome.accuracy > outcome.majority - 0.01


def test_what_is_no_success():
    def outcome(code, said=""):
        return Outcome("t", 1, 1, code, None, 0.5, 1.0, said)

    assert outcome(0).sound
    assert outcome(3, "psvm: warning: stopped").sound
    assert not outcome(1, "psvm: the value is missing").sound
    assert not outcome(0, "Traceback").sound
    assert "t " in outcome(1).line()


def test_a_set_that_is_not_there(capsys):
    assert main(["--sets", "nowhere"]) == 2
    assert "no such tables" in capsys.readouterr().err
