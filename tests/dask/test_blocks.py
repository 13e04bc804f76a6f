"""Blocks tell the client a little of their rows."""

import numpy as np
import pytest

pytest.importorskip("distributed")

from psvm.dask.blocks import Expected, check_partition, describe, summary_of
from psvm.dask.targets import Labels


def test_all_blocks_together_are_looked_at_in_some_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(2.0, 1.0, (80_000, 3)), np.arange(80_000) % 2
    expected = Expected(None, "DaskLinearPSVC", Labels())
    parts = [
        check_partition(k, expected, X[first : first + 1_000], y[first : first + 1_000])
        for k, first in enumerate(range(0, 80_000, 1_000))
    ]
    told = [describe(part, expected, len(parts)) for part in parts]
    assert 1_000 <= sum(len(one.some) for one in told) <= 4_000
    summary = summary_of(told, centred=True)
    assert summary.rows == 80_000
    assert summary.shift == pytest.approx([2.0, 2.0, 2.0], abs=0.1)
