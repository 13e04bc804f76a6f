"""Warnings point at the line that called psvm, however deep inside they arise."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from pathlib import Path

import joblib
import sklearn

# Nobody's own line: the package, and what may stand between it and the user (pipelines, searches,
# decorators of scikit-learn).
_INSIDE = (
    *(f"{Path(module).parent}{os.sep}" for module in (joblib.__file__, sklearn.__file__)),
    f"{Path(__file__).parents[1]}{os.sep}",
    contextlib.__file__,
)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside of psvm and scikit-learn."""
    frame, level = sys._getframe(1), 2
    outer = frame.f_back
    while outer is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level, outer = outer, level + 1, outer.f_back
    warnings.warn(message, category, stacklevel=level)
