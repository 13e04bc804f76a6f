"""Arrays that are already what scikit-learn's validation would make of them."""

from __future__ import annotations

from typing import Any

import numpy as np


def need_no_conversion(X: Any, y: Any, dtypes: tuple[type, ...]) -> bool:
    """Whether ``validate_data`` would hand back X and y as they are.

    It asks whether they are data frames, and of which of ten libraries: 130 of the 880
    microseconds of a fit to 200 rows. Whatever is not surely in order is for it to judge, and to
    refuse in its own words.
    """
    if type(X) is not np.ndarray or type(y) is not np.ndarray:
        return False
    rows = X.shape[0] if X.ndim == 2 else 0
    if rows == 0 or X.shape[1] == 0 or y.shape != (rows,) or not y.flags.c_contiguous:
        return False
    if X.dtype not in dtypes or y.dtype.kind not in "biuf":
        return False
    # A sum that is a number has no infinite terms, nor NaN.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum()) and (y.dtype.kind != "f" or np.isfinite(y.sum())))
