"""The paper's data sets for tests: from ``$PSVM_DATA``, or the folder shared with the repository.

Importing this module sets ``PSVM_DATA`` where it is unset, so that `psvm.data.load` and every
process started by a test find the files. Tests must never download.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT.parent / "shared" / "paper"
FOLDER = Path(os.environ.setdefault("PSVM_DATA", str(ROOT.parent / "shared" / "data" / "paper")))

# The shared folder keeps wine, whose labels are grades there, under its long name.
FILES = {"wine": ("wine.npz", "wine_quality.npz")}


def require(name):
    """Skip the test unless the set ``name`` can be loaded without a network."""
    if name == "cancer":  # ships with scikit-learn
        return
    files = FILES.get(name, (f"{name}.npz",))
    if not any((FOLDER / file).exists() for file in files):
        pytest.skip(f"no {' or '.join(files)} in {FOLDER}: set PSVM_DATA")
