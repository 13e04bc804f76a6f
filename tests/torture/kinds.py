"""Which kind of case a seed is, and how it is run."""

from __future__ import annotations

from torture.outcome import Outcome

# Of every 20 seeds.
_KINDS = ["fits"] * 16 + ["files"] * 3 + ["stress"]


def kind_of(seed: int) -> str:
    return _KINDS[seed % len(_KINDS)]


def run_case(kind: str, seed: int) -> Outcome:
    """Run one case, in a worker."""
    # Imported there: polars, for instance, has threads, which a fork would lose.
    if kind == "fits":
        from torture.fits import run_fit

        return run_fit(seed)
    if kind == "files":
        from torture.files import run_file

        return run_file(seed)
    return Outcome(seed, kind)
