"""Data at the door of a search."""

import numpy as np
import pandas as pd
import pytest

from psvm import PSVCCV

FRAME = pd.DataFrame({"age": [31.0, np.nan] * 10, "town": ["Bern", "Cork"] * 10, "sum": 1.0})
Y = np.arange(20) % 2


@pytest.mark.parametrize(
    ("column", "error"), [("age", "NaN"), ("town", "could not convert string")]
)
def test_texts_and_missing_values_point_to_the_preprocessor(column, error):
    with pytest.raises(ValueError, match=error) as caught:
        PSVCCV().fit(FRAME[[column]], Y)
    assert "PSVCCV(preprocessor=...)" in caught.value.__notes__[0]


def test_other_errors_do_not():
    with pytest.raises(ValueError, match="inconsistent numbers") as caught:
        PSVCCV().fit(FRAME[["sum"]], Y[:-1])
    assert not hasattr(caught.value, "__notes__")
    with pytest.raises(ValueError, match="y contains NaN") as caught:
        PSVCCV().fit(FRAME[["sum"]], np.where(Y > 0, Y, np.nan))
    assert not hasattr(caught.value, "__notes__")
