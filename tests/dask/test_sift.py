"""Sifting, where rows are lost on the way."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

pytest.importorskip("distributed")

from psvm.dask import sift as module
from psvm.dask.step import Band
from psvm.solvers.linear.newton import Begin
from psvm.solvers.linear.passes import RowsLost


def test_rows_that_are_lost_with_their_band_end_it(monkeypatch):
    """Then nothing is left to ask for."""
    asked = []

    def ask(orders):
        assert orders
        bands = {t: isinstance(order, Band) for t, order in orders.items()}
        asked.append(bands)
        return {t: RowsLost() if band else [SimpleNamespace(active=5)] for t, band in bands.items()}

    solve = MagicMock(ask=ask, costs=SimpleNamespace(count=[1000], typical=[1.0]))
    solve.summary.entries = 3.0
    monkeypatch.setattr(module, "_judged", lambda *_: False)
    begins = {0: Begin(np.zeros(3), 0.0)}
    assert module.sift(solve, begins, {0: MagicMock()}, {0: 0.01}) == {}
    assert asked == [{0: False}, {0: True}]
