"""What the study of many tables says of the paper's sentences about p.

The study (``python -m benchmarks.study``) is no rerun of the paper: other tables, C and gamma tuned
for every p. ``python -m benchmarks.study.report`` writes its sentences into ``numbers/study.json``.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources


@cache
def sentences() -> dict[str, str]:
    """The sentences: of ``"best_exponent"``, ``"support_vectors"`` and ``"overfitting"``.

    Returns
    -------
    dict of str to str
        Each begins with the tables it is about.
    """
    path = resources.files("psvm.paper") / "numbers" / "study.json"
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found
