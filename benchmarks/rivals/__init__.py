"""The libraries that are compared; one adapter per file, imported without its library."""

from __future__ import annotations

from benchmarks.rivals.control import Control
from benchmarks.rivals.intelex_svc import IntelexSVC
from benchmarks.rivals.interface import Rival, Setting
from benchmarks.rivals.libsvm_official import LibsvmOfficial
from benchmarks.rivals.psvm_svc import PsvmSVC
from benchmarks.rivals.sklearn_svc import SklearnSVC

__all__ = ["RIVALS", "Rival", "Setting"]

_ALL: tuple[Rival, ...] = (
    PsvmSVC("psvm", "float64"),
    PsvmSVC("psvm-f32", "float32"),
    IntelexSVC("intelex", "float64"),
    IntelexSVC("intelex-f32", "float32"),
    SklearnSVC(),
    LibsvmOfficial(),
    Control(),
)
RIVALS: dict[str, Rival] = {rival.name: rival for rival in _ALL}
