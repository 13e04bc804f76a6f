"""What a failing fit says."""

from __future__ import annotations

import numpy as np
import pytest
from small_data import noisy

X, Y = noisy(n=20, d=3, seed=0)


def error_of(Estimator, kind, X=X, y=Y, sample_weight=None, **parameters):
    """The message of the error that fit raises."""
    with pytest.raises(kind) as caught:
        Estimator(**parameters).fit(X, y, sample_weight=sample_weight)
    return str(caught.value)


def assert_mentions(message, *words):
    missing = [word for word in words if word.lower() not in message.lower()]
    assert not missing, f"{missing} not in: {message}"


def changed(array, index, value):
    array = np.array(array, dtype=float)
    array[index] = value
    return array
