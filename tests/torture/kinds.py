"""Which kind of case a seed is, and how it is run."""

from __future__ import annotations

from torture.outcome import Outcome

# Of every 20 seeds.
_KINDS = ["fits"] * 16 + ["files"] * 3 + ["stress"]


def kind_of(seed: int) -> str:
    return _KINDS[seed % len(_KINDS)]


def prepare() -> None:
    """Import in the parent what takes seconds, so that no case has to."""
    import torture.files
    import torture.fits

    torture.files.warm_up()


def recipe_of(kind: str, seed: int) -> str:
    """What a case is, without running it."""
    if kind != "fits":
        return ""
    import numpy as np

    from torture.cases import make_fit

    return str(make_fit(np.random.default_rng(seed)))


def run_case(kind: str, seed: int) -> Outcome:
    """Run one case, in a worker."""
    if kind == "fits":
        from torture.fits import run_fit

        return run_fit(seed)
    if kind == "files":
        from torture.files import run_file

        return run_file(seed)
    from torture.stress import run_stress

    return run_stress(seed)
