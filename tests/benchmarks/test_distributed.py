"""The benchmark on a cluster: it runs, and its model of time adds up."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
pytest.importorskip("distributed")

from benchmarks.distributed.__main__ import main
from benchmarks.distributed.model import Measured, predicted, table

FIT = Measured(
    rows=1_000_000,
    features=30,
    workers=2,
    round_trips=12,
    gram_round_trips=3,
    passes=0.4,
    grams=0.2,
    loading=0.3,
    waiting=1.0,
    seconds=1.3,
    tasks=80,
)


def test_the_model_agrees_with_its_measurement():
    """But for the scheduler and the network, which on one machine are part of the rest."""
    assert predicted(FIT, FIT.rows, FIT.features, FIT.workers) == pytest.approx(1.3, rel=0.15)


def test_the_model_scales():
    large = replace(
        FIT, rows=100_000_000, passes=40.0, grams=20.0, loading=30.0, waiting=90.0, seconds=90.3
    )
    base = predicted(large, large.rows, 30, 2)
    assert predicted(large, large.rows, 30, 4) == pytest.approx(base / 2, rel=0.02)
    assert predicted(large, 2 * large.rows, 30, 2) == pytest.approx(2 * base, rel=0.02)
    assert predicted(large, large.rows, 60, 2) > 2 * base  # systems grow with the square
    seconds = [one for _, _, one in table(large)]
    assert seconds[0] > seconds[1] > seconds[2]


@pytest.mark.slow
def test_a_quick_run(capsys):
    text = main(["--quick"])
    assert "| 1.5 |" in text
    assert "256 workers" in text
    assert capsys.readouterr().out.strip() == text.strip()
