"""Arrays that are as the linear solvers want them: scikit-learn's checks would change nothing.

These ask whether an array is a table of one of a dozen libraries and how it is called, which takes
80 microseconds: a fifth of a small fit. Of plain NumPy arrays the answers are known.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def are_ready(X: Any, y: Any) -> bool:
    """Whether X is a C-ordered array of floats and y one finite label or target for each row.

    The entries of X are not read. Anything else, sound or not, is for scikit-learn to judge.
    """
    if type(X) is not np.ndarray or type(y) is not np.ndarray:
        return False
    if X.ndim != 2 or X.dtype not in _FLOATS or not X.flags.c_contiguous or X.size == 0:
        return False
    if y.shape != X.shape[:1]:
        return False
    kind = y.dtype.kind
    return kind in "biu" or (kind == "f" and bool(np.isfinite(y).all()))


# In the byte order of this machine.
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
