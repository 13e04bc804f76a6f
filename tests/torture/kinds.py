"""Which kind of case a seed is, and how it is run."""

from __future__ import annotations

import os

from torture.fits import run_fit
from torture.outcome import Outcome

# Of every 20 seeds.
_KINDS = ["fits"] * 16 + ["files"] * 3 + ["stress"]


def kind_of(seed: int) -> str:
    return _KINDS[seed % len(_KINDS)]


def run_case(kind: str, seed: int) -> Outcome:
    """Run one case, in a worker."""
    if kind == "fits":
        return run_fit(seed)
    return Outcome(seed, kind)


__all__ = ["kind_of", "os", "run_case"]
