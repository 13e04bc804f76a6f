"""The libraries that are compared; one adapter per file, imported without its library.

``RIVALS[suite][name]``. In a ladder, settings of one library stand in the order of their cost: the
next one takes part only if none before it came close enough to the optimum, nor took too long.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.rivals.clarabel_svm import ClarabelSVM
from benchmarks.rivals.control import Control
from benchmarks.rivals.intelex_svc import IntelexSVC
from benchmarks.rivals.interface import Rival, Setting
from benchmarks.rivals.liblinear_official import LiblinearOfficial
from benchmarks.rivals.libsvm_official import LibsvmOfficial
from benchmarks.rivals.lightgbm_trees import LightGBMTrees
from benchmarks.rivals.nystroem import NystroemPSVC
from benchmarks.rivals.paper_psmo import PaperSMO
from benchmarks.rivals.psvm_linear import PsvmLinear
from benchmarks.rivals.psvm_svc import PsvmSVC
from benchmarks.rivals.rehline_svm import RehlineSVM
from benchmarks.rivals.scipy_lbfgs import ScipyLBFGS
from benchmarks.rivals.sklearn_linear import SklearnLinear
from benchmarks.rivals.sklearn_svc import SklearnSVC
from benchmarks.rivals.snapml_svm import SnapmlSVM
from benchmarks.rivals.torchkm_svc import TorchkmSVC

__all__ = ["LADDERS", "RIVALS", "Rival", "Setting"]

CACHE_SIZES = (100, 400, 1600)  # megabytes, for the growth of memory
KERNEL: tuple[Rival, ...] = (
    PsvmSVC("psvm", "float64"),
    PsvmSVC("psvm-f32", "float32"),
    PsvmSVC("psvm-1-thread", "float64", threads=1),
    IntelexSVC("intelex", "float64"),
    IntelexSVC("intelex-f32", "float32"),
    SklearnSVC(),
    LibsvmOfficial(),
    TorchkmSVC(),
    ClarabelSVM(),
    PaperSMO(),
    *(PsvmSVC(f"psvm-{size}MB", "float64", cache_size=float(size)) for size in CACHE_SIZES),
    LightGBMTrees(),
    Control(),
)

MANY = 1_000_000  # iterations: as many as the time limit allows
LADDER_RIVALS: tuple[tuple[Rival, ...], ...] = (
    (
        SklearnLinear("sklearn-primal", dual=False),
        SklearnLinear("sklearn-primal-s10", False, 10.0),
        SklearnLinear("sklearn-primal-s10-tight", False, 10.0, tol=1e-6, max_iter=MANY),
    ),
    (
        SklearnLinear("sklearn-dual-1e-1", True, tol=1e-1),
        SklearnLinear("sklearn-dual-s10-1e-1", True, 10.0, tol=1e-1),
        SklearnLinear("sklearn-dual-1e-2", True, tol=1e-2),
        SklearnLinear("sklearn-dual-s10-1e-2", True, 10.0, tol=1e-2),
        SklearnLinear("sklearn-dual-s10", True, 10.0),
        SklearnLinear("sklearn-dual-tight", True, tol=1e-5, max_iter=MANY),
        SklearnLinear("sklearn-dual-s10-tight", True, 10.0, tol=1e-5, max_iter=MANY),
    ),
    (
        LiblinearOfficial("liblinear-primal", dual=False, eps=1e-2),
        LiblinearOfficial("liblinear-primal-1e-4", False, eps=1e-4),
        LiblinearOfficial("liblinear-primal-1e-6", False, eps=1e-6),
    ),
    (
        LiblinearOfficial("liblinear-dual", dual=True, eps=0.1),
        LiblinearOfficial("liblinear-dual-s10", True, 0.1, 10.0),
        LiblinearOfficial("liblinear-dual-1e-2", True, 1e-2),
        LiblinearOfficial("liblinear-dual-s10-1e-2", True, 1e-2, 10.0),
        LiblinearOfficial("liblinear-dual-1e-3", True, 1e-3),
        LiblinearOfficial("liblinear-dual-s10-1e-3", True, 1e-3, 10.0),
        LiblinearOfficial("liblinear-dual-1e-4", True, 1e-4),
        LiblinearOfficial("liblinear-dual-s10-1e-4", True, 1e-4, 10.0),
    ),
    (
        RehlineSVM("rehline"),
        RehlineSVM("rehline-s10", 10.0),
        RehlineSVM("rehline-tight", 1.0, tol=1e-5, max_iter=MANY),
        RehlineSVM("rehline-s10-tight", 10.0, tol=1e-5, max_iter=MANY),
    ),
    (
        SnapmlSVM("snapml"),
        SnapmlSVM("snapml-s10", 10.0),
        SnapmlSVM("snapml-tight", 1.0, tol=1e-6, max_iter=MANY),
        SnapmlSVM("snapml-s10-tight", 10.0, tol=1e-6, max_iter=MANY),
    ),
    (
        ScipyLBFGS("lbfgs", ftol=1e-7),
        ScipyLBFGS("lbfgs-tight", ftol=1e-9),
        ScipyLBFGS("lbfgs-tighter", ftol=1e-12),
    ),
)
LINEAR: tuple[Rival, ...] = (
    PsvmLinear("psvm-1e-8", tol=1e-8),  # first: it tells the ladders where the optimum is
    PsvmLinear("psvm"),
    PsvmLinear("psvm-1e-6", tol=1e-6),
    PsvmLinear("psvm-newton", solver="semismooth_newton"),
    PsvmLinear("psvm-descent", solver="coordinate_descent"),
    SklearnLinear("sklearn-dual", dual=True),  # at its defaults, whatever it reaches
    *(rival for ladder in LADDER_RIVALS for rival in ladder),
)

NYSTROEM: tuple[Rival, ...] = (
    PsvmSVC("psvm", "float64"),
    *(NystroemPSVC(f"nystroem-{size}", size) for size in (100, 300, 1000)),
)


def by_name(rivals: Iterable[Rival]) -> dict[str, Rival]:
    """Look-up table."""
    return {rival.name: rival for rival in rivals}


RIVALS = {"kernel": by_name(KERNEL), "linear": by_name(LINEAR), "nystroem": by_name(NYSTROEM)}
LADDERS = [[rival.name for rival in ladder] for ladder in LADDER_RIVALS]
